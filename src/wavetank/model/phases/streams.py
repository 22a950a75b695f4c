"""Streams: the rows that moved data, by level, file and rank, and the pieces of them that repeat one pattern.

Reads ``Rows``; leaves ``Streams`` and ``Parts``. Pieces never cross a boundary, cover every operation once, and are the same however
the trace was folded. How they are cut: native/model/cuts.c. Source: method, section 2.

Why an irregular order is no special case of the cuts: calls that alternate in no order are rows of several streams. Sorted by call,
each of them is a stream of its own there, and is cut as any other one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from wavetank.model.columns import (  # fmt: skip
    Column,
    Numbers,
    chosen,
    edges_of,
    from_c,
    library,
    pointer,
    stable_order,
    starts,
)
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.events.codes import LEVEL
from wavetank.model.events.loop_layout import LeftOut
from wavetank.model.events.row_kinds import BESIDE_MPI, RowKind
from wavetank.model.events.rows import Rows
from wavetank.model.rules import Rules
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array


@dataclass(frozen=True)
class Streams:
    """Rows that moved data, by level, file and rank; and by call where calls alternate in no order.

    Attributes:
        row: index into the rows.
        stream: number of the row's stream, ascending.
        first_op: operations before the row, as the rows are laid out.
        in_order: ``row`` by level, file, rank and time alone.
    """

    row: Int64Array
    stream: Int64Array
    first_op: Int64Array
    in_order: Int64Array

    def __len__(self) -> int:
        return len(self.row)

    def at(self, operation: Int64Array) -> Int64Array:
        """The place of each operation's row."""
        return np.searchsorted(self.first_op, operation, side="right") - 1


@dataclass(frozen=True)
class Parts:
    """A rank's parts of phases: operations [low, high) of all streams, ``n_rep`` repetitions of a pattern.

    Attributes:
        low, high: as the rows are laid out.
        period: operations of the pattern.
        first_row, last_row: places in the streams.
        n_rep: in the run, with those that loops leave out.
        rank, file, level, view: of the first row.
    """

    low: Int64Array
    high: Int64Array
    period: Int64Array
    first_row: Int64Array
    last_row: Int64Array
    n_rep: Int64Array
    rank: Int64Array
    file: Int64Array
    level: Int64Array
    view: Int64Array

    def __len__(self) -> int:
        return len(self.low)

    def of_rows(self, streams: Streams) -> Int64Array:
        """The part that the first operation of each row of the streams is of."""
        n = len(streams)
        inner = self.low > streams.first_op[self.first_row]
        begun = np.bincount(self.first_row + inner, minlength=n + 1)[:n]
        return np.cumsum(begun) - 1


def find_parts(
    rows: Rows, levels: tuple[int, ...], rules: Rules, families: Collection[int] = ()
) -> tuple[Streams, Parts]:
    """The data rows in streams, and the pieces of these.

    Args:
        rows: of the trace.
        levels: that are modelled.
        rules: what is similar, and what lies between phases.
        families: files that stand for several. A call on one is a phase: what sizes of its members have in common is chance.
    """
    table = rows.table
    index = np.flatnonzero((rows.kind == RowKind.DATA) & chosen((*levels, BESIDE_MPI))[rows.level])
    n_ranks = int(table.rank.max(initial=0)) + 1
    n_files = int(table.file.max(initial=0)) + 1
    key = (rows.level[index].astype(np.int64) * n_files + table.file[index]) * n_ranks
    key += table.rank[index]
    order = stable_order(key)
    if order is not None:
        index, key = index[order], key[order]
    cut = _boundaries(rows, index, key, rules)
    pieces, in_order = _cut(rows, index, cut.astype(np.uint8), rules, families), index
    low, high, period, irregular, first_row = pieces
    apart = irregular > 0
    if len(families):
        apart |= np.isin(table.file[index[first_row]], list(families))
    if apart.any():
        index, cut_again = _by_call(rows, index, cut, pieces[:, apart])
        key = np.cumsum(cut_again > 0)
        low, high, period, irregular, first_row = _cut(rows, index, cut_again, rules, families)
    streams = Streams(index, key, edges_of(table.count[index])[:-1], in_order)
    last_row = streams.at(high - 1)
    left_out = LeftOut(rows.around, index, streams.first_op, stream=key)
    n_rep = (left_out.true(high) - left_out.true(low)) // period
    first = index[first_row]
    return streams, Parts(
        low, high, period, first_row, last_row, n_rep,
        *(column[first].astype(np.int64) for column in (table.rank, table.file, rows.level, table.view)),
    )  # fmt: skip


