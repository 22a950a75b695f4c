"""A trace's rows made ready for the extraction: what each row is, and what lies before it.

Reads a FoldTable; leaves ``Rows`` (all rows in rank order) and ``DataRows`` (those that moved
data, ordered by stream: one level, file and rank).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from wavetank.model.compression.folded_table import (
    Folded,
    as_folded,
    blocks,
    cut_loops,
    interleavings_of,
    last_moved,
    last_size,
    part_rows,
    taken_apart,
    unfold_loops,
    unfold_rows,
)
from wavetank.model.events.row_kinds import BESIDE_MPI, RowKind
from wavetank.model.events.seeks import find_null_seeks, of_loops, seek_targets
from wavetank.model.rules import Rules
from wavetank.trace.schema import (
    UNKNOWN,
    BoolArray,
    FoldTable,
    Int32Array,
    Int64Array,
    Level,
    Op,
    OpKind,
    UInt8Array,
    without_repetition,
)


@dataclass(frozen=True)
class Rows:
    """All rows in rank order, with what is derived for each of them."""

    table: Folded
    kind: UInt8Array  # RowKind
    level: UInt8Array  # Level, or BESIDE_MPI
    slot: Int32Array  # which open of the file, lowest number not in use
    comm: Int64Array  # communication calls of the rank before the row
    inside: Int64Array  # row of the MPI-IO call that a POSIX call was made in; -1 for the others
    target: Int64Array  # of seeks: where they lead, NEXT_DATA where the handle's next data operation starts
    ops: Mapping[int, Op]

    def launched(self, rank: Int64Array | Int32Array, start_ns: Int64Array) -> Int64Array:
        """When what each entry belongs to began: its own start, or the first of all ranks that use MPI.

        0 throughout where all ranks use MPI, one rank is all there is, or times are unknown: ticks
        order operations then.

        Args:
            rank: of each entry.
            start_ns: of each entry.
        """
        calls = (self.kind == RowKind.SYNC_RANKS) | (self.level == Level.MPIIO)
        ticking = np.isin(rank, np.unique(self.table.rank[(self.table.tick > 0) | calls]))
        several = len(rank) > 0 and bool((rank != rank[0]).any())
        if not several or ticking.all() or (start_ns == UNKNOWN).any():
            return np.zeros(len(rank), dtype=np.int64)
        first = int(start_ns[ticking].min()) if ticking.any() else 0
        return np.where(ticking, first, start_ns)


def prepare(table: FoldTable, ops: Mapping[int, Op], rules: Rules) -> Rows:
    """Classify rows; part those whose operations the extraction must tell apart.

    A row whose last operation moved nothing is separated from it. A row with communication between
    its operations is unfolded where communication separates phases, and so are seeks to several places.
    """
    kinds, levels = _lookup(ops)
    table = _cut_irregular_loops(_part_empty_last(as_folded(table), kinds), kinds, levels, rules)
    table = _unfold_separated(table, kinds, levels, rules)
    while True:
        level = levels[table.op]
        kind = _classify(table, kinds)
        level = beside_mpi(table, level, kinds, rules)
        slot = _slots(table, level, kinds)
        kind, table, (level, slot) = find_null_seeks(table, kind, (level, slot), ops)
        target = seek_targets(table, kind, level)
        kind, target, mixed = of_loops(table, kind, target)
        if not len(mixed):
            break
        table = unfold_loops(table, mixed)
    return Rows(
        table=table,
        kind=kind,
        level=level,
        slot=slot.astype(np.int32),
        comm=without_repetition(comm_before(table, level)),
        inside=without_repetition(inside_calls(table, level)),
        target=without_repetition(target),
        ops=ops,
    )


def _unfold_separated(table: Folded, kinds: UInt8Array, levels: UInt8Array, rules: Rules) -> Folded:
    """Unfold rows in no loop with communication between their operations, and calls at several places."""
    level = levels[table.op]
    moves_data = _is_data(kinds[table.op]) & (table.moved > 0)
    separated = (_comm_step(table, level) > 0) & _separating(rules)[level]
    unfolded = (
        (table.count > 1) & (table.loop == 0) & np.where(moves_data, separated, table.disp != 0)
    )
    unfolded &= ~taken_apart(table)  # of seeks such substreams say where they lead
    return unfold_rows(table, unfolded) if unfolded.any() else table


def _separating(rules: Rules) -> BoolArray:
    """By level, whether communication separates phases there."""
    separating = np.zeros(256, dtype=bool)
    for level, does in rules.split_at_communication.items():
        separating[level] = does
    return separating


def _cut_irregular_loops(
    table: Folded, kinds: UInt8Array, levels: UInt8Array, rules: Rules
) -> Folded:
    """Unfold loops whose repetitions differ in more than a displacement; cut off what differs in the others.

    Communication that separates phases, or calls that move nothing at a new place each time, make all repetitions
    differ; of loops with seeks the first two and the last one stand apart, by which the others are judged.
    """
    found = blocks(table)
    if not len(found):
        return table
    level = levels[table.op]
    inside = found.of_row >= 0
    owner = found.of_row[inside]
    calls = np.bincount(owner, weights=level[inside] == Level.MPIIO, minlength=len(found))
    talks = (table.tick_step[inside] > calls[owner]) & _separating(rules)[level[inside]]
    talks &= table.substream[inside] < 0
    kind = kinds[table.op[inside]]
    data = _is_data(kind) & (table.moved[inside] > 0)
    moving = ~data & (kind != _KIND_CODES[OpKind.SEEK]) & (table.disp[inside] != 0)
    bad = np.unique(owner[talks | moving])
    seeks = np.setdiff1d(np.unique(owner[kind == _KIND_CODES[OpKind.SEEK]]), bad)
    short = _is_data(kind) & (last_moved(table) < last_size(table))[inside]
    last = np.setdiff1d(np.unique(owner[short & (table.moved[inside] > 0)]), bad)
    block: list[int] = []
    at: list[int] = []
    for number in bad.tolist():
        at += range(1, int(found.count[number]))
        block += [number] * (int(found.count[number]) - 1)
    for number in seeks.tolist():
        count = int(found.count[number])
        ends = sorted(end for end in {1, 2, count - 1} if 0 < end < count)
        at += ends
        block += [number] * len(ends)
    at += (found.count[last] - 1).tolist()
    block += last.tolist()
    return cut_loops(table, np.array(block, dtype=np.int64), np.array(at, dtype=np.int64))[0]


def without_library_files(rows: Rows) -> tuple[Rows, Int64Array]:
    """Leave out files that only the MPI library uses (locks, shared pointers), and say which they are."""
    table = rows.table
    on_file = table.file >= 0
    inside = rows.inside >= 0
    n_files = int(table.file.max(initial=-1)) + 1
    used_inside = np.bincount(table.file[on_file & inside], minlength=n_files) > 0
    used_outside = np.bincount(table.file[on_file & ~inside], minlength=n_files) > 0
    own = np.append(used_inside & ~used_outside, False)
    if not own.any():
        return rows, np.zeros(0, dtype=np.int64)
    kind = np.where(on_file & own[table.file], RowKind.IGNORED, rows.kind).astype(np.uint8)
    return replace(rows, kind=kind), np.flatnonzero(own)


_KIND_CODES = {kind: number for number, kind in enumerate(OpKind)}


def _lookup(ops: Mapping[int, Op]) -> tuple[UInt8Array, UInt8Array]:
    """Kind and level by operation code, as arrays of 256."""
    kinds = np.full(256, _KIND_CODES[OpKind.OTHER], dtype=np.uint8)
    levels = np.zeros(256, dtype=np.uint8)
    for code, op in ops.items():
        kinds[code] = _KIND_CODES[op.kind]
        levels[code] = op.level
    return kinds, levels


def _is_data(kind: UInt8Array) -> BoolArray:
    found: BoolArray = (kind == _KIND_CODES[OpKind.READ]) | (kind == _KIND_CODES[OpKind.WRITE])
    return found


def _comm_step(table: Folded, level: UInt8Array) -> Int64Array:
    # An MPI-IO call is one tick itself; the rest is communication.
    step = table.tick_step - (level == Level.MPIIO)
    # Between the operations of a substream come those of the others; communication separates interleavings.
    return np.where((table.count > 1) & (table.substream < 0), np.maximum(step, 0), 0)


def counted_before(table: Folded, which: BoolArray) -> Int64Array:
    """Operations of the rows ``which`` of the rank before the first one of each row."""
    n = np.where(which, table.count, 0)
    before: Int64Array = np.cumsum(n) - n
    found = blocks(table)
    if len(found):
        # Before the first operation of a loop's member come one of each member before it, not all of them.
        inside = found.of_row >= 0
        start = found.start[found.of_row[inside]]
        ahead: Int64Array = np.cumsum(which) - which
        before[inside] = before[start] + ahead[inside] - ahead[start]
    if len(table):
        starts = np.flatnonzero(np.diff(table.rank, prepend=table.rank[0] - 1))
        before -= np.repeat(before[starts], np.diff(starts, append=len(table)))
    return before


def comm_before(table: Folded, level: UInt8Array) -> Int64Array:
    """Ticks that were not MPI-IO calls of the rank, before each row."""
    mpiio = level == Level.MPIIO
    before = counted_before(table, mpiio)
    comm: Int64Array = table.tick - before
    interleaved = np.flatnonzero((table.substream >= 0) & mpiio)
    if len(interleaved):
        # No communication lies in an interleaving of MPI-IO calls; its first call says what lies before all of them.
        interleaving = interleavings_of(table)[interleaved]
        start = np.flatnonzero(np.diff(interleaving, prepend=-1))
        first = np.minimum.reduceat(table.tick[interleaved], start) - before[interleaved[start]]
        comm[interleaved] = np.repeat(first, np.diff(start, append=len(interleaved)))
    return comm


def beside_mpi(table: FoldTable, level: UInt8Array, kinds: UInt8Array, rules: Rules) -> UInt8Array:
    """The levels with ``BESIDE_MPI`` for the POSIX calls of the application on files that it uses through MPI-IO, too.

    Whose a POSIX call is, its open says: the application's is made outside of all MPI-IO calls, and so are all that go through
    it. Calls on names, and those of logs that have no opens, stay the MPI library's.
    """
    if rules.levels and set(rules.levels) != {Level.POSIX, Level.MPIIO}:
        return level
    n_files = int(table.file.max(initial=-1)) + 2
    of_mpi = np.zeros(n_files, dtype=bool)
    of_mpi[table.file[(level == Level.MPIIO) & (table.file >= 0)]] = True
    some = np.flatnonzero(of_mpi[table.file] & (level == Level.POSIX) & (table.handle >= 0))
    opened = kinds[table.op[some]] == _KIND_CODES[OpKind.OPEN]
    if not opened.any():
        return level
    outside = inside_calls(table, level)[some] < 0
    through = np.stack((table.rank[some], table.file[some], table.handle[some]), axis=1)
    _, key = np.unique(through, axis=0, return_inverse=True)
    key = key.reshape(-1)
    own = np.zeros(int(key.max()) + 1, dtype=bool)
    own[key[opened & outside]] = True
    own[key[~outside]] = False
    found = level.copy()
    found[some[own[key]]] = BESIDE_MPI
    return found


def inside_calls(table: FoldTable, level: UInt8Array) -> Int64Array:
    """The MPI-IO call of the same rank that each POSIX call was made in; -1 for none.

    Rows are in the order of their ends (traces) or of their starts (importers): the call is the
    next MPI-IO row or the one before. It contains the POSIX call in time; or it had begun, and so counted as
    a tick, before the POSIX call, and ended after it.
    """
    inside = np.full(len(table), -1, dtype=np.int64)
    calls = np.flatnonzero(level == Level.MPIIO)
    posix = np.flatnonzero(level == Level.POSIX)
    if not len(calls) or not len(posix):
        return inside
    position = np.searchsorted(calls, posix)
    timed = table.start_ns != UNKNOWN
    for candidate in (np.maximum(position - 1, 0), np.minimum(position, len(calls) - 1)):
        call = calls[candidate]
        contains = (
            (table.rank[call] == table.rank[posix])
            & (timed[call] & timed[posix])
            & (table.start_ns[call] <= table.start_ns[posix])
            & (table.end_ns[posix] <= table.end_ns[call])
        )
        inside[posix[contains]] = call[contains]
    following, later = _following_calls(table, calls, posix, position)
    begun = (table.rank[following] == table.rank[posix]) & (following != posix)
    begun &= table.tick[posix] > table.tick[following] + later * table.tick_step[following]
    inside[posix[begun]] = following[begun]
    return inside


def _following_calls(
    table: FoldTable, calls: Int64Array, posix: Int64Array, position: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """The MPI-IO row that ends next after each POSIX row's first operation (itself if there is none).

    Behind the last such row of a loop comes its first one again, a repetition later: the second array says so.
    """
    exists = position < len(calls)
    following = np.where(exists, calls[np.minimum(position, len(calls) - 1)], posix)
    later = np.zeros(len(posix), dtype=np.int64)
    found = blocks(table)
    if not len(found):
        return following, later
    loop = found.of_row[posix]
    first = np.full(len(found), -1, dtype=np.int64)
    in_loop = calls[found.of_row[calls] >= 0]
    first[found.of_row[in_loop][::-1]] = in_loop[::-1]
    again = (loop >= 0) & (found.of_row[following] != loop)
    again &= first[loop] >= 0
    following[again], later[again] = first[loop[again]], 1
    return following, later


def _classify(table: FoldTable, kinds: UInt8Array) -> UInt8Array:
    kind = kinds[table.op]
    is_data = _is_data(kind)
    result = np.full(len(table), RowKind.FILE, dtype=np.uint8)
    result[kind == _KIND_CODES[OpKind.SEEK]] = RowKind.SEEK
    result[is_data] = np.where(table.moved[is_data] > 0, RowKind.DATA, RowKind.EMPTY)
    result[table.error != 0] = RowKind.FILE
    result[table.file < 0] = RowKind.IGNORED
    result[kind == _KIND_CODES[OpKind.SYNC_RANKS]] = RowKind.SYNC_RANKS
    return result


def _part_empty_last(table: Folded, kinds: UInt8Array) -> Folded:
    """Give a row's last operation a row of its own where it moved nothing (the end of a file)."""
    mask = (
        (table.count > 1)
        & (table.size > 0)
        & (table.loop == 0)
        & (table.error == 0)
        & _is_data(kinds[table.op])
    )
    mask &= last_moved(table) == 0
    mask &= table.moved > 0
    return part_rows(table, mask, table.count - 1) if mask.any() else table


