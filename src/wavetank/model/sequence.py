"""The exact order of what each rank does, in terms of phases: the programs of a model.

Reads rows and phases; leaves one Program for all ranks that do the same. Only the application's own
level counts for each file: the POSIX calls that an MPI-IO call turns into are its own affair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.activity import Activity
from wavetank.model.fold import take
from wavetank.model.loops import Loop, compress
from wavetank.model.phase import (
    DataStep,
    FileStep,
    PauseStep,
    Phase,
    Program,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.model.rows import RowKind, Rows
from wavetank.model.rules import BoolArray
from wavetank.trace.schema import UNKNOWN, Int64Array, Level, OpKind

PAUSE = 100
"""Kind of a token that is a pause, beside those of RowKind."""
NEXT_DATA = -2
"""A seek's offset: where the next data operation through the handle starts."""


@dataclass(frozen=True)
class Tokens:
    """Steps before they are joined, in rank order. Columns of equal length."""

    rank: Int64Array
    kind: Int64Array  # RowKind
    what: (
        Int64Array  # data: ph_id; file: number of the distinct step; sync: communicator; pause: us
    )
    file: Int64Array
    slot: Int64Array
    n: Int64Array  # data: operations; else: calls
    row: Int64Array  # index into Rows


def make_programs(
    activity: Activity,
    ph_id: Int64Array,
    phases: Sequence[Phase],
    pauses_s: float | None = None,
) -> tuple[Program, ...]:
    """What the ranks do, ranks that do the same together.

    Args:
        activity: the trace.
        ph_id: for each part of the activity the number of its phase.
        phases: in the order of their numbers.
        pauses_s: shortest pause that is kept, seconds; None keeps none.
    """
    rows = activity.rows
    on_file = activity.own_levels()[rows.table.file] == rows.level
    keep = (rows.kind == RowKind.SYNC_RANKS) | (on_file & (rows.kind != RowKind.IGNORED))
    file_steps: list[FileStep] = []
    tokens = _tokens(activity, ph_id, keep, file_steps)
    if pauses_s is not None:
        tokens = _with_pauses(activity, tokens, np.flatnonzero(keep), pauses_s)
    tokens, nulls = _absorb_null_seeks(tokens)
    tokens, nulls = _join(tokens, nulls)
    return _programs(tokens, nulls, phases, file_steps)


# --- tokens ---------------------------------------------------------------------------------------


def _tokens(
    activity: Activity, ph_id: Int64Array, keep: BoolArray, file_steps: list[FileStep]
) -> Tokens:
    """One token per row; a data row that several phases share becomes several."""
    rows, data, parts = activity.rows, activity.data, activity.parts
    table = rows.table
    index = np.flatnonzero(keep)
    kind = rows.kind[index].astype(np.int64)
    first_op = np.full(len(table), -1, dtype=np.int64)
    first_op[data.row] = data.first_op
    low = first_op[index]
    count = table.count[index]
    is_data = kind == RowKind.DATA
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
    other = np.flatnonzero((kind != RowKind.DATA) & (kind != RowKind.SYNC_RANKS))
    what[other] = _distinct_steps(activity, index[other], file_steps)
    sync = kind == RowKind.SYNC_RANKS
    what[sync] = table.arg[index[sync]]
    return Tokens(
        rank=table.rank[index].astype(np.int64),
        kind=kind,
        what=what,
        file=table.file[index].astype(np.int64),
        slot=rows.slot[index].astype(np.int64),
        n=n,
        row=index,
    )


def _with_pauses(activity: Activity, tokens: Tokens, rows: Int64Array, pauses_s: float) -> Tokens:
    """Put pauses between tokens, rounded to three digits so that like pauses are one step."""
    table = activity.rows.table
    before, after = rows[:-1], rows[1:]
    known = (table.end_ns[before] != UNKNOWN) & (table.start_ns[after] != UNKNOWN)
    gap = np.where(known, table.start_ns[after] - table.end_ns[before], 0)
    long = (table.rank[before] == table.rank[after]) & (gap >= pauses_s * 1e9)
    paused, length_us = after[long], gap[long] / 1e3
    digits = 10.0 ** (np.floor(np.log10(np.maximum(length_us, 1))) - 2)
    length = (np.round(length_us / digits) * digits).astype(np.int64)
    place = np.searchsorted(tokens.row, paused)
    none = np.full(len(place), -1, dtype=np.int64)
    inserted = {
        "rank": table.rank[paused], "kind": np.full(len(place), PAUSE), "what": length, "file": none,
        "slot": none, "n": np.ones(len(place), dtype=np.int64), "row": paused,
    }  # fmt: skip
    return Tokens(
        **{
            name: np.insert(getattr(tokens, name), place, values)
            for name, values in inserted.items()
        }
    )


