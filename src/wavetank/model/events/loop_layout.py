"""A trace's rows without loops: every later pass works on plain rows.

Reads a ``FoldTable``, whose loops are rows of one operation a repetition; leaves a table in which no row is in a loop. A long loop is
*contracted*: its first and its last repetitions are laid out, and those between are left out before the first row behind them. All rules
count to ``pieces`` pieces of ``similar_operations`` operations at most, so what they find in so many repetitions they find in any number.

Why no form for loops in later passes: each pass would have its own code for it. Three places know of what is left out: distances between
two rows (native/model/columns.h), numbers of operations (``LeftOut``), and the counts of a program's loops (native/model/order.c).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wavetank.model.columns import Numbers, chosen, edges_of, numbered, spread, sums
from wavetank.model.events.codes import LEVEL, MOVES_DATA, SEEKS
from wavetank.model.rules import Rules
from wavetank.trace.schema import (
    UNKNOWN,
    BoolArray,
    FoldTable,
    Int64Array,
    Level,
    without_repetition,
)

BEFORE, BEHIND = 1, 2
"""Edges: of rows in the last repetition before those that are left out, and in the first one behind them."""


@dataclass(frozen=True)
class Loops:
    """The loops of a table. ``of_row`` names each row's loop, -1 for none."""

    start: Int64Array  # first row
    members: Int64Array  # rows
    count: Int64Array  # repetitions
    of_row: Int64Array

    def __len__(self) -> int:
        return len(self.start)

    def members_of_rows(self) -> Int64Array:
        """Members of the loop that each row is in; 1 for rows on their own."""
        if not len(self):
            return np.ones(len(self.of_row), dtype=np.int64)
        return np.where(self.of_row >= 0, self.members[self.of_row], 1)


def loops_of(table: FoldTable) -> Loops:
    """The loops of a table, in order."""
    inside = table.loop > 0
    if not inside.any():
        none = np.zeros(0, dtype=np.int64)
        return Loops(none, none, none, np.broadcast_to(np.int64(-1), len(table)))
    of_row = np.full(len(table), -1, dtype=np.int64)
    new = inside.copy()
    new[1:] &= (table.loop[1:] != table.loop[:-1]) | (table.rank[1:] != table.rank[:-1])
    start = np.flatnonzero(new)
    of_row[inside] = (np.cumsum(new) - 1)[inside]
    return Loops(start, np.bincount(of_row[inside]), table.count[start], of_row)


@dataclass(frozen=True)
class Around:
    """The contracted loop around each row; columns as long as the table, one number for all where there is none.

    Attributes:
        loop: its number; -1: none.
        left: its repetitions that are left out up to the row.
        step, view_step: bytes from one repetition to the next, in the file and in the view.
        gap: operations like the row's that are left out before it.
        edge: BEFORE or BEHIND those that are left out; else 0.
    """

    loop: Int64Array
    left: Int64Array
    step: Int64Array
    view_step: Int64Array
    gap: Int64Array
    edge: Int64Array

    @property
    def contracts(self) -> bool:
        """Whether anything is left out."""
        return self.loop.strides != (0,)

    def take(self, index: Int64Array) -> Around:
        """Of some rows of the table."""
        return Around(*(column[index] for column in vars(self).values())) if self.contracts else _no_loops(len(index))  # fmt: skip


def _no_loops(n: int) -> Around:
    none, zero = np.broadcast_to(np.int64(-1), n), np.broadcast_to(np.int64(0), n)
    return Around(none, zero, zero, zero, zero, zero)


def lay_out(table: FoldTable, rules: Rules, *, whole: bool) -> tuple[FoldTable, Around]:
    """The table without loops; rows some of whose operations are to be told apart are several rows.

    Args:
        table: in rank order.
        rules: of the extraction.
        whole: whether all repetitions of all loops are laid out.
    """
    table, around = _laid_out(table, rules, whole=whole)
    return _split(table, around, rules)


