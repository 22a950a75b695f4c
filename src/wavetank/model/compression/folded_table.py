"""Folded rows as the extraction works on them: runs, loops, and stretches without regularity as lists.

A ``FoldTable`` with two more columns and the lists that they point into; and all ways to take such
rows apart. Nothing here makes an object for an operation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank.model.native.lists import Stretches
from wavetank.trace.schema import UNKNOWN, BoolArray, FoldTable, Int64Array, one_after_another

Columns = dict[str, npt.NDArray[Any]]


def _no_rows() -> Int64Array:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Interleaving:
    """The order of operations whose rows lie substream by substream, in sequence.

    Attributes:
        first: number of its first substream.
        order: shape (operations,), the substream of each operation in the order of the run, from 0.
        apart: shape (substreams,), whether the substream is one of several of its file.
        stray: shape (substreams,), whether it is of seeks that do not lead to where their file's next operation begins.
        continues: whether it continues the interleaving before it, as in the second of two chunks.
    """

    first: int
    order: npt.NDArray[Any]
    apart: BoolArray
    stray: BoolArray
    continues: bool = False


@dataclass(frozen=True)
class Lists:
    """Offsets and sizes of operations that follow no rule, bytes; a row's are neighbours. And interleavings of rows."""

    offset: Int64Array = field(default_factory=_no_rows)
    size: Int64Array = field(default_factory=_no_rows)
    interleavings: tuple[Interleaving, ...] = ()


@dataclass(frozen=True)
class Folded(FoldTable):
    """Rows as in ``FoldTable``, and rows whose operations lie in lists.

    Attributes:
        listed: where the offsets of the row's operations begin in ``lists.offset``; -1: they are regular.
        sized: where their sizes begin in ``lists.size``; -1: all are ``size``.
        substream: number of the row's substream in an interleaving, ascending; -1 for none.
        lists: the same object in all tables of one extraction.

    Why not single operations again, where a row cannot say what they are: a trace of random reads would then be as many
    rows as reads, and every column would be as long as the run. In a list each takes its offset, and its size where sizes
    differ; all else is the row's, once.

    Why lists beside the table and not in it: a list grows while chunks of the trace come in. A row keeps where its part
    begins, and its operations are neighbours there. So some operations of a row are taken apart (``pieces``) without a copy.

    Why interleavings: several calls that alternate without an order would leave a row for each operation, though each call alone
    may be regular. The operations of each call become a substream that folds for itself. ``Interleaving.order`` keeps which one came
    when, so that nothing is lost.
    """

    listed: Int64Array = field(default_factory=_no_rows)
    sized: Int64Array = field(default_factory=_no_rows)
    substream: Int64Array = field(default_factory=_no_rows)
    lists: Lists = field(default_factory=Lists)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("listed", "sized", "substream"):
            if len(getattr(self, name)) != len(self.rank):
                object.__setattr__(self, name, np.broadcast_to(np.int64(-1), len(self.rank)))


NAMES = tuple(column.name for column in fields(Folded) if column.name not in ("lists", "details"))


STEPS = (
    ("offset", "disp"),
    ("view_offset", "view_disp"),
    ("tick", "tick_step"),
    ("subtick", "subtick_step"),
)
"""Columns of a row's first operation, and those of the steps to the next one's."""


def as_folded(table: FoldTable) -> Folded:
    """The table itself, or one of the same columns."""
    if isinstance(table, Folded):
        return table
    return Folded(**{column.name: getattr(table, column.name) for column in fields(FoldTable)})


def with_columns(table: Folded, columns: Columns) -> Folded:
    """A table of other columns, which go with the lists and the details of this one."""
    return Folded(**columns, lists=table.lists, details=table.details)


def take(table: Folded, index: Int64Array | BoolArray | slice) -> Folded:
    """Some rows of a table."""
    return with_columns(table, {name: getattr(table, name)[index] for name in NAMES})


