"""Many small parts of phases described at once: a call of numpy for all of them, not some fifty for each.

Reads ``DataRows`` and ranges of plain rows (no loops, no lists); leaves each part's members and their runs, as
``rank_phase`` finds them for one part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.document.access_runs import Repetitions, RunArrays, canonical_each
from wavetank.model.events.streams import DataRows
from wavetank.model.phases.member_runs import Members
from wavetank.trace.schema import UNKNOWN, Int64Array


@dataclass(frozen=True)
class Parts:
    """Parts of phases, columns of equal length: operations [low, high), of rows [first_row, last_row]."""

    low: Int64Array
    high: Int64Array
    period: Int64Array
    first_row: Int64Array
    last_row: Int64Array

    def __len__(self) -> int:
        return len(self.low)


def describe_small(data: DataRows, parts: Parts) -> list[Members]:
    """Operations, handles, runs and runs in the view of each part's pattern members."""
    if not len(parts):
        return []
    starts, operation = _each(parts.high - parts.low)
    operation += np.repeat(parts.low - starts, parts.high - parts.low)
    part = np.repeat(np.arange(len(parts)), parts.high - parts.low)
    row = np.searchsorted(data.first_op, operation, side="right") - 1
    within = operation - data.first_op[row]
    # Members of a part lie in sequence, each with its repetitions in order.
    groups, first_group = int(parts.period.sum()), np.cumsum(parts.period) - parts.period
    group = first_group[part] + (operation - parts.low[part]) % parts.period[part]
    order = np.argsort(group, kind="stable")
    group, row, within = group[order], row[order], within[order]
    group_starts = np.searchsorted(group, np.arange(groups))
    of_group = np.repeat(np.arange(len(parts)), parts.period)
    unknown = data.offset[parts.first_row] == UNKNOWN
    size, one = data.size[row], np.ones(len(row), dtype=np.int64)
    last = within == data.count[row] - 1
    moved = np.where(last, data.moved[row] - (data.count[row] - 1) * size, size)
    known = data.offset[row] != UNKNOWN

    def runs(offset: Int64Array, disp: Int64Array) -> list[Repetitions]:
        place = offset[row] + np.where(known, within * disp[row], 0)
        columns = RunArrays(one, size, moved, place, np.zeros_like(one))
        return Repetitions.of_each(*canonical_each(columns, group_starts, unknown[of_group]))

    found = runs(data.offset, data.disp)
    viewed = data.view[parts.first_row] != UNKNOWN
    in_view = runs(data.view_offset, data.view_disp) if viewed.any() else []
    ops, slots = data.op[row[group_starts]].tolist(), data.slot[row[group_starts]].tolist()
    members = []
    bounds = zip(
        first_group.tolist(), (first_group + parts.period).tolist(), viewed.tolist(), strict=True
    )
    for a, b, has_view in bounds:
        members.append(
            (
                tuple(ops[a:b]), tuple(slots[a:b]), tuple(found[a:b]),
                tuple(in_view[a:b]) if has_view else None,
            )
        )  # fmt: skip
    return members


def _each(length: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Where each of some stretches begins if they lie in sequence, and the numbers of all their places."""
    starts = np.cumsum(length) - length
    return starts, np.arange(int(length.sum()), dtype=np.int64)
