"""Folds single operations into rows, all at once: what the tracer does as it happens, for importers.

Reads columns of events in order; leaves a ``FoldTable``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from wavetank.trace.call_details import of_calls
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

    Times are ns since the trace's time zero, UNKNOWN where the source has none. ``arg`` is the number that a call was given,
    see ``arguments.ARGUMENTS``; ``communicator`` an index into ``Trace.communicators``, UNKNOWN for all if left out.
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
    communicator: Int32Array = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def __post_init__(self) -> None:
        if len(self.communicator) != len(self.rank):
            unknown = np.broadcast_to(np.int32(UNKNOWN), len(self.rank))
            object.__setattr__(self, "communicator", unknown)

    def __len__(self) -> int:
        return len(self.rank)

    def taken(self, index: Int64Array) -> SingleOperations:
        """These operations. A column that is another one stays that one, and one number stays one for all."""
        taken: dict[int, np.ndarray] = {}
        for name in (column.name for column in fields(self)):
            column = getattr(self, name)
            if id(column) not in taken:
                taken[id(column)] = (
                    np.broadcast_to(column[0], len(index)) if _is_single(column) else column[index]
                )
        return SingleOperations(
            **{column.name: taken[id(getattr(self, column.name))] for column in fields(self)}
        )


def _is_single(column: np.ndarray) -> bool:
    """Whether one number stands for all."""
    return column.strides == (0,) and len(column) > 0


def fold(events: SingleOperations) -> FoldTable:
    """Join equal operations at regular distance and regular clocks into one row each.

    Memory: a few arrays of the events' length. A run of three with one displacement is a row, and
    so are two operations when the second starts where the first ended.
    """
    if (events.rank[1:] < events.rank[:-1]).any():
        events = events.taken(np.argsort(events.rank, kind="stable"))
    n = len(events)
    details, given = of_calls(events.op, events.arg, communicator=events.communicator)
    first = _row_starts(events, given)
    index = np.flatnonzero(first)
    whole = slice(None) if len(index) == n else index  # nothing joined: no column is copied
    # One number stands for a column of many million equal ones.
    alone = len(index) == n
    zero = np.broadcast_to(np.int64(0), len(index))
    count = np.broadcast_to(np.int64(1), n) if alone else np.diff(index, append=n)

    def at_rows(column: np.ndarray) -> np.ndarray:
        single = not alone and _is_single(column)
        return np.broadcast_to(column[0], len(index)) if single else column[whole]

    def total(column: Int64Array) -> Int64Array:
        return column if alone else np.add.reduceat(column, index)

    def step(column: Int64Array) -> Int64Array:
        if alone or _is_single(column):
            return zero
        steps = np.zeros(len(index), dtype=np.int64)
        many = np.flatnonzero(count > 1)
        steps[many] = column[index[many] + 1] - column[index[many]]
        return steps

    start_ns, end_ns = events.start_ns, events.end_ns
    busy = end_ns - start_ns
    if n and min(int(start_ns.min()), int(end_ns.min())) <= UNKNOWN:
        busy[(start_ns == UNKNOWN) | (end_ns == UNKNOWN)] = 0
    offset, file = events.offset[whole], at_rows(events.file)
    disp = step(events.offset)
    if disp is not zero:
        disp[offset == UNKNOWN] = 0
    return FoldTable(
        rank=at_rows(events.rank),
        seq=_sequence(events.rank)[whole],
        op=at_rows(events.op),
        file=file,
        handle=file if events.handle is events.file else at_rows(events.handle),
        count=count,
        size=at_rows(events.size),
        moved=total(events.moved),
        offset=offset,
        disp=disp,
        view=np.broadcast_to(np.int32(UNKNOWN), len(index)),
        view_offset=offset,
        view_disp=disp,
        tick=at_rows(events.tick),
        subtick=at_rows(events.subtick),
        tick_step=step(events.tick),
        subtick_step=step(events.subtick),
        start_ns=at_rows(start_ns),
        end_ns=end_ns if alone else end_ns[np.append(index[1:], n) - 1],
        busy_ns=total(busy),
        error=at_rows(events.error),
        given=at_rows(given),
        details=details,
    )


def _sequence(rank: Int32Array) -> Int64Array:
    """Number of each operation within its rank; ranks are sorted."""
    within = np.arange(len(rank), dtype=np.int64)
    begin = np.append(0, 1 + np.flatnonzero(rank[1:] != rank[:-1]))
    within -= np.repeat(begin, np.diff(begin, append=len(rank)))
    return within


def _row_starts(events: SingleOperations, given: Int32Array) -> np.ndarray:
    """Which operations begin a row, shape (n,), bool; ``given``: by number, what each was given."""
    n = len(events)
    first = np.ones(n, dtype=bool)
    if n < 2:
        return first
    size, moved, offset = events.size, events.moved, events.offset
    same = size[1:] == size[:-1]  # link i joins operation i and i + 1
    if not same.any():
        return first
    if moved is not size:
        same &= moved[:-1] == size[:-1]  # only the last one of a row may be short
    alike: list[np.ndarray] = [events.rank, events.op, events.file, events.error, given]
    if events.handle is not events.file:
        alike.append(events.handle)
    for column in alike:
        if column.strides != (0,):
            same &= column[1:] == column[:-1]
    if not same.any():
        return first
    same &= (offset[1:] == UNKNOWN) == (offset[:-1] == UNKNOWN)
    equal = np.zeros(n, dtype=bool)  # equal[i]: link i goes on as link i - 1 does
    equal[1 : n - 1] = same[1:] & same[:-1]
    for column in (events.tick, events.subtick, offset):
        step = np.diff(column)
        equal[1 : n - 1] &= step[1:] == step[:-1]
    regular = same & (equal[: n - 1] | equal[1:n] | (step == size[:-1]) | (step == 0))
    turn = np.zeros(n - 1, dtype=bool)  # a regular link after one of another distance
    turn[1:] = regular[1:] & regular[:-1] & ~equal[1 : n - 1]
    first[1:] = ~regular | turn
    # Behind a turn the second link may differ from the one that was turned into: cut there as well.
    joined = ~first[1:]
    first[2:] |= joined[1:] & joined[:-1] & ~equal[1 : n - 1]
    return first
