"""The temporal pattern of a run, thinned to what a plot can show (P16 fig. 4c, P18 fig. 3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from wavetank.model.activity import Activity
from wavetank.model.application import TimelinePoint
from wavetank.model.data_rows import DataRows
from wavetank.model.folded import Folded
from wavetank.model.rank_phase import RankPhase
from wavetank.trace.schema import UNKNOWN, Int64Array

MAX_POINTS = 4000
"""Points of a timeline: more than a plot of 1600 pixels can tell apart."""
MAX_OF_ONE_RANK = 20_000
"""Points where one rank alone has more parts than ``MAX_POINTS``; its phases take more room than that."""
MAX_PIECES = 100
"""Points of one rank's part in one phase."""
WANTED_PIECES = 8
"""Pieces of each rank's part in a phase for which ranks are left out."""


def make_timeline(
    activity: Activity,
) -> tuple[TimelinePoint, ...]:
    """Stretches of operations of one call: each part of a phase once or, where there is room, in pieces.

    Where there are more parts than points, evenly spaced ranks stand for all. Of one rank's parts all are
    kept up to ``MAX_OF_ONE_RANK``, then ones at nearly even distances in time.
    """
    own = [part for part in activity.parts if part.level == activity.own_level[part.file]]
    # Of many ranks fewer are kept, so that what each does with its turns of reads and writes is seen.
    n_wanted = sum(min(part.last_row - part.first_row + 1, WANTED_PIECES) for part in own)
    if n_wanted > MAX_POINTS and len(own) > MAX_POINTS // WANTED_PIECES:
        ranks = sorted({part.rank for part in own})
        n_ranks = max(1, MAX_POINTS * len(ranks) // n_wanted)
        kept = {ranks[i * len(ranks) // n_ranks] for i in range(n_ranks)}
        own = [part for part in own if part.rank in kept]
        if len(own) > MAX_OF_ONE_RANK:
            own = _thinned(own, activity)
    if not own:
        return ()
    pieces = max(1, min(MAX_PIECES, MAX_POINTS // len(own)))
    points: list[TimelinePoint] = []
    data = activity.data
    for part in own:
        if (data.listed[part.first_row : part.last_row + 1] >= 0).any():
            points.extend(_points_of_lists(activity, part, pieces))
            continue
        n_rows = part.last_row - part.first_row + 1
        n_points = min(pieces, n_rows)
        edges = [part.first_row + n_rows * point // n_points for point in range(n_points + 1)]
        for first, last in pairwise(edges):
            points += _points(activity, part, first, last)
    return tuple(points)


def _points(activity: Activity, part: RankPhase, first: int, stop: int) -> Iterator[TimelinePoint]:
    """Rows [first, stop) as one stretch of each call."""
    op = activity.data.op[first:stop]
    codes, at = np.unique(op, return_index=True)
    for code in codes[np.argsort(at)].tolist():
        yield _point(activity, part, first + np.flatnonzero(op == code))


def _thinned(parts: list[RankPhase], activity: Activity) -> list[RankPhase]:
    """Parts at nearly even distances in time: exactly even ones would miss what recurs at that distance."""
    seq = activity.rows.table.seq[activity.data.row[[part.first_row for part in parts]]]
    step = len(parts) / MAX_OF_ONE_RANK
    place = np.arange(MAX_OF_ONE_RANK)
    golden = place * ((5**0.5 - 1) / 2) % 1.0
    chosen = np.argsort(seq, kind="stable")[((place + golden) * step).astype(np.int64)]
    return [parts[number] for number in np.sort(chosen).tolist()]


def _point(activity: Activity, part: RankPhase, rows: Int64Array) -> TimelinePoint:
    data, table = activity.data, activity.rows.table
    first, last = int(rows[0]), int(rows[-1])
    begin, end = int(data.row[first]), int(data.row[last])
    known = int(data.offset[first]) != UNKNOWN
    timed = int(table.start_ns[begin]) != UNKNOWN and int(table.end_ns[end]) != UNKNOWN
    operations = int(data.count[rows].sum())
    return TimelinePoint(
        rank=part.rank,
        file_id=activity.file_ids[part.file],
        iop_type=activity.rows.ops[int(data.op[first])].name,
        rs=int(data.size[first]),
        tick_first=int(table.tick[begin]),
        tick_last=int(table.tick[end] + (table.count[end] - 1) * table.tick_step[end]),
        start_s=int(table.start_ns[begin]) / 1e9 if timed else None,
        end_s=int(table.end_ns[end]) / 1e9 if timed else None,
        offset_first=int(data.offset[first]) if known else None,
        offset_last=_last_offset(data, last) if known else None,
        count=operations,
    )


def _points_of_lists(activity: Activity, part: RankPhase, pieces: int) -> list[TimelinePoint]:
    """Evenly spaced stretches of a part's operations, each at the place of its first one.

    Rows with lists hold many places, between which there is no line.
    """
    data, table = activity.data, activity.rows.table
    n = part.high - part.low
    edges = part.low + np.arange(min(pieces, n) + 1) * n // min(pieces, n)
    (row, within), (last_row, last_within) = data.locate(edges[:-1]), data.locate(edges[1:] - 1)
    source, last_source = data.row[row], data.row[last_row]
    timed = (table.start_ns[source] != UNKNOWN) & (table.end_ns[last_source] != UNKNOWN)
    columns = (
        timed, row, np.diff(edges), data.sizes(row, within), data.offsets(row, within),
        table.tick[source] + within * table.tick_step[source],
        table.tick[last_source] + last_within * table.tick_step[last_source],
        _time(table, source, within), _time(table, last_source, last_within + 1),
    )  # fmt: skip
    return [
        TimelinePoint(
            rank=part.rank,
            file_id=activity.file_ids[part.file],
            iop_type=activity.rows.ops[int(data.op[at])].name,
            rs=size,
            tick_first=tick,
            tick_last=last_tick,
            start_s=start / 1e9 if known else None,
            end_s=end / 1e9 if known else None,
            offset_first=offset,
            offset_last=offset,
            count=count,
        )
        for known, at, count, size, offset, tick, last_tick, start, end in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def _time(table: Folded, row: Int64Array, within: Int64Array) -> Int64Array:
    """When operations of rows begin, ns, as if all were equally long."""
    span = table.end_ns[row] - table.start_ns[row]
    times: Int64Array = table.start_ns[row] + span * within // table.count[row]
    return times


def _last_offset(data: DataRows, row: int) -> int:
    where = np.array([row])
    return int(data.offsets(where, data.count[where] - 1)[0])
