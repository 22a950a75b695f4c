"""Where the time of a run went: the same from counters as from single operations, and what records of all ranks tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fold_builder import PROVENANCE as MADE
from tests.darshan_logs import without_dxt

from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.trace.counters import DirectionCounters, FileCounters
from wavetank.trace.open import open_trace
from wavetank.trace.schema import Level, Trace

DARSHAN = Path(__file__).parents[3] / "data" / "darshan"
BT_IO = DARSHAN / "bt.W.4.mpi_io_full.darshan"


def model_of(trace: Trace) -> Model:
    return extract_model(trace, MADE)


def test_counters_tell_the_same_with_and_without_segments(tmp_path: Path) -> None:
    with_segments = model_of(open_trace(BT_IO)).run_times
    counted = model_of(open_trace(without_dxt(BT_IO, tmp_path))).run_times
    assert counted.all_s == with_segments.all_s and counted.spread == with_segments.spread
    # Which ranks are aggregators, segments alone tell.
    assert with_segments.files[0].below_ranks == 1


def test_single_operations_tell_nearly_what_counters_do() -> None:
    trace = open_trace(BT_IO)
    seen, counted = model_of(replace(trace, counters=())).run_times, model_of(trace).run_times
    assert seen.read_s == pytest.approx(counted.read_s, rel=0.01)
    assert seen.write_s == pytest.approx(counted.write_s, rel=0.01)
    assert seen.below_s == pytest.approx(counted.below_s, rel=0.1)


def test_of_a_record_of_all_ranks_the_slowest_and_the_fastest_are_known() -> None:
    trace = open_trace(BT_IO)
    way = DirectionCounters(n=400, moved=400 << 20, time_s=100.0)
    shared = FileCounters(
        file=0, level=Level.POSIX, rank=None, writes=way, n_opens=4, slowest_rank=2, slowest_bytes=100 << 20,
        slowest_s=70.0, fastest_s=5.0,
    )  # fmt: skip
    own = [
        FileCounters(file=1, level=Level.POSIX, rank=rank, n_opens=1, meta_time_s=1.0 + rank)
        for rank in range(4)
    ]
    counters = (shared, *own)
    files = (trace.files[0], replace(trace.files[0], path="/other"))
    folds = type(trace.folds)(
        **{name: column[:0] for name, column in vars(trace.folds).items() if name != "details"},
        details=trace.folds.details,
    )
    found = model_of(replace(trace, counters=counters, files=files, folds=folds)).run_times
    assert found.spread is not None and found.elapsed_s == trace.elapsed_s
    assert (found.spread.most_rank, found.spread.most_s) == (2, 73.0)  # 70 s, and its own 3 s
    assert found.spread.mean_s == pytest.approx((100.0 + 1 + 2 + 3 + 4) / 4)
    assert found.write_s == 100.0 and found.metadata_s == 10.0
    assert [file.name for file in found.files][1] == "/other"
