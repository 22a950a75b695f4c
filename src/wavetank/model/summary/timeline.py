"""The temporal pattern of a run, thinned to what a plot can show (P16 fig. 4c, P18 fig. 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wavetank.model.compression.folded_table import members
from wavetank.model.document.timeline import Timeline
from wavetank.model.phases.activity import Activity
from wavetank.model.summary.run_times import IdleTimes
from wavetank.model.summary.timeline_points import (
    LINE,
    Points,
    points_of,
    points_of_parts,
)
from wavetank.trace.schema import UNKNOWN, Int64Array


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
        if part.level == activity.own_level[part.file]
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
    at_once = points_of_parts(activity, own, idle, body, room)
    chunks = [at_once]
    for number in sorted(set(own).difference(at_once[0].tolist())):
        chunks.extend(_Part(activity, number, body).points(idle, room))
    points = np.concatenate(chunks, axis=1)
    return points_of(activity, ph_ids, points[:, np.argsort(points[0], kind="stable")])


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


@dataclass(frozen=True)
class _Stretch:
    """Operations of a part between two idle times.

    Attributes:
        rows: of DataRows, ascending.
        low, high: of each row its first operation, and the one after its last.
        start_ns, end_ns: when it began and ended; UNKNOWN without times.
        scattered: calls of a kind lie now further, now nearer in the file, from row to row.
    """

    rows: Int64Array
    low: Int64Array
    high: Int64Array
    start_ns: int
    end_ns: int
    scattered: bool


class _Part:
    """One rank's part in a phase."""

    def __init__(self, activity: Activity, number: int, body: Int64Array) -> None:
        part = activity.parts[number]
        self._activity, self._part, self._number = activity, part, number
        self._rows = np.arange(part.first_row, part.last_row + 1)
        self._source = activity.data.row[self._rows]
        self._body = body[self._source]  # operations from one of a row to its next

    def points(self, idle: IdleTimes, room: int) -> Iterator[Points]:
        """Its points.

        Args:
            idle: of all ranks.
            room: points that are wanted at most; there are more where idle times divide it.
        """
        stretches = list(self._stretches(idle))
        data, limits = self._activity.data, self._activity.thresholds
        is_listed = (data.listed[self._rows] >= 0).any()
        for stretch in stretches:
            irregular = stretch.scattered or is_listed
            most = limits.scattered_points if irregular else limits.part_points
            pieces = min(most, room) // len(stretches)
            if is_listed:
                yield self._places(stretch, max(pieces, 1))
                continue
            n_rows = len(stretch.rows)
            n_points = max(1, min(pieces, n_rows))
            edges = [n_rows * point // n_points for point in range(n_points + 1)]
            points = [
                point
                for first, stop in pairwise(edges)
                for point in self._of_each_call(stretch, first, stop)
            ]
            yield np.array(points, dtype=np.int64).T

    def _stretches(self, idle: IdleTimes) -> Iterator[_Stretch]:
        data, table = self._activity.data, self._activity.rows.table
        rows, seq = self._rows, table.seq[self._source]
        count = data.count[rows]
        last_seq = seq + (count - 1) * self._body
        between = idle.of_rank(self._part.rank, int(seq[0]), int(last_seq.max()))
        # The operations of interleaved rows have no places of their own in the rank's sequence.
        if not len(between) or (table.substream[self._source] >= 0).any():
            yield self._stretch(rows, np.zeros_like(count), count, None, None)
            return
        latest = np.maximum.accumulate(last_seq)
        edges = [int(seq[0]), *between.seq.tolist(), int(latest[-1]) + 1]
        ends = [None, *between.end_ns.tolist()]
        starts = [*between.start_ns.tolist(), None]
        for (a, b), after, before in zip(pairwise(edges), ends, starts, strict=True):
            # Rows that may have operations from a on, and before b.
            near = slice(int(np.searchsorted(latest, a)), int(np.searchsorted(seq, b)))
            step = self._body[near]
            low = np.clip(-((seq[near] - a) // step), 0, count[near])
            high = np.clip(-((seq[near] - b) // step), 0, count[near])
            some = low < high
            if some.any():
                yield self._stretch(rows[near][some], low[some], high[some], after, before)

    def _stretch(
        self, rows: Int64Array, low: Int64Array, high: Int64Array, after: int | None, before: int | None
    ) -> _Stretch:  # fmt: skip
        """Operations of rows; what of a row lies beyond an idle time began or ended with that."""
        data, table = self._activity.data, self._activity.rows.table
        source = data.row[rows]
        start = int(table.start_ns[source].min())
        end = int(table.end_ns[source].max())
        scattered = self._leads_back(rows, low)
        if start == UNKNOWN or int(table.end_ns[source].min()) == UNKNOWN:
            return _Stretch(rows, low, high, UNKNOWN, UNKNOWN, scattered)
        start = start if after is None else max(start, after)
        end = end if before is None else min(end, before)
        return _Stretch(rows, low, high, start, max(start, end), scattered)

    def _leads_back(self, rows: Int64Array, low: Int64Array) -> bool:
        data = self._activity.data
        op = data.op[rows]
        for code in np.unique(op).tolist():
            steps = np.diff(data.offsets(rows[op == code], low[op == code]))
            if (steps < 0).any() and (steps > 0).any():
                return True
        return False

    def _of_each_call(self, stretch: _Stretch, first: int, stop: int) -> Iterator[list[int]]:
        """Some of a stretch's rows as one point for each call."""
        op = self._activity.data.op[stretch.rows[first:stop]]
        codes, at = np.unique(op, return_index=True)
        for code in codes[np.argsort(at)].tolist():
            yield self._of_rows(stretch, first + np.flatnonzero(op == code))

    def _of_rows(self, stretch: _Stretch, at: Int64Array) -> list[int]:
        data, table = self._activity.data, self._activity.rows.table
        rows, low, high = stretch.rows[at], stretch.low[at], stretch.high[at]
        begin, end = int(data.row[rows[0]]), int(data.row[rows[-1]])
        first = int(data.offsets(rows[:1], low[:1])[0])
        known, n = first != UNKNOWN, int((high - low).sum())
        scattered = known and stretch.scattered and n > 1 and (len(rows) > 1 or n < LINE)
        last = int(data.offsets(rows[-1:], high[-1:] - 1)[0])
        return [
            self._number, int(data.op[rows[0]]), int(data.size[rows[0]]), n,
            int(table.tick[begin] + low[0] * table.tick_step[begin]),
            int(table.tick[end] + (high[-1] - 1) * table.tick_step[end]),
            *self._times(stretch, begin, end), first, first if scattered else last, scattered,
        ]  # fmt: skip

    def _times(self, stretch: _Stretch, begin: int, end: int) -> tuple[int, int]:
        """Of some rows of a stretch: their own times, as far as they are within it."""
        table = self._activity.rows.table
        if stretch.start_ns == UNKNOWN:
            return UNKNOWN, UNKNOWN
        start = max(int(table.start_ns[begin]), stretch.start_ns)
        return start, max(start, min(int(table.end_ns[end]), stretch.end_ns))

    def _places(self, stretch: _Stretch, pieces: int) -> Points:
        """Evenly spaced operations of a stretch, each for those up to the next one: between places there is no line.

        Rows with lists hold many places. As if all operations of the stretch were equally long.
        """
        data, table = self._activity.data, self._activity.rows.table
        length = stretch.high - stretch.low
        ends = np.cumsum(length)
        n = int(ends[-1])
        edges = np.arange(min(pieces, n) + 1) * n // min(pieces, n)
        at = np.searchsorted(ends, edges[:-1], side="right")
        row = stretch.rows[at]
        within = stretch.low[at] + edges[:-1] - (ends - length)[at]
        offsets, sizes = data.offsets(row, within), data.sizes(row, within)
        source = data.row[row]
        ticks = table.tick[source] + within * table.tick_step[source]
        span = stretch.end_ns - stretch.start_ns
        times = stretch.start_ns + span * edges // n
        if stretch.start_ns == UNKNOWN:
            times = np.full_like(times, UNKNOWN)
        count = np.diff(edges)
        return np.stack([
            np.full_like(count, self._number), data.op[row], sizes, count, ticks, np.append(ticks[1:], ticks[-1:]),
            times[:-1], times[1:], offsets, offsets, count > 1,
        ])  # fmt: skip
