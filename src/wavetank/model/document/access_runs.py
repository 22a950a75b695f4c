"""Runs: operations of one kind at regular distance, in a form that does not depend on how a trace was folded."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import numpy as np

from wavetank.model.document.columnar import total
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array


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


class Repetitions(NamedTuple):
    """The repetitions of one pattern member: what most of the extraction asks of their runs, as plain numbers.

    Attributes:
        n_runs: how many runs they are.
        count, size, moved, offset, disp: of the first run, as in ``RunArrays``.
        step: bytes between the first two repetitions; says nothing where there is one.
        last_size: request size of the last run, bytes.
        last_moved: bytes that the last repetition moved.
        total: bytes that all of them moved.
        columns, low: where the runs are: ``n_runs`` of these columns from the ``low``-th on.
    """

    n_runs: int
    count: int  # type: ignore[assignment]  # a tuple's method that nothing here needs
    size: int
    moved: int
    offset: int
    disp: int
    step: int
    last_size: int
    last_moved: int
    total: int
    columns: RunArrays
    low: int

    @classmethod
    def of(cls, runs: RunArrays) -> Repetitions:
        """Of runs of any number, also of lists that one number stands for."""
        count, offset, disp, size = runs.count, int(runs.offset[0]), int(runs.disp[0]), runs.size
        return cls(
            len(count), int(count[0]), int(size[0]), int(runs.moved[0]), offset, disp,
            disp if count[0] > 1 or len(count) == 1 else int(runs.offset[1]) - offset,
            int(size[-1]), int(runs.moved[-1] - (count[-1] - 1) * size[-1]), total(runs.moved), runs, 0,
        )  # fmt: skip

    @classmethod
    def of_each(cls, columns: RunArrays, edges: Int64Array) -> list[Repetitions]:
        """Of runs [edges[i], edges[i + 1]) of the columns, for each i; each has one at least."""
        count, size, moved, offset = columns.count, columns.size, columns.moved, columns.offset
        first, last, n = edges[:-1], edges[1:] - 1, len(edges) - 1
        if not n:
            return []
        disp = columns.disp[first]
        second = np.minimum(first + 1, last)
        step = np.where(
            (count[first] > 1) | (second == first), disp, offset[second] - offset[first]
        )
        numbers = (
            last - first + 1, count[first], size[first], moved[first], offset[first], disp, step, size[last],
            moved[last] - (count[last] - 1) * size[last], np.add.reduceat(moved, first),
        )  # fmt: skip
        each = zip(*(column.tolist() for column in numbers), repeat(columns), first.tolist())
        return list(map(cls._make, each))

    @property
    def runs(self) -> RunArrays:
        """All runs; columns that are one array stay one."""
        columns, at = self.columns, slice(self.low, self.low + self.n_runs)
        if self.n_runs == len(columns):
            return columns
        return RunArrays(
            columns.count[at],
            columns.size[at],
            columns.moved[at],
            columns.offset[at],
            columns.disp[at],
        )


@dataclass(frozen=True)
class Steps:
    """Differences of consecutive offsets, equal neighbours joined.

    Step j covers operations ``first[j]`` to ``first[j] + n[j]`` (both ends included), each ``value[j]``
    bytes after the one before. Neighbours share an operation unless ``joined[j]`` is False: then
    step j does not continue from step j - 1. Of an ``irregular`` step the value says nothing.
    """

    value: Int64Array
    n: Int64Array
    first: Int64Array
    joined: BoolArray
    irregular: BoolArray


def steps_of(
    count: Int64Array,
    offset: Int64Array,
    disp: Int64Array,
    link: BoolArray,
    listed: BoolArray | None = None,
) -> Steps:
    """Steps of rows.

    Args:
        count: operations of each row.
        offset: of each row's first operation, bytes.
        disp: bytes between a row's operations.
        link: shape (n - 1,), whether row i + 1 continues row i.
        listed: shape (n,), whether the row's offsets follow no rule; None: none of them.
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
    irregular = np.zeros(2 * n, dtype=bool)
    if listed is not None:
        irregular[0::2] = listed
        irregular[1:-1:2] = listed[:-1] | listed[1:]
    some = length > 0
    value, length, first, irregular = value[some], length[some], first[some], irregular[some]
    joined = np.zeros(len(value), dtype=bool)
    joined[1:] = first[1:] == first[:-1] + length[:-1]
    new = ~joined
    new[1:] |= (value[1:] != value[:-1]) | irregular[1:] | irregular[:-1]
    starts = np.flatnonzero(new)
    if not len(starts):
        return Steps(value, length, first, joined, irregular)
    return Steps(
        value[starts],
        np.add.reduceat(length, starts),
        first[starts],
        joined[starts],
        irregular[starts],
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
    return _runs(count, size, moved, offset, disp, link)[0]


def canonical_each(
    rows: RunArrays, starts: Int64Array, unknown: BoolArray | None = None
) -> tuple[RunArrays, Int64Array]:
    """``canonical`` of many short sequences of rows at once: all runs, and the first run of each with their number behind.

    Args:
        rows: all sequences, in sequence.
        starts: first row of each; each has one at least.
        unknown: of each sequence, whether its offsets are not known; None: all are.
    """
    count, size, moved, offset, disp = rows.count, rows.size, rows.moved, rows.offset, rows.disp
    if unknown is not None and unknown.any():
        hidden = np.repeat(unknown, np.diff(starts, append=len(count)))
        offset, disp = np.where(hidden, 0, offset), np.where(hidden, 0, disp)
    link = (size[1:] == size[:-1]) & (moved[:-1] == count[:-1] * size[:-1])
    link[starts[1:] - 1] = False
    runs, first = _runs(count, size, moved, offset, disp, link)
    first_op = np.cumsum(count) - count
    edges = np.append(np.searchsorted(first, first_op[starts]), len(first))
    if unknown is not None and unknown.any():
        runs.offset[np.repeat(unknown, np.diff(edges))] = UNKNOWN
    return runs, edges


def _runs(
    count: Int64Array,
    size: Int64Array,
    moved: Int64Array,
    offset: Int64Array,
    disp: Int64Array,
    link: BoolArray,
) -> tuple[RunArrays, Int64Array]:
    """The runs of rows that are linked as told, and the number of each run's first operation."""
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
    return RunArrays(lengths, run_size, moved_by, run_offset, values), starts


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
