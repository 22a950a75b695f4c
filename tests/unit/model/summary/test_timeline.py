"""What of a run a plot over time is made from."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from fold_builder import Event, fold_table, model_of

from wavetank.model.document.model import Model
from wavetank.model.summary import run_times, timeline
from wavetank.model.summary.run_times import find_idle


def rounds(n_ranks: int, n: int) -> list[Event]:
    """Phases of one write a rank, two files in turn."""
    return [
        Event(rank, "MPI_File_write_at_all", i % 2, i * 100, 100 + i, communication=1, start_ns=i * 1000)
        for rank in range(n_ranks)
        for i in range(n)
    ]  # fmt: skip


def test_all_phases_of_one_rank_are_kept_where_ranks_are_thinned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timeline, "POINTS", 10)
    model = model_of(rounds(4, 60))
    assert len(model.phases) == 120 // 2
    assert {point.rank for point in model.timeline} == {0}
    assert sorted(point.tick_first for point in model.timeline) == [1 + 2 * i for i in range(60)]


def test_a_thinned_rank_shows_all_of_its_time_and_both_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timeline, "POINTS", 10)
    monkeypatch.setattr(timeline, "POINTS_OF_RANK", 30)
    points = model_of(rounds(1, 60)).timeline
    assert len(points) == 30
    ticks = sorted(point.tick_first for point in points)
    # Every second phase would be all of one file; here each is among them, and no gap is wider than three phases.
    assert {point.file_id for point in points} == {1, 2}
    assert max(b - a for a, b in pairwise(ticks)) <= 6


def test_turns_of_reads_and_writes_of_very_many_ranks_are_told_apart() -> None:
    # One phase (read, write, write): too many ranks for a point of each operation.
    events = [
        Event(rank, "pread" if turn % 3 == 0 else "pwrite", 0, rank * 10, 10,
              start_ns=turn * 1000, duration_ns=500)
        for rank in range(2000)
        for turn in range(6)
    ]  # fmt: skip
    found = model_of(events).timeline
    assert 2000 < len(found) <= timeline.POINTS
    of_rank_0 = [(point.iop_type, point.count) for point in found if point.rank == 0]
    assert of_rank_0 == [("pread", 1), ("pwrite", 1), ("pwrite", 1)] * 2


def test_a_point_stands_for_operations_of_one_call() -> None:
    # Reads and writes in turn, many more than a rank's points in a phase.
    events = [
        Event(0, "pread" if turn % 2 else "pwrite", 0, 0, 10, start_ns=turn * 1000, duration_ns=5)
        for turn in range(2000)
    ]
    found = model_of(events).timeline
    for call in ("pread", "pwrite"):
        assert sum(point.count for point in found if point.iop_type == call) == 1000


MS = 1_000_000


def bursts(n: int, calls: tuple[str, ...] = ("pwrite",), each: int = 10) -> list[Event]:
    """Bursts of ``each`` writes of 1 ms, and what else is called after each; one every second."""
    events = []
    for burst in range(n):
        for i in range(each):
            at = burst * each + i
            events.append(Event(0, "pwrite", 0, at * 100, 100, start_ns=burst * 1000 * MS + i * MS, duration_ns=MS))  # fmt: skip
        events += [
            Event(0, call, 0, start_ns=burst * 1000 * MS + each * MS, duration_ns=MS)
            for call in calls[1:]
        ]
    return events


def spans(model: Model) -> list[tuple[int, int]]:
    """Start and end of each burst of the timeline, ms; points that touch are one."""
    found: list[tuple[int, int]] = []
    for point in sorted(model.timeline, key=lambda point: point.start_s or 0.0):
        start, end = round((point.start_s or 0) * 1000), round((point.end_s or 0) * 1000)
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


@pytest.mark.parametrize("calls", [("pwrite",), ("pwrite", "fsync")])
def test_bursts_keep_their_times_where_their_operations_are_one_phase(
    calls: tuple[str, ...],
) -> None:
    model = model_of(bursts(40, calls))
    assert len(model.phases) == 1
    assert spans(model) == [(burst * 1000, burst * 1000 + 10) for burst in range(40)]
    assert sum(point.count for point in model.timeline) == 400
    # Each burst goes on where the one before it ended.
    ends = [(point.offset_first, point.offset_last) for point in model.timeline]
    assert ends[0][0] == 0 and ends[-1][1] == 39_900
    assert {point.ph_id for point in model.timeline} == {1}


def test_bursts_in_a_loop_of_the_tracers_keep_their_times() -> None:
    # (write, write, fsync) x 40, 1 s apart, as three rows of a loop: its repetitions are alike.
    once = [replace(event, size=100) if event.op == "pwrite" else event for event in bursts(1, ("pwrite", "fsync"), 2)]  # fmt: skip
    table = fold_table(once)
    columns = {
        "count": 40, "moved": 40 * table.moved, "disp": [200, 200, 0], "view_disp": [200, 200, 0],
        "end_ns": table.end_ns + 39 * 1000 * MS, "busy_ns": 40 * MS, "subtick_step": 3, "loop": 1,
    }  # fmt: skip
    full = {
        name: np.broadcast_to(np.asarray(value, dtype=np.int64), 3)
        for name, value in columns.items()
    }
    model = model_of(replace(table, **full))
    assert spans(model) == [(burst * 1000, burst * 1000 + 2) for burst in range(40)]
    assert sum(point.count for point in model.timeline) == 80


def test_another_ranks_io_does_not_fill_a_ranks_idle_times() -> None:
    other = [Event(1, "pread", 1, i * 100, 100, start_ns=i * 10 * MS, duration_ns=10 * MS) for i in range(1000)]  # fmt: skip
    model = model_of([*bursts(10), *other])
    mine = [point for point in model.timeline if point.rank == 0]
    assert len({round(point.start_s or 0) for point in mine}) == 10
    assert all((point.end_s or 0) - (point.start_s or 0) < 0.011 for point in mine)


def test_calls_inside_of_others_do_not_make_idle_times() -> None:
    """An MPI-IO call of 5 s whose POSIX calls are at its end; rows are in the order in which calls ended."""
    events = [
        Event(0, "MPI_File_write", 0, 0, 100, start_ns=0, duration_ns=MS),
        Event(0, "pwrite", 0, 100, 100, start_ns=4999 * MS, duration_ns=MS),
        Event(0, "MPI_File_write", 0, 100, 100, start_ns=MS, duration_ns=4999 * MS),
        Event(0, "MPI_File_write", 0, 200, 100, start_ns=9000 * MS, duration_ns=MS),
    ]
    idle = find_idle(fold_table(events))
    assert list(
        zip(idle.seq.tolist(), idle.start_ns.tolist(), idle.end_ns.tolist(), strict=True)
    ) == [(3, 5000 * MS, 9000 * MS)]


def test_of_very_many_idle_times_the_longest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_times, "MOST_IDLE_TIMES", 5)
    events = [
        Event(0, "pwrite", 0, i * 10, 10, start_ns=i * (1000 + i) * MS, duration_ns=MS)
        for i in range(20)
    ]
    idle = find_idle(fold_table(events))
    assert idle.seq.tolist() == [15, 16, 17, 18, 19]  # distances grow


def test_places_in_no_order_are_told_from_lines() -> None:
    offsets = list(range(200))
    random.Random(1).shuffle(offsets)
    events = [
        Event(0, "pwrite", 0, at * 4096, 4096, start_ns=i * MS) for i, at in enumerate(offsets)
    ]
    found = model_of(events).timeline
    assert [point.offset_first for point in found] == [at * 4096 for at in offsets]
    assert all(point.count == 1 for point in found)
    # More than there is room for: each point is one place, for the operations up to the next point.
    shown = model_of([replace(event, file=i) for i in range(40) for event in events]).timeline
    several = [point for point in shown if point.count > 1]
    assert several and all(point.scattered and point.offset_first == point.offset_last for point in several)  # fmt: skip
    straight = model_of(
        [replace(event, offset=i * 4096) for i, event in enumerate(events)]
    ).timeline
    assert not any(point.scattered for point in straight)