def _distinct_steps(
    activity: Activity, index: Int64Array, file_steps: list[FileStep]
) -> Int64Array:
    """Number the different file steps, and append them to ``file_steps``."""
    rows = activity.rows
    table = take(rows.table, index)
    if not len(index):
        return index
    kind = rows.kind[index]
    position = np.full(len(index), UNKNOWN, dtype=np.int64)
    seeks = np.flatnonzero((kind == RowKind.SEEK) | (kind == RowKind.NULL_SEEK))
    position[seeks] = _seek_target(rows, index[seeks])
    empty = kind == RowKind.EMPTY
    is_data = activity.codes(lambda op: op.kind in (OpKind.READ, OpKind.WRITE))
    failed_data = is_data[table.op] & (kind == RowKind.FILE)
    position[empty | failed_data] = table.offset[empty | failed_data]
    size = np.where(empty | failed_data, table.size, 0)
    mpi_open = activity.codes(lambda op: op.kind == OpKind.OPEN and op.level == Level.MPIIO)
    size = np.where(mpi_open[table.op], table.size, size)  # its communicator + 1
    # Hints: see FoldTable.offset and arg.
    takes_info = activity.codes(lambda op: op.name in {"MPI_File_set_view", "MPI_File_set_info"})[
        table.op
    ]
    info = np.where(mpi_open[table.op], table.offset, np.where(takes_info, table.arg - 1, UNKNOWN))
    argument = np.where(takes_info, 0, table.arg)
    columns = np.stack(
        [
            table.file.astype(np.int64), rows.slot[index].astype(np.int64), table.op.astype(np.int64),
            position, size, argument, info, table.view.astype(np.int64), table.error.astype(np.int64),
        ],
        axis=1,
    )  # fmt: skip
    distinct, inverse = _distinct_rows(columns)
    for file, slot, code, at, asked, arg, info_id, view, error in distinct.tolist():
        op = rows.ops[code]
        is_open = op.kind == OpKind.OPEN
        file_steps.append(
            FileStep(
                iop_type=op.name,
                file_id=activity.file_ids[file],
                handle=slot,
                arg=arg,
                size=0 if is_open else asked,
                offset=None if at in (NEXT_DATA, UNKNOWN) else at,
                view_id=view if op.kind == OpKind.VIEW and view != UNKNOWN else None,
                info_id=info_id if info_id != UNKNOWN else None,
                communicator=asked - 1
                if is_open and op.level == Level.MPIIO and asked > 0
                else None,
                error=error,
            )
        )
    return inverse


def _seek_target(rows: Rows, seeks: Int64Array) -> Int64Array:
    """Where seeks go; NEXT_DATA where the handle's next data operation starts there."""
    table = rows.table
    target = table.offset[seeks].copy()
    candidates = np.flatnonzero((rows.kind == RowKind.SEEK) | (rows.kind == RowKind.DATA))
    n_handles = int(table.handle.max(initial=0)) + 2
    n_files = int(table.file.max(initial=0)) + 2
    owner = (table.rank.astype(np.int64) * n_files + table.file + 1) * 4 + rows.level
    key = (owner * n_handles + table.handle + 1)[candidates]
    order = np.argsort(key, kind="stable")
    key, sorted_rows = key[order], candidates[order]
    following = np.full(len(table), -1, dtype=np.int64)
    following[sorted_rows[:-1]] = np.where(key[1:] == key[:-1], sorted_rows[1:], -1)
    after = following[seeks]
    reaches = (
        (rows.kind[seeks] == RowKind.SEEK)
        & (after >= 0)
        & (rows.kind[after] == RowKind.DATA)
        & (table.offset[after] == target)
        & (table.count[seeks] == 1)
    )
    target[reaches] = NEXT_DATA
    return target


# --- joining --------------------------------------------------------------------------------------


def _pick(tokens: Tokens, mask: BoolArray) -> Tokens:
    return Tokens(
        tokens.rank[mask], tokens.kind[mask], tokens.what[mask], tokens.file[mask],
        tokens.slot[mask], tokens.n[mask], tokens.row[mask],
    )  # fmt: skip


