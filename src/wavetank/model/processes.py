"""The order that processes have by starting each other: of scripts, and of programs that fork.

Reads when the processes of a trace began and ended; leaves events for the programs. Ranks that a launcher
started run together, and nothing is said of them among each other. Source: docs/decisions, 0303.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.trace.schema import Int64Array, RankFacts

_CODED = 32
"""The tracer keeps times as the gaps between rows, each to within this part of it."""


@dataclass(frozen=True)
class ProcessEvent:
    """Something that a rank's program passes.

    Attributes:
        rank: whose program.
        process: rank of the process that begins there or has ended by there.
        ended: False: it begins.
        at_ns: when; since the trace's time zero.
    """

    rank: int
    process: int
    ended: bool
    at_ns: int


def process_events(ranks: Sequence[RankFacts]) -> list[ProcessEvent]:
    """What orders the processes of a run.

    A process begins in the program of the one that started it and has ended by a place in it; one that began
    when others of the same parent had ended begins with that. Empty where a launcher started all ranks.
    """
    known = [facts for facts in ranks if facts.begin_ns is not None and facts.end_ns is not None]
    if all(facts.of_launcher for facts in known):
        return []
    of_parent: dict[int | None, list[RankFacts]] = defaultdict(list)
    for facts in known:
        of_parent[facts.parent].append(facts)
    found = []
    for parent, children in of_parent.items():
        if parent is not None:
            for child in children:
                found += [
                    ProcessEvent(parent, child.rank, False, child.begin_ns or 0),
                    ProcessEvent(parent, child.rank, True, child.end_ns or 0),
                ]
        found += _after_each_other(children)
    return found


def _after_each_other(siblings: Sequence[RankFacts]) -> Iterator[ProcessEvent]:
    """For each process those that had ended when it began, without those that others of them waited for."""
    for later in siblings:
        begin = later.begin_ns or 0
        before = [
            earlier
            for earlier in siblings
            if (earlier.end_ns or 0) <= begin
            and earlier is not later
            and not (earlier.of_launcher and later.of_launcher)
        ]
        latest_begin = max((earlier.begin_ns or 0 for earlier in before), default=0)
        for earlier in before:
            if (earlier.end_ns or 0) > latest_begin or earlier.of_launcher:
                yield ProcessEvent(later.rank, earlier.rank, True, begin)


def event_places(
    events: Sequence[ProcessEvent],
    rank: Int64Array,
    start_ns: Int64Array,
    end_ns: Int64Array,
    loop: Int64Array,
) -> Int64Array:
    """Where events lie among rows: the index of the row that each comes before.

    Args:
        events: of ranks that have rows.
        rank: of each row, ascending.
        start_ns: of each row, since the trace's time zero.
        end_ns: the same.
        loop: number of the loop that a row is in the body of; -1 for none.

    A process that begins inside of a row or loop begins before it; one that ends there has ended after it.
    """  # fmt: skip
    same = np.diff(rank, prepend=-1) == 0
    gap = np.where(same, start_ns - np.roll(end_ns, 1), start_ns)
    slack = np.maximum(gap, 0) // _CODED
    places = []
    for event in events:
        low, high = np.searchsorted(rank, [event.rank, event.rank + 1])
        rows = slice(int(low), int(high))
        # In doubt a call was made before the child that it is for, and after the end that was waited for.
        behind = (
            start_ns[rows] + slack[rows] >= event.at_ns
            if event.ended
            else end_ns[rows] - slack[rows] > event.at_ns
        )
        later = np.flatnonzero(behind)
        place = int(low + later[0]) if len(later) else int(high)
        while low < place < high and loop[place] >= 0 and loop[place] == loop[place - 1]:
            place += 1 if event.ended else -1
        places.append(place)
    return np.array(places, dtype=np.int64)
