"""Interleavings: several calls that alternate without a repeating order, as a row for each call and the order of the run.

Reads stretches of single operations of a chunk; leaves rows substream by substream. A substream is what one file's operations
of one kind are within an interleaving; or all of a file's, where their order repeats itself, which others then fold.
Work for an operation is done in C (``wavetank.model.native``), that for a substream here.

Why they are taken apart: in turn, calls on two files are neither a run nor a loop, though each file is read from its begin
to its end. Taken one by one they cost a row each, and a search for patterns that are not there. Put substream by
substream, a regular call is one run again, and a random one is a list.

Why the order is kept as an array of numbers, and not given up: every operation must be at its place in the program of a
replay. A number of a byte or so for each operation is less than any row. A grammar of the order would be no shorter, as
nothing in it recurs.

Why a repeated order is none: (read, write) x 1000 says more than two rows and an order. So it is first looked whether
a pattern of up to ``Thresholds.order_period`` operations repeats. What repeats is left to what folds loops.

Why the order of calls alone decides, and not where they go: offsets of random accesses may look regular by chance, and how
a trace was folded would change the answer. Why only single operations of one rank between boundaries: an interleaving
must not reach over what separates phases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from wavetank.model.compression.folded_table import (
    NAMES,
    STEPS,
    Columns,
    Folded,
    Interleaving,
    joined,
    members,
    take,
    with_columns,
)
from wavetank.model.compression.growing_lists import GrowingList, ListStore
from wavetank.model.compression.list_stripes import Stripes
from wavetank.model.compression.unfinished_substreams import unfinished_substreams
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.native import substreams as substream_passes
from wavetank.model.native.lists import Stretches
from wavetank.model.native.orders import translated
from wavetank.model.native.substreams import Before, Regions, Role, Substreams, Unfinished
from wavetank.model.native.survey import Chunk, OpKinds, Survey, UInt32Array, Workspace
from wavetank.model.rules import Rules
from wavetank.trace.ops import DATA_KINDS, codes_where
from wavetank.trace.schema import BoolArray, Int64Array, Level, Op, OpKind

_KEY = ("file", "op", "handle", "given")


def kinds_of(ops: Mapping[int, Op]) -> tuple[BoolArray, BoolArray]:
    """By operation code, what may be interleaved, reads and writes and seeks at the POSIX level; and which of it seeks."""
    seeks = codes_where(lambda op: op.kind == OpKind.SEEK and op.level == Level.POSIX, ops)
    return codes_where(lambda op: op.kind in DATA_KINDS, ops) | seeks, seeks


@dataclass(frozen=True)
class Interleaver:
    """What interleaving needs beside a chunk.

    Attributes:
        kinds: of operations.
        rules: what is similar, and what is worth a row.
        refold: folds rows in order, where it is their order that repeats itself.
        store: of offsets and sizes.
        stripes: of the same.
        workspace: of the arrays.
    """

    kinds: OpKinds
    rules: Rules
    refold: Callable[[Folded], Folded]
    store: ListStore
    stripes: Stripes
    workspace: Workspace

    @property
    def shortest_rows(self) -> tuple[int, int]:
        """Operations of a row with regularity, and of one without."""
        limits = self.rules.thresholds
        return limits.regular_run, limits.strand_operations


@dataclass(frozen=True)
class Interleaved:
    """What interleaving some operations of a chunk leaves.

    Attributes:
        rows: of them; numbers of substreams begin at 0.
        at: the place of each row in the chunk, where its interleaving begins.
        interleavings: in order.
        unfinished: substreams of the last interleaving, if all of them are such as may go on in the next chunk; else None.
    """

    rows: Folded
    at: Int64Array
    interleavings: list[Interleaving]
    unfinished: Unfinished | None


@dataclass(frozen=True)
class _Pairs:
    """What operations of one region have in common, by region, file and the rest: columns."""

    region: Int64Array
    file: Int64Array
    code: Int64Array
    stray: BoolArray  # seeks that do not lead to where the next operation begins


def interleave(
    chunk: Chunk[Folded], found: Survey, regions: Regions, by: Interleaver
) -> Interleaved:
    """Interleave the operations of some regions of a chunk.

    Args:
        chunk: the chunk.
        found: in it.
        regions: of operations of one rank each, single and with nothing between that separates them.
        by: what else is needed.
    """
    ids, pairs, number = _pairs(chunk, found, regions, by)
    substream_of, apart = _substreams(ids, pairs, number, by)
    n_substreams = int(substream_of[-1]) + 1
    first_of = np.searchsorted(substream_of, np.arange(n_substreams))  # a pair of each substream
    plain = apart[first_of] | (np.bincount(substream_of) == 1)
    stray = pairs.stray[first_of] & plain
    low, high = by.rules.similarity or (1.0, 1.0)
    laid = substream_passes.substreams(
        chunk, regions, ids, (substream_of[number].astype(np.uint32), stray.astype(np.uint8)),
        by.shortest_rows, (low, high), by.workspace,
    )  # fmt: skip
    keys = [getattr(chunk.table, name)[found.first[pairs.code[first_of]]] for name in _KEY]
    stripe = by.stripes.numbers([tuple(key) for key in np.stack([*keys, stray], axis=1).tolist()])
    made, substream = _all_rows(chunk.table, laid, plain, by, stripe)
    columns = {name: getattr(made, name) for name in NAMES}
    columns["substream"] = substream
    rows = with_columns(chunk.table, columns)
    interleavings = []
    first_substream = np.searchsorted(
        pairs.region[first_of], np.arange(len(regions.low) + 1)
    ).tolist()
    edges = np.concatenate([[0], np.cumsum(regions.high - regions.low)]).tolist()
    for which, (a, b) in enumerate(pairwise(first_substream)):
        mine = laid.substream[edges[which] : edges[which + 1]]
        mine = mine if a == 0 else mine - np.uint32(a)
        order = mine.astype(np.uint8 if b - a <= 256 else np.uint32)
        interleavings.append(Interleaving(a, order, apart[first_of[a:b]], stray[a:b]))
    a, b = first_substream[-2:]
    head = found.first[pairs.code[first_of[a:b]]]
    unfinished = (
        unfinished_substreams(chunk.table, head, apart[first_of[a:b]], stray[a:b], by.kinds)
        if plain[a:b].all()
        else None
    )
    return Interleaved(
        rows, regions.low[pairs.region[first_of][substream]], interleavings, unfinished
    )


def continue_interleaving(
    chunk: Chunk[Folded], unfinished: Unfinished, before: Before, by: Interleaver
) -> tuple[Folded, Interleaving] | None:
    """Interleave a whole chunk that goes on with the interleaving before it; None if it may not do so.

    Args:
        chunk: the chunk.
        unfinished: substreams of the interleaving before it.
        before: the operation before it.
        by: what else is needed.

    Returns:
        Rows, and the interleaving; numbers of substreams begin at 0.
    """
    similar = by.rules.similarity or (1.0, 1.0)
    stripe = by.stripes.numbers(unfinished.keys())
    stripe[unfinished.role == Role.STRAY] = -1
    whole = bool((stripe[unfinished.role != Role.STRAY] >= 0).all())
    tails = by.stripes.tails(stripe, len(chunk)) if whole else None
    laid = substream_passes.continue_interleaving(
        chunk, unfinished, before, _no_order(by.rules.thresholds), often(by.rules.thresholds), by.shortest_rows, similar,
        tails, by.workspace,
    )  # fmt: skip
    if laid is None:
        return None
    if tails is not None:
        by.stripes.filled(stripe, tails)
    kept = np.ones(len(unfinished), dtype=bool)
    rows, first = _rows(chunk.table, laid, kept, by, stripe)
    there = np.diff(laid.starts) > 0
    number = np.cumsum(there) - 1
    order = (
        laid.substream
        if there.all()
        else translated(laid.substream, np.maximum(number, 0), np.uint8)
    )
    columns = {name: getattr(rows, name) for name in NAMES}
    columns["substream"] = number[np.searchsorted(laid.starts, first, side="right") - 1]
    stray = (unfinished.role == Role.STRAY)[there]
    return with_columns(chunk.table, columns), Interleaving(
        0, order, unfinished.apart[there], stray, continues=True
    )


def often(thresholds: Thresholds) -> float:
    """The share of operations of an interleaving that are of another kind than the one before, at least."""
    return 1 / (4 * thresholds.regular_run)


def _pairs(
    chunk: Chunk[Folded], found: Survey, regions: Regions, by: Interleaver
) -> tuple[UInt32Array, _Pairs, Int64Array]:
    """A number of each operation; the pairs of region and what operations have in common; which of them each number is."""
    table, first = chunk.table, found.first
    file, op, handle, given = (getattr(table, name)[first] for name in _KEY)
    owners = (file.astype(np.int64) << 32) | handle.astype(np.uint32)
    _, owner = np.unique(owners, return_inverse=True)
    ids, pair = substream_passes.number_pairs(
        chunk, by.kinds, found, owner.astype(np.uint32), regions, by.workspace
    )
    stray, pair = pair % 2, pair // 2
    region, code = pair // len(first), pair % len(first)
    order = np.lexsort((stray, given[code], handle[code], op[code], file[code], region))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    columns = _Pairs(
        region[order], file[code][order].astype(np.int64), code[order], stray[order] > 0
    )
    return ids, columns, number


def _substreams(
    ids: UInt32Array, pairs: _Pairs, number: Int64Array, by: Interleaver
) -> tuple[Int64Array, BoolArray]:
    """The substream of each pair, and whether the operations of its file are taken apart."""
    new = np.append(
        True, (pairs.file[1:] != pairs.file[:-1]) | (pairs.region[1:] != pairs.region[:-1])
    )
    stream = np.cumsum(new) - 1
    several = np.bincount(stream) > 1
    if not several.any():
        return stream, np.zeros(len(stream), dtype=bool)
    irregular = substream_passes.irregular(
        ids, stream[number].astype(np.uint32), _no_order(by.rules.thresholds), by.workspace
    )
    apart = (irregular & several)[stream]
    return np.cumsum(new | apart) - 1, apart


def _no_order(limits: Thresholds) -> tuple[int, ...]:
    return (
        limits.mix_turns,
        limits.mix_long_order,
        limits.order_head,
        limits.order_probe,
        limits.order_period,
    )


def _all_rows(
    table: Folded, laid: Substreams, plain: BoolArray, by: Interleaver, stripe: Int64Array
) -> tuple[Folded, Int64Array]:
    """The rows of all substreams, and the substream of each; those that are not plain are folded in order."""
    rows, positions = _rows(table, laid, plain, by, stripe)
    if not plain.all():
        parts, places = [rows], [positions]
        for number in np.flatnonzero(~plain).tolist():
            a, b = int(laid.starts[number]), int(laid.starts[number + 1])
            again = _in_turn(take(table, laid.at[a:b].astype(np.int64)), by.refold)
            parts.append(again)
            places.append(np.full(len(again), a))
        positions = np.concatenate(places)
        turn = np.argsort(positions, kind="stable")
        positions = positions[turn]
        rows = take(joined(parts, table.lists), turn)
    return rows, np.searchsorted(laid.starts, positions, side="right") - 1


def _in_turn(table: Folded, refold: Callable[[Folded], Folded]) -> Folded:
    """Operations of one file folded as if nothing lay between them."""
    n = len(table)
    at_once = replace(table, tick=np.zeros(n, dtype=np.int64), subtick=np.arange(n))
    found = refold(at_once)
    head = np.searchsorted(table.seq, found.seq)
    several = np.where(found.count > 1, members(found), 0)
    return replace(
        found,
        tick=table.tick[head],
        subtick=table.subtick[head],
        tick_step=several * ((table.tick[-1] - table.tick[0]) // max(n - 1, 1)),
        subtick_step=several * ((table.subtick[-1] - table.subtick[0]) // max(n - 1, 1)),
    )


def _rows(
    table: Folded, laid: Substreams, kept: BoolArray, by: Interleaver, stripe: Int64Array
) -> tuple[Folded, Int64Array]:
    """A row for each part of a substream that is regular, or regular nowhere; and the place where each begins.

    Args:
        table: the chunk.
        laid: its operations, substream by substream.
        kept: substreams whose rows are made here.
        by: what else is needed.
        stripe: of each substream, -1 for none.
    """
    names = ("first", "length", "moved", "busy", "kind", "head", "second", "last")
    columns = [getattr(laid, name) for name in names]
    if not kept.all():
        some = kept[np.searchsorted(laid.starts, laid.first, side="right") - 1]
        columns = [column[some] for column in columns]
    first, length, moved, busy, kind, head, second, tail = columns
    out: Columns = {name: getattr(table, name)[head] for name in NAMES}
    several, sized = length > 1, kind == 3
    listed = sized | (kind == 2)
    out["count"], out["moved"], out["busy_ns"] = length, moved, busy
    out["end_ns"] = table.end_ns[tail]
    for name, column in STEPS:
        values = getattr(table, name)
        out[column] = np.where(
            several, (values[tail] - values[head]) // np.maximum(length - 1, 1), 0
        )
    out["disp"] = np.where(several, table.offset[second] - out["offset"], 0)
    out["view_disp"] = out["disp"]
    if laid.listed is not None and laid.sized is not None:
        out["listed"], out["sized"] = laid.listed, laid.sized
        return with_columns(table, out), first
    number = stripe[np.searchsorted(laid.starts, first, side="right") - 1]
    for where, numbers, some, values in (
        ("listed", laid.offset, listed, by.store.offsets),
        ("sized", laid.size, sized, by.store.sizes),
    ):
        out[where] = np.full(len(first), -1, dtype=np.int64)
        if some.any():
            stretches = Stretches.of(numbers, first[some], length[some])
            out[where][some] = _stored(stretches, number[some], values, by.stripes)
    return with_columns(table, out), first


def _stored(
    stretches: Stretches, number: Int64Array, values: GrowingList, stripes: Stripes
) -> Int64Array:
    """Where in the lists some stretches of a chunk lie now: in the stripes of their substreams if these have room."""
    n = stretches.length
    place = stripes.place(values, number, n)
    if place is not None:
        stretches.scatter(values.address(place))
        return place
    position, room = values.reserve(int(n.sum()))
    stretches.gather(room)
    return position + np.cumsum(n) - n


# --- places ---------------------------------------------------------------------------------------


def places(table: Folded) -> tuple[Int64Array, Int64Array]:
    """Of each interleaved row: which operation of its substream its first one is, and how far its next one is from it."""
    rows = np.flatnonzero(table.substream >= 0)
    substream, count, loop = table.substream[rows], table.count[rows], table.loop[rows]
    before = np.cumsum(count) - count
    new = np.append(True, substream[1:] != substream[:-1])
    start = np.flatnonzero(new)
    first = before - np.repeat(before[start], np.diff(start, append=len(rows)))
    step = np.ones(len(rows), dtype=np.int64)
    inside = loop > 0
    if inside.any():
        opens = inside & np.append(True, new[1:] | (loop[1:] != loop[:-1]))
        block = np.cumsum(opens) - 1
        begin = np.flatnonzero(opens)
        members = np.bincount(block[inside], minlength=len(begin))
        first[inside] = (first[begin][block] + np.arange(len(rows)) - begin[block])[inside]
        step[inside] = members[block[inside]]
    return first, step
