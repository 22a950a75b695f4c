"""A rank's part in a phase: one range of its operations on a file, described member by member."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import NamedTuple

import numpy as np

from wavetank.model.document.access_runs import Repetitions, RunArrays
from wavetank.model.events.streams import DataRows
from wavetank.model.phases.member_runs import Members, members_of, runs_of
from wavetank.model.phases.patterns import Ranges
from wavetank.model.phases.small_parts import Parts, describe_small
from wavetank.model.work_limits import WorkLimits
from wavetank.trace.schema import UNKNOWN, BoolArray, Int32Array, Int64Array, UInt8Array


class RankPhase(NamedTuple):
    """One range of operations of one rank on one file.

    ``members`` and ``view_members`` hold the repetitions of each pattern member; offsets are UNKNOWN where
    the trace does not say. ``first_row`` and ``last_row`` index DataRows.
    """

    low: int
    high: int
    first_row: int
    last_row: int
    rank: int
    file: int
    level: int
    view: int
    n_rep: int
    ops: tuple[int, ...]
    slots: tuple[int, ...]
    members: tuple[Repetitions, ...]
    view_members: tuple[Repetitions, ...] | None

    @property
    def rs(self) -> tuple[int, ...]:
        """Request size of each member's first repetition, bytes."""
        return tuple([member.size for member in self.members])

    @property
    def regular(self) -> bool:
        """Whether each member has one size and one displacement throughout."""
        return all(member.n_runs == 1 for member in self.members)

    @property
    def offsets_known(self) -> bool:
        """Whether the trace knows where the operations went."""
        return self.members[0].offset != UNKNOWN

    @property
    def disp(self) -> tuple[int | None, ...]:
        """Bytes between the first two repetitions of each member; None with one, or unknown offsets."""
        if self.n_rep == 1 or not self.offsets_known:
            return (None,) * len(self.members)
        return tuple([member.step for member in self.members])

    @property
    def disp_view(self) -> tuple[int | None, ...] | None:
        """The same in the MPI file view, where there is one."""
        if self.view_members is None or self.n_rep == 1:
            return None
        return tuple([member.step for member in self.view_members])

    @property
    def moved(self) -> int:
        """Bytes moved."""
        return sum([member.total for member in self.members])

    @property
    def moved_last(self) -> tuple[int, ...]:
        """Bytes that each member's last repetition moved."""
        return tuple([member.last_moved for member in self.members])


def describe(data: DataRows, ranges: Ranges, work: WorkLimits) -> list[RankPhase]:
    """Describe each range, in the order of the ranges; small ones together."""
    first_row = np.searchsorted(data.first_op, ranges.low, side="right") - 1
    last_row = np.searchsorted(data.first_op, ranges.high - 1, side="right") - 1
    special = np.concatenate([[0], np.cumsum((data.listed >= 0) | (data.block >= 0))])
    plain = special[last_row + 1] == special[first_row]
    # Most parts of a regular program are one row: they need no looking at.
    whole = (
        plain
        & (ranges.period == 1)
        & (first_row == last_row)
        & (data.first_op[first_row] == ranges.low)
        & (data.count[first_row] == ranges.high - ranges.low)
    )
    small = plain & ~whole & (last_row - first_row < work.part_rows)
    small &= ranges.high - ranges.low <= work.part_rows * ranges.period
    small &= ranges.period <= work.part_rows
    at_once = dict(_whole_rows(data, whole, first_row))
    at_once.update(
        zip(
            np.flatnonzero(small).tolist(),
            describe_small(
                data,
                Parts(
                    *(
                        column[small]
                        for column in (ranges.low, ranges.high, ranges.period, first_row, last_row)
                    )
                ),
            ),
            strict=True,
        )
    )
    of_row = (data.rank, data.file, data.level, data.view)
    columns = zip(
        range(len(ranges)),
        ranges.low.tolist(),
        ranges.high.tolist(),
        ranges.period.tolist(),
        first_row.tolist(),
        last_row.tolist(),
        plain.tolist(),
        *(column[first_row].tolist() for column in of_row),
        strict=True,
    )
    return [
        RankPhase(
            low,
            high,
            row,
            end_row,
            rank,
            file,
            level,
            view,
            (high - low) // period,
            *(
                at_once[number]
                if number in at_once
                else _of_rows(data, low, high, row, end_row, period, view)
                if is_plain
                else members_of(data, low, high, row, end_row, period)
            ),
        )
        for (
            number,
            low,
            high,
            period,
            row,
            end_row,
            is_plain,
            rank,
            file,
            level,
            view,
        ) in columns
    ]


