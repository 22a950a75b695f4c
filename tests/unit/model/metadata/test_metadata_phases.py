"""Phases of calls that move no data."""

from __future__ import annotations

import os

import pytest
from fold_builder import Event, model_of

from wavetank.errors import ModelError
from wavetank.model.document.model import Model

CREATE = os.O_CREAT | os.O_WRONLY
MEET = (0, 1)


def on(rank: int, op: str, file: int, *, handle: int = -1, arg: int = 0, error: int = 0) -> Event:
    """A call that moves no data."""
    return Event(rank, op, file, offset=-1, handle=handle, arg=arg, error=error)


def meet(rank: int) -> Event:
    """A collective of all ranks: the one that the trace has."""
    return Event(rank, "MPI_Barrier", -1, offset=-1, handle=-1, communication=1)


def benchmark(rank: int, files: list[int]) -> list[Event]:
    """Create, stat, open, remove, each for all files and with a collective before it."""
    made = [
        event
        for number, file in enumerate(files)
        for event in (
            on(rank, "open", file, handle=number, arg=CREATE),
            on(rank, "close", file, handle=number),
        )
    ]
    opened = [
        event
        for number, file in enumerate(files, start=len(files))
        for event in (on(rank, "open", file, handle=number), on(rank, "close", file, handle=number))
    ]
    seen = [on(rank, "stat", file) for file in files]
    gone = [on(rank, "unlink", file) for file in files]
    return [e for part in (made, seen, opened, gone) for e in (meet(rank), *part)]


def mdtest(shared: bool) -> Model:
    """Two ranks with three files each."""
    paths = [
        f"/out/{'all' if shared else rank}/file.{rank}.{n}" for rank in range(2) for n in range(3)
    ]
    return model_of(
        [*benchmark(0, [0, 1, 2]), *benchmark(1, [3, 4, 5])], paths=paths, communicators=(MEET,)
    )


def test_a_run_that_moves_no_data_has_a_phase_for_each_kind_of_calls() -> None:
    model = mdtest(shared=False)
    assert not model.phases
    assert (model.app_np, model.app_nfiles, model.app_st) == (2, 0, 0)
    assert [
        (phase.ranks, [(call.call, call.n, call.n_objects) for call in phase.calls])
        for phase in model.metadata
    ] == [
        ((0, 1), [("create", 6, 6), ("close", 6, 6)]),
        ((0, 1), [("stat", 6, 6)]),
        ((0, 1), [("open", 6, 6), ("close", 6, 6)]),
        ((0, 1), [("unlink", 6, 6)]),
    ]
    assert [phase.md_id for phase in model.metadata] == [1, 2, 3, 4]


@pytest.mark.parametrize(("shared", "sharing", "parents"), [(True, "one", 1), (False, "own", 2)])
def test_a_phase_says_who_shares_the_directories(shared: bool, sharing: str, parents: int) -> None:
    first = mdtest(shared).metadata[0]
    assert (first.sharing, first.n_parents) == (sharing, parents)


def test_names_that_differ_in_numbers_only_are_one_family() -> None:
    first = mdtest(shared=False).metadata[0]
    assert [(family.pattern, family.n) for family in first.names] == [("*/file.*.*", 6)]
    assert first.n_other_names == 0


def test_without_collectives_a_phase_ends_where_the_kinds_of_calls_change_for_good() -> None:
    events = [on(0, "mkdir", file, arg=0o755) for file in (0, 1)]
    for file in (2, 3):  # two kinds in turns are one phase
        events += [on(0, "link", file, arg=0), on(0, "link", file, arg=1), on(0, "chmod", file)]
    events += [on(0, "unlink", file) for file in (2, 3)]
    model = model_of(events, paths=["/d/a", "/d/b", "/d/a/f", "/d/b/f"])
    assert [[call.call for call in phase.calls] for phase in model.metadata] == [
        ["mkdir"], ["link", "chmod"], ["unlink"],
    ]  # fmt: skip
    assert [call.n for call in model.metadata[1].calls] == [2, 2]  # of two names, one call
    assert model.metadata[0].n_directories == 2


def test_calls_on_files_whose_data_the_rank_moves_stay_with_that_data() -> None:
    events = [
        on(0, "open", 0, handle=0, arg=CREATE),
        Event(0, "write", 0, size=8, handle=0),
        on(0, "close", 0, handle=0),
        on(0, "unlink", 0),
        on(0, "stat", 1),
        on(1, "stat", 0),  # of data that the other rank wrote
    ]
    model = model_of(events)
    assert model.phases[0].metadata_ops == {"open": 1, "close": 1, "unlink": 1}
    assert [(phase.ranks, phase.n_calls, phase.n_files) for phase in model.metadata] == [
        ((0, 1), 2, 2)
    ]


def test_failed_calls_are_counted_and_part_no_phase() -> None:
    events = [on(0, "stat", 0), on(0, "stat", 1, error=2), on(0, "stat", 2)]
    (phase,) = model_of(events).metadata
    assert [(call.n, call.n_failed) for call in phase.calls] == [(3, 1)]


def test_equal_phases_one_after_another_are_one() -> None:
    events = [e for file in range(3) for e in (meet(0), on(0, "mkdir", file), meet(0))]
    (phase,) = model_of(events, n_ranks=2, communicators=(MEET,)).metadata
    assert (phase.times, phase.n_calls) == (3, 3)


def test_time_between_the_stretches_of_a_phase_is_none_of_its_own() -> None:
    apart = 10**9
    events = [
        Event(rank, "stat", rank, offset=-1, handle=-1, start_ns=rank * apart, duration_ns=1000)
        for rank in range(3)
    ]
    (phase,) = model_of(events).metadata
    assert phase.time_s == pytest.approx(3e-6)
    assert phase.calls_per_s == pytest.approx(1e6)


def test_handles_tell_opens_that_create_from_those_that_do_not() -> None:
    names = [call.call for phase in mdtest(shared=True).metadata for call in phase.calls]
    assert (names.count("create"), names.count("open"), names.count("close")) == (1, 1, 2)


def test_a_trace_without_any_call_on_a_file_is_refused() -> None:
    with pytest.raises(ModelError, match="no operation on a file"):
        model_of([meet(0)], communicators=(MEET,))


def test_calls_on_a_top_level_folder_are_of_the_family_of_its_name() -> None:
    """As of a program that makes every folder above its own: "/" has no folder, "/scratch" has "/"."""
    paths = ["/", "/scratch", "/scratch/run"]
    (phase,) = model_of([on(0, "stat", file) for file in range(3)], paths=paths).metadata
    assert [family.pattern for family in phase.names] == ["/", "/scratch", "/scratch/run"]
