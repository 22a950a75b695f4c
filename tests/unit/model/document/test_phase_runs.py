"""What a rank does in a phase, as runs, however the phase holds its places and sizes."""

from __future__ import annotations

import numpy as np
import pytest
from fold_builder import Event, model_of

from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.phase import ListedOffsets, Phase, UnknownOffsets
from wavetank.trace.schema import UNKNOWN


def phase_of(events: list[Event]) -> Phase:
    (phase,) = model_of(events).phases
    return phase


def strided(rank: int, rs: int = 10) -> list[Event]:
    return [Event(rank, "pwrite", offset=rank * 100 + i * 1000, size=rs) for i in range(4)]


def columns(phase: Phase, rank: int) -> list[list[int]]:
    runs = phase.runs(rank, 0)
    return [getattr(runs, n).tolist() for n in ("count", "size", "moved", "offset", "disp")]


def test_a_linear_phase_is_one_run_of_each_rank() -> None:
    phase = phase_of([event for rank in (0, 1, 2) for event in strided(rank)])
    assert phase.offset[0].function == "linear"
    assert columns(phase, 2) == [[4], [10], [40], [200], [1000]]


def test_a_rank_goes_by_its_number_or_its_place_in_the_phase() -> None:
    phase = phase_of([event for rank in (1, 3) for event in strided(rank)])
    assert phase.ph_processid == (1, 3)
    assert phase.runs_at(1, 0).offset.tolist() == phase.runs(3, 0).offset.tolist() == [300]


def test_positions_are_those_in_the_view_where_there_is_one() -> None:
    phase = phase_of(strided(0))
    assert phase.positions is phase.offset
    in_view = (UnknownOffsets(),)
    assert phase.model_copy(update={"offset_view": in_view}).positions is in_view


def test_the_last_repetition_may_be_short() -> None:
    events = [
        Event(0, "pread", offset=i * 10, size=10, moved=7 if i == 3 else 10) for i in range(4)
    ]
    assert columns(phase_of(events), 0) == [[4], [10], [37], [0], [10]]


def test_listed_places_are_those_of_the_rank() -> None:
    places = (0, 5000, 300, 70_000, 1, 90_000, 12, 44)
    events = [
        Event(rank, "pwrite", offset=at + (rank * 7 if at != 300 else 0), size=10)
        for rank in range(2)
        for at in places
    ]
    phase = phase_of(events)
    assert isinstance(phase.offset[0], ListedOffsets)
    runs = phase.runs(1, 0)
    expanded = np.repeat(runs.offset, runs.count) + np.concatenate(
        [np.arange(n) * d for n, d in zip(runs.count.tolist(), runs.disp.tolist(), strict=True)]
    )
    assert expanded.tolist() == [at + (7 if at != 300 else 0) for at in places]


def test_of_unknown_places_the_sizes_are_told() -> None:
    phase = phase_of(strided(0))
    nowhere = phase.model_copy(update={"offset": (UnknownOffsets(),)})
    assert columns(nowhere, 0) == [[4], [10], [40], [UNKNOWN], [0]]
    sizes = ListedSizes.of([phase.runs(0, 0)])
    listed = phase.model_copy(update={"offset": (UnknownOffsets(sizes=sizes),)})
    assert listed.runs(0, 0).offset.tolist() == [UNKNOWN]
    assert int(listed.runs(0, 0).moved.sum()) == 40


def test_a_rank_without_a_part_is_an_error() -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        phase_of(strided(0)).runs(3, 0)
