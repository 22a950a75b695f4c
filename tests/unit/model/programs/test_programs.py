"""The order of operations: what recurs, what is said once, which ranks share a program."""

from __future__ import annotations

from dataclasses import replace

import pytest
from applications import bt_io
from fold_builder import Event, fold_table, model_of, on_rank

from wavetank.model.document.file_views import programs_by_view, shared_programs
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    PauseStep,
    Program,
    RepeatStep,
    SyncStep,
)
from wavetank.model.document.step_walks import unrolled
from wavetank.model.rules import Rules
from wavetank.notes import texts
from wavetank.trace.schema import COLUMNS


def test_a_loop_of_open_write_close_is_one_repeat_step() -> None:
    events = [
        event
        for i in range(50)
        for event in (
            Event(0, "open", handle=i, arg=1),
            Event(0, "write", offset=i * 100, size=100, handle=i),
            Event(0, "close", handle=i),
        )
    ]
    (program,) = model_of(events).programs
    (loop,) = program.steps
    assert isinstance(loop, RepeatStep)
    assert loop.times == 50
    assert [step.step for step in loop.steps] == ["file", "data", "file"]


def test_loops_of_loops_are_found() -> None:
    # (read A, read A, write B) x 3, sync, all of it 4 times.
    events = []
    for outer in range(4):
        for inner in range(3):
            i = outer * 3 + inner
            events += [Event(0, "pread", 0, offset=i * 20 + j * 10, size=10) for j in range(2)]
            events.append(Event(0, "pwrite", 1, offset=i * 7, size=7))
        events.append(Event(0, "MPI_Barrier", -1, arg=0))
    (program,) = model_of(events, communicators=((0,),)).programs
    (loop,) = program.steps
    assert isinstance(loop, RepeatStep)
    assert loop.times == 4
    inner_loop, sync = loop.steps
    assert isinstance(inner_loop, RepeatStep)
    assert inner_loop.times == 3
    assert sync == SyncStep(communicator=0)


def test_ranks_that_differ_only_in_offsets_share_a_program() -> None:
    base = [
        Event(0, "open"),
        *(Event(0, "pwrite", offset=i * 8, size=8) for i in range(5)),
        Event(0, "close"),
    ]
    events = [
        event
        for rank in range(6)
        for event in on_rank(
            rank, [Event(0, e.op, offset=e.offset + 1000 * rank, size=e.size) for e in base]
        )
    ]
    model = model_of(events)
    (program,) = model.programs
    assert program.ranks == tuple(range(6))
    assert program.steps[1] == DataStep(ph_id=1, n=5, handle=0)


def test_a_read_that_finds_the_end_of_the_file_is_a_file_step_with_its_size() -> None:
    events = [
        *(Event(0, "read", offset=i * 10, size=10) for i in range(5)),
        Event(0, "read", offset=50, size=10, moved=0),
    ]
    for fold in (False, True):
        model = model_of(events, fold=fold)
        (phase,) = model.phases
        assert phase.ph_niop == 5
        assert model.programs[0].steps[1] == FileStep(
            iop_type="read", file_id=1, handle=0, size=10, offset=50
        )


def test_seeks_to_the_next_operation_say_so_and_null_seeks_are_counted() -> None:
    events = [Event(0, "open")]
    for i in range(20):
        events += [
            Event(0, "lseek", offset=i * 500),
            Event(0, "read", offset=i * 500, size=10),
            *[Event(0, "lseek", offset=i * 500 + 10, arg=1)] * 3,
        ]
    (program,) = model_of(events).programs
    # The first seek leads to 0, where the pointer is, and is a seek like the others all the same.
    seek = FileStep(iop_type="lseek", file_id=1, handle=0, offset=None)
    read = DataStep(ph_id=1, n=1, handle=0, null_seeks=3)
    assert len(program.steps) == 2
    flat = list(unrolled(program.steps))
    assert flat == [FileStep(iop_type="open", file_id=1, handle=0), *[seek, read] * 20]