def _laid_out(table: FoldTable, rules: Rules, *, whole: bool) -> tuple[FoldTable, Around]:
    loops = loops_of(table)
    if not len(loops):
        return table, _no_loops(len(table))
    limits, times = rules.thresholds, loops.count
    most = limits.pieces + limits.similar_operations
    full = (times <= most) | whole | _differ(table, loops, rules)
    kept = np.where(full, times, most)
    # Units are rows on their own, and loops.
    alone = np.flatnonzero(loops.of_row < 0)
    first = np.concatenate([alone, loops.start])
    order = np.argsort(first, kind="stable")
    first = first[order]
    members = np.concatenate([np.ones_like(alone), loops.members])[order]
    of_unit = np.concatenate([np.full_like(alone, -1), np.arange(len(loops))])[order]
    unit, within = spread(members * np.where(of_unit < 0, 1, kept[of_unit]))
    index, loop = first[unit] + within % members[unit], of_unit[unit]
    repetition = within // members[unit]
    front = most // 2
    contracted = (loop >= 0) & ~full[loop]
    left_of = np.where(full, 0, times - most)[loop]
    left = np.where(contracted & (repetition >= front), left_of, 0)
    behind = contracted & (repetition == front)
    edge = np.where(behind, BEHIND, np.where(contracted & (repetition == front - 1), BEFORE, 0))
    low = np.where(loop >= 0, repetition + left, 0)
    high = np.where(loop >= 0, low + 1, table.count[index])
    gap = np.where(behind, left_of, 0)
    flat = pieces(table, index, low, high, np.where(loop >= 0, members[unit], 1))
    none = np.broadcast_to(np.int64(0), len(index))
    flat = replace(flat, loop=none, handle_step=none.astype(np.int32))
    if not contracted.any():
        return flat, _no_loops(len(index))
    share = table.busy_ns[index] // table.count[index]
    flat = replace(flat, busy_ns=flat.busy_ns + gap * share)
    step, view_step = (np.where(contracted, column[index], 0) for column in (table.disp, table.view_disp))  # fmt: skip
    return flat, Around(np.where(contracted, loop, -1), left, step, view_step, gap, edge)


def _differ(table: FoldTable, loops: Loops, rules: Rules) -> BoolArray:
    """Loops whose repetitions differ in more than a place.

    Communication that separates phases lies in them, or calls that move nothing at a new place each time. A repetition may hold more
    operations of a stream than a pattern, so that phases begin and end in it. Or it has a pause.
    """
    inside = np.flatnonzero(loops.of_row >= 0)
    owner, op, n = loops.of_row[inside], table.op[inside], len(loops)
    level = LEVEL[op]
    found = np.zeros(n, dtype=bool)
    calls = np.bincount(owner, weights=level == Level.MPIIO, minlength=n)
    data = MOVES_DATA[op] & (table.moved[inside] > 0)
    separating = chosen(rules.split_at_communication)[level]
    found[owner[separating & (table.tick_step[inside] > calls[owner])]] = True
    found[owner[~data & ~SEEKS[op] & (table.disp[inside] != 0)]] = True
    at = inside[data]
    stream, head = numbered(loops.of_row[at], LEVEL[table.op[at]], table.file[at])
    found[loops.of_row[at[head[np.bincount(stream) > rules.thresholds.nested_operations]]]] = True
    if rules.shortest_gap_s is not None:
        last = loops.start + loops.members - 1
        busy = sums(table.busy_ns[inside], owner, n)
        span = table.end_ns[last] - table.start_ns[loops.start]
        timed = (table.end_ns[last] != UNKNOWN) & (table.start_ns[loops.start] != UNKNOWN)
        found |= timed & (span - busy >= rules.shortest_gap_s * 1e9 * loops.count)
    return found


def _split(table: FoldTable, around: Around, rules: Rules) -> tuple[FoldTable, Around]:
    """Rows some of whose operations are to be told apart, as several rows.

    Communication or a pause lies between a row's operations, or calls that move nothing are at several places. The last operation moved
    nothing (the end of a file). The first seek may move the pointer, and the others not.
    """
    some = np.flatnonzero(table.count > 1)
    if not len(some):
        return table, around
    count, op, moved = table.count[some], table.op[some], table.moved[some]
    level, data = LEVEL[op], MOVES_DATA[op] & (moved > 0)
    separating = chosen(rules.split_at_communication)[level]
    talks = separating & (table.tick_step[some] > (level == Level.MPIIO))
    singles = np.where(data, talks, table.disp[some] != 0)
    if rules.shortest_gap_s is not None:
        start, end = table.start_ns[some], table.end_ns[some]
        timed = (start != UNKNOWN) & (end != UNKNOWN)
        idle = end - start - table.busy_ns[some]
        singles |= timed & (idle >= rules.shortest_gap_s * 1e9 * (count - 1))
    size = table.size[some]
    last_of = data & (table.error[some] == 0) & (size > 0) & ~singles
    last_of &= moved == (count - 1) * size
    into = np.where(singles, count, 1 + last_of + (SEEKS[op] & ~singles))
    if (into == 1).all():
        return table, around
    n = np.ones(len(table), dtype=np.int64)
    n[some] = into
    count = table.count
    singly, last = np.zeros(len(table), dtype=bool), np.zeros(len(table), dtype=bool)
    singly[some], last[some] = singles, last_of
    index, within = spread(n)
    one, at_last = singly[index], last[index]
    edge = np.where(at_last, count[index] - 1, 1)  # where a row is parted in two
    low = np.where(one, within, np.where(within == 0, 0, edge))
    high = np.where(one, within + 1, np.where((within == 0) & (n[index] > 1), edge, count[index]))
    return pieces(table, index, low, high), around.take(index)


