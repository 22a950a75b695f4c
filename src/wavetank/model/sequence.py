"""The exact order of what each rank does, in terms of phases: the programs of a model.

Reads rows and phases; leaves one Program for all ranks that do the same. Only the application's own
level counts for each file: the POSIX calls that an MPI-IO call turns into are its own affair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wavetank.model.activity import Activity
from wavetank.model.folded import blocks, take
from wavetank.model.loops import Loop, compress, settle
from wavetank.model.names import NAME_CHANGES, NAMED_OPS
from wavetank.model.phase import (
    DataStep,
    FileStep,
    PauseStep,
    Phase,
    ProcessStep,
    Program,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.model.processes import ProcessEvent
from wavetank.model.row_kind import NEXT_DATA, RowKind
from wavetank.model.rules import BoolArray
from wavetank.model.tokens import BEGINS, ENDED, PAUSE, Tokens, with_pauses, with_processes
from wavetank.trace.schema import UNKNOWN, Int64Array, Level, OpKind


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
    on_file = activity.own_levels()[rows.table.file] == rows.level
    on_file |= _own_renames(activity)
    keep = (rows.kind == RowKind.SYNC_RANKS) | (on_file & (rows.kind != RowKind.IGNORED))
    file_steps: list[FileStep] = []
    tokens = _tokens(activity, ph_id, keep, file_steps)
    if pauses_s is not None:
        tokens = with_pauses(activity, tokens, np.flatnonzero(keep), pauses_s)
    if events:
        tokens = with_processes(activity, tokens, events)
    tokens, nulls = _absorb_null_seeks(tokens)
    tokens, nulls = _join(tokens, nulls)
    if (tokens.loop >= 0).any():
        tokens, nulls = _join(*_without_short_loops(tokens, nulls))
    return _programs(tokens, nulls, phases, file_steps)


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
    loops = blocks(table)
    loop = loops.of_row[index]
    # A loop lies in one part as a whole; of it one repetition is a token.
    times = np.where(loop >= 0, table.count[index], 1)
    count = table.count[index] // times
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
        loop=loop[repeat],
        times=times[repeat],
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
    position[seeks] = rows.target[index[seeks]]
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
                name=UNKNOWN - view if view < UNKNOWN and op.name in NAMED_OPS else 0,
                error=error,
            )
        )
    return inverse


# --- joining --------------------------------------------------------------------------------------


def _pick(tokens: Tokens, mask: BoolArray) -> Tokens:
    return Tokens(
        tokens.rank[mask], tokens.kind[mask], tokens.what[mask], tokens.file[mask],
        tokens.slot[mask], tokens.n[mask], tokens.row[mask], tokens.loop[mask], tokens.times[mask],
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


def _programs(
    tokens: Tokens, nulls: Int64Array, phases: Sequence[Phase], file_steps: Sequence[FileStep]
) -> tuple[Program, ...]:
    columns = np.stack([tokens.kind, tokens.what, tokens.n, nulls, _inside(tokens, phases)], axis=1)
    distinct, ids = _distinct_rows(columns)
    table = _Steps(distinct.tolist(), phases, file_steps)
    by_program: dict[bytes, list[int]] = defaultdict(list)
    starts = np.flatnonzero(np.diff(tokens.rank, prepend=-1))
    stops = np.append(starts[1:], len(tokens.rank))
    loops = tokens.loop if (tokens.loop >= 0).any() else None
    for a, b in zip(starts.tolist(), stops.tolist(), strict=True):
        parts = [ids[a:b]]
        if loops is not None:
            parts += [
                np.diff(loops[a:b], prepend=-1),
                np.where(loops[a:b] < 0, 0, tokens.times[a:b]),
            ]
        by_program[np.concatenate(parts).tobytes()].append(a)
    found = []
    for first in by_program.values():
        a = first[0]
        b = int(stops[np.searchsorted(starts, a)])
        nodes = ids[a:b].tolist()
        if loops is not None:
            nodes = settle(table.nodes(nodes, loops[a:b].tolist(), tokens.times[a:b].tolist()))
        found.append(
            Program(
                ranks=tuple(tokens.rank[first].tolist()),
                steps=tuple(table.expand(node) for node in compress(nodes)),
            )
        )
    return tuple(found)


class _Steps:
    """The different steps by their numbers."""

    def __init__(
        self, rows: list[list[int]], phases: Sequence[Phase], file_steps: Sequence[FileStep]
    ) -> None:
        self._rows = rows
        self._numbers = {tuple(row): number for number, row in enumerate(rows)}
        self._phases, self._file_steps = phases, file_steps
        self._made: dict[int, Step] = {}

    def nodes(self, ids: list[int], loops: list[int], times: list[int]) -> list[int | Loop]:
        """Numbers, and loops of them where tokens are in the body of one."""
        found: list[int | Loop] = []
        at = 0
        while at < len(ids):
            stop = at + 1
            if loops[at] < 0:
                self._append(found, ids[at])
            else:
                while stop < len(ids) and loops[stop] == loops[at]:
                    stop += 1
                for node in self._loop(ids[at:stop], times[at]):
                    self._append(found, node)
            at = stop
        return found

    def _append(self, found: list[int | Loop], node: int | Loop) -> None:
        """Append a node; joined with the one before it where both are the same step."""
        if not found or isinstance(node, Loop) or isinstance(found[-1], Loop):
            found.append(node)
        elif self._rows[found[-1]][:2] == self._rows[node][:2]:
            found[-1] = self._joined(found[-1], node)
        else:
            found.append(node)

    def _joined(self, first: int, second: int) -> int:
        """The number of the step that two steps of the same kind are."""
        a, b = self._rows[first], self._rows[second]
        row = [*a[:2], a[2] + b[2], a[3] + b[3], max(a[4], b[4])]
        number = self._numbers.setdefault(tuple(row), len(self._rows))
        if number == len(self._rows):
            self._rows.append(row)
        return number

    def _loop(self, body: list[int], times: int) -> list[int | Loop]:
        """A loop; where a repetition ends with the step that the next one begins with, they are one step."""
        if len(body) < 2 or self._rows[body[0]][:2] != self._rows[body[-1]][:2]:
            return [Loop(times, tuple(body))]
        number = self._joined(body[-1], body[0])
        inner = body[1:-1]
        return [body[0], Loop(times - 1, (*inner, number)), *inner, body[-1]]

    def expand(self, node: int | Loop) -> Step:
        """The step of a number or a loop."""
        if isinstance(node, Loop):
            return RepeatStep(
                times=node.times, steps=tuple(self.expand(inner) for inner in node.body)
            )
        if node not in self._made:
            self._made[node] = _step(self._rows[node], self._phases, self._file_steps)
        return self._made[node]


def _inside(tokens: Tokens, phases: Sequence[Phase]) -> Int64Array:
    """Whether a data token begins or ends inside a repetition (1) or not (0)."""
    period = np.ones(len(phases) + 1, dtype=np.int64)
    for phase in phases:
        period[phase.ph_id] = len(phase.pattern)
    is_data = tokens.kind == RowKind.DATA
    what = np.where(is_data, tokens.what, 0)
    if not (period > 1).any():
        return np.zeros(len(what), dtype=np.int64)
    n = np.where(is_data, tokens.n * tokens.times, 0)
    key = tokens.rank * len(period) + what
    order = np.argsort(key, kind="stable")
    total = np.cumsum(n[order])
    begin = np.flatnonzero(np.diff(key[order], prepend=-1))
    base = np.repeat((total - n[order])[begin], np.diff(begin, append=len(order)))
    consumed = np.empty(len(order), dtype=np.int64)
    consumed[order] = total - base
    inside: BoolArray = (consumed % period[what] != 0) | ((consumed - n) % period[what] != 0)
    # In a loop single operations are counted, unless each repetition is whole repetitions of the pattern.
    looped = (tokens.loop >= 0) & is_data
    if looped.any():
        key = tokens.loop[looped] * len(period) + what[looped]
        groups, inverse = np.unique(key, return_inverse=True)
        odd = np.zeros(len(groups), dtype=bool)
        np.logical_or.at(odd, inverse, tokens.n[looped] % period[what[looped]] != 0)
        inside[looped] |= odd[inverse]
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
    if kind in (BEGINS, ENDED):
        return ProcessStep(rank=what, event="begins" if kind == BEGINS else "ended")
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
