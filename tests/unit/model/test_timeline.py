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