def _whole_rows(
    data: DataRows, whole: BoolArray, first_row: Int64Array
) -> Iterable[tuple[int, Members]]:
    """Operation, handle, repetitions and those in the view of parts that are one row, by the parts' numbers."""
    row = first_row[whole]
    count, size, moved = data.count[row], data.size[row], data.moved[row]
    edges = np.arange(len(row) + 1)

    def members(offset: Int64Array, disp: Int64Array) -> list[tuple[Repetitions]]:
        columns = RunArrays(count, size, moved, offset[row], disp[row])
        return list(zip(Repetitions.of_each(columns, edges), strict=True))

    viewed = data.view[row] != UNKNOWN
    in_view: Iterable[tuple[Repetitions] | None] = repeat(None, len(row))
    if viewed.any():
        views = members(data.view_offset, data.view_disp)
        in_view = [view if has else None for view, has in zip(views, viewed.tolist(), strict=True)]
    ops, slots = (list(zip(column[row].tolist(), strict=True)) for column in (data.op, data.slot))
    found = zip(ops, slots, members(data.offset, data.disp), in_view, strict=True)
    return zip(np.flatnonzero(whole).tolist(), found, strict=True)


def _of_rows(
    data: DataRows, low: int, high: int, row: int, end_row: int, period: int, view: int
) -> Members:
    """The same of a part of several rows, or of pieces of them, for each pattern member."""
    rows = _clip(data, low, high, row, end_row)
    members = [rows] if period == 1 else _members(rows, period)
    op, slot = (
        (data.op[row : row + 1], data.slot[row : row + 1])
        if period == 1
        else _first_repetition(data, row, end_row, low, period)
    )
    runs = tuple([Repetitions.of(runs_of(member, "offset", "disp")) for member in members])
    in_view = (
        None
        if view == UNKNOWN
        else tuple(
            [Repetitions.of(runs_of(member, "view_offset", "view_disp")) for member in members]
        )
    )
    return tuple(op.tolist()), tuple(slot.tolist()), runs, in_view


_COLUMNS = ("count", "size", "moved", "offset", "disp", "view_offset", "view_disp")


def _clip(data: DataRows, low: int, high: int, row: int, end_row: int) -> dict[str, Int64Array]:
    """The rows of operations [low, high), the outer ones cut to them."""
    rows = {name: getattr(data, name)[row : end_row + 1] for name in _COLUMNS}
    skipped = low - int(data.first_op[row])
    dropped = int(data.first_op[end_row] + data.count[end_row]) - high
    if skipped or dropped:
        rows = {name: column.copy() for name, column in rows.items()}
    if skipped:
        rows["count"][0] -= skipped
        rows["moved"][0] -= skipped * rows["size"][0]
        if rows["offset"][0] != UNKNOWN:
            rows["offset"][0] += skipped * rows["disp"][0]
            rows["view_offset"][0] += skipped * rows["view_disp"][0]
    if dropped:
        rows["count"][-1] -= dropped
        rows["moved"][-1] = rows["count"][-1] * rows["size"][-1]
    return rows


def _members(rows: dict[str, Int64Array], period: int) -> list[dict[str, Int64Array]]:
    """Single operations of each pattern member."""
    count = rows["count"]
    index = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    known = rows["offset"][index] != UNKNOWN
    last = within == count[index] - 1
    size = rows["size"][index]
    single = {
        "count": np.ones(len(index), dtype=np.int64),
        "size": size,
        "moved": np.where(last, (rows["moved"] - (count - 1) * rows["size"])[index], size),
        "disp": np.zeros(len(index), dtype=np.int64),
        "view_disp": np.zeros(len(index), dtype=np.int64),
    }
    for name, step in (("offset", "disp"), ("view_offset", "view_disp")):
        at = rows[name][index]
        single[name] = np.where(known, at + within * rows[step][index], at)
    return [{name: column[m::period] for name, column in single.items()} for m in range(period)]


def _first_repetition(
    data: DataRows, row: int, end_row: int, low: int, period: int
) -> tuple[UInt8Array, Int32Array]:
    rows = slice(row, min(row + period, end_row + 1))
    index = np.repeat(np.arange(rows.start, rows.stop), data.count[rows])
    index = index[low - int(data.first_op[row]) :][:period]
    return data.op[index], data.slot[index]
