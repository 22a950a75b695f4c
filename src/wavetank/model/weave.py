"""Weaves: operations of several kinds or files in no order, as one row for each, and the order they come in.

Reads stretches of single operations of a chunk; leaves rows strand by strand. A strand is what one file's operations
of one kind are within a weave; or all of a file's, where their order repeats itself, which others then fold.
Work for an operation is a few passes over columns, a sort of small numbers among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from wavetank.model.folded import (
    NAMES,
    STEPS,
    BoolArray,
    Columns,
    Folded,
    Weave,
    joined,
    members,
    take,
)  # fmt: skip
from wavetank.model.mixed import LONG, MIN_TURNS
from wavetank.model.rules import Rules
from wavetank.trace.schema import Int32Array, Int64Array, Level, Op, OpKind

SHORTEST = 32
"""Operations of a strand, or of a part of it, that are a row without regularity (Choice); fewer stay single."""
Store = Callable[[Int64Array, Int64Array], tuple[int, int]]
_PROBE, _HEAD, _MAX_PERIOD = 512, 32, 64  # operations


@dataclass(frozen=True)
class Kinds:
    """By operation code, what may be woven: shape (256,)."""

    woven: BoolArray  # moves data or seeks, at the POSIX level; or moves data at MPI-IO's
    calls: BoolArray  # at MPI-IO's level
    seeks: BoolArray
    reads: BoolArray


def kinds_of(ops: Mapping[int, Op]) -> Kinds:
    """What may be woven: reads and writes, and seeks at the POSIX level."""
    woven, calls, seeks, reads = (np.zeros(256, dtype=bool) for _ in range(4))
    for code, op in ops.items():
        calls[code] = op.level == Level.MPIIO
        seeks[code] = op.kind == OpKind.SEEK and op.level == Level.POSIX
        reads[code] = op.kind == OpKind.READ
        woven[code] = op.kind in (OpKind.READ, OpKind.WRITE) or seeks[code]
    return Kinds(woven, calls, seeks, reads)


def weave(
    table: Folded,
    regions: list[tuple[int, int]],
    kinds: Kinds,
    rules: Rules,
    regular: int,
    refold: Callable[[Folded], Folded],
    store: Store,
) -> tuple[Folded, Int64Array, list[Weave]]:
    """Weave the operations of some regions of a chunk. Numbers of strands begin at 0.

    Args:
        table: the chunk.
        regions: operations [low, high) each, of one rank, single and with nothing between that parts them.
        kinds: of operations.
        rules: what is similar.
        regular: operations of a run that is a row of its own.
        refold: folds rows in order, where it is their order that repeats itself.
        store: puts offsets and sizes into the lists, and says where.

    Returns:
        Rows; the place of each in the chunk, where its weave begins; the weaves.
    """
    low, high = (np.array(column, dtype=np.int64) for column in zip(*regions, strict=True))
    n_each = high - low
    region = np.repeat(np.arange(len(low)), n_each)
    source = np.arange(int(n_each.sum())) + np.repeat(low - (np.cumsum(n_each) - n_each), n_each)
    chosen: Int64Array | slice = source if len(low) > 1 else slice(int(low[0]), int(high[0]))
    code, file_of, op_of = _codes(table, chosen)
    if len(low) > 1:
        code, present = _dense(code + region * len(file_of))
        region_of = present // len(file_of)
        file_of, op_of = file_of[present % len(file_of)], op_of[present % len(file_of)]
    else:
        region_of = np.zeros(len(file_of), dtype=np.int64)
    small = code.astype(np.uint16 if len(file_of) <= 1 << 16 else np.int64)
    strand_of, apart = _strands(table, source, small, (region_of, file_of, op_of), kinds)
    first_of = np.searchsorted(
        strand_of, np.arange(int(strand_of[-1]) + 1)
    )  # a code of each strand
    whole = (strand_of == np.arange(len(strand_of))).all()
    strand = small if whole else strand_of.astype(small.dtype).take(small)  # type: ignore[arg-type]
    order = np.argsort(strand, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(strand, minlength=len(first_of)))])
    at = source.take(order)
    plain = apart[first_of] | (np.bincount(strand_of) == 1)
    rows, positions = _rows(table, at, starts, plain, rules, regular, store)
    parts, places = [rows], [positions]
    for number in np.flatnonzero(~plain).tolist():
        a, b = int(starts[number]), int(starts[number + 1])
        again = _in_turn(take(table, at[a:b]), refold)
        parts.append(again)
        places.append(np.full(len(again), a))
    place = np.concatenate(places)
    turn = np.argsort(place, kind="stable")
    place = place[turn]
    made = take(joined(parts, table.lists), turn)
    strand_of_row = np.searchsorted(starts, place, side="right") - 1
    weaves = []
    first_strand = np.searchsorted(region_of[first_of], np.arange(len(low) + 1))
    edges = np.concatenate([[0], np.cumsum(n_each)])
    for which, (a, b) in enumerate(
        zip(first_strand[:-1].tolist(), first_strand[1:].tolist(), strict=True)
    ):
        mine = strand[edges[which] : edges[which + 1]] - a
        weaves.append(
            Weave(
                first=a,
                order=mine.astype(np.uint8 if b - a <= 256 else np.uint32),
                apart=apart[first_of[a:b]],
            )
        )
    columns = {name: getattr(made, name) for name in NAMES}
    columns["strand"] = strand_of_row
    of_region = region_of[first_of][strand_of_row]
    return Folded(**columns, lists=table.lists), low[of_region], weaves


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


def _codes(table: Folded, chosen: Int64Array | slice) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Small numbers for what operations of a strand have in common, by file and then the rest; file and op of each."""
    both = table.file[chosen].astype(np.int64)
    both *= 256
    both += table.op[chosen]
    code, present = _dense(both)
    for column in (table.handle[chosen], table.arg[chosen]):
        if (column == column[0]).all():
            continue
        value = np.zeros(len(present), dtype=column.dtype)
        value[code] = column
        if (value.take(code) != column).any():
            _, number = np.unique(column, return_inverse=True)
            width = int(number.max()) + 1
            code, pairs = _dense(code * width + number)
            present = present[pairs // width]
    return code, present // 256, present % 256


def _dense(values: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Numbers from 0 in the order of the values, and the different values."""
    least = int(values.min())
    width = int(values.max()) - least + 1
    if width > 1 << 20:
        different, number = np.unique(values, return_inverse=True)
        return number.reshape(-1), different
    values = values - least if least else values
    there = np.zeros(width, dtype=bool)
    there[values] = True
    number_of = np.cumsum(there) - 1
    return number_of.take(values), np.flatnonzero(there) + least


def _strands(
    table: Folded,
    source: Int64Array,
    code: np.ndarray,
    of_code: tuple[Int64Array, Int64Array, Int64Array],
    kinds: Kinds,
) -> tuple[Int64Array, BoolArray]:
    """The strand of each code, and whether the operations of its file are taken apart."""
    region_of, file_of, op_of = of_code
    n = len(file_of)
    new = np.append(True, (file_of[1:] != file_of[:-1]) | (region_of[1:] != region_of[:-1]))
    stream_of = np.cumsum(new) - 1
    apart = np.zeros(n, dtype=bool)
    several = np.flatnonzero(np.bincount(stream_of) > 1)
    if len(several):
        stream = stream_of.astype(code.dtype).take(code)
        some = np.zeros(n, dtype=np.int64)
        some[code] = source  # an operation of each code
        handle_of = table.handle[some]
        order = np.argsort(stream, kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(stream))])
        first = np.flatnonzero(new)
        for number in several.tolist():
            places = order[edges[number] : edges[number + 1]]
            codes = slice(int(first[number]), int(first[number]) + int((stream_of == number).sum()))
            apart[codes] = (
                _can_be_apart(op_of[codes], handle_of[codes], kinds)
                and _is_irregular(code.take(places))
                and (
                    not kinds.seeks[op_of[codes]].any()
                    or _seeks_lead(table, source.take(places), kinds)
                )
            )
    return np.cumsum(new | apart) - 1, apart


def _can_be_apart(ops: Int64Array, handles: Int32Array, kinds: Kinds) -> bool:
    """Whether it does not matter which of a file's operations of one direction comes first: to what is sequential."""
    reads, data = kinds.reads[ops], ~kinds.seeks[ops]
    several = (data & reads).sum() > 1 or (data & ~reads).sum() > 1
    return not several and bool((handles == handles[0]).all())


def _is_irregular(code: np.ndarray) -> bool:
    """Whether a file's operations take turns often, and repeat no pattern for long."""
    edges = np.flatnonzero(code[1:] != code[:-1]) + 1
    if len(edges) < MIN_TURNS or max(edges[0], len(code) - edges[-1]) >= LONG:
        return False
    if (edges[1:] - edges[:-1]).max() >= LONG:
        return False
    width = code.itemsize
    text = code.tobytes()
    for at in range(0, len(code) - 2 * _HEAD, _PROBE):
        head = text[at * width : (at + _HEAD) * width]
        found = text.find(head, (at + 1) * width, (at + _HEAD + _MAX_PERIOD) * width)
        if found >= 0 and found % width == 0:
            period = found // width - at
            end = min(at + LONG, len(code))
            if (
                np.array_equal(code[at + period : end], code[at : end - period])
                and end - at >= LONG // 2
            ):
                return False
    return True


def _seeks_lead(table: Folded, rows: Int64Array, kinds: Kinds) -> bool:
    """Whether each seek leads to where the file's next operation begins."""
    seek = kinds.seeks[table.op[rows]]
    if not seek.any():
        return True
    if seek[-1] or (seek[1:] & seek[:-1]).any():
        return False
    before = np.flatnonzero(seek)
    return bool((table.offset[rows[before]] == table.offset[rows[before + 1]]).all())


def _rows(
    table: Folded,
    at: Int64Array,
    starts: Int64Array,
    kept: BoolArray,
    rules: Rules,
    regular: int,
    store: Store,
) -> tuple[Folded, Int64Array]:
    """A row for each part of a strand that is regular, or regular nowhere; and where each begins.

    Args:
        table: the chunk.
        at: its rows, strand by strand.
        starts: of the strands, and behind the last one.
        kept: strands that are made here.
        rules: what is similar.
        regular: operations of a run that is a row of its own.
        store: puts offsets and sizes into the lists, and says where.
    """
    n = len(at)
    offset, size = table.offset.take(at), table.size.take(at)
    moved = size if table.moved is table.size else table.moved.take(at)
    one_size = bool((size == size[0]).all())
    first, length, is_run = _parts((offset, size, moved == size), starts, rules, regular)
    total = np.add.reduceat(moved, first)
    busy = np.add.reduceat(table.busy_ns.take(at), first)
    strand = np.searchsorted(starts, first, side="right") - 1
    some = kept[strand]
    if not some.all():
        first, length, total, busy = first[some], length[some], total[some], busy[some]
    last = first + length - 1
    head, tail = at[first], at[last]
    out: Columns = {name: getattr(table, name)[head] for name in NAMES}
    several = length > 1
    run = is_run[first] & several
    listed = several & ~run
    out["count"] = length
    out["moved"], out["busy_ns"] = total, busy
    out["end_ns"] = table.end_ns[tail]
    for name, column in STEPS:
        values = getattr(table, name)
        out[column] = np.where(
            several, (values[tail] - values[head]) // np.maximum(length - 1, 1), 0
        )
    second = at[np.minimum(first + 1, n - 1)]
    out["disp"] = np.where(several, table.offset[second] - out["offset"], 0)
    out["view_disp"] = out["disp"]
    sized = listed & (not one_size)
    if not one_size:
        sized &= ~_all_equal(size, first, length)
    none = np.zeros(0, dtype=np.int64)
    base, base_sizes = store(offset if listed.any() else none, size if sized.any() else none)
    out["listed"] = np.where(listed, first + base, -1)
    out["sized"] = np.where(sized, first + base_sizes, -1)
    return Folded(**out, lists=table.lists), first


def _all_equal(values: Int64Array, first: Int64Array, length: Int64Array) -> BoolArray:
    """Whether the values of each part are the same."""
    found = [
        bool((values[a : a + n] == values[a]).all())
        for a, n in zip(first.tolist(), length.tolist(), strict=True)
    ] if len(first) < 256 else None  # fmt: skip
    if found is not None:
        return np.array(found, dtype=bool)
    differs = np.concatenate([[0], np.cumsum(values[1:] != values[:-1])])
    equal: BoolArray = differs[first + length - 1] == differs[first]
    return equal


def _parts(
    columns: tuple[Int64Array, Int64Array, BoolArray],
    starts: Int64Array,
    rules: Rules,
    regular: int,
) -> tuple[Int64Array, Int64Array, BoolArray]:
    """First operations and lengths of the parts of strands, and by operation whether a run begins.

    ``columns``: offset, size, and whether an operation moved all of its bytes.
    """
    n = len(columns[0])
    offset, size, whole = columns
    cut = np.zeros(n + 1, dtype=bool)
    cut[starts] = True
    if not whole.all():
        cut[1:] |= ~whole
    one_size = bool((size == size[0]).all())
    linked = ~cut[1:n]
    step = np.diff(offset)
    same = linked if one_size else linked & (size[1:] == size[:-1])
    goes_on = same[1:] & same[:-1] & (step[1:] == step[:-1])
    is_run = np.zeros(n + 1, dtype=bool)
    for begin, end in _ranges(goes_on, regular - 2):
        is_run[begin] = True
        cut[begin] = cut[end + 2] = True
    if not one_size:
        alike = linked & rules.similar(size[:-1], size[1:])
        for begin, end in _ranges(alike, regular - 1):
            cut[begin] = cut[end + 1] = True
    first = np.flatnonzero(cut[:n])
    length = np.diff(first, append=n)
    few = (length > 1) & (length < SHORTEST) & ~is_run[first]
    if few.any():
        single = np.repeat(few, length)
        cut[:n] |= single
        first = np.flatnonzero(cut[:n])
        length = np.diff(first, append=n)
    return first, length, is_run


def _ranges(goes_on: BoolArray, least: int) -> list[tuple[int, int]]:
    """Ranges [begin, end) of at least ``least`` true entries."""
    if not goes_on.any():
        return []
    edges = np.flatnonzero(np.diff(goes_on, prepend=False, append=False))
    begin, end = edges[0::2], edges[1::2]
    some = end - begin >= max(least, 1)
    return list(zip(begin[some].tolist(), end[some].tolist(), strict=True))


# --- places ---------------------------------------------------------------------------------------


def places(table: Folded) -> tuple[Int64Array, Int64Array]:
    """Of each woven row: which operation of its strand its first one is, and how far its next one is from it."""
    rows = np.flatnonzero(table.strand >= 0)
    strand, count, loop = table.strand[rows], table.count[rows], table.loop[rows]
    before = np.cumsum(count) - count
    new = np.append(True, strand[1:] != strand[:-1])
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


def in_time(order: np.ndarray, n_strands: int) -> tuple[Int64Array, Int64Array]:
    """Places in the weave of all operations, strand by strand; and where each strand begins in them."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(order, minlength=n_strands))])
    return np.argsort(order, kind="stable"), starts
