"""Where the gaps in an application's memory are, by phases."""

from __future__ import annotations

import numpy as np
import pytest
from fold_builder import Event, trace_of
from pydantic import ValidationError

from wavetank.document import provenance
from wavetank.errors import ModelError
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.notes import texts
from wavetank.trace.arguments import MEMORY_VIEW, Memory
from wavetank.trace.schema import FileView
from wavetank.variants.own_places import Own, own_phase

VIEWS = (FileView(0, 1, 1000, (0, 600), (250, 250)), FileView(0, 1, 1500, (500,), (500,)))
N = 6  # calls of each kind
SAID = (
    "phase 1: the application's memory has gaps and a replay's has none, so that the MPI library may make other calls "
    "below these"
)


def model_of(events: list[Event], *, fold: bool = False) -> Model:
    return extract_model(trace_of(events, fold, views=VIEWS), provenance())


def calls(*args: int, rank: int = 0, op: str = "MPI_File_write_at") -> list[Event]:
    """One call of 500 bytes after the other with memory of these kinds."""
    return [
        Event(rank, op, 0, (rank * N + step) * 500, 500, arg=arg) for step, arg in enumerate(args)
    ]


@pytest.mark.parametrize("fold", [False, True])
def test_a_phase_says_where_the_gaps_in_the_memory_of_its_calls_are(fold: bool) -> None:
    model = model_of(calls(*[MEMORY_VIEW + 1] * N), fold=fold)
    (phase,) = model.phases
    assert phase.memory == ((1,),)
    assert phase.memory_at(0, 0) == 1
    assert (texts(model.notes, "unrecorded"), texts(model.notes, "library")) == ((), ())
    view = model.views[1]
    assert (view.extent, view.run_offsets, view.run_lengths) == (1500, (500,), (500,))


def test_ranks_of_a_phase_may_have_different_memory() -> None:
    events = [*calls(*[MEMORY_VIEW] * N), *calls(*[MEMORY_VIEW + 1] * N, rank=1)]
    (phase,) = model_of(events).phases
    assert phase.memory == ((0, 1),)
    assert [phase.memory_at(place, 0) for place in (0, 1)] == [0, 1]


def test_a_rank_that_gets_a_file_of_its_own_keeps_its_memory() -> None:
    events = [*calls(*[MEMORY_VIEW] * N), *calls(*[MEMORY_VIEW + 1] * N, rank=1)]
    (phase,) = model_of(events).phases
    had = np.array([[N * 500, 2 * N * 500]], dtype=np.int64)
    assert own_phase(phase, 1, Own(2, 2, had)).memory == ((1,),)


@pytest.mark.parametrize("fold", [False, True])
def test_members_of_a_pattern_have_memory_of_their_own(fold: bool) -> None:
    events = []
    for step in range(N):
        written, read = Memory.PLAIN, MEMORY_VIEW
        events += [
            Event(0, "MPI_File_write_at", 0, step * 500, 500, arg=written),
            Event(0, "MPI_File_read_at", 0, step * 500, 500, arg=read),
        ]
    (phase,) = model_of(events, fold=fold).phases
    assert [member.iop_type for member in phase.pattern] == [
        "MPI_File_write_at",
        "MPI_File_read_at",
    ]
    assert phase.memory == ((-1,), (0,))


@pytest.mark.parametrize("other", [MEMORY_VIEW + 1, Memory.PLAIN, Memory.GAPS])
def test_memory_that_changes_from_call_to_call_is_told_by_its_kind_alone(other: int) -> None:
    model = model_of(calls(*[MEMORY_VIEW, MEMORY_VIEW, other] * 2))
    (phase,) = model.phases
    assert phase.memory is None
    assert texts(model.notes, "library") == (SAID,)


def test_memory_of_which_it_is_not_known_where_its_gaps_are_is_told_by_its_kind_alone() -> None:
    model = model_of(calls(*[Memory.GAPS] * N))
    assert model.phases[0].memory is None
    assert texts(model.notes, "library") == (SAID,)


def test_memory_that_a_trace_does_not_hold_is_damage() -> None:
    with pytest.raises(
        ModelError, match="operation 0 of rank 0 has memory that the trace does not hold"
    ):
        model_of(calls(*[MEMORY_VIEW + 2] * N))


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        (((2,),), "names a view of memory that is not there"),
        (((0, 1, 0),), "has memory neither of all ranks nor of each of its 1"),
        (((0,), (0,)), "has 1 operations in its pattern and memory of 2"),
    ],
)
def test_a_model_whose_memory_is_of_nothing_is_refused(
    memory: tuple[tuple[int, ...], ...], said: str
) -> None:
    body = model_of(calls(*[MEMORY_VIEW] * N)).model_dump(mode="json")
    body["phases"][0]["memory"] = memory
    with pytest.raises(ValidationError, match=said):
        Model.model_validate(body)