def joined(tables: list[Folded], lists: Lists, order: Int64Array | None = None) -> Folded:
    """Tables one after another; with ``order`` all their rows in that order, of which no column is there twice."""

    def column(name: str) -> Any:  # noqa: ANN401
        whole = one_after_another([getattr(part, name) for part in tables])
        return whole if order is None or whole.strides == (0,) else whole[order]

    whole = with_columns(tables[0], {name: column(name) for name in NAMES})
    return replace(whole, lists=lists)


def last_offset(table: Folded) -> Int64Array:
    """Offset of each row's last operation, bytes; UNKNOWN where it is not known."""
    last = table.offset + (table.count - 1) * table.disp
    last = np.where(table.offset == UNKNOWN, UNKNOWN, last)
    some = np.flatnonzero(table.listed >= 0)
    last[some] = table.lists.offset[table.listed[some] + table.count[some] - 1]
    return last


def last_moved(table: Folded) -> Int64Array:
    """Bytes that each row's last operation moved."""
    last: Int64Array = table.moved - (table.count - 1) * table.size
    some = np.flatnonzero(table.sized >= 0)
    if len(some):
        asked = table.lists.size[table.sized[some] + table.count[some] - 1]
        last[some] = asked - (asked_bytes(table)[some] - table.moved[some])
    return last


def last_size(table: Folded) -> Int64Array:
    """Bytes that each row's last operation asked for."""
    size = table.size.copy()
    some = np.flatnonzero(table.sized >= 0)
    size[some] = table.lists.size[table.sized[some] + table.count[some] - 1]
    return size


def asked_bytes(table: Folded) -> Int64Array:
    """Sum of the sizes of each row's operations."""
    asked: Int64Array = table.count * table.size
    some = np.flatnonzero(table.sized >= 0)
    if len(some):
        asked[some] = Stretches.of(table.lists.size, table.sized[some], table.count[some]).sums()
    return asked


def pieces(table: Folded, index: Int64Array, low: Int64Array, high: Int64Array) -> Folded:
    """Rows of operations [low, high) of rows ``index``, 0 <= low < high <= count.

    Of a loop's row the operations of that member. Times of single operations are not recorded: they
    are taken to be equally long and equally far from each other.
    """
    out: Columns = {name: getattr(table, name)[index] for name in NAMES}
    total, n = out["count"], high - low
    out["moved"] = _moved(table, index, low, high)
    known = out["offset"] != UNKNOWN
    for name, step in (("offset", "disp"), ("view_offset", "view_disp")):
        out[name] = np.where(known, out[name] + low * out[step], out[name])
    listed, sized = out["listed"] >= 0, out["sized"] >= 0
    if listed.any():
        out["listed"] = np.where(listed, out["listed"] + low, -1)
        at = table.lists.offset[out["listed"][listed]]
        out["offset"][listed] = at
        out["view_offset"][listed] = at
    if sized.any():
        out["sized"] = np.where(sized, out["sized"] + low, -1)
        out["size"][sized] = table.lists.size[out["sized"][sized]]
    out["seq"] = out["seq"] + low * members(table)[index]
    out["handle"] = (out["handle"] + low * out["handle_step"]).astype(np.int32)
    out["tick"] = out["tick"] + low * out["tick_step"]
    out["subtick"] = out["subtick"] + low * out["subtick_step"]
    share = out["busy_ns"] // np.maximum(total, 1)
    out["busy_ns"] = share * n + np.where(low == 0, out["busy_ns"] - share * total, 0)
    start, end = out["start_ns"], out["end_ns"]
    timed = (start != UNKNOWN) & (end != UNKNOWN)
    # Operations of the mean duration at equal distance: what a fold's times say of each of them.
    distance = np.maximum(end - start - share, 0) / np.maximum(total - 1, 1)
    first = start + np.rint(low * distance).astype(np.int64)
    last = np.minimum(start + np.rint((high - 1) * distance).astype(np.int64) + share, end)
    out["end_ns"] = np.where(timed & (high < total), last, end)
    out["start_ns"] = np.where(timed, first, start)
    single = n == 1
    for name in ("disp", "view_disp", "handle_step"):
        out[name] = np.where(single, 0, out[name]).astype(out[name].dtype)
    for name in ("listed", "sized"):
        out[name] = np.where(single, -1, out[name])
    out["count"] = n
    return with_columns(table, out)


