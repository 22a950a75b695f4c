"""Steps of programs before they are joined, as a table; and what is put between those that the rows of a trace are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, auto

import numpy as np

from wavetank.model.events.process_order import ProcessEvent, event_places
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.phases.activity import Activity
from wavetank.trace.schema import UNKNOWN, Int64Array


class TokenKind(IntEnum):
    """What a token stands for. ``Tokens.what`` says which one, as given behind each kind.

    The first ones are what rows of a trace are, with the numbers of ``RowKind``; the others have the next ones. Steps are
    numbered in the order of these numbers.
    """

    DATA = RowKind.DATA  # operations of a phase: its ph_id
    EMPTY = (
        RowKind.EMPTY
    )  # this kind and the next three, calls without data: the number of the distinct file step
    NULL_SEEK = RowKind.NULL_SEEK
    SEEK = RowKind.SEEK
    FILE = RowKind.FILE
    SYNC_RANKS = RowKind.SYNC_RANKS  # an order between ranks: index into Trace.communicators
    PAUSE = auto()  # between two calls: microseconds
    BEGINS = auto()  # another process begins: its rank
    ENDED = auto()  # another process has ended: its rank
    INTERLEAVING = auto()  # all operations of an interleaving: its index in ``Lists.interleavings``


WITHOUT_DATA = (TokenKind.EMPTY, TokenKind.NULL_SEEK, TokenKind.SEEK, TokenKind.FILE)
"""Kinds of tokens whose ``what`` is the number of a distinct file step."""


@dataclass(frozen=True)
class Tokens:
    """Steps before they are joined, in rank order. Columns of equal length."""

    rank: Int64Array
    kind: Int64Array  # TokenKind
    what: Int64Array  # which one of its kind, see TokenKind
    file: Int64Array
    slot: Int64Array
    n: Int64Array  # data: operations; else: calls; of tokens in a loop in one repetition
    row: Int64Array  # index into Rows
    loop: Int64Array  # number of the loop that the token is in the body of; -1 for none
    times: Int64Array  # repetitions of that loop; 1 without


def with_pauses(activity: Activity, tokens: Tokens, rows: Int64Array, pauses_s: float) -> Tokens:
    """Put pauses between tokens, rounded to three digits so that like pauses are one step."""
    table = activity.rows.table
    before, after = rows[:-1], rows[1:]
    known = (table.end_ns[before] != UNKNOWN) & (table.start_ns[after] != UNKNOWN)
    gap = np.where(known, table.start_ns[after] - table.end_ns[before], 0)
    long = (table.rank[before] == table.rank[after]) & (gap >= pauses_s * 1e9)
    paused, length_us = after[long], gap[long] / 1e3
    digits = 10.0 ** (np.floor(np.log10(np.maximum(length_us, 1))) - 2)
    length = (np.round(length_us / digits) * digits).astype(np.int64)
    return _inserted(
        tokens,
        np.searchsorted(tokens.row, paused),
        table.rank[paused],
        paused,
        TokenKind.PAUSE,
        length,
    )


def with_processes(activity: Activity, tokens: Tokens, events: Sequence[ProcessEvent]) -> Tokens:
    """Put the beginnings and ends of processes between tokens."""
    table = activity.rows.table
    some = np.isin([event.rank for event in events], tokens.rank)
    if not some.any() or (table.start_ns == UNKNOWN).any():
        return tokens
    # At one place ends come first: a process may begin because another one has ended.
    events = sorted(
        (event for event, there in zip(events, some, strict=True) if there),
        key=lambda event: (event.rank, event.at_ns, not event.ended),
    )
    place = event_places(
        events, tokens.rank, table.start_ns[tokens.row], table.end_ns[tokens.row], tokens.loop
    )
    return _inserted(
        tokens,
        place,
        np.array([event.rank for event in events]),
        tokens.row[np.minimum(place, len(tokens.row) - 1)],
        np.array([TokenKind.ENDED if event.ended else TokenKind.BEGINS for event in events]),
        np.array([event.process for event in events]),
    )


def _inserted(
    tokens: Tokens,
    place: Int64Array,
    rank: Int64Array,
    row: Int64Array,
    kind: TokenKind | Int64Array,
    what: Int64Array,
) -> Tokens:
    """Tokens with others on no file before those at some places."""
    none = np.full(len(place), -1, dtype=np.int64)
    once = np.ones(len(place), dtype=np.int64)
    inserted = {
        "rank": rank, "kind": np.broadcast_to(kind, len(place)), "what": what, "file": none,
        "slot": none, "n": once, "row": row, "loop": none, "times": once,
    }  # fmt: skip
    return Tokens(
        **{
            name: np.insert(getattr(tokens, name), place, values)
            for name, values in inserted.items()
        }
    )
