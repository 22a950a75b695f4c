"""Idle times of a run, which a plot of the whole run shows.

A rank is idle while it moves no data. Idle times are read from a trace's rows before they are folded further:
folding keeps a row's first start and last end, and not what lies between. Loops of the tracer's have one start and
one period; their repetitions are taken to be alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.columns import different
from wavetank.model.events.codes import MOVES_DATA
from wavetank.model.events.loop_layout import loops_of
from wavetank.trace.schema import UNKNOWN, FoldTable, Int64Array

IDLE_PARTS = 200
"""Of a run's time, each three columns of a plot: shorter idle times are not kept."""
MOST_IDLE_TIMES = 20_000
"""Idle times that are kept: the longest ones, as many as the points of a rank in a timeline."""


@dataclass(frozen=True)
class IdleTimes:
    """Idle times, columns of equal length, by rank and then by time.

    Attributes:
        rank: whose.
        seq: number of the rank's first operation after it, from 0.
        start_ns, end_ns: since the trace's time zero.
    """

    rank: Int64Array
    seq: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array

    def before(self, rank: Int64Array, seq: Int64Array) -> Int64Array:
        """How many of these idle times come before each of some operations: all of lower ranks, and those of its own."""
        if not len(self):
            return np.zeros(len(rank), dtype=np.int64)
        n = int(max(self.seq.max(), seq.max(initial=0))) + 2
        found: Int64Array = np.searchsorted(self.rank * n + self.seq, rank * n + seq, side="right")
        return found

    def __len__(self) -> int:
        return len(self.rank)


def find_idle(table: FoldTable) -> IdleTimes:
    """The idle times of all ranks, of rows in rank order."""
    wanted = MOVES_DATA[table.op] & (table.start_ns != UNKNOWN) & (table.end_ns != UNKNOWN)
    every = bool(wanted.all())
    index = np.arange(len(table)) if every else np.flatnonzero(wanted)
    if len(index) == 0:
        return _sorted([], MOST_IDLE_TIMES)
    start = table.start_ns if every else table.start_ns[index]
    end = table.end_ns if every else table.end_ns[index]
    least = (int(end.max()) - int(start.min())) / IDLE_PARTS
    found = [_inside_loops(table, index, least)] if table.loop.any() else []
    found.append(_between(table, index, start, end, least))
    return _sorted(found, MOST_IDLE_TIMES)


def _sorted(found: list[IdleTimes], most: int) -> IdleTimes:
    if not found:
        none = np.zeros(0, dtype=np.int64)
        return IdleTimes(none, none, none, none)
    columns = [
        np.concatenate([getattr(one, name) for one in found]).astype(np.int64)
        for name in ("rank", "seq", "start_ns", "end_ns")
    ]
    if len(columns[0]) > most:
        longest = np.argsort(columns[2] - columns[3], kind="stable")[:most]
        columns = [column[longest] for column in columns]
    order = np.lexsort((columns[1], columns[0]))
    return IdleTimes(*(column[order] for column in columns))


def _between(
    table: FoldTable, index: Int64Array, start: Int64Array, end: Int64Array, least: float
) -> IdleTimes:
    """Between rows; a loop's rows, which run at the same time, are one."""
    rank, first = table.rank[index], index
    loop = table.loop[index]
    if loop.any():
        new = np.ones(len(index), dtype=bool)
        new[1:] = (loop[1:] == 0) | (loop[1:] != loop[:-1]) | (rank[1:] != rank[:-1])
        at = np.flatnonzero(new)
        start, end = np.minimum.reduceat(start, at), np.maximum.reduceat(end, at)
        rank, first = rank[at], index[at]
    near = np.flatnonzero((start[1:] - end[:-1] > least) & (rank[1:] == rank[:-1]))
    columns: list[list[int]] = [[], [], [], []]
    for one in different(rank[near]).tolist():
        low, high = (int(at) for at in np.searchsorted(rank, [one, one + 1]))
        # Calls inside of others, and those of threads, overlap.
        latest = np.maximum.accumulate(end[low:high])
        earliest = np.minimum.accumulate(start[low:high][::-1])[::-1]
        mine = near[(near >= low) & (near < high)] - low
        mine = mine[earliest[mine + 1] - latest[mine] > least]
        columns[0] += [one] * len(mine)
        columns[1] += table.seq[first[low + mine + 1]].tolist()
        columns[2] += latest[mine].tolist()
        columns[3] += earliest[mine + 1].tolist()
    return IdleTimes(*(np.array(column, dtype=np.int64) for column in columns))


def _inside_loops(table: FoldTable, index: Int64Array, least: float) -> IdleTimes:
    """Between the data operations of loops' repetitions, and between repetitions."""
    loops = loops_of(table)
    inside = index[table.loop[index] > 0]
    if not len(inside):
        return _sorted([], 0)
    body = loops.members_of_rows()[
        inside
    ]  # operations of a repetition, also those that move nothing
    of_loop = loops.of_row[inside]
    start, count = table.start_ns[inside], table.count[inside]
    each = table.busy_ns[inside] // count
    period = (table.end_ns[inside] - each - start) // np.maximum(count - 1, 1)
    last = np.append(of_loop[1:] != of_loop[:-1], True)
    opens = np.append(0, np.flatnonzero(last)[:-1] + 1)
    of_first = np.repeat(opens, np.diff(np.append(opens, len(inside))))
    # From each member to the next one, and from the last to the first of the next repetition.
    following = np.where(last, of_first, np.arange(len(inside)) + 1)
    following_start = start[following] + np.where(last, period[of_first], 0)
    long = following_start - (start + each) > least
    columns: list[list[Int64Array]] = [[], [], [], []]
    for at in np.flatnonzero(long & (count > 1)).tolist():
        n = int(count[at]) - int(last[at])
        times = np.arange(n) * int(period[of_first[at]])
        seq = table.seq[inside[following[at]]] + (np.arange(n) + int(last[at])) * body[at]
        columns[0].append(np.full(n, table.rank[inside[at]], dtype=np.int64))
        columns[1].append(seq)
        columns[2].append(start[at] + each[at] + times)
        columns[3].append(following_start[at] + times)
    return IdleTimes(
        *(np.concatenate([np.zeros(0, dtype=np.int64), *column]) for column in columns)
    )