def _absorb_null_seeks(tokens: Tokens) -> tuple[Tokens, Int64Array]:
    """Count null seeks with the data operations before or after them; the array holds them by token."""
    n = len(tokens.rank)
    nulls = np.zeros(n, dtype=np.int64)
    null = tokens.kind == RowKind.NULL_SEEK
    if not null.any():
        return tokens, nulls
    index = np.arange(n)
    before = np.maximum(np.maximum.accumulate(np.where(null, -1, index)), 0)
    after = np.minimum(np.minimum.accumulate(np.where(null, n, index)[::-1])[::-1], n - 1)
    carried = _carries(tokens, before)
    carrier = np.where(carried, before, after)
    absorbed = null & (carried | _carries(tokens, after))
    np.add.at(nulls, carrier[absorbed], tokens.n[absorbed])
    return _pick(tokens, ~absorbed), nulls[~absorbed]


def _carries(tokens: Tokens, other: Int64Array) -> BoolArray:
    """Whether each token's other one moves data through the same handle."""
    found: BoolArray = (
        (tokens.kind[other] == RowKind.DATA)
        & (tokens.rank[other] == tokens.rank)
        & (tokens.file[other] == tokens.file)
        & (tokens.slot[other] == tokens.slot)
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
    )
    return joined, np.add.reduceat(nulls, start)


# --- programs -------------------------------------------------------------------------------------


def _programs(
    tokens: Tokens, nulls: Int64Array, phases: Sequence[Phase], file_steps: Sequence[FileStep]
) -> tuple[Program, ...]:
    columns = np.stack([tokens.kind, tokens.what, tokens.n, nulls, _inside(tokens, phases)], axis=1)
    distinct, ids = _distinct_rows(columns)
    steps = [_step(row, phases, file_steps) for row in distinct.tolist()]
    by_program: dict[bytes, list[int]] = defaultdict(list)
    starts = np.flatnonzero(np.diff(tokens.rank, prepend=-1))
    stops = np.append(starts[1:], len(tokens.rank))
    for a, b in zip(starts.tolist(), stops.tolist(), strict=True):
        by_program[ids[a:b].tobytes()].append(int(tokens.rank[a]))
    return tuple(
        Program(
            ranks=tuple(ranks),
            steps=tuple(
                _expand(node, steps) for node in compress(np.frombuffer(program, dtype=ids.dtype))
            ),
        )
        for program, ranks in by_program.items()
    )


def _inside(tokens: Tokens, phases: Sequence[Phase]) -> Int64Array:
    """Whether a data token begins or ends inside a repetition (1) or not (0)."""
    period = np.ones(len(phases) + 1, dtype=np.int64)
    for phase in phases:
        period[phase.ph_id] = len(phase.pattern)
    is_data = tokens.kind == RowKind.DATA
    what = np.where(is_data, tokens.what, 0)
    if not (period > 1).any():
        return np.zeros(len(what), dtype=np.int64)
    n = np.where(is_data, tokens.n, 0)
    key = tokens.rank * len(period) + what
    order = np.argsort(key, kind="stable")
    total = np.cumsum(n[order])
    begin = np.flatnonzero(np.diff(key[order], prepend=-1))
    base = np.repeat((total - n[order])[begin], np.diff(begin, append=len(order)))
    consumed = np.empty(len(order), dtype=np.int64)
    consumed[order] = total - base
    inside: BoolArray = (consumed % period[what] != 0) | ((consumed - n) % period[what] != 0)
    result: Int64Array = (inside & is_data).astype(np.int64)
    return result


def _distinct_rows(columns: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The different rows of a table, and for each row which of them it is.

    By a 64-bit hash of the rows, which sorts far faster than the rows; checked afterwards.
    """
    mixed = np.zeros(len(columns), dtype=np.uint64)
    for column in columns.T:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    distinct = columns[first]
    if not np.array_equal(distinct[inverse], columns):  # two rows of one hash
        distinct, inverse = np.unique(columns, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)


def _step(row: list[int], phases: Sequence[Phase], file_steps: Sequence[FileStep]) -> Step:
    kind, what, n, nulls, inside = row
    if kind == RowKind.SYNC_RANKS:
        return SyncStep(communicator=what, count=n)
    if kind == PAUSE:
        return PauseStep(seconds=what * n / 1e6)
    if kind == RowKind.DATA:
        pattern = phases[what - 1].pattern
        handles = {member.handle for member in pattern}
        return DataStep(
            ph_id=what,
            n=n if inside else n // len(pattern),
            single=bool(inside),
            null_seeks=nulls,
            handle=handles.pop() if len(handles) == 1 else None,
        )
    return file_steps[what].model_copy(update={"count": n})


def _expand(node: int | Loop, steps: Sequence[Step]) -> Step:
    if isinstance(node, Loop):
        return RepeatStep(
            times=node.times, steps=tuple(_expand(inner, steps) for inner in node.body)
        )
    return steps[node]
