"""The temporal pattern of a run, thinned to what a plot can show (P16 fig. 4c, P18 fig. 3).

Reads the ranks' parts of phases and the idle times; leaves stretches of operations of one call.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from wavetank.model.columns import different, edges_of, lengths, spread, starts
from wavetank.model.document.timeline import PointColumns, Timeline
from wavetank.model.events.loop_layout import BEHIND
from wavetank.model.phases.activity import Activity
from wavetank.model.summary.run_times import IdleTimes
from wavetank.trace.ops import OPS
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array

POINTS = 4000
"""Of a timeline: more than five for each of the 700 columns of a plot."""
POINTS_OF_RANK = 20_000
"""Where one rank alone has more parts than POINTS; its phases take more room than that."""
_PIECES = 8
"""Points of each rank's part in a phase for which ranks are left out."""
_PART_POINTS = 100
"""Of one rank's part in one phase: each is seven columns of a plot."""
_SCATTERED_POINTS = 1000
"""The same where its operations lie in no order: each point is one place, and a plot has 700 columns."""
_PART_ROWS = 4 * _SCATTERED_POINTS
"""Rows of a part; of one with more every few rows are one, as if their operations lay in a line."""
_LINE = 3
"""Operations of a run that are more than two places that any line goes through."""


def make_timeline(activity: Activity, idle: IdleTimes, ph_ids: Int64Array) -> Timeline:
    """Stretches of operations of one call: each part of a phase once or, where there is room, in pieces.

    No stretch goes on across an idle time. Where there are more parts than points, evenly spaced ranks stand for
    all. Of one rank's parts all are kept up to a limit, then ones at nearly even distances in time.

    Args:
        activity: the trace taken apart.
        idle: idle times of its ranks.
        ph_ids: the phase of each of its parts.
    """
    own = _chosen_parts(activity)
    if not len(own):
        return ()
    room = max(1, POINTS // len(own))
    entries = _cut(_entries(activity, own), activity.parts.rank[own], idle)
    return _points(activity, own, ph_ids, entries, idle, room)


def _chosen_parts(activity: Activity) -> Int64Array:
    """The parts at the application's own level that are shown."""
    parts = activity.parts
    own = np.flatnonzero(activity.is_own(parts.file, parts.level))
    n_wanted = int(np.minimum(parts.last_row - parts.first_row + 1, _PIECES)[own].sum())
    if n_wanted <= POINTS or len(own) <= POINTS // _PIECES:
        return own
    # Of many ranks fewer are kept, so that what each does with its turns of reads and writes is seen.
    ranks = different(parts.rank[own])
    n_ranks = max(1, POINTS * len(ranks) // n_wanted)
    kept = ranks[np.arange(n_ranks) * len(ranks) // n_ranks]
    own = own[np.isin(parts.rank[own], kept)]
    if len(own) <= POINTS_OF_RANK:
        return own
    # Exactly even distances would miss what recurs at that distance.
    seq = activity.rows.table.seq[activity.data.row[parts.first_row[own]]]
    place = np.arange(POINTS_OF_RANK)
    golden = place * ((5**0.5 - 1) / 2) % 1.0
    at = ((place + golden) * (len(own) / POINTS_OF_RANK)).astype(np.int64)
    return own[np.sort(np.argsort(seq, kind="stable")[at])]


@dataclass(frozen=True)
class _Entries:
    """Operations of one call at equal distance; columns of equal length, by part and time.

    Attributes:
        part: place among the parts that are shown.
        op, size: of all of them.
        n: how many.
        seq, body: the first one's number in its rank, and from one to the next.
        tick, tick_step: likewise its tick.
        offset, disp: likewise its place; UNKNOWN.
        start_ns, end_ns: of the first one, and of the last.
        gap: idle times before them.
    """

    part: Int64Array
    op: Int64Array
    size: Int64Array
    n: Int64Array
    seq: Int64Array
    body: Int64Array
    tick: Int64Array
    tick_step: Int64Array
    offset: Int64Array
    disp: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    gap: Int64Array

    def take(self, index: Int64Array | BoolArray) -> _Entries:
        """Some of them."""
        return _Entries(*(getattr(self, field.name)[index] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.part)

    @property
    def last(self) -> Int64Array:
        """The last one's place."""
        return np.where(self.offset == UNKNOWN, UNKNOWN, self.offset + (self.n - 1) * self.disp)


def _entries(activity: Activity, own: Int64Array) -> _Entries:
    """The rows of some parts, and what contracted loops leave out before them."""
    rows, data, parts = activity.rows, activity.data, activity.parts
    table, around = rows.table, rows.around
    first_row, last_row = parts.first_row[own], parts.last_row[own]
    n_rows = last_row - first_row + 1
    of, nth = spread(np.minimum(n_rows, _PART_ROWS))
    many = n_rows[of] > _PART_ROWS
    at = first_row[of] + np.where(many, nth * n_rows[of] // _PART_ROWS, nth)
    row = data.row[at]
    low = np.maximum(parts.low[own][of], data.first_op[at])
    high = np.minimum(parts.high[own][of], data.first_op[at] + table.count[row])
    # Of a part with many rows each stands for those up to the next one.
    until = np.append(data.first_op[at[1:]], 0)
    ends = np.append(of[1:] != of[:-1], True)
    until = np.where(ends, parts.high[own][of], until)
    several = many & (until > high)
    within = low - data.first_op[at]
    offset, tick = table.offset[row], table.tick[row]
    last = np.where(ends, last_row[of], np.append(at[1:], 0) - 1)
    tail = data.row[last]
    n = np.where(several, until - low, high - low)
    apart = np.maximum(n - 1, 1)
    disp = np.where(several, (table.offset[tail] - offset) // apart, table.disp[row])
    tick_step = np.where(several, (table.tick[tail] - tick) // apart, table.tick_step[row])
    found = _Entries(
        part=of, op=table.op[row].astype(np.int64), size=table.size[row], n=n, seq=table.seq[row] + within,
        body=np.where(several, (table.seq[tail] - table.seq[row]) // apart, 1), tick=tick + within * table.tick_step[row],
        tick_step=tick_step, offset=np.where(offset == UNKNOWN, UNKNOWN, offset + within * table.disp[row]), disp=disp,
        start_ns=table.start_ns[row], end_ns=np.where(several, table.end_ns[tail], table.end_ns[row]), gap=np.zeros_like(of),
    )  # fmt: skip
    behind = np.flatnonzero((around.edge[row] == BEHIND) & ~many)
    if not len(behind):
        return found
    row = row[behind]
    left = around.gap[row]
    members = np.bincount(around.loop[around.edge == BEHIND])[around.loop[row]]
    before = row - members
    one = found.take(behind)
    step = (table.tick[row] - table.tick[before]) // (left + 1)
    known = one.offset != UNKNOWN
    left_out = _Entries(
        part=one.part, op=one.op, size=one.size, n=left, seq=one.seq - left * members, body=members,
        tick=table.tick[before] + step, tick_step=step, offset=np.where(known, one.offset - left * around.step[row], UNKNOWN),
        disp=around.step[row], start_ns=table.end_ns[before], end_ns=np.maximum(table.end_ns[before], one.start_ns), gap=one.gap,
    )  # fmt: skip
    order = np.argsort(np.append(np.arange(len(found)), behind - 0.5), kind="stable")
    return _Entries(
        *(
            np.append(getattr(found, field.name), getattr(left_out, field.name))[order]
            for field in fields(found)
        )
    )


def _cut(entries: _Entries, rank_of_part: Int64Array, idle: IdleTimes) -> _Entries:
    """Entries apart at idle times, in the order of the parts and the idle times."""
    rank = rank_of_part[entries.part]
    first = idle.before(rank, entries.seq)
    last = idle.before(rank, entries.seq + (entries.n - 1) * entries.body)
    of, nth = spread(last - first + 1)
    gap = first[of] + nth
    one = entries.take(of)
    body = np.maximum(one.body, 1)

    def from_idle(number: Int64Array) -> Int64Array:
        """The first operation of each entry behind an idle time."""
        at = np.clip(number, 0, max(len(idle) - 1, 0))
        found: Int64Array = -((one.seq - idle.seq[at]) // body)
        return np.clip(found, 0, one.n)

    low, high = np.zeros(len(of), dtype=np.int64), one.n
    if len(idle):
        low = np.where(nth > 0, from_idle(gap - 1), 0)
        high = np.where(gap < last[of], from_idle(gap), one.n)
    known = one.offset != UNKNOWN
    found = _Entries(
        part=one.part, op=one.op, size=one.size, n=high - low, seq=one.seq + low * one.body, body=one.body,
        tick=one.tick + low * one.tick_step, tick_step=one.tick_step, offset=np.where(known, one.offset + low * one.disp, UNKNOWN),
        disp=one.disp, start_ns=one.start_ns, end_ns=one.end_ns, gap=gap,
    )  # fmt: skip
    some = np.flatnonzero(low < high)
    return found.take(some[np.lexsort((some, gap[some], one.part[some]))])


def _points(
    activity: Activity,
    own: Int64Array,
    ph_ids: Int64Array,
    entries: _Entries,
    idle: IdleTimes,
    room: int,
) -> Timeline:
    """Each stretch between idle times in pieces of equally many entries, a point for each call of one."""
    head = starts(entries.part, entries.gap)
    length = lengths(head, len(entries))
    stretch = np.repeat(np.arange(len(head)), length)
    beside = np.bincount(entries.part[head])[entries.part[head]]
    scattered = _lead_back(stretch, entries, len(head))
    most = np.minimum(np.where(scattered, _SCATTERED_POINTS, _PART_POINTS), room) // beside
    most = np.maximum(1, np.minimum(most, length))
    began, ended = _spans(entries, head, idle)
    # Piece p of n entries begins at entry n * p // pieces.
    within = np.arange(len(entries)) - head[stretch]
    piece = ((within + 1) * most[stretch] - 1) // length[stretch]
    order = np.lexsort((entries.op, piece, stretch))
    new = starts(stretch[order], piece[order], entries.op[order])
    n_entries, total = lengths(new, len(order)), edges_of(entries.n[order])
    n = total[np.append(new[1:], len(order))] - total[new]
    first, last = order[new], order[np.append(new[1:], len(order)) - 1]
    in_order = np.argsort(first, kind="stable")  # in which calls come first
    n, n_entries, first, last = n[in_order], n_entries[in_order], first[in_order], last[in_order]
    of, part = stretch[first], own[entries.part[first]]
    offset = entries.offset[first]
    known = offset != UNKNOWN
    apart = known & scattered[of] & (n > 1) & ((n_entries > 1) | (n < _LINE))
    timed = began[of] != UNKNOWN
    since = np.maximum(entries.start_ns[first], began[of])
    until = np.maximum(since, np.minimum(entries.end_ns[last], ended[of]))
    names = np.full(256, None, dtype=object)
    names[list(OPS)] = [op.name for op in OPS.values()]
    return PointColumns(
        rank=activity.parts.rank[part],
        file_id=activity.numbers[activity.parts.file[part]],
        iop_type=names[entries.op[first]],
        rs=entries.size[first],
        tick_first=entries.tick[first],
        tick_last=entries.tick[last] + (entries.n[last] - 1) * entries.tick_step[last],
        start_s=np.where(timed, since / 1e9, np.nan),
        end_s=np.where(timed, until / 1e9, np.nan),
        offset_first=offset,
        offset_last=np.where(apart | ~known, offset, entries.last[last]),
        count=n,
        ph_id=ph_ids[part],
        scattered=apart,
    )


def _spans(entries: _Entries, head: Int64Array, idle: IdleTimes) -> tuple[Int64Array, Int64Array]:
    """When each stretch began and ended; UNKNOWN without times. What of an entry lies beyond an idle time began or ended with that."""
    begin = np.minimum.reduceat(entries.start_ns, head)
    end = np.maximum.reduceat(entries.end_ns, head)
    timed = (begin != UNKNOWN) & (np.minimum.reduceat(entries.end_ns, head) != UNKNOWN)
    part, gap = entries.part[head], entries.gap[head]
    if len(idle):
        of_part = starts(part)
        n = lengths(of_part, len(part))
        least, most = np.repeat(gap[of_part], n), np.repeat(gap[of_part + n - 1], n)
        at = np.clip(gap - 1, 0, len(idle) - 1), np.clip(gap, 0, len(idle) - 1)
        begin = np.where(gap > least, np.maximum(begin, idle.end_ns[at[0]]), begin)
        end = np.where(gap < most, np.minimum(end, idle.start_ns[at[1]]), end)
    end = np.maximum(begin, end)
    return np.where(timed, begin, UNKNOWN), np.where(timed, end, UNKNOWN)


def _lead_back(stretch: Int64Array, entries: _Entries, n: int) -> BoolArray:
    """Of each stretch, whether calls of a kind lie now further, now nearer in the file, from entry to entry."""
    order = np.lexsort((entries.op, stretch))
    step = np.diff(entries.offset[order])
    key = stretch[order] * 256 + entries.op[order]
    same = key[1:] == key[:-1]
    forth = different(key[1:][same & (step > 0)])
    back = different(key[1:][same & (step < 0)])
    found = np.zeros(n, dtype=bool)
    found[np.intersect1d(forth, back, assume_unique=True) // 256] = True
    return found