def test_null_seeks_between_a_pause_and_a_read_stay_before_the_read() -> None:
    # In each round: pause, seek to where the pointer is, read, the same seek again.
    events = [Event(0, "open", start_ns=0, duration_ns=1)]
    for i in range(4):
        at = 1000 * (i + 1)
        events += [
            Event(0, "lseek", offset=i * 10, arg=1, start_ns=at, duration_ns=1),
            Event(0, "read", offset=i * 10, size=10, start_ns=at + 1, duration_ns=1),
            Event(0, "lseek", offset=i * 10 + 10, arg=1, start_ns=at + 2, duration_ns=1),
        ]
    kept = model_of(events, Rules(pauses_s=100e-9)).programs[0]
    flat = [type(step).__name__ for step in unrolled(kept.steps)]
    assert flat == ["FileStep", *["PauseStep", "FileStep", "DataStep"] * 4]
    nulls = [step.null_seeks for step in unrolled(kept.steps) if isinstance(step, DataStep)]
    assert nulls == [1] * 4
    # Without pauses there is no first call after one: all seeks are counted with the reads.
    (step,) = [step for step in model_of(events).programs[0].steps if isinstance(step, DataStep)]
    assert (step.n, step.null_seeks) == (4, 8)


def test_a_step_inside_a_repetition_makes_single_operations() -> None:
    # (read, fsync, write) x 6 on one file: the pattern is read + write, and fsync lies inside.
    events = []
    for i in range(6):
        events += [
            Event(0, "pread", offset=i * 10, size=10),
            Event(0, "fsync"),
            Event(0, "pwrite", offset=1000 + i * 10, size=10),
        ]
    model = model_of(events)
    (phase,) = model.phases
    assert len(phase.pattern) == 2
    (program,) = model.programs
    data = [step for step in unrolled(program.steps) if isinstance(step, DataStep)]
    assert all(step.single for step in data)
    assert sum(step.n for step in data) == 12


def test_pauses_are_kept_from_the_asked_length_on() -> None:
    second = 10**9
    starts = [0, second, second + 2000, 3 * second, 5 * second]
    events = [
        Event(0, "pwrite", offset=i * 10, size=10, start_ns=start, duration_ns=1000)
        for i, start in enumerate(starts)
    ]
    flat = list(unrolled(model_of(events, Rules(pauses_s=0.5)).programs[0].steps))
    assert [step.seconds for step in flat if isinstance(step, PauseStep)] == [1.0, 2.0, 2.0]
    assert [step.n for step in flat if isinstance(step, DataStep)] == [1, 2, 1, 1]
    assert not any(isinstance(step, PauseStep) for step in model_of(events).programs[0].steps)


def test_two_opens_at_once_are_two_handles() -> None:
    events = [Event(0, "open", handle=7), Event(0, "open", handle=9)]
    for i in range(4):
        events += [
            Event(0, "pread", offset=i * 10, size=10, handle=7),
            Event(0, "pwrite", offset=500 + i * 10, size=10, handle=9),
        ]
    model = model_of(events)
    (phase,) = model.phases
    assert [(member.iop_type, member.handle) for member in phase.pattern] == [
        ("pread", 0),
        ("pwrite", 1),
    ]


def test_a_failed_write_is_a_file_step_with_its_error_and_in_no_phase() -> None:
    events = [
        *(Event(0, "pwrite", offset=i * 10, size=10) for i in range(4)),
        Event(0, "pwrite", offset=40, size=10, moved=0, error=28),
    ]
    model = model_of(events)
    assert model.app_st == 40
    assert model.programs[0].steps[1] == FileStep(
        iop_type="pwrite", file_id=1, handle=0, size=10, offset=40, error=28
    )
    assert any("1 reads or writes failed" in warning for warning in texts(model.notes))


@pytest.mark.parametrize("op", ["pwrite", "MPI_File_write_at"])
def test_pauses_in_a_folded_row_are_kept(op: str) -> None:
    # A write every 0.25 s: the tracer folds them into one row of first start, last end and sum.
    events = [
        Event(0, op, offset=i * 10, size=10, start_ns=i * 250_000_000, duration_ns=1_000_000)
        for i in range(8)
    ]
    model = model_of(events, Rules(pauses_s=0.1), fold=True)
    steps = list(unrolled(model.programs[0].steps))
    pauses = [step.seconds for step in steps if isinstance(step, PauseStep)]
    assert pauses == [pytest.approx(0.249, rel=0.01)] * 7
    assert sum(step.n for step in steps if isinstance(step, DataStep)) == 8
    # Pauses shorter than asked for are none.
    assert len(model_of(events, Rules(pauses_s=0.3), fold=True).programs[0].steps) == 1


