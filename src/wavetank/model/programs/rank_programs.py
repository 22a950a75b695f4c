"""The exact order of what each rank does, in terms of phases: the programs of a model.

Reads rows and phases; leaves one Program for all ranks that do the same. Only the application's own
level counts for each file: the POSIX calls that an MPI-IO call turns into are its own affair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from wavetank.model.compression.folded_table import blocks, interleavings_of
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import FileStep, Program
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.events.file_identity import NAME_CHANGES
from wavetank.model.events.process_order import ProcessEvent
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.phases.activity import Activity
from wavetank.model.programs.file_steps import Known, distinct_steps
from wavetank.model.programs.interleaved_steps import InterleavedSteps
from wavetank.model.programs.irregular_orders import with_irregular_orders
from wavetank.model.programs.loops import compress
from wavetank.model.programs.step_table import Part, StepRow, StepTable, inside_repetitions
from wavetank.model.programs.tokens import (
    WITHOUT_DATA,
    TokenKind,
    Tokens,
    with_pauses,
    with_processes,
)
from wavetank.trace.distinct import distinct_rows
from wavetank.trace.schema import BoolArray, Int32Array, Int64Array

_ROWS = 1 << 19
"""Of which steps are made at a time, or of one rank."""


def make_programs(
    activity: Activity,
    ph_id: Int64Array,
    phases: Sequence[Phase],
    pauses_s: float | None = None,
    events: Sequence[ProcessEvent] = (),
) -> tuple[Program, ...]:
    """What the ranks do, ranks that do the same together.

    Args:
        activity: the trace.
        ph_id: for each part of the activity the number of its phase.
        phases: in the order of their numbers.
        pauses_s: shortest pause that is kept, seconds; None keeps none.
        events: where processes begin and end, beside what a launcher started.
    """
    rows = activity.rows
    on_file = activity.is_own(rows.table.file, rows.level)
    on_file |= _own_renames(activity)
    keep = (rows.kind == RowKind.SYNC_RANKS) | (on_file & (rows.kind != RowKind.IGNORED))
    file_steps: list[FileStep] = []
    known: Known = {}
    table = StepTable([], phases, file_steps)
    interleaved = InterleavedSteps(activity, ph_id, keep, phases, file_steps)
    programs = _Programs(table, interleaved, activity.thresholds)
    first_op = np.full(len(keep), -1, dtype=np.int64)
    first_op[activity.data.row] = activity.data.first_op
    for some in _blocks_of_ranks(rows.table.rank):
        of_some = np.zeros(len(keep), dtype=bool)
        of_some[some] = keep[some]
        tokens = _tokens(activity, ph_id, of_some, first_op, file_steps, known)
        if pauses_s is not None:
            tokens = with_pauses(activity, tokens, np.flatnonzero(of_some), pauses_s)
        if events:
            tokens = with_processes(activity, tokens, events)
        tokens, nulls = _absorb_null_seeks(tokens, ahead=pauses_s is None)
        tokens, nulls = _join(tokens, nulls)
        if (tokens.loop >= 0).any():
            tokens, nulls = _join(*_without_short_loops(tokens, nulls))
        programs.add(tokens, nulls, phases)
    return programs.made()


def _blocks_of_ranks(rank: Int32Array) -> Iterator[slice]:
    """Rows of some ranks at a time: steps of many millions take much room before they are joined."""
    starts = np.append(np.flatnonzero(np.diff(rank, prepend=-1)), len(rank))
    low = 0
    for start, stop in pairwise(starts.tolist()):
        if stop - low > _ROWS and start > low:
            yield slice(low, start)
            low = start
    if low < len(rank):
        yield slice(low, len(rank))


def _own_renames(activity: Activity) -> BoolArray:
    """What the application itself does with names of files that it uses through MPI-IO.

    The MPI library removes files in calls that end after it, and renames and links none.
    """
    rows = activity.rows
    changes = activity.codes(lambda op: op.name in NAME_CHANGES)[rows.table.op]
    removes = activity.codes(lambda op: op.name == "unlink")[rows.table.op]
    in_later_call = rows.inside > np.arange(len(rows.inside))
    own: BoolArray = changes & ~(removes & in_later_call) & (rows.table.file >= 0)
    return own


# --- tokens ---------------------------------------------------------------------------------------


def _tokens(
    activity: Activity,
    ph_id: Int64Array,
    keep: BoolArray,
    first_op: Int64Array,
    file_steps: list[FileStep],
    known: Known,
) -> Tokens:
    """One token per row; a data row that several phases share becomes several.

    ``first_op`` is that of each row that moves data, and -1 of the others.
    """
    rows, data, parts = activity.rows, activity.data, activity.parts
    table = rows.table
    interleaving = interleavings_of(table)
    interleaved = keep & (interleaving >= 0)
    heads = np.flatnonzero(interleaved)
    heads = heads[np.diff(interleaving[heads], prepend=-1) != 0]  # an interleaving is one token
    index = np.flatnonzero(keep & ~interleaved)
    if len(heads):
        index = np.union1d(index, heads)
    kind = np.where(interleaved[index], TokenKind.INTERLEAVING, rows.kind[index].astype(np.int64))
    low = first_op[index]
    loops = blocks(table)
    loop = np.where(kind == TokenKind.INTERLEAVING, -1, loops.of_row[index])
    # A loop lies in one part as a whole; of it one repetition is a token.
    times = np.where(loop >= 0, table.count[index], 1)
    count = table.count[index] // times
    is_data = kind == TokenKind.DATA
    lows = np.array([part.low for part in parts], dtype=np.int64)
    begin = np.where(is_data, np.searchsorted(lows, low, side="right") - 1, 0)
    end = np.where(is_data, np.searchsorted(lows, low + count - 1, side="right") - 1, 0)
    pieces = end - begin + 1
    repeat = np.repeat(np.arange(len(index)), pieces)
    piece = np.arange(len(repeat)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    part = begin[repeat] + piece
    n = count[repeat]
    what = np.zeros(len(repeat), dtype=np.int64)
    data_token = is_data[repeat]
    if len(parts):
        bounds = np.append(lows, data.n_operations)
        bottom = np.maximum(low[repeat], bounds[part])
        top = np.minimum((low + count)[repeat], bounds[part + 1])
        n = np.where(data_token, top - bottom, n)
        what = np.where(data_token, ph_id[np.minimum(part, len(parts) - 1)], what)
    index = index[repeat]
    kind = kind[repeat]
    other = np.flatnonzero(np.isin(kind, WITHOUT_DATA))
    what[other] = distinct_steps(activity, index[other], file_steps, known)
    what[kind == TokenKind.INTERLEAVING] = interleaving[index[kind == TokenKind.INTERLEAVING]]
    sync = kind == TokenKind.SYNC_RANKS
    what[sync] = table.details.communicator[table.given[index[sync]]]
    return Tokens(
        rank=table.rank[index].astype(np.int64),
        kind=kind,
        what=what,
        file=table.file[index].astype(np.int64),
        slot=rows.slot[index].astype(np.int64),
        n=n,
        row=index,
        loop=loop[repeat],
        times=times[repeat],
    )


# --- joining --------------------------------------------------------------------------------------


def _pick(tokens: Tokens, mask: BoolArray) -> Tokens:
    return Tokens(
        tokens.rank[mask], tokens.kind[mask], tokens.what[mask], tokens.file[mask],
        tokens.slot[mask], tokens.n[mask], tokens.row[mask], tokens.loop[mask], tokens.times[mask],
    )  # fmt: skip


def _absorb_null_seeks(tokens: Tokens, *, ahead: bool) -> tuple[Tokens, Int64Array]:
    """Count null seeks with the data operations before or after them; the array holds them by token.

    A replay makes them behind operations. Not ahead: where a pause lies before a seek, the first call after it is
    the one that meets cold caches, and stays the first.
    """
    n = len(tokens.rank)
    nulls = np.zeros(n, dtype=np.int64)
    null = tokens.kind == TokenKind.NULL_SEEK
    if not null.any():
        return tokens, nulls
    index = np.arange(n)
    before = np.maximum(np.maximum.accumulate(np.where(null, -1, index)), 0)
    after = np.minimum(np.minimum.accumulate(np.where(null, n, index)[::-1])[::-1], n - 1)
    carried = _carries(tokens, before)
    carrier = np.where(carried, before, after)
    absorbed = null & (carried | (_carries(tokens, after) & ahead))
    np.add.at(nulls, carrier[absorbed], tokens.n[absorbed])
    return _pick(tokens, ~absorbed), nulls[~absorbed]


def _carries(tokens: Tokens, other: Int64Array) -> BoolArray:
    """Whether each token's other one moves data through the same handle."""
    found: BoolArray = (
        (tokens.kind[other] == TokenKind.DATA)
        & (tokens.rank[other] == tokens.rank)
        & (tokens.file[other] == tokens.file)
        & (tokens.slot[other] == tokens.slot)
        & (tokens.loop[other] == tokens.loop)
    )
    return found


