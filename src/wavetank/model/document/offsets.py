"""First offsets over ranks as one function, exactly; and positions in MPI file views."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from wavetank.model.document.phase import LinearOffsets
from wavetank.trace.schema import FileView


def fit_offsets(first: Sequence[int], ranks: Sequence[int], step: int) -> LinearOffsets | None:
    """Fit offset(rank, repetition) = a*rank + b*repetition + c exactly.

    Args:
        first: offset of each rank's first repetition, bytes.
        ranks: MPI_COMM_WORLD ranks, ascending, as many.
        step: bytes from one repetition to the next, the same for all ranks.

    Returns:
        The function, or None when no integers a and c reproduce every entry. With one rank a is 0.
    Source: method, section 2, "across ranks". Python ints: exact beyond 2^53.
    """
    if len(ranks) == 1:
        return LinearOffsets.model_construct(a=0, b=step, c=first[0])
    a, rest = divmod(first[-1] - first[0], ranks[-1] - ranks[0])
    c = first[0] - a * ranks[0]
    if rest or [a * rank + c for rank in ranks] != list(first):
        return None
    return LinearOffsets.model_construct(a=a, b=step, c=c)


class _Tiles(Protocol):
    """A view, of a trace or of a model."""

    @property
    def displacement(self) -> int: ...
    @property
    def extent(self) -> int: ...
    @property
    def run_offsets(self) -> tuple[int, ...]: ...
    @property
    def run_lengths(self) -> tuple[int, ...]: ...


class ViewPositions:
    """Absolute offsets of the bytes that a view shows.

    A tile may reach over those behind it: columns of a matrix begin one cell apart, and end with its last row.
    """

    def __init__(self, view: _Tiles) -> None:
        self._view = view
        self._ends = list(accumulate(view.run_lengths))

    @property
    def visible(self) -> int:
        """Bytes of a tile that the view shows."""
        return self._ends[-1] if self._ends else 0

    @property
    def tiles_reached_over(self) -> int:
        """How many of the tiles behind it a tile reaches into."""
        view = self._view
        if not self.visible or view.extent <= 0:
            return 0
        return (view.run_offsets[-1] + view.run_lengths[-1] - 1) // view.extent

    def absolute(self, position: int) -> int | None:
        """Offset in the file of byte ``position`` of the view; None for a view without bytes."""
        if not self._ends or self._ends[-1] == 0:
            return None
        tile, rest = divmod(position, self._ends[-1])
        run = bisect_right(self._ends, rest)
        before = self._ends[run - 1] if run else 0
        start = self._view.displacement + tile * self._view.extent + self._view.run_offsets[run]
        return start + rest - before

    def end(self, first: int, end: int) -> int:
        """Where in the file the highest byte of positions [first, end) ends; 0 for none."""
        if end <= max(first, 0) or not self.visible:
            return 0
        tile = (end - 1) // self.visible * self.visible  # of the last position
        lasts = (end - 1, tile - 1) if first < tile else (end - 1,)
        return max([self.absolute(last) or 0 for last in lasts]) + 1


def is_contiguous(view: FileView) -> bool:
    """Whether a view shows the file without holes from its displacement on."""
    starts = (0, *accumulate(view.run_lengths[:-1]))
    return sum(view.run_lengths) == view.extent and view.run_offsets == starts
