"""Runs: operations of one kind at regular distance, in a form that does not depend on how a trace was folded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.trace.schema import BoolArray, Int64Array


@dataclass(frozen=True)
class RunArrays:
    """Runs in order: ``count`` operations of ``size`` bytes from ``offset`` on, ``disp`` bytes apart.

    Why runs and not offsets: most programs access at regular distance. A run says a million operations by five numbers, and
    what asks for bytes, ends or the last operation answers from these.

    Why not rows of the trace: the same operations come in one row, in several, as a loop or as a list, by who
    recorded them and where a chunk ended. Phases must not depend on it, so rows are put into this form first.

    Why ``moved`` beside ``count`` and ``size``: the last operation of a run may be short, as at the end of a file. So it is
    a sum of bytes, and no product.

    Why arrays and no objects: of an irregular stretch each operation is a run of one, and there may be millions.
    """

    count: Int64Array
    size: Int64Array
    moved: Int64Array
    offset: Int64Array
    disp: Int64Array

    def __len__(self) -> int:
        return len(self.count)


@dataclass(frozen=True)
class Steps:
    """Differences of consecutive offsets, equal neighbours joined.

    Step j covers operations ``first[j]`` to ``first[j] + n[j]`` (both ends included), each ``value[j]``
    bytes after the one before. Neighbours share an operation unless ``joined[j]`` is False: then
    step j does not continue from step j - 1.
    """

    value: Int64Array
    n: Int64Array
    first: Int64Array
    joined: BoolArray


def steps_of(
    count: Int64Array,
    offset: Int64Array,
    disp: Int64Array,
    link: BoolArray,
) -> Steps:
    """Steps of rows.

    Args:
        count: operations of each row.
        offset: of each row's first operation, bytes.
        disp: bytes between a row's operations.
        link: shape (n - 1,), whether row i + 1 continues row i.
    """
    n = len(count)
    last = offset + (count - 1) * disp
    first_op = np.cumsum(count) - count
    # Inner steps at even places, steps to the next row at odd ones.
    value = np.empty(2 * n, dtype=np.int64)
    length = np.zeros(2 * n, dtype=np.int64)
    first = np.empty(2 * n, dtype=np.int64)
    value[0::2], length[0::2], first[0::2] = disp, count - 1, first_op
    value[1::2] = 0
    value[1:-1:2] = offset[1:] - last[:-1]
    length[1:-1:2] = link
    first[1::2] = first_op + count - 1
    some = length > 0
    value, length, first = value[some], length[some], first[some]
    joined = np.zeros(len(value), dtype=bool)
    joined[1:] = first[1:] == first[:-1] + length[:-1]
    new = ~joined
    new[1:] |= value[1:] != value[:-1]
    starts = np.flatnonzero(new)
    if not len(starts):
        return Steps(value, length, first, joined)
    return Steps(
        value[starts],
        np.add.reduceat(length, starts),
        first[starts],
        joined[starts],
    )


def canonical(
    count: Int64Array, size: Int64Array, moved: Int64Array, offset: Int64Array, disp: Int64Array
) -> RunArrays:
    """The longest runs, taken from left to right: the same for every way to fold the operations.

    The columns are those of rows in order, as in FoldTable.
    """
    if len(count) <= 1:
        return RunArrays(count, size, moved, offset, np.where(count > 1, disp, 0))
    link = (size[1:] == size[:-1]) & (moved[:-1] == count[:-1] * size[:-1])
    return _runs(count, size, moved, offset, disp, link)


def _runs(
    count: Int64Array,
    size: Int64Array,
    moved: Int64Array,
    offset: Int64Array,
    disp: Int64Array,
    link: BoolArray,
) -> RunArrays:
    """The runs of rows that are linked as told."""
    steps = steps_of(count, offset, disp, link)
    total = int(count.sum())
    # An operation between two runs belongs to the first of them; a run of two operations whose
    # first is taken leaves its second to the next run. "Taken" alternates along chains of these.
    taken = np.zeros(len(steps.n), dtype=bool)
    if len(taken):
        single = steps.n == 1
        anchor = np.ones(len(taken), dtype=bool)
        anchor[1:] = ~steps.joined[1:] | ~single[:-1]
        index = np.arange(len(taken))
        at = np.maximum.accumulate(np.where(anchor, index, 0))
        start_taken = np.zeros(len(taken), dtype=bool)
        start_taken[1:] = steps.joined[1:] & ~single[:-1]
        taken = start_taken[at] ^ ((index - at) % 2 == 1)
    begin = steps.first + taken
    length = steps.n + 1 - taken
    some = length > 1
    begin, length, step = begin[some], length[some], steps.value[some]
    starts, lengths, values = _with_singles(begin, length, step, total)
    first_op: Int64Array = np.cumsum(count) - count
    row = np.searchsorted(first_op, starts, side="right") - 1
    last = starts + lengths - 1
    last_row = np.searchsorted(first_op, last, side="right") - 1
    run_offset: Int64Array = offset[row] + (starts - first_op[row]) * disp[row]
    run_size = size[row]
    is_row_end = last == first_op[last_row] + count[last_row] - 1
    last_moved = np.where(
        is_row_end, moved[last_row] - (count[last_row] - 1) * size[last_row], size[last_row]
    )
    moved_by = (lengths - 1) * run_size + last_moved
    return RunArrays(lengths, run_size, moved_by, run_offset, values)


def _with_singles(
    begin: Int64Array, length: Int64Array, step: Int64Array, total: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Add runs of one operation for the operations that no run covers, in order."""
    gap_start = np.append(0, begin + length)
    gap_length = np.append(begin, total) - gap_start
    index = np.repeat(np.arange(len(gap_start)), gap_length)
    lone = (
        gap_start[index]
        + np.arange(len(index))
        - np.repeat(np.cumsum(gap_length) - gap_length, gap_length)
    )
    starts = np.concatenate([begin, lone])
    lengths = np.concatenate([length, np.ones(len(lone), dtype=np.int64)])
    values = np.concatenate([step, np.zeros(len(lone), dtype=np.int64)])
    order = np.argsort(starts, kind="stable")
    return starts[order], lengths[order], values[order]
