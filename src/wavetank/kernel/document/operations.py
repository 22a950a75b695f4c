"""Data operations, folded: what a model's phase or a benchmark's parameters make a rank do, comparable.

A ``Sequence`` of runs stands for operations in order; ``normal`` gives two equal sequences the same
runs however they were folded. Nothing is unfolded: the cost is that of the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.document.access_runs import RunArrays, canonical
from wavetank.model.document.phase import Offsets, Phase, Run, UnknownOffsets


@dataclass(frozen=True)
class Totals:
    """What a sequence of operations amounts to."""

    operations: int
    bytes: int


def totals(runs: Iterable[Run]) -> Totals:
    """Operations and bytes moved."""
    kept = list(runs)
    return Totals(sum(run.count for run in kept), sum(run.moved for run in kept))


def member_runs(
    phase: Phase, index: int, rank: int, offsets: Offsets | None = None
) -> list[Run] | None:
    """One rank's operations of one pattern member.

    Args:
        phase: the phase.
        index: of the pattern member.
        rank: one of the phase's.
        offsets: instead of the absolute ones (those in the view, for example).

    Returns:
        Runs in order; None where the offsets are unknown.
    """
    offsets = phase.offset[index] if offsets is None else offsets
    if isinstance(offsets, UnknownOffsets):
        return None
    return objects(phase.runs(rank, index, offsets))


def same_operations(ours: RunArrays, theirs: RunArrays) -> bool:
    """Whether two sequences are found the same as columns, however they are folded.

    What is not found the same may still be: only the last operation of a run can be short in columns.
    """
    return _equal(ours, theirs) or _equal(fewest(ours), fewest(theirs))


def _equal(ours: RunArrays, theirs: RunArrays) -> bool:
    return len(ours) == len(theirs) and all(
        np.array_equal(getattr(ours, name), getattr(theirs, name))
        for name in ("count", "size", "moved", "offset", "disp")
    )


def fewest(runs: RunArrays) -> RunArrays:
    """The same operations with as few runs as columns allow."""
    return canonical(runs.count, runs.size, runs.moved, runs.offset, runs.disp)


def objects(runs: RunArrays) -> list[Run]:
    """Runs in columns as objects: for those who look at single ones."""
    columns = (runs.count, runs.size, runs.offset, runs.disp, runs.moved)
    return [_run(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def normal(runs: Iterable[Run]) -> list[Run]:
    """The same operations with as few runs as possible, folded from the front.

    Only a sequence's last operation may be short in a run; disp of a single operation is 0.
    """
    folded: list[Run] = []
    for run in runs:
        piece = (
            run
            if run.count > 1 or run.disp == 0
            else _run(run.count, run.rs, run.offset, 0, run.moved)
        )
        if folded and (joined := _joined(folded[-1], piece)) is not None:
            folded[-1] = joined
        else:
            folded.append(piece)
    return folded


def _joined(first: Run, second: Run) -> Run | None:
    if first.rs != second.rs or first.moved != first.count * first.rs:
        return None
    step = first.disp if first.count > 1 else second.offset - first.offset
    if second.count > 1 and second.disp != step:
        return None
    if second.offset != first.offset + first.count * step:
        return None
    return _run(
        first.count + second.count, first.rs, first.offset, step, first.moved + second.moved
    )


def _run(count: int, rs: int, offset: int, disp: int, moved: int) -> Run:
    """Of our own numbers, of which there may be millions: nothing to validate."""
    return Run.model_construct(count=count, rs=rs, offset=offset, disp=disp, moved=moved)


def first_difference(ours: Sequence[Run], theirs: Sequence[Run]) -> int | None:
    """Number of the first operation, from 0, whose offset or size differs; None if all agree.

    A sequence that ends before the other differs where it ends.
    """
    position = 0
    left, right = _Cursor(ours), _Cursor(theirs)
    while not left.ended and not right.ended:
        a, b = left.run, right.run
        if a.rs != b.rs or left.offset != right.offset:
            return position
        n = min(a.count - left.i, b.count - right.i)
        if n > 1 and a.disp != b.disp:
            return position + 1
        position += n
        left.advance(n)
        right.advance(n)
    return None if left.ended and right.ended else position


class _Cursor:
    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs
        self._index = 0
        self.i = 0

    @property
    def ended(self) -> bool:
        return self._index >= len(self._runs)

    @property
    def run(self) -> Run:
        return self._runs[self._index]

    @property
    def offset(self) -> int:
        return self.run.offset + self.i * self.run.disp

    def advance(self, n: int) -> None:
        self.i += n
        if self.i == self.run.count:
            self._index += 1
            self.i = 0
