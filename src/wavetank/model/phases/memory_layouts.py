"""Where the gaps are in the memory of MPI-IO calls, by the ranks' parts of phases.

Reads what the rows' calls were given; leaves for each pattern member the view that its memory is told by, where it is one for all
repetitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.events.streams import DataRows
from wavetank.model.phases.activity import Activity
from wavetank.model.phases.rank_phase import RankPhase
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array


@dataclass(frozen=True)
class MemoryLayouts:
    """Memory with gaps.

    Attributes:
        of_parts: by the number of a part for each pattern member an index into the trace's views, UNKNOWN without one.
            Parts without any are left out.
        told: for each row of the trace whether its part says where the gaps in its memory are.
    """

    of_parts: Mapping[int, tuple[int, ...]]
    told: BoolArray

    def of_phase(self, parts: Sequence[int], n_members: int) -> tuple[tuple[int, ...], ...] | None:
        """``Phase.memory`` of the phase that is made of these parts."""
        if not any(part in self.of_parts for part in parts):
            return None
        none = (UNKNOWN,) * n_members
        by_member = zip(*(self.of_parts.get(part, none) for part in parts), strict=True)
        return tuple([one[:1] if len(set(one)) == 1 else one for one in by_member])


def memory_layouts(activity: Activity) -> MemoryLayouts:
    """The layouts of a trace taken apart. What lies otherwise from repetition to repetition has none."""
    data, parts = activity.data, activity.parts
    table = activity.rows.table
    view = table.details.memory_view[table.given[data.row]]
    told = np.zeros(len(table), dtype=bool)
    told[data.row] = view != UNKNOWN
    if not told.any():
        return MemoryLayouts({}, told)
    before = np.concatenate([[0], np.cumsum(view != UNKNOWN)])
    first = np.array([part.first_row for part in parts], dtype=np.int64)
    last = np.array([part.last_row for part in parts], dtype=np.int64)
    stride = data.members
    found = {}
    for number in np.flatnonzero(before[last + 1] > before[first]).tolist():
        part = parts[number]
        rows = slice(part.first_row, part.last_row + 1)
        low, high = _range_by_member(data, view, stride, part)
        if (low != high).any():
            told[data.row[rows]] = False
        of_members = tuple(np.where(low == high, low, UNKNOWN).tolist())
        if any(one != UNKNOWN for one in of_members):
            found[number] = of_members
    return MemoryLayouts(found, told)


def _range_by_member(
    data: DataRows, view: Int64Array, stride: Int64Array, part: RankPhase
) -> tuple[Int64Array, Int64Array]:
    """The lowest and the highest view of each pattern member's rows."""
    rows, period = slice(part.first_row, part.last_row + 1), len(part.ops)
    own, step = view[rows], stride[rows]
    first = np.maximum(data.first_op[rows], part.low)
    # A block is a part's as a whole. Of another row the operations outside of the part are not the part's.
    count = np.where(
        data.block[rows] >= 0,
        data.count[rows],
        np.minimum(data.first_op[rows] + data.count[rows], part.high) - first,
    )
    n = np.minimum(count, period)  # from there on members recur
    row = np.repeat(np.arange(len(n)), n)
    within = np.arange(len(row)) - np.repeat(np.cumsum(n) - n, n)
    member = (first[row] - part.low + within * step[row]) % period
    low = np.full(period, np.iinfo(np.int64).max)
    high = np.full(period, np.iinfo(np.int64).min)
    np.minimum.at(low, member, own[row])
    np.maximum.at(high, member, own[row])
    return low, high
