"""When the processes of a run began and ended, and which of them started which.

Reads the parts of a trace folder; leaves a ``RankFacts`` for every rank. Scripts, and programs that fork,
are ordered by this: a process does nothing before it was started or after it has ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.trace.clocks import CommonTime
from wavetank.trace.part import Part
from wavetank.trace.schema import RankFacts


def rank_facts(
    ranks: Sequence[tuple[int, Sequence[Part]]],
    parts: Sequence[Part],
    times: Sequence[CommonTime],
    origin_ns: int,
) -> tuple[RankFacts, ...]:
    """What is known of each rank's process.

    Args:
        ranks: number and parts of each rank.
        parts: of all processes, also of those that are no rank because they did no I/O.
        times: for each part its start on the common clock.
        origin_ns: the trace's time zero on that clock.
    """
    time_of = {id(part): time for part, time in zip(parts, times, strict=True)}
    rank_of = {(own[0].host, own[0].pid): rank for rank, own in ranks}
    parent_of = {(part.host, part.pid): part.ppid for part in parts}
    return tuple(
        RankFacts(
            rank=rank,
            host=own[0].host,
            pid=own[0].pid,
            complete=all(part.ended and not part.damage for part in own),
            parent=_parent(own[0], rank_of, parent_of),
            begin_ns=min(time_of[id(part)].start_ns for part in own) - origin_ns,
            end_ns=_end_ns(own, time_of, origin_ns),
            of_launcher=any(part.rank is not None for part in own),
        )
        for rank, own in ranks
    )


def _parent(
    part: Part, rank_of: dict[tuple[str, int], int], parent_of: dict[tuple[str, int], int]
) -> int | None:
    """The nearest ancestor that is a rank: processes between that did no I/O are passed over."""
    seen = {part.pid}
    pid = part.ppid
    while pid not in seen:
        if (part.host, pid) in rank_of:
            return rank_of[part.host, pid]
        seen.add(pid)
        pid = parent_of.get((part.host, pid), part.pid)
    return None


def _end_ns(own: Sequence[Part], time_of: dict[int, CommonTime], origin_ns: int) -> int | None:
    ends = []
    for part in own:
        last = max(part.end_ns or 0, part.totals.last_end_ns)
        if last > 0:
            ends.append(time_of[id(part)].start_ns - origin_ns + last)
    return max(ends, default=None)
