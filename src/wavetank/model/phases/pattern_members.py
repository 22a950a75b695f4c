"""Members of the parts' patterns: each operation of a pattern, with the runs of its repetitions.

Reads streams and parts; leaves ``Members``. How runs are found: native/model/runs.c.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wavetank.model.columns import (  # fmt: skip
    Column,
    Numbers,
    from_c,
    library,
    pointer,
    spread,
    starts,
    until,
)
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.events.rows import Rows
from wavetank.model.phases.streams import Around, Parts, Streams, around_of
from wavetank.trace.schema import UNKNOWN, Int64Array


@dataclass(frozen=True)
class Runs:
    """The longest runs of all members, from left to right; ``first`` is the first one of each member, and the end."""

    columns: RunArrays
    first: Int64Array

    @cached_property
    def n(self) -> Int64Array:
        """Runs of each member."""
        return np.diff(self.first)

    @cached_property
    def step(self) -> Int64Array:
        """Bytes between each member's first two repetitions; says nothing where there is one."""
        count, offset, disp = self.columns.count, self.columns.offset, self.columns.disp
        one, two = self.first[:-1], np.minimum(self.first[:-1] + 1, self.first[1:] - 1)
        return np.where((count[one] > 1) | (one == two), disp[one], offset[two] - offset[one])

    def at_first(self, name: str) -> Int64Array:
        """A column of each member's first run."""
        found: Int64Array = getattr(self.columns, name)[self.first[:-1]]
        return found

    def of(self, member: int) -> RunArrays:
        """The runs of one member."""
        at = slice(int(self.first[member]), int(self.first[member + 1]))
        one = self.columns
        return RunArrays(one.count[at], one.size[at], one.moved[at], one.offset[at], one.disp[at])


@dataclass(frozen=True)
class Members:
    """Members of parts' patterns, in order.

    Attributes:
        part: that each is of.
        part_first: the first one of each part, and the end.
        op, slot: call and handle.
        runs: of its repetitions.
        runs_view: the same in MPI file views; None where there are none.
        dist: (tick, subtick) from the first repetition to the second; says nothing where there is one.
    """

    part: Int64Array
    part_first: Int64Array
    op: Int64Array
    slot: Int64Array
    runs: Runs
    runs_view: Runs | None
    dist: Int64Array

    @cached_property
    def moved(self) -> Int64Array:
        """Bytes that each member moved."""
        return np.add.reduceat(self.runs.columns.moved, self.runs.first[:-1])

    @cached_property
    def last(self) -> tuple[Int64Array, Int64Array]:
        """What each member's last repetition asked for, and moved."""
        columns, at = self.runs.columns, self.runs.first[1:] - 1
        size = columns.size[at]
        return size, columns.moved[at] - (columns.count[at] - 1) * size


def describe(rows: Rows, streams: Streams, parts: Parts) -> Members:
    """Each member of each part's pattern."""
    low: Int64Array | None = None
    n: Int64Array | None = None
    whole = parts.low == streams.first_op[parts.first_row]
    if whole.all() and (parts.period == 1).all():
        row, part = streams.row, np.arange(len(parts))
        first, member = until(parts.first_row, len(row)), np.zeros(len(parts), dtype=np.int64)
    else:
        row, low, n, owner, of = _by_member(rows, streams, parts)
        first = starts(owner, of)
        part, member, first = owner[first], of[first], until(first, len(row))
    begin = parts.low[part] + member
    again = np.minimum(begin + parts.period[part], parts.high[part] - 1)
    dist = np.stack(_clock(rows, streams, again)) - np.stack(_clock(rows, streams, begin))
    at = row[first[:-1]]
    where = first, row, low, n
    viewed = bool((parts.view != UNKNOWN).any())
    return Members(
        part, until(starts(part), len(part)), rows.table.op[at].astype(np.int64), rows.slot[at].astype(np.int64),
        _runs(rows, where), _runs(rows, where, view=True) if viewed else None, dist.T,
    )  # fmt: skip


def _clock(rows: Rows, streams: Streams, operation: Int64Array) -> list[Int64Array]:
    """Tick and subtick of operations."""
    table, place = rows.table, streams.at(operation)
    within, row = operation - streams.first_op[place], streams.row[place]
    return [
        table.tick[row] + within * table.tick_step[row],
        table.subtick[row] + within * table.subtick_step[row],
    ]


def _by_member(
    rows: Rows, streams: Streams, parts: Parts
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]:
    """Rows of parts in the order of members: row, first operation of it, how many, part, member."""
    owner, within = spread(parts.last_row - parts.first_row + 1)
    at = parts.first_row[owner] + within
    row = streams.row[at]
    low = np.maximum(parts.low[owner] - streams.first_op[at], 0)
    n = np.minimum(parts.high[owner] - streams.first_op[at], rows.table.count[row]) - low
    several = parts.period[owner] > 1
    if not several.any():
        return row, low, n, owner, np.zeros(len(owner), dtype=np.int64)
    operation = streams.first_op[at] + low - parts.low[owner]
    of, within = spread(np.where(several, n, 1))  # of patterns single operations
    several = several[of]
    within = np.where(several, within, 0)
    owner, operation = owner[of], operation[of] + within
    member = np.where(several, operation % parts.period[owner], 0)
    order = np.lexsort((operation, member, owner))
    row, low, n = row[of], low[of] + within, np.where(several, 1, n[of])
    return row[order], low[order], n[order], owner[order], member[order]


class _Accesses(ctypes.Structure):
    _fields_ = (
        ("n_members", ctypes.c_int64), *((name, ctypes.c_void_p) for name in ("first", "index", "low", "n")),
        *((name, Column) for name in ("count", "size", "moved", "offset", "disp")), ("around", Around), ("edge", Column),
    )  # fmt: skip


def _runs(
    rows: Rows, where: tuple[Int64Array, Int64Array, Numbers | None, Numbers | None], *, view: bool = False
) -> Runs:  # fmt: skip
    """The runs of members: where each one's rows begin, these rows, and which of their operations."""
    table, around = rows.table, rows.around
    offset, disp = (table.view_offset, table.view_disp) if view else (table.offset, table.disp)
    first, n_members = where[0], len(where[0]) - 1
    columns = (table.count, table.size, table.moved, offset, disp)
    given = _Accesses(
        n_members, *map(pointer, where), *map(Column.of, columns),
        around_of(rows, around.view_step if view else around.step), Column.of(around.edge),
    )  # fmt: skip
    run_first, n = np.empty(len(first), dtype=np.int64), ctypes.c_int64()
    found = library().wt_runs(ctypes.byref(given), pointer(run_first), ctypes.byref(n))
    return Runs(RunArrays(*from_c(found, n.value, 5)), run_first)