def _slots(table: FoldTable, level: UInt8Array, kinds: UInt8Array) -> Int64Array:
    """Which open of its file each row goes through: the lowest number not in use at the open."""
    n_handles = int(table.handle.max(initial=0)) + 2
    n_files = int(table.file.max(initial=0)) + 2
    user = np.where(level == BESIDE_MPI, Level.MPIIO, level)  # one open is told from the other
    owner = (table.rank.astype(np.int64) * n_files + table.file + 1) * 4 + user
    key = owner * n_handles + table.handle + 1
    first = np.flatnonzero(np.diff(key, prepend=-1) != 0)  # rows where it changes: few
    handles, inverse = np.unique(key[first], return_inverse=True)
    owners = handles // n_handles
    slots = np.zeros(len(handles), dtype=np.int64)
    shared = np.flatnonzero(
        np.isin(owners, owners[1:][owners[1:] == owners[:-1]]) if len(owners) > 1 else []
    )
    if len(shared):
        last = np.append(first[1:], len(key)) - 1
        begin = np.full(len(handles), len(key), dtype=np.int64)
        end = np.zeros(len(handles), dtype=np.int64)
        np.minimum.at(begin, inverse, first)
        np.maximum.at(end, inverse, last)
        _assign_slots(slots, owners, begin, end, shared)
    return np.repeat(slots[inverse], np.diff(first, append=len(key)))


def _assign_slots(
    slots: Int64Array, owners: Int64Array, begin: Int64Array, end: Int64Array, shared: Int64Array
) -> None:
    order = shared[np.lexsort((begin[shared], owners[shared]))]
    owner, n_slots = -1, 0
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for handle in order.tolist():
        if owners[handle] != owner:
            owner, free, busy, n_slots = int(owners[handle]), [], [], 0
        while busy and busy[0][0] < begin[handle]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            slot = heapq.heappop(free)
        else:
            slot, n_slots = n_slots, n_slots + 1
        slots[handle] = slot
        heapq.heappush(busy, (int(end[handle]), slot))
