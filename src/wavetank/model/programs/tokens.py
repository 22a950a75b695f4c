"""What a program's steps are made of, as a table: the calls of each rank in order, with what is put between them.

Reads rows and phases; leaves ``Tokens``, neighbours that are the same step joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, auto

import numpy as np

from wavetank.model.columns import Numbers, numbered, spread, starts, sums
from wavetank.model.events.process_order import ProcessEvent, event_places
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.phases.activity import Activity
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array


class TokenKind(IntEnum):
    """What a token stands for. ``Tokens.what`` says which one, as given behind each kind.

    The first ones are what rows of a trace are, with the numbers of ``RowKind``; the others have the next ones.
    """

    DATA = RowKind.DATA  # operations of a phase: its number, from 0
    # This kind and the next three, calls without data: the number of the distinct file step.
    EMPTY = RowKind.EMPTY
    NULL_SEEK = RowKind.NULL_SEEK
    SEEK = RowKind.SEEK
    FILE = RowKind.FILE
    SYNC_RANKS = RowKind.SYNC_RANKS  # an order between ranks: index into Trace.communicators
    PAUSE = auto()  # between two calls: microseconds
    BEGINS = auto()  # another process begins: its rank
    ENDED = auto()  # another process has ended: its rank


WITHOUT_DATA = (TokenKind.EMPTY, TokenKind.NULL_SEEK, TokenKind.SEEK, TokenKind.FILE)
"""Kinds of tokens whose ``what`` is the number of a distinct file step."""


@dataclass(frozen=True)
class Tokens:
    """Steps before they are folded, in rank order. Columns of equal length.

    Attributes:
        rank: whose.
        kind: TokenKind.
        what: which one of its kind, see TokenKind.
        file, slot: that it is on, -1 for none.
        n: operations of data, else calls.
        null_seeks: among these operations.
        row: index into the rows.
        loop: number of the contracted loop that it is of; -1: none.
        gap: operations like its that the loop leaves out before it.
        null_gap: null seeks among these.
    """

    rank: Numbers
    kind: Numbers
    what: Int64Array
    file: Numbers
    slot: Numbers
    n: Int64Array
    null_seeks: Int64Array
    row: Int64Array
    loop: Int64Array
    gap: Int64Array
    null_gap: Int64Array

    def __len__(self) -> int:
        return len(self.rank)

    def take(self, index: Int64Array | BoolArray) -> Tokens:
        """Some of them."""
        return Tokens(*(column[index] for column in vars(self).values()))


def tokens_of(
    activity: Activity, keep: BoolArray, of_part: Int64Array, file_step: Int64Array
) -> Tokens:
    """A token for each row that is kept; a data row that several phases share becomes several.

    Args:
        activity: the trace.
        keep: rows that belong to programs.
        of_part: phase of each part.
        file_step: number of the file step of each row that is one.
    """
    rows, data, parts = activity.rows, activity.data, activity.parts
    table = rows.table
    index = np.flatnonzero(keep)
    what = file_step.copy()
    at, part = data.row, parts.of_rows(data)
    if len(at):
        what[at] = of_part[part]
    n, piece = table.count[index], None
    inner = parts.low > data.first_op[parts.first_row]  # parts that begin inside a row
    if inner.any():
        pieces = np.ones(len(table), dtype=np.int64)
        np.add.at(pieces, at[parts.first_row[inner]], 1)
        first_part, low = np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=np.int64)
        first_part[at], low[at] = part, data.first_op
        of, piece = spread(pieces[index])
        index = index[of]
        n, what_of = table.count[index], what[index]
        some = np.flatnonzero(pieces[index] > 1)
        row = index[some]
        each = first_part[row] + piece[some]
        end = np.minimum(low[row] + n[some], parts.high[each])
        n[some] = end - np.maximum(low[row], parts.low[each])
        what_of[some] = of_part[each]
    else:
        what_of = what[index]
    kind = rows.kind[index]
    given = table.details.communicator[table.given[index]]
    zero = np.broadcast_to(np.int64(0), len(index))
    return Tokens(
        rank=table.rank[index],
        kind=kind,
        what=np.where(kind == RowKind.SYNC_RANKS, given, what_of),
        file=table.file[index],
        slot=rows.slot[index],
        n=n,
        null_seeks=zero,
        row=index,
        loop=rows.around.loop[index],
        gap=rows.around.gap[index]
        if piece is None
        else np.where(piece == 0, rows.around.gap[index], 0),
        null_gap=zero,
    )


def with_pauses(activity: Activity, tokens: Tokens, keep: BoolArray, pauses_s: float) -> Tokens:
    """Put pauses between tokens, rounded to three digits so that like pauses are one step."""
    table, around = activity.rows.table, activity.rows.around
    rows = np.flatnonzero(keep)
    before, after = rows[:-1], rows[1:]
    known = (table.end_ns[before] != UNKNOWN) & (table.start_ns[after] != UNKNOWN)
    known &= around.gap[after] == 0  # loops with pauses are laid out
    gap = np.where(known, table.start_ns[after] - table.end_ns[before], 0)
    long = (table.rank[before] == table.rank[after]) & (gap >= pauses_s * 1e9)
    paused, length_us = after[long], gap[long] / 1e3
    digits = 10.0 ** (np.floor(np.log10(np.maximum(length_us, 1))) - 2)
    length = (np.round(length_us / digits) * digits).astype(np.int64)
    place = np.searchsorted(tokens.row, paused)
    kind = np.full(len(place), TokenKind.PAUSE, dtype=np.int64)
    return _inserted(tokens, place, table.rank[paused], paused, kind, length)


def with_processes(activity: Activity, tokens: Tokens, events: Sequence[ProcessEvent]) -> Tokens:
    """Put the beginnings and ends of processes between tokens."""
    table = activity.rows.table
    there = np.isin([event.rank for event in events], tokens.rank)
    if not there.any() or (table.start_ns == UNKNOWN).any():
        return tokens
    # At one place ends come first: a process may begin because another one has ended.
    events = sorted(
        (event for event, known in zip(events, there, strict=True) if known),
        key=lambda event: (event.rank, event.at_ns, not event.ended),
    )
    place = event_places(events, tokens.rank, table.start_ns[tokens.row], table.end_ns[tokens.row])
    return _inserted(
        tokens,
        place,
        np.array([event.rank for event in events]),
        tokens.row[np.minimum(place, len(tokens) - 1)],
        np.array([TokenKind.ENDED if event.ended else TokenKind.BEGINS for event in events]),
        np.array([event.process for event in events]),
    )


def _inserted(
    tokens: Tokens,
    place: Int64Array,
    rank: Int64Array,
    row: Int64Array,
    kind: Int64Array,
    what: Int64Array,
) -> Tokens:
    """Tokens with others on no file before those at some places."""
    inserted: dict[str, Int64Array | int] = {
        "rank": rank, "kind": kind, "what": what, "file": -1, "slot": -1, "n": 1, "null_seeks": 0, "row": row, "loop": -1,
        "gap": 0, "null_gap": 0,
    }  # fmt: skip
    return Tokens(
        **{
            name: np.insert(getattr(tokens, name), place, values)
            for name, values in inserted.items()
        }
    )


def without_null_seeks(tokens: Tokens, *, ahead: bool) -> Tokens:
    """Count null seeks with the data operations before or after them.

    ABySS makes 36 or 37 of them between two reads (P18 table 4). A replay makes them behind operations. Not ahead: where a pause lies
    before a seek, the first call after it is the one that meets cold caches, and stays the first.
    """
    n = len(tokens)
    null = tokens.kind == TokenKind.NULL_SEEK
    if not null.any():
        return tokens
    index = np.arange(n)
    before = np.maximum(np.maximum.accumulate(np.where(null, -1, index)), 0)
    after = np.minimum(np.minimum.accumulate(np.where(null, n, index)[::-1])[::-1], n - 1)
    carried = _carries(tokens, before)
    carrier = np.where(carried, before, after)
    absorbed = null & (carried | (_carries(tokens, after) & ahead))
    at = carrier[absorbed]
    return replace(
        tokens,
        null_seeks=sums(tokens.n[absorbed], at, n),
        null_gap=sums(tokens.gap[absorbed], at, n),
    ).take(~absorbed)


def _carries(tokens: Tokens, other: Int64Array) -> BoolArray:
    """Whether each token's other one moves data through the same handle."""
    found: BoolArray = (
        (tokens.kind[other] == TokenKind.DATA)
        & (tokens.rank[other] == tokens.rank)
        & (tokens.file[other] == tokens.file)
        & (tokens.slot[other] == tokens.slot)
    )
    return found


