"""What of a run a plot over time is made from."""

from __future__ import annotations

from itertools import pairwise

import pytest
from fold_builder import Event, model_of

from wavetank.model import timeline


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
    monkeypatch.setattr(timeline, "MAX_POINTS", 10)
    model = model_of(rounds(4, 60))
    assert len(model.phases) == 120 // 2
    assert {point.rank for point in model.timeline} == {0}
    assert sorted(point.tick_first for point in model.timeline) == [1 + 2 * i for i in range(60)]


def test_a_thinned_rank_shows_all_of_its_time_and_both_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timeline, "MAX_POINTS", 10)
    monkeypatch.setattr(timeline, "MAX_OF_ONE_RANK", 30)
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
    assert 2000 < len(found) <= timeline.MAX_POINTS
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
