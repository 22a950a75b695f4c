"""Where the bytes of a decoded file type, or of a list of operations, lie: nests of regular pieces, and back.

Pieces are (offset, length) in order. A nest is a start, a length and for each level a count and a stride: a vector has one
level, a subarray of three dimensions two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.scaling.functions.rank_functions import At
from wavetank.trace.schema import Int64Array


@dataclass(frozen=True)
class Pieces:
    """Stretches of a file in order."""

    offset: Int64Array
    length: Int64Array

    def __len__(self) -> int:
        return len(self.offset)

    def same(self, other: Pieces) -> bool:
        """Whether both are the same stretches."""
        return np.array_equal(self.offset, other.offset) and np.array_equal(
            self.length, other.length
        )

    def joined(self) -> Pieces:
        """With pieces that follow on each other as one, as MPI libraries decode file types."""
        if len(self) < 2:
            return self
        new = np.append(True, self.offset[1:] != self.offset[:-1] + self.length[:-1])
        starts = np.flatnonzero(new)
        return Pieces(self.offset[starts], np.add.reduceat(self.length, starts))


@dataclass(frozen=True)
class PiecesFunction:
    """The pieces of all ranks of a group at a process count."""

    text: tuple[str, ...]
    n_checks: int
    of: Callable[[At], list[Pieces]]


def pieces_of(offsets: Iterable[int], lengths: Iterable[int]) -> Pieces:
    """From two columns."""
    return Pieces(np.array(offsets, dtype=np.int64), np.array(lengths, dtype=np.int64))


@dataclass(frozen=True)
class Nest:
    """Pieces at regular distances. ``levels`` are (count, stride), the innermost first."""

    start: int
    length: int
    levels: tuple[tuple[int, int], ...] = ()


MOST_NESTS = 16
"""Nests of one rank from which on pieces are looked at as blocks of an array only."""


def nests(pieces: Pieces) -> list[Nest] | None:
    """The pieces as nests, the longest from left to right; None where there would be many."""
    found = [
        Nest(start, length)
        for start, length in zip(pieces.offset.tolist(), pieces.length.tolist(), strict=True)
    ]
    while True:
        joined = _level(found)
        if len(joined) == len(found):
            return found if len(found) <= MOST_NESTS else None
        found = joined


def _level(found: Sequence[Nest]) -> list[Nest]:
    """Neighbours of one form at one distance joined."""
    made: list[Nest] = []
    at = 0
    while at < len(found):
        first = found[at]
        stop = at + 1
        if stop < len(found) and _alike(first, found[stop]):
            stride = found[stop].start - first.start
            while (
                stop < len(found)
                and _alike(first, found[stop])
                and found[stop].start - found[stop - 1].start == stride
            ):
                stop += 1
        if stop - at > 1:
            made.append(Nest(first.start, first.length, (*first.levels, (stop - at, stride))))
        else:
            made.append(first)
        at = stop
    return made


def _alike(a: Nest, b: Nest) -> bool:
    return (a.length, a.levels) == (b.length, b.levels)


def unnested(found: Sequence[Nest]) -> Pieces:
    """The pieces of nests, in order."""
    offsets, lengths = [], []
    for nest in found:
        offset = np.array([nest.start], dtype=np.int64)
        for count, stride in nest.levels:
            offset = (np.arange(count, dtype=np.int64)[:, None] * stride + offset[None, :]).ravel()
        offsets.append(offset)
        lengths.append(np.full(len(offset), nest.length, dtype=np.int64))
    if not offsets:
        return Pieces(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    return Pieces(np.concatenate(offsets), np.concatenate(lengths))


# --- blocks of an array ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Boxes:
    """Blocks of an array in order: half-open intervals, shape (n_boxes, n_dims), dimension 0 in bytes."""

    low: Int64Array
    high: Int64Array


MOST_ROWS = 4_000_000
"""Rows of an array that are looked at for one rank; more would take a GiB."""


def boxes(pieces: Pieces, strides: Sequence[int]) -> Boxes | None:
    """The pieces as blocks of an array with these strides (bytes, ascending, each a multiple of the one before).

    None where there would be more than ``MOST_ROWS`` rows.
    """
    row = strides[0]
    first = pieces.offset // row
    last = (pieces.offset + pieces.length - 1) // row
    n_rows = last - first + 1
    total = int(n_rows.sum())
    if total > MOST_ROWS:
        return None
    index = np.repeat(np.arange(len(pieces)), n_rows)
    within = np.arange(total) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
    number = first[index] + within
    low = np.maximum(pieces.offset[index] - number * row, 0)
    high = np.minimum(pieces.offset[index] + pieces.length[index] - number * row, row)
    lows, highs = [low], [high]
    rest = number
    for inner, outer in zip(strides, [*strides[1:], 0], strict=True):
        size = outer // inner
        digit = rest % size if size else rest
        rest = rest // size if size else rest
        lows.append(digit)
        highs.append(digit + 1)
    lo, hi = np.stack(lows, axis=1), np.stack(highs, axis=1)
    for dim in range(1, len(strides) + 1):
        lo, hi = _merged(lo, hi, dim)
    return Boxes(lo, hi)


def _merged(lo: Int64Array, hi: Int64Array, dim: int) -> tuple[Int64Array, Int64Array]:
    """Neighbours that go on along one dimension and are the same in all others, as one."""
    if len(lo) < 2:
        return lo, hi
    others = [d for d in range(lo.shape[1]) if d != dim]
    goes_on = (
        (lo[1:, others] == lo[:-1, others]).all(axis=1)
        & (hi[1:, others] == hi[:-1, others]).all(axis=1)
        & (lo[1:, dim] == hi[:-1, dim])
    )
    starts = np.flatnonzero(np.append(True, ~goes_on))
    ends = np.append(starts[1:], len(lo)) - 1
    top = hi[starts].copy()
    top[:, dim] = hi[ends, dim]
    return lo[starts], top


def rows_of(found: Boxes, strides: Sequence[int]) -> Pieces:
    """The rows of blocks, in order."""
    offsets, lengths = [], []
    for low, high in zip(found.low.tolist(), found.high.tolist(), strict=True):
        offset = np.array([low[0]], dtype=np.int64)
        for dim, stride in enumerate(strides, start=1):
            steps = np.arange(low[dim], high[dim], dtype=np.int64) * stride
            offset = (steps[:, None] + offset[None, :]).ravel()
        offsets.append(offset)
        lengths.append(np.full(len(offset), high[0] - low[0], dtype=np.int64))
    return Pieces(np.concatenate(offsets), np.concatenate(lengths))


def stride_chains(by_count: Mapping[int, Sequence[Pieces]]) -> list[tuple[int, ...]]:
    """Strides that an array of all these pieces may have, the most dimensions first."""
    seen: Counter[int] = Counter()
    for of_ranks in by_count.values():
        seen.update({stride for pieces in of_ranks for stride in _strides(pieces)})
    likely = sorted(stride for stride, _ in seen.most_common(10) if stride > 0)
    chains: list[tuple[int, ...]] = [()]
    for stride in likely:
        chains += [
            (*chain, stride)
            for chain in chains
            if len(chain) < 4 and (not chain or stride % chain[-1] == 0)
        ]
    weight = dict(seen)
    return sorted(
        (chain for chain in chains if chain),
        key=lambda chain: (-len(chain), -sum(weight[stride] for stride in chain)),
    )


def _strides(pieces: Pieces) -> list[int]:
    """The commonest distance of pieces, of the groups that these form, and so on."""
    found: list[int] = []
    heads = pieces.offset
    while len(heads) > 1 and len(found) < 5:
        steps = np.diff(heads)
        values, counts = np.unique(steps, return_counts=True)
        common = int(values[counts.argmax()])
        found.append(common)
        new = heads[np.append(True, steps != common)]
        if len(new) == len(heads):
            break
        heads = new
    return found