def _by_call(
    rows: Rows, index: Int64Array, cut: BoolArray, pieces: Int64Array
) -> tuple[Int64Array, Numbers]:
    """The rows of some pieces in the order of their calls; and boundaries: 2 where the rows of one call begin."""
    count = rows.table.count[index]
    first_op = edges_of(count)[:-1]
    last = np.searchsorted(first_op, pieces[1] - 1, side="right") - 1
    border = np.zeros(len(index) + 1, dtype=np.int64)
    np.add.at(border, pieces[4], 1)
    np.add.at(border, last + 1, -1)
    inside = np.cumsum(border[:-1]) > 0
    section = np.cumsum(np.append(True, inside[1:] != inside[:-1]) | cut)
    symbol = rows.slot[index].astype(np.int64) << 8 | rows.table.op[index]
    order = np.lexsort((np.where(inside, symbol, 0), section))
    index, symbol, inside, section = index[order], symbol[order], inside[order], section[order]
    new = np.append(True, section[1:] != section[:-1])
    new |= np.append(True, symbol[1:] != symbol[:-1]) & inside
    return index, np.where(new, 1 + inside, 0).astype(np.uint8)


def _boundaries(rows: Rows, index: Int64Array, key: Int64Array, rules: Rules) -> BoolArray:
    """Whether a boundary lies before each row of some."""
    table = rows.table
    cut = np.zeros(len(index), dtype=bool)
    cut[starts(key, table.view[index] if table.view.strides != (0,) else table.view)] = True
    known = table.offset[index] != UNKNOWN
    if not known.all():
        cut[1:] |= known[1:] != known[:-1]
    separating = chosen(rules.split_at_communication)[LEVEL[table.op[index]]]
    if separating.any():
        before = rows.communication[index]
        cut[1:] |= separating[1:] & (before[1:] > before[:-1])
    if rules.split_at_computation_s is not None:
        start, end = table.start_ns[index], table.end_ns[index]
        timed = (start[1:] != UNKNOWN) & (end[:-1] != UNKNOWN) & (rows.around.gap[index[1:]] == 0)
        cut[1:] |= timed & (start[1:] - end[:-1] > rules.split_at_computation_s * 1e9)
    return cut


# --- cuts.c --------------------------------------------------------------------------------------

_LIMITS = (
    "run_operations", "similar_operations", "pieces", "pattern_operations", "nested_operations", "long_operations",
)  # fmt: skip
"""Thresholds, in the order of ``struct limits``."""


class Around(ctypes.Structure):
    """``struct around``."""

    _fields_ = tuple((name, Column) for name in ("loop", "left", "step"))


class _Limits(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in _LIMITS),
        ("low", ctypes.c_double),
        ("high", ctypes.c_double),
    )


class _Rows(ctypes.Structure):
    _fields_ = (
        ("n", ctypes.c_int64), ("index", ctypes.c_void_p), ("cut", ctypes.c_void_p),
        *((name, Column) for name in ("op", "slot", "count", "size", "offset", "disp", "gap")), ("around", Around),
        ("limits", _Limits),
    )  # fmt: skip


def around_of(rows: Rows, step: Int64Array) -> Around:
    """The contracted loops around rows, for C."""
    return Around(*map(Column.of, (rows.around.loop, rows.around.left, step)))


def _cut(
    rows: Rows, index: Int64Array, cut: Numbers, rules: Rules, families: Collection[int]
) -> Int64Array:
    """Pieces of streams as five columns, see ``struct piece``."""
    table = rows.table
    places: list[Numbers] = [table.size, table.offset, table.disp]
    if len(families):
        alike = np.isin(table.file, list(families))
        places = [
            np.where(alike, value, column) for value, column in zip((1, 0, 0), places, strict=True)
        ]
    columns: list[Numbers] = [table.op, rows.slot, table.count, *places, rows.around.gap]
    numbers: Thresholds = rules.thresholds
    limits = _Limits(
        *(getattr(numbers, name) for name in _LIMITS), *(rules.similarity or (0.0, 0.0))
    )
    given = _Rows(
        len(index), pointer(index), pointer(cut), *map(Column.of, columns),
        around_of(rows, rows.around.step), limits,
    )  # fmt: skip
    n = ctypes.c_int64()
    found = library().wt_cuts(ctypes.byref(given), ctypes.byref(n))
    return from_c(found, n.value, 5)