def pieces(
    table: FoldTable, index: Int64Array, low: Int64Array, high: Int64Array, members: Numbers | int = 1
) -> FoldTable:  # fmt: skip
    """Rows of operations [low, high) of rows ``index``, 0 <= low < high <= count.

    Times of single operations are not recorded: they are taken to be equally long and equally far from each other.

    Args:
        table: the rows.
        index: of each new row.
        low: first operation.
        high: behind the last one.
        members: of the rank's operations, how far one of the row is from its next.
    """
    count, size = table.count[index], table.size[index]
    n, ends = high - low, high == count
    single = n == 1
    known = table.offset[index] != UNKNOWN

    def at(name: str, step: str) -> Int64Array:
        moved: Int64Array = getattr(table, name)[index] + low * getattr(table, step)[index]
        return moved

    busy = table.busy_ns[index]
    share = busy // np.maximum(count, 1)
    start, end = table.start_ns[index], table.end_ns[index]
    timed = (start != UNKNOWN) & (end != UNKNOWN) & (n < count)
    # Operations of the mean duration at equal distance: what a fold's times say of each of them.
    distance = np.maximum(end - start - share, 0) / np.maximum(count - 1, 1)
    first = start + np.rint(low * distance).astype(np.int64)
    last = np.minimum(start + np.rint((high - 1) * distance).astype(np.int64) + share, end)
    others = {
        name: without_repetition(getattr(table, name)[index])
        for name in (
            "rank",
            "op",
            "file",
            "view",
            "size",
            "error",
            "given",
            "loop",
            "tick_step",
            "subtick_step",
        )
    }
    steps = {
        name: without_repetition(np.where(single, 0, column[index]).astype(column.dtype))
        for name, column in (
            ("disp", table.disp),
            ("view_disp", table.view_disp),
            ("handle_step", table.handle_step),
        )
    }
    return FoldTable(
        **others,
        **steps,
        seq=table.seq[index] + low * members,
        handle=(table.handle[index] + low * table.handle_step[index]).astype(np.int32),
        count=n,
        moved=np.where(ends, table.moved[index] - low * size, n * size),
        offset=np.where(known, at("offset", "disp"), table.offset[index]),
        view_offset=np.where(known, at("view_offset", "view_disp"), table.view_offset[index]),
        tick=at("tick", "tick_step"),
        subtick=at("subtick", "subtick_step"),
        start_ns=np.where(timed, first, start),
        end_ns=np.where(timed, last, end),
        busy_ns=share * n + np.where(low == 0, busy - share * count, 0),
        details=table.details,
    )


def part_rows(table: FoldTable, some: BoolArray) -> FoldTable:
    """The table with the first operations of some rows, of several ones and in no loop, as rows of their own."""
    index, within = spread(1 + some)
    parted = some[index]
    high = np.where(parted & (within == 0), 1, table.count[index])
    return pieces(table, index, within, high)


def take(table: FoldTable, index: Int64Array) -> FoldTable:
    """Some rows of a table."""
    columns = {name: column[index] for name, column in vars(table).items() if name != "details"}
    return replace(table, **columns)


class LeftOut:
    """From numbers of operations, counted over some rows as they are laid out, to true ones."""

    def __init__(
        self,
        around: Around,
        index: Int64Array | slice,
        first_op: Int64Array,
        stream: Numbers | None = None,
        counted: Numbers | None = None,
    ) -> None:
        """Of the operations that some rows leave out.

        Args:
            around: the rows' loops.
            index: those that are counted, in the order in which they are.
            first_op: operations before each of them, as laid out.
            stream: whose operations follow each other; None: those of all rows do.
            counted: which of the rows' operations count; None: all.
        """
        self.rows, self.n = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        if around.contracts:
            gap = around.gap[index]
            at = np.flatnonzero(gap)
            # What a loop leaves out lies before its first row behind the gap.
            number, first = numbered(
                around.loop[index][at], at * 0 if stream is None else stream[at]
            )
            weights = gap[at] if counted is None else gap[at] * counted[at]
            order = np.argsort(at[first], kind="stable")
            self.rows, self.n = at[first][order], sums(weights, number, len(first))[order]
        self._at, self._sum = first_op[self.rows], edges_of(self.n)

    def true(self, operation: Int64Array) -> Int64Array:
        """The numbers of some operations in the run."""
        if not len(self.rows):
            return operation
        return operation + self._sum[np.searchsorted(self._at, operation, side="right")]
