"""Puts the ranks' parts together: one phase for the ranks that do the same thing.

Ranks belong to one phase when their operations, repetitions, request sizes and displacements agree,
within the similarity window. The n-th such part of one rank belongs to the n-th of another. Source:
method, section 2, "Across ranks".

Why ranks are put together after each was looked at alone, and not while rows are read: a rank's patterns depend on nothing of the
other ranks. So the work is that of each rank, and a rank that does something else disturbs none.

Why by what is done and not by when: ranks of a program drift, and clocks of hosts differ. The n-th part of the same kind is taken for
the same step of the program, whenever a rank came to it.

Why places are no condition: ranks of one phase are at different places by nature. A function of the rank that gives all of
them is fitted behind it, exactly or not at all. Where there is none the places are listed, and the phase stays one.

Why a displacement counts only where it is regular: the first one of irregular repetitions is chance, and would separate ranks that do the
same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.columns import edges_of, lengths, numbered, numbered_lists, spread, starts
from wavetank.model.phases.activity import Activity
from wavetank.model.rules import Rules
from wavetank.trace.schema import UNKNOWN, Int64Array


@dataclass(frozen=True)
class PartTimes:
    """Clocks of each part: arrays over the parts."""

    tick_first: Int64Array
    tick_last: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    busy_ns: Int64Array
    seq: Int64Array  # of the first operation within its rank


@dataclass(frozen=True)
class Merged:
    """Phases of several ranks, in order; ``parts[first[i]:first[i + 1]]`` are the parts of phase i, by ascending rank.

    Attributes:
        parts, first: see above.
        of_part: phase of each part, from 0.
        times: of each part.
    """

    parts: Int64Array
    first: Int64Array
    of_part: Int64Array
    times: PartTimes

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def lead(self) -> Int64Array:
        """The first part of each phase."""
        return self.parts[self.first[:-1]]


def merge(activity: Activity, rules: Rules, *, by_time: bool, own_ticks: bool) -> Merged:
    """One phase for the ranks that do the same thing.

    Phases at the level at which the application itself uses their file come first. Ticks order them; where
    processes take part that make no MPI calls, whose ticks say nothing, times do.

    Args:
        activity: the ranks' parts.
        rules: what is similar.
        by_time: whether times order processes that make no MPI calls.
        own_ticks: a rank's ticks are its MPI-IO calls alone: of ranks that made more and less of them before a phase the most counts.
    """
    parts, times = activity.parts, clocks(activity)
    n = len(parts)
    groups = _classes(activity, rules)
    # The n-th part of each rank in its class together; in a class of one rank each is a phase.
    order = np.lexsort((np.arange(n), parts.rank, groups))
    new = starts(groups[order], parts.rank[order])
    occurrence = np.empty(n, dtype=np.int64)
    occurrence[order] = np.arange(n) - np.repeat(new, lengths(new, n))
    alone = np.flatnonzero(np.bincount(groups[order[new]])[groups] == 1)
    occurrence[alone] = alone
    order = np.lexsort((parts.rank, occurrence, groups))
    first = starts(groups[order], occurrence[order])
    at, least, most = order[first], np.minimum.reduceat, np.maximum.reduceat
    launched = np.zeros(n, dtype=np.int64)
    if by_time:
        launched = activity.rows.launched(parts.rank, times.start_ns)
    tick = (most if own_ticks else least)(times.tick_first[order], first)
    seq = least(times.seq[order], first)
    of_library = ~activity.is_own(parts.file[at], parts.level[at])
    place = np.lexsort((at, parts.rank[at], seq, tick, least(launched[order], first), of_library))
    number, within = spread(lengths(first, n)[place])
    listed = order[first[place][number] + within]
    of_part = np.empty(n, dtype=np.int64)
    of_part[listed] = number
    return Merged(listed, edges_of(lengths(first, n)[place]), of_part, times)


def _classes(activity: Activity, rules: Rules) -> Int64Array:
    """A number for each part, equal for those of equal calls whose sizes and displacements are similar."""
    parts, members = activity.parts, activity.members
    heads, n_members = members.part_first[:-1], np.diff(members.part_first)
    regular = np.minimum.reduceat(members.runs.n == 1, heads)
    known = members.runs.at_first("offset")[heads] != UNKNOWN
    # Where repetitions are irregular the first displacement says nothing.
    says = (regular & known & (parts.n_rep > 1))[members.part]
    disp = np.where(says, members.runs.step, 0)
    size = members.runs.at_first("size")
    if activity.families:  # where members of a family differ in size, the first one's says nothing
        alike = np.isin(parts.file, list(activity.families)) & ~regular
        size = np.where(alike[members.part], 0, size)
    call = members.slot << 8 | members.op
    shape = numbered(size, disp)[0]
    if (n_members > 1).any():  # a pattern is one number
        call, shape = (numbered_lists(column, members.part_first) for column in (call, shape))
    key, _ = numbered(
        parts.level, parts.file, call, parts.n_rep, parts.view == UNKNOWN, known, regular, n_members
    )
    found, first = numbered(key, shape)
    several = np.bincount(key[first])[key[first]] > 1
    if not several.any():
        return found
    # Shapes that differ: similar ones join, in the order of their sizes.
    shapes: dict[int, list[tuple[list[int], list[int], int]]] = {}
    for number in np.flatnonzero(several).tolist():
        part = int(first[number])
        at = slice(int(members.part_first[part]), int(members.part_first[part + 1]))
        shapes.setdefault(int(key[part]), []).append((size[at].tolist(), disp[at].tolist(), number))
    joined = np.arange(len(first))
    for alike_calls in shapes.values():
        classes: list[tuple[list[int], int]] = []
        for sizes, disps, number in sorted(alike_calls):
            values = sizes + disps
            for other, known_number in classes[-8:]:
                if all(map(rules.alike, other, values)):
                    joined[number] = known_number
                    break
            else:
                classes.append((values, number))
    return joined[found]


def clocks(activity: Activity) -> PartTimes:
    """When each part happened. A row that two parts share gives each its share of the time."""
    data, parts, table = activity.data, activity.parts, activity.rows.table
    row = data.row
    a, z = row[parts.first_row], row[parts.last_row]
    skipped = parts.low - data.first_op[parts.first_row]
    dropped: Int64Array = data.first_op[parts.last_row] + table.count[z] - parts.high
    timed = (table.start_ns[a] != UNKNOWN) & (table.end_ns[z] != UNKNOWN)
    share_a, share_z = ((table.end_ns[at] - table.start_ns[at]) // table.count[at] for at in (a, z))
    each_a, each_z = (table.busy_ns[at] // table.count[at] for at in (a, z))
    total = edges_of(table.busy_ns[row])
    busy = total[parts.last_row + 1] - total[parts.first_row] - skipped * each_a - dropped * each_z
    return PartTimes(
        tick_first=table.tick[a] + skipped * table.tick_step[a],
        tick_last=table.tick[z] + (table.count[z] - 1 - dropped) * table.tick_step[z],
        start_ns=np.where(timed, table.start_ns[a] + skipped * share_a, UNKNOWN),
        end_ns=np.where(timed, table.end_ns[z] - dropped * share_z, UNKNOWN),
        busy_ns=busy,
        seq=table.seq[a] + skipped,
    )
