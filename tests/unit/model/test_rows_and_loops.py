"""One model of one run, however its calls are stored: as single rows, as runs, as loops that are laid out in part."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from fold_builder import Event, fold_table, model_of, trace_of

from model_events import unfold
from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, RepeatStep
from wavetank.model.events.loop_layout import take
from wavetank.model.events.single_rows import join_singles
from wavetank.model.rules import Rules
from wavetank.trace.schema import FoldTable

ONE_BY_ONE = Rules(families=False)


def told(model: Model) -> dict[str, object]:
    """What does not depend on the times of single calls, which rows do not keep."""
    without = {"provenance", "timeline", "run_times", "requirements"}
    found = model.model_dump(mode="json", exclude=without)
    for phase in found["phases"]:
        for name in ("start_s", "end_s", "io_time_s"):
            del phase[name]
    return found


Body = Sequence[tuple[str, int, int, int]]
"""Calls of a loop: name, file, size, and bytes from one repetition to the next."""


def repeated(body: Body, times: int, shift: int = 0) -> list[Event]:
    return [
        Event(0, call, file, shift + (1 << 20) * place + i * step, size)
        for i in range(times)
        for place, (call, file, size, step) in enumerate(body)
    ]


def as_loop(table: FoldTable, first: int, members: int, times: int, number: int) -> FoldTable:
    """The table with rows from ``first`` on as a loop of so many members."""
    n = members * times
    kept = np.r_[0 : first + members, first + n : len(table)]
    loop = take(table, kept)
    at = slice(first, first + members)
    last = slice(first + n - members, first + n)
    columns = {name: getattr(loop, name).copy() for name in ("count", "moved", "disp", "view_disp", "tick_step",
        "subtick_step", "end_ns", "busy_ns", "loop")}  # fmt: skip
    columns["count"][at], columns["loop"][at] = times, number
    for name in ("moved", "busy_ns"):
        columns[name][at] *= times
    for name, step in (("offset", "disp"), ("view_offset", "view_disp"), ("tick", "tick_step"), ("subtick", "subtick_step")):  # fmt: skip
        column = getattr(table, name)
        columns[step][at] = (column[last] - column[at]) // (times - 1)
    columns["end_ns"][at] = table.end_ns[last]
    return replace(loop, **columns)


def bodies(seed: int) -> tuple[Body, int]:
    """A loop by chance: up to four calls on two files, and how often it comes."""
    by_chance = random.Random(seed)
    calls = [
        (by_chance.choice(["pread", "pwrite", "pwrite"]), by_chance.randrange(2), by_chance.choice([512, 4096, 4096]),
         by_chance.choice([4096, 4096, 512, 0, 100_000]))
        for _ in range(by_chance.randrange(1, 5))
    ]  # fmt: skip
    return calls, by_chance.choice([5, 79, 80, 81, 82, 130, 500])


@pytest.mark.parametrize("seed", range(60))
def test_a_loop_gives_the_model_of_its_single_calls(seed: int) -> None:
    body, times = bodies(seed)
    ahead, behind = repeated([("pwrite", 0, 4096, 4096)], seed % 3), repeated([("pread", 1, 512, 7)], seed % 4, 1 << 30)  # fmt: skip
    events = [*ahead, *repeated(body, times), *behind]
    flat = fold_table(events)
    folded = as_loop(flat, len(ahead), len(body), times, 1)
    assert len(folded) == len(ahead) + len(body) + len(behind)
    of_flat, of_folded = model_of(flat, ONE_BY_ONE), model_of(folded, ONE_BY_ONE)
    assert told(of_folded) == told(of_flat)
    ids = {int(file.file_name[-1]): file.file_id for file in of_folded.files}
    done = [(e.iop_type, e.file_id, e.offset, e.size) for e in unfold(of_folded.programs, of_folded.phases, 0)]  # fmt: skip
    assert done == [(e.op, ids[e.file], e.offset, e.size) for e in events]


@pytest.mark.parametrize("seed", range(40))
def test_single_calls_give_the_same_model_joined_or_not(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_chance = random.Random(seed)
    events: list[Event] = []
    for _ in range(6):
        body, times = bodies(by_chance.randrange(1000))
        run = repeated(body[:1], times, by_chance.randrange(5) * 8192)
        if by_chance.random() < 0.3:
            run[-1] = replace(run[-1], moved=by_chance.randrange(run[-1].size))
        events += run
    table = fold_table(events)
    joined = join_singles(table, Rules())
    assert int(joined.count.sum()) == len(events)
    assert len(joined) < len(events) / 4
    assert told(model_of(table, ONE_BY_ONE)) == told(model_of(joined, ONE_BY_ONE))
    monkeypatch.setattr("wavetank.model.extract.join_singles", lambda table, rules: table)
    assert told(model_of(table, ONE_BY_ONE)) == told(model_of(joined, ONE_BY_ONE))


def test_calls_below_mpi_io_are_joined_beside_it_and_stay_in_its_calls() -> None:
    events = []
    for i in range(50):
        events.append(Event(0, "pwrite", 0, i * 10, 10, start_ns=i * 100 + 10, duration_ns=50))
        events.append(Event(0, "MPI_File_write_at", 0, i * 10, 10, start_ns=i * 100, duration_ns=80))  # fmt: skip
    both = dict.fromkeys((1, 2), False)
    rules = Rules(split_at_communication=both)
    assert len(join_singles(fold_table(events), rules)) == 2
    model = model_of(events, rules)
    assert [(phase.level, phase.by_library, phase.ph_nrep) for phase in model.phases] == [
        ("mpiio", False, 50), ("posix", True, 50),
    ]  # fmt: skip
    (relation,) = model.relations
    assert (relation.ph_id, relation.below, relation.n_operations) == (1, 2, 50)
    # One that was made between two MPI-IO calls is the application's, and stays by itself.
    events[50] = replace(events[50], start_ns=events[50].start_ns - 30, duration_ns=15)
    rows = join_singles(fold_table(events), rules)
    assert 1 in rows.count.tolist() and len(rows) < 10


def test_more_turns_than_pieces_are_one_phase_of_each_call() -> None:
    events, end = [], 0
    for i in range(90):
        events += [Event(0, "pwrite", offset=end + j * 100, size=100) for j in range(130)]
        events.append(Event(0, "pread", offset=i * 7, size=7))
        end += 13_000
    model = model_of(events)
    assert [(phase.pattern[0].iop_type, phase.ph_nrep) for phase in model.phases] == [
        ("pwrite", 90 * 130), ("pread", 90),
    ]  # fmt: skip
    (program,) = model.programs
    (loop,) = program.steps
    assert isinstance(loop, RepeatStep) and loop.times == 90
    assert [step.n for step in loop.steps if isinstance(step, DataStep)] == [130, 1]


def test_dist_of_an_irregular_order_is_that_of_the_call_itself() -> None:
    by_chance = random.Random(1)
    turns = ["pread", "pwrite", *(by_chance.choice(["pread", "pwrite"]) for _ in range(400))]
    events = [Event(0, call, offset=by_chance.randrange(1 << 20) * 512, size=512) for call in turns]
    for phase in model_of(events).phases:
        first, second = [i for i, call in enumerate(turns) if call == phase.pattern[0].iop_type][:2]
        assert phase.pattern[0].dist == (0, second - first)


def test_a_failed_open_and_a_call_on_a_name_take_no_handle() -> None:
    of_rank_0 = [Event(0, "open", handle=-1, error=2), Event(0, "stat", handle=-1)]
    events = [
        event
        for rank in range(2)
        for event in (
            *([replace(one, rank=rank) for one in of_rank_0] if rank == 0 else []),
            Event(rank, "open", handle=rank),
            *(Event(rank, "write", offset=i * 8, size=8, handle=rank) for i in range(4)),
            Event(rank, "close", handle=rank),
        )
    ]
    (phase,) = model_of(events).phases
    assert phase.ph_processid == (0, 1)
    assert phase.pattern[0].handle == 0


def test_loops_that_a_program_does_not_have_are_laid_out_as_a_whole() -> None:
    """Seeks to a place of their own in each repetition are no loop of a program."""
    times = 100
    body = [("lseek", 0, 0, 977), ("pread", 0, 64, 64)]
    flat = fold_table(repeated(body, times))
    folded = as_loop(flat, 0, 2, times, 1)
    assert told(model_of(folded, ONE_BY_ONE)) == told(model_of(flat, ONE_BY_ONE))
    assert len(trace_of(folded).folds) == 2