def _join(tokens: Tokens, nulls: Int64Array) -> tuple[Tokens, Int64Array]:
    """Join neighbours that are the same step."""
    n = len(tokens.rank)
    if n == 0:
        return tokens, nulls
    new = np.ones(n, dtype=bool)
    new[1:] = (
        (tokens.rank[1:] != tokens.rank[:-1])
        | (tokens.kind[1:] != tokens.kind[:-1])
        | (tokens.what[1:] != tokens.what[:-1])
        | (tokens.loop[1:] != tokens.loop[:-1])
    )
    start = np.flatnonzero(new)
    first = _pick(tokens, new)
    joined = Tokens(
        first.rank,
        first.kind,
        first.what,
        first.file,
        first.slot,
        np.add.reduceat(tokens.n, start),
        first.row,
        first.loop,
        first.times,
    )
    return joined, np.add.reduceat(nulls, start)


def _without_short_loops(tokens: Tokens, nulls: Int64Array) -> tuple[Tokens, Int64Array]:
    """Loops of one token become that token: its operations in all repetitions."""
    inside = tokens.loop >= 0
    length = np.bincount(tokens.loop[inside])
    alone = inside.copy()
    alone[inside] = length[tokens.loop[inside]] == 1
    factor = np.where(alone, tokens.times, 1)
    return replace(
        tokens,
        n=tokens.n * factor,
        loop=np.where(alone, -1, tokens.loop),
        times=np.where(alone, 1, tokens.times),
    ), nulls * factor


