"""The extraction as a whole: what it keeps of a trace while it works."""

from __future__ import annotations

import weakref

import pytest
from fold_builder import PROVENANCE, Event, trace_of

from wavetank.model import extract
from wavetank.model.events.streams import DataRows
from wavetank.model.phases.patterns import Ranges
from wavetank.model.phases.rank_phase import RankPhase, describe
from wavetank.model.work_limits import WorkLimits


def test_rows_as_recorded_are_dropped_once_they_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [trace_of([Event(0, "pwrite", offset=i * 10, size=10) for i in range(100)])]
    recorded = weakref.ref(traces[0].folds)
    held = []

    def seen(data: DataRows, ranges: Ranges, work: WorkLimits) -> list[RankPhase]:
        held.append(recorded() is not None)
        return describe(data, ranges, work)

    monkeypatch.setattr(extract, "describe", seen)
    extract.extract_model(traces.pop(), PROVENANCE)
    assert held == [False]
