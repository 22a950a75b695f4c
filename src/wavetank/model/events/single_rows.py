"""Joins single operations at equal distance to rows: logs of other tools fold nothing.

Reads a table in rank order; leaves one of fewer rows, which gives the same model. How: native/model/singles.c.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np

from wavetank.model.columns import Column, Numbers, chosen, from_c, library, pointer
from wavetank.model.events.codes import LEVEL, MOVES_DATA, OPENS
from wavetank.model.events.loop_layout import take
from wavetank.model.events.mpi_calls import inside_calls
from wavetank.model.rules import Rules
from wavetank.trace.schema import UNKNOWN, FoldTable, Int64Array, Level

_ALIKE = ("rank", "file", "handle", "view", "error", "given", "size", "loop")
_PLACES = ("tick", "subtick", "offset", "view_offset")
_MOST_LEFT = 0.75
"""Part of the rows that may be left; of more a table of its own takes longer than it saves."""


class _Singles(ctypes.Structure):
    _fields_ = (
        ("n", ctypes.c_int64), *((name, ctypes.c_void_p) for name in ("class", "separating", "is_tick")),
        ("op", Column), ("alike", Column * len(_ALIKE)),
        *((name, Column) for name in ("count", "loop", "size", "moved", "start")),
        ("at", Column * len(_PLACES)), ("busy", Column),
    )  # fmt: skip


def join_singles(table: FoldTable, rules: Rules) -> FoldTable:
    """The table with runs of single operations as rows. Where pauses mean something, nothing is joined."""
    if rules.shortest_gap_s is not None or not len(table) or not (table.count == 1).any():
        return table
    below = _below_mpi(table)
    joined = _joined(table, rules, below)
    if below is not None and not _lie_in_calls(joined, table):
        joined = _joined(table, rules, None)
    return joined


def _below_mpi(table: FoldTable) -> Numbers | None:
    """Data operations that were made in MPI-IO calls on files of MPI-IO, which no program holds; None where there are none.

    None, too, where opens say whose each is.
    """
    level = LEVEL[table.op]
    is_mpi = level == Level.MPIIO
    if not is_mpi.any() or is_mpi.all():
        return None
    of_mpi = np.zeros(int(table.file.max(initial=-1)) + 2, dtype=bool)
    of_mpi[table.file[is_mpi & (table.file >= 0)]] = True
    below = of_mpi[table.file] & (level == Level.POSIX)
    if not below.any() or OPENS[table.op[below]].any():
        return None
    below &= MOVES_DATA[table.op] & (inside_calls(table) >= 0)
    classes: Numbers = below.astype(np.uint8)
    return classes


def _lie_in_calls(joined: FoldTable, table: FoldTable) -> bool:
    """Whether joined POSIX calls lie in time in one row of MPI-IO calls."""
    if joined is table:
        return True
    level = LEVEL[joined.op]
    calls = np.flatnonzero(level == Level.MPIIO)
    some = np.flatnonzero((level == Level.POSIX) & (joined.count > 1))
    place = np.searchsorted(calls, some)
    found = np.zeros(len(some), dtype=bool)
    for candidate in (np.maximum(place - 1, 0), np.minimum(place, len(calls) - 1)):
        call = calls[candidate]
        found |= (
            (joined.rank[call] == joined.rank[some])
            & (joined.start_ns[call] <= joined.start_ns[some])
            & (joined.end_ns[some] <= joined.end_ns[call])
            & (joined.start_ns[some] != UNKNOWN)
        )
    return bool(found.all())


def _joined(table: FoldTable, rules: Rules, classes: Numbers | None) -> FoldTable:
    separating = chosen(rules.split_at_communication)[LEVEL].astype(np.uint8)
    is_tick = (LEVEL == Level.MPIIO).astype(np.uint8)
    given = _Singles(
        len(table), pointer(classes), pointer(separating), pointer(is_tick), Column.of(table.op),
        (Column * len(_ALIKE))(*(Column.of(getattr(table, name)) for name in _ALIKE)),
        *(Column.of(column) for column in (table.count, table.loop, table.size, table.moved, table.start_ns)),
        (Column * len(_PLACES))(*(Column.of(getattr(table, name)) for name in _PLACES)), Column.of(table.busy_ns),
    )  # fmt: skip
    n = ctypes.c_int64()
    rows = from_c(library().wt_join_singles(ctypes.byref(given), ctypes.byref(n)), n.value, 4)
    if rows.shape[1] > _MOST_LEFT * len(table):
        return table
    first, last, count, busy = rows[:, np.argsort(rows[0], kind="stable")]
    found = take(table, first)
    several = last > first
    apart = np.where(several, count - 1, 1)

    def step(name: str, own: Int64Array) -> Int64Array:
        column = getattr(table, name)
        return np.where(several, (column[last] - column[first]) // apart, own)

    return replace(
        found,
        count=count,
        moved=np.where(several, found.size * count, found.moved),
        disp=step("offset", found.disp),
        view_disp=step("view_offset", found.view_disp),
        tick_step=step("tick", found.tick_step),
        subtick_step=step("subtick", found.subtick_step),
        end_ns=np.where(several, table.end_ns[last], found.end_ns),
        busy_ns=busy,
    )
