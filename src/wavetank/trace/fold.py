"""Folds single operations into rows, all at once: what the tracer does as it happens, for importers.

Reads columns of events in order; leaves a ``FoldTable``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.trace.schema import (
    UNKNOWN,
    FoldTable,
    Int32Array,
    Int64Array,
    UInt8Array,
)


@dataclass(frozen=True)
class SingleOperations:
    """Single operations, columns of equal length. Within a rank in the order in which they ended.

    Times are ns since the trace's time zero, UNKNOWN where the source has none.
    """

    rank: Int32Array
    op: UInt8Array
    file: Int32Array
    handle: Int32Array
    size: Int64Array
    moved: Int64Array
    offset: Int64Array
    tick: Int64Array
    subtick: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    arg: Int64Array
    error: Int32Array

    def __len__(self) -> int:
        return len(self.rank)


def fold(events: SingleOperations) -> FoldTable:
    """Join equal operations at regular distance and regular clocks into one row each.

    Memory: a few arrays of the events' length. A run of three with one displacement is a row, and
    so are two operations when the second starts where the first ended.
    """
    order = np.argsort(events.rank, kind="stable")
    rank = events.rank[order]
    op, file, handle = events.op[order], events.file[order], events.handle[order]
    size, moved, offset = events.size[order], events.moved[order], events.offset[order]
    tick, subtick = events.tick[order], events.subtick[order]
    arg, error = events.arg[order], events.error[order]
    n = len(rank)
    first = _row_starts(rank, op, file, handle, size, moved, offset, tick, subtick, arg, error)
    index = np.flatnonzero(first)
    count = np.diff(np.append(index, n))
    many = count > 1
    second = np.minimum(index + 1, max(n - 1, 0))
    last = index + count - 1
    start_ns, end_ns = events.start_ns[order], events.end_ns[order]
    busy = np.where((start_ns == UNKNOWN) | (end_ns == UNKNOWN), 0, end_ns - start_ns)

    def total(column: Int64Array) -> Int64Array:
        return np.add.reduceat(column, index) if n else np.empty(0, dtype=np.int64)

    def step(column: Int64Array) -> Int64Array:
        return np.where(many, column[second] - column[index], 0) if n else np.empty(0, np.int64)

    disp = np.where(offset[index] == UNKNOWN, 0, step(offset))
    return FoldTable(
        rank=rank[index],
        seq=_sequence(rank)[index],
        op=op[index],
        file=file[index],
        handle=handle[index],
        count=count,
        size=size[index],
        moved=total(moved),
        offset=offset[index],
        disp=disp,
        view=np.full(len(index), UNKNOWN, dtype=np.int32),
        view_offset=offset[index],
        view_disp=disp,
        tick=tick[index],
        subtick=subtick[index],
        tick_step=step(tick),
        subtick_step=step(subtick),
        start_ns=start_ns[index],
        end_ns=end_ns[last] if n else end_ns,
        busy_ns=total(busy),
        arg=arg[index],
        error=error[index],
    )


def _sequence(rank: Int32Array) -> Int64Array:
    """Number of each operation within its rank; ranks are sorted."""
    position = np.arange(len(rank), dtype=np.int64)
    if not len(rank):
        return position
    new = np.append(True, rank[1:] != rank[:-1])
    return position - np.maximum.accumulate(np.where(new, position, 0))


def _row_starts(
    rank: Int32Array,
    op: UInt8Array,
    file: Int32Array,
    handle: Int32Array,
    size: Int64Array,
    moved: Int64Array,
    offset: Int64Array,
    tick: Int64Array,
    subtick: Int64Array,
    arg: Int64Array,
    error: Int32Array,
) -> np.ndarray:
    """Which operations begin a row, shape (n,), bool."""
    n = len(rank)
    first = np.ones(n, dtype=bool)
    if n < 2:
        return first
    same = np.ones(n - 1, dtype=bool)  # link i joins operation i and i + 1
    for column in (rank, op, file, handle, size, arg, error):
        same &= column[1:] == column[:-1]
    same &= moved[:-1] == size[:-1]  # only the last one of a row may be short
    steps = tuple(np.diff(column) for column in (offset, tick, subtick))
    same &= (offset[1:] == UNKNOWN) == (offset[:-1] == UNKNOWN)
    equal = np.zeros(n, dtype=bool)  # equal[i]: link i goes on as link i - 1 does
    equal[1 : n - 1] = same[1:] & same[:-1]
    for step in steps:
        equal[1 : n - 1] &= step[1:] == step[:-1]
    regular = same & (equal[: n - 1] | equal[1:n] | (steps[0] == size[:-1]) | (steps[0] == 0))
    turn = np.zeros(n - 1, dtype=bool)  # a regular link after one of another distance
    turn[1:] = regular[1:] & regular[:-1] & ~equal[1 : n - 1]
    first[1:] = ~regular | turn
    # Behind a turn the second link may differ from the one that was turned into: cut there as well.
    joined = ~first[1:]
    first[2:] |= joined[1:] & joined[:-1] & ~equal[1 : n - 1]
    return first