def test_pauses_in_a_folded_loop_are_kept() -> None:
    events = [
        event
        for i in range(10)
        for event in (
            Event(0, "pread", 0, i * 10, 10, start_ns=i * 10**9, duration_ns=10**6),
            Event(0, "pwrite", 1, i * 10, 10, start_ns=i * 10**9 + 10**6, duration_ns=10**6),
        )
    ]
    plain = fold_table(events)
    columns = {name: getattr(plain, name)[:2].copy() for name in COLUMNS}
    for name, value in (
        ("count", 10), ("moved", 100), ("busy_ns", 10**7), ("disp", 10), ("view_disp", 10), ("loop", 1), ("subtick_step", 2)
    ):  # fmt: skip
        columns[name][:] = value
    columns["end_ns"] = plain.end_ns[-2:]
    model = model_of(replace(plain, **columns), Rules(pauses_s=0.1))
    pauses = [s.seconds for s in unrolled(model.programs[0].steps) if isinstance(s, PauseStep)]
    assert pauses == [pytest.approx(0.998, rel=0.01)] * 9


def test_a_gap_of_computation_parts_folded_rows_too() -> None:
    events = [Event(0, "pwrite", offset=i * 10, size=10, start_ns=i * 10**10) for i in range(6)]
    for fold in (False, True):
        assert len(model_of(events, Rules(split_at_computation_s=5.0), fold=fold).phases) == 6


def test_ranks_with_different_views_share_a_program() -> None:
    events, views = bt_io(12, 4, steps=5)
    model = model_of(events, views=views)
    (program,) = model.programs
    assert program.ranks == (0, 1, 2, 3)
    sets = [s for s in unrolled(program.steps) if isinstance(s, FileStep) and s.view_ids]
    assert [step.view_ids for step in sets] == [(0, 1, 2, 3)] * 2
    # Apart again, each rank sets its own.
    apart = programs_by_view(model.programs)
    assert [one.ranks for one in apart] == [(0,), (1,), (2,), (3,)]
    for one in apart:
        (rank,) = one.ranks
        own = {s.view_id for s in unrolled(one.steps) if isinstance(s, FileStep)}
        assert own == {None, rank}
    assert shared_programs(apart) == model.programs


def test_ranks_with_the_same_views_stay_together_when_taken_apart() -> None:
    events, views = bt_io(12, 4, steps=3)
    same = {0: 0, 1: 0, 2: 2, 3: 2}
    events = [replace(e, view=same[e.rank]) if e.view >= 0 else e for e in events]
    model = model_of(events, views=views)
    assert [one.ranks for one in programs_by_view(model.programs)] == [(0, 1), (2, 3)]


def test_programs_of_many_steps_are_one_only_where_all_their_steps_are_equal() -> None:
    def program(rank: int, last: int) -> Program:
        steps = (*(DataStep(ph_id=number % 7 + 1, n=1) for number in range(40)), last_step(last))
        return Program(ranks=(rank,), steps=(RepeatStep(times=2, steps=steps), *steps))

    def last_step(view: int) -> FileStep:
        return FileStep(iop_type="MPI_File_set_view", file_id=1, handle=0, view_id=view)

    def other(rank: int) -> Program:
        found = program(rank, 0)
        return found.model_copy(update={"steps": (*found.steps[:-1], DataStep(ph_id=9, n=1))})

    found = shared_programs([program(0, 0), other(1), program(2, 5), other(3)])
    assert [one.ranks for one in found] == [(0, 2), (1, 3)]
    (last,) = [step for step in found[0].steps if isinstance(step, FileStep)]
    assert last.view_ids == (0, 5)
    assert found[1].steps == other(1).steps