def _moved(table: Folded, index: Int64Array, low: Int64Array, high: Int64Array) -> Int64Array:
    size, total = table.size[index], table.count[index]
    moved: Int64Array = (high - low) * size
    ends = high == total
    moved = np.where(ends, table.moved[index] - low * size, moved)
    some = np.flatnonzero(table.sized[index] >= 0)
    if len(some):
        start = table.sized[index[some]]
        asked = Stretches.of(table.lists.size, start + low[some], (high - low)[some]).sums()
        lacking = (asked_bytes(table) - table.moved)[index[some]]
        moved[some] = asked - np.where(ends[some], lacking, 0)
    return moved


def part_rows(table: Folded, mask: BoolArray, n_first: Int64Array) -> Folded:
    """Part rows that are in no loop after their first ``n_first`` operations (0 < n_first < count where mask)."""
    index = np.repeat(np.arange(len(table)), 1 + mask)
    second = np.zeros(len(index), dtype=bool)
    second[1:] = index[1:] == index[:-1]
    first = np.zeros(len(index), dtype=bool)
    first[:-1] = second[1:]
    low = np.where(second, n_first[index], 0)
    high = np.where(first, n_first[index], table.count[index])
    return pieces(table, index, low, high)


def unfold_rows(table: Folded, mask: BoolArray) -> Folded:
    """Make rows of single operations out of folded ones that are in no loop."""
    repeats = np.where(mask, table.count, 1)
    index = np.repeat(np.arange(len(table)), repeats)
    position = np.arange(len(index)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    high = np.where(mask[index], position + 1, table.count[index])
    return pieces(table, index, position, high)


def interleavings_of(table: Folded) -> Int64Array:
    """The number of each row's interleaving in ``lists.interleavings``; -1 for none."""
    if not table.lists.interleavings:
        return np.broadcast_to(np.int64(-1), len(table))
    firsts = np.array(
        [interleaving.first for interleaving in table.lists.interleavings], dtype=np.int64
    )
    found: Int64Array = np.searchsorted(firsts, table.substream, side="right") - 1
    return found


def taken_apart(table: Folded) -> BoolArray:
    """Whether each row's substream is one of several of its file; not of those of stray seeks."""
    return _of_substreams(
        table,
        [interleaving.apart & ~interleaving.stray for interleaving in table.lists.interleavings],
    )


def stray_seeks(table: Folded) -> BoolArray:
    """Whether each row is of seeks in an interleaving that do not lead to where their file's next operation begins."""
    return _of_substreams(table, [interleaving.stray for interleaving in table.lists.interleavings])


def _of_substreams(table: Folded, of_substreams: list[BoolArray]) -> BoolArray:
    found = np.zeros(len(table), dtype=bool)
    if of_substreams:
        interleaved = np.flatnonzero(table.substream >= 0)
        found[interleaved] = np.concatenate(of_substreams)[table.substream[interleaved]]
    return found


# --- loops ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blocks:
    """The loops of a table. ``of_row`` names each row's loop, -1 for none."""

    start: Int64Array  # first row
    members: Int64Array  # rows
    count: Int64Array  # repetitions
    of_row: Int64Array

    def __len__(self) -> int:
        return len(self.start)


def blocks(table: FoldTable) -> Blocks:
    """The loops of a table, in order."""
    inside = table.loop > 0
    if not inside.any():
        none = _no_rows()
        return Blocks(none, none, none, np.broadcast_to(np.int64(-1), len(table)))
    of_row = np.full(len(table), -1, dtype=np.int64)
    new = inside.copy()
    new[1:] &= (table.loop[1:] != table.loop[:-1]) | (table.rank[1:] != table.rank[:-1])
    start = np.flatnonzero(new)
    of_row[inside] = (np.cumsum(new) - 1)[inside]
    return Blocks(start, np.bincount(of_row[inside]), table.count[start], of_row)


def members(table: FoldTable) -> Int64Array:
    """Members of the loop that each row is in; 1 for rows on their own."""
    found = blocks(table)
    if not len(found):
        return np.ones(len(table), dtype=np.int64)
    return np.where(found.of_row >= 0, found.members[found.of_row], 1)


def cut_loops(table: Folded, block: Int64Array, at: Int64Array) -> tuple[Folded, Int64Array]:
    """Cut loops before repetitions ``at`` (0 < at < count) of loops ``block``; pairs in any order.

    A piece of one repetition becomes rows on their own. Returns the row that each row is a piece of, too.
    """
    if not len(block):
        return table, np.arange(len(table))
    found = blocks(table)
    numbers = np.arange(len(found))
    pairs = np.concatenate([
        np.stack([numbers, np.zeros_like(numbers)]), np.stack([block, at])
    ], axis=1)  # fmt: skip
    pairs = np.unique(pairs, axis=1)
    owner, low = pairs
    high = np.append(low[1:], 0)
    last = np.append(owner[1:] != owner[:-1], True)
    high[last] = found.count[owner[last]]
    # The rows of each piece; then all rows, those on their own in between.
    n = found.members[owner]
    row = np.repeat(found.start[owner] - (np.cumsum(n) - n), n) + np.arange(int(n.sum()))
    alone = np.flatnonzero(found.of_row < 0)
    index = np.concatenate([alone, row])
    piece = np.concatenate([np.full(len(alone), -1), np.repeat(np.arange(len(owner)), n)])
    order = np.argsort(
        np.where(piece >= 0, found.start[owner[piece]], index), kind="stable"
    )  # pieces are in order already
    index, piece = index[order], piece[order]
    lows = np.where(piece >= 0, low[piece], 0)
    highs = np.where(piece >= 0, high[piece], table.count[index])
    out = pieces(table, index, lows, highs)
    loop = np.where((piece >= 0) & (highs - lows > 1), piece + 1, 0)
    return replace(out, loop=loop), index


def unfold_loops(table: Folded, chosen: Int64Array) -> Folded:
    """Make rows of single operations out of some loops (numbers as in ``blocks``), in the order of the run."""
    if not len(chosen):
        return table
    return cut_loops(table, *every_repetition(blocks(table), chosen))[0]


def every_repetition(found: Blocks, chosen: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Where ``cut_loops`` cuts some loops into all their repetitions."""
    n = found.count[chosen] - 1
    at = 1 + np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
    return np.repeat(chosen, n), at


def unfold_idle(table: FoldTable, gap_s: float | None) -> FoldTable:
    """The table with rows unfolded between whose operations lie ``gap_s`` seconds or more, on average.

    What pauses mean to the extraction lies between rows.
    """
    if gap_s is None:
        return table
    folded = as_folded(table)
    found = blocks(folded)
    timed = (folded.start_ns != UNKNOWN) & (folded.end_ns != UNKNOWN)
    idle = folded.end_ns - folded.start_ns - folded.busy_ns
    if len(found):
        total = np.concatenate([[0], np.cumsum(folded.busy_ns)])
        last = found.start + found.members - 1
        span = folded.end_ns[last] - folded.start_ns[found.start]
        busy = total[last + 1] - total[found.start]
        long = (span - busy) >= gap_s * 1e9 * found.count
        folded = unfold_loops(folded, np.flatnonzero(long & timed[found.start] & timed[last]))
        timed = (folded.start_ns != UNKNOWN) & (folded.end_ns != UNKNOWN)
        idle = folded.end_ns - folded.start_ns - folded.busy_ns
    mask = timed & (folded.count > 1) & (folded.loop == 0)
    mask &= idle >= gap_s * 1e9 * (folded.count - 1)
    return unfold_rows(folded, mask) if mask.any() else folded