# --- programs -------------------------------------------------------------------------------------


class _Programs:
    """Programs as the tokens of more and more ranks come in; those that are equal are one."""

    def __init__(
        self, table: StepTable, interleaved: InterleavedSteps, thresholds: Thresholds
    ) -> None:
        self._table, self._interleaved, self._thresholds = table, interleaved, thresholds
        self._by_length: dict[tuple[int, ...], list[tuple[list[int], list[Part]]]] = defaultdict(
            list
        )
        self._programs: list[tuple[list[int], list[Part]]] = []

    def add(self, tokens: Tokens, nulls: Int64Array, phases: Sequence[Phase]) -> None:
        """The tokens of further ranks."""
        table, interleaved = self._table, self._interleaved
        inside = inside_repetitions(tokens, phases)
        if len(interleaved.broken):
            inside[(tokens.kind == TokenKind.DATA) & np.isin(tokens.what, interleaved.broken)] = 1
        distinct, which = distinct_rows([tokens.kind, tokens.what, tokens.n, nulls, inside])
        numbers = [table.number(StepRow._make(row)) for row in distinct.tolist()]
        ids = np.array(numbers, dtype=np.int64)[which]
        starts = np.flatnonzero(np.diff(tokens.rank, prepend=-1))
        stops = np.append(starts[1:], len(tokens.rank))
        for a, b in zip(starts.tolist(), stops.tolist(), strict=True):
            rank = int(tokens.rank[a])
            parts = _parts(
                tokens, ids, a, b, lambda interleaving: interleaved.numbers(interleaving, table)
            )
            alike = self._by_length[tuple(len(part.ids) for part in parts)]
            for ranks, other in alike:
                if _same(parts, other):
                    ranks.append(rank)
                    break
            else:
                alike.append(([rank], parts))
                self._programs.append(alike[-1])

    def made(self) -> tuple[Program, ...]:
        """The programs in the order of their first ranks."""
        table, candidates = self._table, self._thresholds.loop_candidates
        found = []
        for ranks, parts in self._programs:
            nodes = table.nodes(parts, candidates)
            nodes = with_irregular_orders(nodes, table.may_alternate(), self._thresholds)
            steps = table.expanded(compress(nodes, candidates))
            found.append(Program.model_construct(ranks=tuple(ranks), steps=steps))
        return tuple(found)


def _same(parts: list[Part], others: list[Part]) -> bool:
    return all(
        np.array_equal(column, other)
        for part, part_of_other in zip(parts, others, strict=True)
        for column, other in zip(part, part_of_other, strict=True)
    )


def _parts(
    tokens: Tokens, ids: Int64Array, a: int, b: int, numbers: Callable[[int], Int64Array]
) -> list[Part]:
    """Tokens [a, b) with those of interleavings laid out."""
    found: list[Part] = []
    interleavings = a + np.flatnonzero(tokens.kind[a:b] == TokenKind.INTERLEAVING)
    for low, high in pairwise([a - 1, *interleavings.tolist(), b]):
        at = slice(low + 1, high)
        loop = tokens.loop[at]
        if len(loop):
            new = np.diff(loop, prepend=-1) if (loop >= 0).any() else loop[:0]
            found.append(Part(ids[at], new, np.where(loop < 0, 0, tokens.times[at])))
        if high < b:
            found.append(Part(numbers(int(tokens.what[high])), loop[:0], loop[:0]))
    return found
