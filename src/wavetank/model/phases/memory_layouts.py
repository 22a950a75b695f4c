"""Where the gaps are in the memory of MPI-IO calls, by the ranks' parts of phases.

Reads what the rows' calls were given; leaves for each pattern member the view that its memory is told by, where it is one for all
repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.columns import spread
from wavetank.model.phases.activity import Activity
from wavetank.model.phases.rank_merging import Merged
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array

Memory = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class MemoryLayouts:
    """Memory with gaps.

    Attributes:
        of_members: for each member of each part's pattern an index into the trace's views, UNKNOWN without one; None: nowhere.
        part_first: the first member of each part, and the end.
        told: for each row of the trace whether its part says where the gaps in its memory are.
    """

    of_members: Int64Array | None
    part_first: Int64Array
    told: BoolArray

    def of_phases(self, merged: Merged, n_members: Int64Array) -> list[Memory | None]:
        """``Phase.memory`` of each phase."""
        found: list[Memory | None] = [None] * len(merged)
        if self.of_members is None:
            return found
        for number, n in enumerate(n_members.tolist()):
            parts = merged.parts[merged.first[number] : merged.first[number + 1]]
            views = self.of_members[self.part_first[parts][:, None] + np.arange(n)]
            if (views != UNKNOWN).any():
                by_member = views.T.tolist()
                found[number] = tuple(
                    [tuple(one[:1] if len(set(one)) == 1 else one) for one in by_member]
                )
        return found


def memory_layouts(activity: Activity) -> MemoryLayouts:
    """The layouts of a trace taken apart. What lies otherwise from repetition to repetition has none."""
    data, parts, members = activity.data, activity.parts, activity.members
    table = activity.rows.table
    view = table.details.memory_view[table.given[data.row]]
    told = np.zeros(len(table), dtype=bool)
    told[data.row] = view != UNKNOWN
    if not told.any():
        return MemoryLayouts(None, members.part_first, told)
    # Each row of each part; from `period` operations on members recur.
    owner, within = spread(parts.last_row - parts.first_row + 1)
    at = parts.first_row[owner] + within
    first = np.maximum(data.first_op[at], parts.low[owner])
    end = np.minimum(data.first_op[at] + table.count[data.row[at]], parts.high[owner])
    period = parts.period[owner]
    of, nth = spread(np.minimum(end - first, period))
    operation = first[of] + nth - parts.low[owner[of]]
    member = members.part_first[owner[of]] + operation % period[of]
    n = int(members.part_first[-1])
    low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, np.iinfo(np.int64).min)
    np.minimum.at(low, member, view[at[of]])
    np.maximum.at(high, member, view[at[of]])
    mixed = np.logical_or.reduceat(low != high, members.part_first[:-1])
    told[data.row[at[mixed[owner]]]] = False
    return MemoryLayouts(np.where(low == high, low, UNKNOWN), members.part_first, told)
