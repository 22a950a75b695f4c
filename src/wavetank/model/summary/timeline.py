"""The temporal pattern of a run, thinned to what a plot can show (P16 fig. 4c, P18 fig. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from wavetank.model.compression.folded_table import Folded, members
from wavetank.model.document.timeline import PointColumns, Timeline
from wavetank.model.events.row_kinds import BESIDE_MPI
from wavetank.model.phases.activity import Activity
from wavetank.model.summary.run_times import IdleTimes
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array

LINE = 3
"""Operations of a run that are more than two places that any line goes through."""


Points = Int64Array
"""Points as columns of equal length, shape (11, points).

The part's number, code of the call, request size, operations, first and last tick, start and end in ns, first and last
offset, whether scattered. A start, an end or a first offset that is not known is UNKNOWN.
"""


def make_timeline(activity: Activity, idle: IdleTimes, ph_ids: Int64Array) -> Timeline:
    """Stretches of operations of one call: each part of a phase once or, where there is room, in pieces.

    No stretch goes on across an idle time. Where there are more parts than points, evenly spaced ranks stand for
    all. Of one rank's parts all are kept up to ``timeline_points_of_rank``, then ones at nearly even distances in time.

    Args:
        activity: the trace taken apart.
        idle: idle times of its ranks.
        ph_ids: the phase of each of its parts.
    """
    own = [
        number
        for number, part in enumerate(activity.parts)
        if part.level in (activity.own_level[part.file], BESIDE_MPI)
    ]
    parts, limits = activity.parts, activity.thresholds
    # Of many ranks fewer are kept, so that what each does with its turns of reads and writes is seen.
    n_wanted = sum(
        min(parts[number].last_row - parts[number].first_row + 1, limits.timeline_pieces)
        for number in own
    )
    most_parts = limits.timeline_points // limits.timeline_pieces
    if n_wanted > limits.timeline_points and len(own) > most_parts:
        ranks = sorted({parts[number].rank for number in own})
        n_ranks = max(1, limits.timeline_points * len(ranks) // n_wanted)
        kept = {ranks[i * len(ranks) // n_ranks] for i in range(n_ranks)}
        own = [number for number in own if parts[number].rank in kept]
        if len(own) > limits.timeline_points_of_rank:
            own = _thinned(own, activity)
    if not own:
        return ()
    room = max(1, limits.timeline_points // len(own))
    body = members(activity.rows.table)
    numbers = np.array(own, dtype=np.int64)
    n_rows = [parts[number].last_row - parts[number].first_row + 1 for number in own]
    portion = np.cumsum(n_rows) // activity.work.point_rows
    chunks = np.split(numbers, np.flatnonzero(np.diff(portion)) + 1)
    points = np.concatenate(
        [_points_of_parts(activity, chunk, idle, body, room) for chunk in chunks], axis=1
    )
    return _timeline(activity, ph_ids, points[:, np.argsort(points[0], kind="stable")])


def _thinned(own: Sequence[int], activity: Activity) -> list[int]:
    """Parts at nearly even distances in time: exactly even ones would miss what recurs at that distance."""
    first = [activity.parts[number].first_row for number in own]
    seq = activity.rows.table.seq[activity.data.row[first]]
    most = activity.thresholds.timeline_points_of_rank
    step = len(own) / most
    place = np.arange(most)
    golden = place * ((5**0.5 - 1) / 2) % 1.0
    chosen = np.argsort(seq, kind="stable")[((place + golden) * step).astype(np.int64)]
    return [own[at] for at in np.sort(chosen).tolist()]


def _timeline(activity: Activity, ph_ids: Int64Array, points: Points) -> Timeline:
    """The points of a timeline."""
    number, code, size, count, tick_first, tick_last, start, end, first, last, scattered = points
    if not len(number):
        return ()
    of_part = np.array(
        [
            (part.rank, activity.file_ids[part.file])
            for part in map(activity.parts.__getitem__, number.tolist())
        ],
        dtype=np.int64,
    )
    timed, placed = (start != UNKNOWN) & (end != UNKNOWN), first != UNKNOWN
    names = np.full(256, None, dtype=object)
    names[list(activity.rows.ops)] = [op.name for op in activity.rows.ops.values()]
    return PointColumns(
        rank=of_part[:, 0],
        file_id=of_part[:, 1],
        iop_type=names[code],
        rs=size,
        tick_first=tick_first,
        tick_last=tick_last,
        start_s=np.where(timed, start / 1e9, np.nan),
        end_s=np.where(timed, end / 1e9, np.nan),
        offset_first=np.where(placed, first, UNKNOWN),
        offset_last=np.where(placed, last, UNKNOWN),
        count=count,
        ph_id=ph_ids[number],
        scattered=scattered != 0,
    )


@dataclass(frozen=True)
class _Pieces:
    """Rows of parts, cut at idle times. A stretch is what lies between two of them; columns of equal length, in order.

    Attributes:
        part: position of the part among those that were asked for.
        gap: number of idle times before it.
        row: of DataRows.
        low, high: of the row its first operation, and the one after its last.
        first_gap, last_gap: of its part.
        listed: whether some rows of its part have lists.
    """

    part: Int64Array
    gap: Int64Array
    row: Int64Array
    low: Int64Array
    high: Int64Array
    first_gap: Int64Array
    last_gap: Int64Array
    listed: BoolArray

    def some(self, which: BoolArray) -> _Pieces:
        """Those of them."""
        return _Pieces(*(getattr(self, field.name)[which] for field in fields(self)))


@dataclass(frozen=True)
class _Stretches:
    """The stretches of pieces, in their order.

    Attributes:
        of: the stretch of each piece.
        first: the first piece of each stretch.
        part: position of each one's part among those that were asked for.
        beside: stretches of its part.
        start_ns, end_ns: when each began and ended; UNKNOWN without times.
    """

    of: Int64Array
    first: Int64Array
    part: Int64Array
    beside: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array


def _points_of_parts(
    activity: Activity, own: Int64Array, idle: IdleTimes, body: Int64Array, room: int
) -> Points:
    """The points of some parts.

    Args:
        activity: the trace taken apart.
        own: numbers of parts.
        idle: idle times of all ranks.
        body: of each row of the table, operations from one of the row to its next.
        room: points that are wanted of a part at most.
    """
    pieces = _cut(activity, own, idle, body)
    return np.concatenate(
        [
            _lines(activity, own, pieces.some(~pieces.listed), idle, room),
            _places(activity, own, pieces.some(pieces.listed), idle, room),
        ],
        axis=1,
    )


def _stretches(table: Folded, source: Int64Array, pieces: _Pieces, idle: IdleTimes) -> _Stretches:
    """The stretches of pieces whose rows are ``source`` in the table."""
    new = np.ones(len(pieces.part), dtype=bool)
    new[1:] = (pieces.part[1:] != pieces.part[:-1]) | (pieces.gap[1:] != pieces.gap[:-1])
    first = np.flatnonzero(new)
    part = pieces.part[first]
    beside = np.bincount(part)[part]
    return _Stretches(
        np.cumsum(new) - 1, first, part, beside, *_spans(table, source, first, pieces, idle)
    )


def _places(
    activity: Activity, own: Int64Array, pieces: _Pieces, idle: IdleTimes, room: int
) -> Points:
    """Evenly spaced operations of each stretch, each for those up to the next one: between places there is no line.

    Rows with lists hold many places. As if all operations of a stretch were equally long.
    """
    if not len(pieces.part):
        return np.zeros((11, 0), dtype=np.int64)
    data, table = activity.data, activity.rows.table
    stretches = _stretches(table, data.row[pieces.row], pieces, idle)
    length = pieces.high - pieces.low
    ends = np.cumsum(length)
    n = np.add.reduceat(length, stretches.first)
    most = min(activity.thresholds.scattered_points, room) // stretches.beside
    n_points = np.minimum(np.maximum(most, 1), n)
    # Point p of a stretch's n begins at its operation n_operations * p // n.
    of = np.repeat(np.arange(len(n)), n_points)
    nth = np.arange(len(of)) - np.repeat(np.cumsum(n_points) - n_points, n_points)
    begin, end = nth * n[of] // n_points[of], (nth + 1) * n[of] // n_points[of]
    operation = (np.cumsum(n) - n)[of] + begin
    at = np.searchsorted(ends, operation, side="right")
    row = pieces.row[at]
    within = pieces.low[at] + operation - (ends - length)[at]
    offsets, source = data.offsets(row, within), data.row[row]
    ticks = table.tick[source] + within * table.tick_step[source]
    next_tick = np.append(ticks[1:], ticks[-1:])
    last = np.flatnonzero(nth == n_points[of] - 1)
    next_tick[last] = ticks[last]
    start, timed = stretches.start_ns[of], stretches.start_ns[of] != UNKNOWN
    span, count = (stretches.end_ns - stretches.start_ns)[of], end - begin
    return np.stack([
        own[stretches.part[of]], data.op[row], data.sizes(row, within), count, ticks, next_tick,
        np.where(timed, start + span * begin // n[of], UNKNOWN),
        np.where(timed, start + span * end // n[of], UNKNOWN),
        offsets, offsets, count > 1,
    ])  # fmt: skip


def _lines(
    activity: Activity, own: Int64Array, pieces: _Pieces, idle: IdleTimes, room: int
) -> Points:
    """Each stretch in pieces of equally many rows, a point for each call of one."""
    if not len(pieces.part):
        return np.zeros((11, 0), dtype=np.int64)
    data, table, limits = activity.data, activity.rows.table, activity.thresholds
    source, op = data.row[pieces.row], data.op[pieces.row].astype(np.int64)
    stretches = _stretches(table, source, pieces, idle)
    start, stretch = stretches.first, stretches.of
    length = np.diff(start, append=len(stretch))
    scattered = _lead_back(stretch, op, data.offsets(pieces.row, pieces.low), len(start))
    most = np.minimum(np.where(scattered, limits.scattered_points, limits.part_points), room)
    most //= stretches.beside
    most = np.maximum(1, np.minimum(most, length))
    # Piece p of n rows begins at row n * p // pieces.
    within = np.arange(len(stretch)) - start[stretch]
    place = ((within + 1) * most[stretch] - 1) // length[stretch]
    order = np.lexsort((op, place, stretch))
    key = (stretch[order], place[order], op[order])
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in key])
    edges = np.flatnonzero(new)
    n = np.add.reduceat((pieces.high - pieces.low)[order], edges)
    n_rows = np.diff(edges, append=len(order))
    head, tail = order[edges], order[np.append(edges[1:], len(order)) - 1]
    by_call = np.argsort(head)  # in the order in which calls come first
    n, n_rows, head, tail = n[by_call], n_rows[by_call], head[by_call], tail[by_call]
    of = stretch[head]
    first = data.offsets(pieces.row[head], pieces.low[head])
    last = data.offsets(pieces.row[tail], pieces.high[tail] - 1)
    apart = (first != UNKNOWN) & scattered[of] & (n > 1) & ((n_rows > 1) | (n < LINE))
    head_row, tail_row = source[head], source[tail]
    since = np.maximum(table.start_ns[head_row], stretches.start_ns[of])
    until = np.maximum(since, np.minimum(table.end_ns[tail_row], stretches.end_ns[of]))
    timed = stretches.start_ns[of] != UNKNOWN
    return np.stack([
        own[pieces.part[head]], op[head], data.size[pieces.row[head]], n,
        table.tick[head_row] + pieces.low[head] * table.tick_step[head_row],
        table.tick[tail_row] + (pieces.high[tail] - 1) * table.tick_step[tail_row],
        np.where(timed, since, UNKNOWN), np.where(timed, until, UNKNOWN),
        first, np.where(apart, first, last), apart,
    ])  # fmt: skip


def _cut(activity: Activity, own: Int64Array, idle: IdleTimes, body: Int64Array) -> _Pieces:
    """The rows of some parts."""
    data, table = activity.data, activity.rows.table
    first = np.array([activity.parts[number].first_row for number in own], dtype=np.int64)
    last = np.array([activity.parts[number].last_row for number in own], dtype=np.int64)
    length = last - first + 1
    start = np.cumsum(length) - length
    row = np.repeat(first - start, length) + np.arange(int(length.sum()))
    source = data.row[row]
    count, rank, seq, step = data.count[row], table.rank[source], table.seq[source], body[source]
    last_seq = seq + (count - 1) * step
    # The operations of interleaved rows have no places of their own in the rank's sequence.
    interleaved = np.logical_or.reduceat(table.substream[source] >= 0, start)
    gaps = idle.before(rank, seq), idle.before(rank, last_seq)
    edges = gaps[0][start], np.maximum.reduceat(gaps[1], start)
    edges = edges[0], np.where(interleaved, edges[0], edges[1])
    hidden, at_start = np.repeat(interleaved, length), np.repeat(edges[0], length)
    gaps = np.where(hidden, at_start, gaps[0]), np.where(hidden, at_start, gaps[1])
    times = gaps[1] - gaps[0] + 1
    listed = np.logical_or.reduceat(data.listed[row] >= 0, start)
    # A row is in each stretch that it has operations in, from the first to the last.
    at = np.repeat(np.arange(len(row)), times)
    gap = gaps[0][at] + np.arange(len(at)) - np.repeat(np.cumsum(times) - times, times)
    low, high = np.zeros(len(at), dtype=np.int64), count[at]
    for edge, cut, number in ((low, gap > gaps[0][at], gap - 1), (high, gap < gaps[1][at], gap)):
        some = np.flatnonzero(cut)
        edge[some] = -((seq[at[some]] - idle.seq[number[some]]) // step[at[some]])
    low, high = np.clip(low, 0, count[at]), np.clip(high, 0, count[at])
    of = np.repeat(np.arange(len(own)), length)[at]
    some = np.flatnonzero(low < high)
    some = some[np.lexsort((row[at][some], gap[some], of[some]))]
    part = of[some]
    return _Pieces(
        part, gap[some], row[at[some]], low[some], high[some], edges[0][part], edges[1][part],
        listed[part],
    )  # fmt: skip


def _spans(
    table: Folded, source: Int64Array, start: Int64Array, pieces: _Pieces, idle: IdleTimes
) -> tuple[Int64Array, Int64Array]:
    """When each stretch began and ended; UNKNOWN without times. What of a row lies beyond an idle time began or ended with that."""
    begin = np.minimum.reduceat(table.start_ns[source], start)
    end = np.maximum.reduceat(table.end_ns[source], start)
    timed = (begin != UNKNOWN) & (np.minimum.reduceat(table.end_ns[source], start) != UNKNOWN)
    gap, first, last = pieces.gap[start], pieces.first_gap[start], pieces.last_gap[start]
    if len(idle):
        at = np.clip(gap - 1, 0, len(idle) - 1), np.clip(gap, 0, len(idle) - 1)
        begin = np.where(gap > first, np.maximum(begin, idle.end_ns[at[0]]), begin)
        end = np.where(gap < last, np.minimum(end, idle.start_ns[at[1]]), end)
    end = np.maximum(begin, end)
    return np.where(timed, begin, UNKNOWN), np.where(timed, end, UNKNOWN)


def _lead_back(stretch: Int64Array, op: Int64Array, offset: Int64Array, n: int) -> np.ndarray:
    """Of each stretch, whether calls of a kind lie now further, now nearer in the file, from row to row."""
    order = np.lexsort((op, stretch))
    step = np.diff(offset[order])
    key = stretch[order] * 256 + op[order]
    same = key[1:] == key[:-1]
    forth = np.unique(key[1:][same & (step > 0)])
    back = np.unique(key[1:][same & (step < 0)])
    found = np.zeros(n, dtype=bool)
    found[np.intersect1d(forth, back, assume_unique=True) // 256] = True
    return found
