"""The order that processes have by starting each other: of scripts, and of programs that fork.

Reads when the processes of a trace began and ended; leaves events for the programs. Ranks that a launcher
started run together, and nothing is said of them among each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.trace.schema import Int64Array, RankFacts


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
) -> Int64Array:
    """Where events lie among rows: the index of the row that each comes before.

    Args:
        events: of ranks that have rows.
        rank: of each row, ascending.
        start_ns: of each row, since the trace's time zero.
        end_ns: the same.

    A process that begins inside of a row begins before it; one that ends there has ended after it.
    """  # fmt: skip
    by_rank: dict[int, list[int]] = defaultdict(list)
    for index, event in enumerate(events):
        by_rank[event.rank].append(index)
    places = np.zeros(len(events), dtype=np.int64)
    for of_rank, indices in by_rank.items():
        low, high = (int(bound) for bound in np.searchsorted(rank, [of_rank, of_rank + 1]))
        started = np.maximum.accumulate(start_ns[low:high])
        # Rows are in the order of their ends. Times beside processes' begins and ends are exact, others are coded:
        # no row ended later than one behind it.
        ended = np.minimum.accumulate(end_ns[low:high][::-1])[::-1]
        for index in indices:
            event = events[index]
            later = (
                np.searchsorted(started, event.at_ns)
                if event.ended
                else np.searchsorted(ended, event.at_ns, side="right")
            )
            places[index] = low + int(later)
    return places