def joined(tokens: Tokens) -> tuple[Tokens, Int64Array]:
    """Neighbours that are the same step as one; and what contracted loops leave out and no token has, before each.

    A token that holds all calls of a loop has those that are left out as well.
    """
    n = len(tokens)
    if not n:
        return tokens, tokens.n
    start = starts(tokens.rank, tokens.kind, tokens.what)
    first = tokens.take(start)
    columns = {name: getattr(tokens, name) for name in ("n", "null_seeks", "null_gap", "gap")}
    summed = {
        name: column[start] if column.strides == (0,) else np.add.reduceat(column, start)
        for name, column in columns.items()
    }
    found = replace(first, **summed)
    left_out = np.zeros(len(start), dtype=np.int64)
    at = start[:0] if tokens.gap.strides == (0,) else np.flatnonzero(tokens.gap)
    if not len(at):
        return found, left_out
    token = np.repeat(np.arange(len(start)), np.diff(start, append=n))
    inside = np.flatnonzero(tokens.loop >= 0)
    loops, head = numbered(tokens.loop[inside])
    least, most = np.full(len(head), n), np.zeros(len(head), dtype=np.int64)
    np.minimum.at(least, loops, token[inside])
    np.maximum.at(most, loops, token[inside])
    alone = np.zeros(n, dtype=bool)
    alone[inside] = (least == most)[loops]
    own = sums(np.where(alone, tokens.gap, 0), token, len(start))
    nulls = sums(np.where(alone, tokens.null_gap, 0), token, len(start))
    found = replace(found, n=found.n + own, null_seeks=found.null_seeks + nulls)
    others = at[~alone[at]]
    if len(others):
        loop, first_of = numbered(tokens.loop[others])
        total = sums(tokens.gap[others], loop, len(first_of))
        np.add.at(left_out, token[others[first_of]], total)
    return found, left_out
