"""A trace's rows made ready for the extraction: what each row is, and what lies before it.

Reads a FoldTable; leaves ``Rows`` (all rows in rank order) and ``DataRows`` (those that moved
data, ordered by stream: one level, file and rank).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from wavetank.model.fold import part_rows, unfold_rows
from wavetank.model.rules import BoolArray, Rules
from wavetank.trace.schema import (
    UNKNOWN,
    FoldTable,
    Int32Array,
    Int64Array,
    Level,
    Op,
    OpKind,
    UInt8Array,
)


class RowKind(IntEnum):
    """What a row is to the extraction."""

    IGNORED = 0
    DATA = 1  # moved bytes
    EMPTY = 2  # a read or write that succeeded and moved nothing
    NULL_SEEK = 3  # lseek(fd, 0, SEEK_CUR): leaves the pointer where it is
    SEEK = 4
    FILE = 5  # open, close, sync, resize, stat, ..., and data operations that failed
    SYNC_RANKS = 6


@dataclass(frozen=True)
class Rows:
    """All rows in rank order, with what is derived for each of them."""

    table: FoldTable
    kind: UInt8Array  # RowKind
    level: UInt8Array
    slot: Int32Array  # which open of the file, lowest number not in use
    comm: Int64Array  # communication calls of the rank before the row
    comm_step: Int64Array  # communication calls between two operations of the row
    inside: Int64Array  # row of the MPI-IO call that a POSIX call was made in; -1 for the others
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


@dataclass(frozen=True)
class DataRows:
    """Rows that moved data, ordered by (stream, occurrence). A stream is one level, file and rank."""

    row: Int64Array  # index into Rows
    stream: Int64Array  # number of the stream, ascending
    rank: Int32Array
    file: Int32Array
    level: UInt8Array
    op: UInt8Array
    slot: Int32Array
    view: Int32Array
    count: Int64Array
    size: Int64Array
    moved: Int64Array
    offset: Int64Array
    disp: Int64Array
    view_offset: Int64Array
    view_disp: Int64Array
    comm: Int64Array
    first_op: Int64Array  # number of the row's first operation in this table, from 0

    def __len__(self) -> int:
        return len(self.row)

    @property
    def n_operations(self) -> int:
        """Operations of all rows."""
        return int(self.first_op[-1] + self.count[-1]) if len(self) else 0

    @property
    def last_offset(self) -> Int64Array:
        """Offset of each row's last operation, bytes."""
        return self.offset + (self.count - 1) * self.disp


def prepare(table: FoldTable, ops: Mapping[int, Op], rules: Rules) -> Rows:
    """Classify rows; part those whose operations the extraction must tell apart.

    A row whose last operation moved nothing is parted from it. A row with communication between
    its operations is unfolded where communication parts phases, and so are seeks to several places.
    """
    kinds, levels = _lookup(ops)
    table = _part_empty_last(table, kinds)
    level = levels[table.op]
    comm_step = _comm_step(table, level)
    splits = np.zeros(256, dtype=bool)
    for a_level, does in rules.split_at_communication.items():
        splits[a_level] = does
    moves_data = _is_data(kinds[table.op]) & (table.moved > 0)
    unfolded = (table.count > 1) & np.where(
        moves_data, (comm_step > 0) & splits[level], table.disp != 0
    )
    if unfolded.any():
        table = unfold_rows(table, unfolded)
        level = levels[table.op]
        comm_step = _comm_step(table, level)
    kind = _classify(table, kinds)
    slot = _slots(table, level, kinds)
    kind, table, (level, slot, comm_step) = _find_null_seeks(
        table, kind, (level, slot, comm_step), ops
    )
    return Rows(
        table=table,
        kind=kind,
        level=level,
        slot=slot.astype(np.int32),
        comm=_comm_before(table, level),
        comm_step=comm_step,
        inside=_inside_calls(table, level),
        ops=ops,
    )


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


def data_rows(rows: Rows, levels: tuple[Level, ...]) -> DataRows:
    """The rows that moved data, by stream."""
    table = rows.table
    wanted = rows.kind == RowKind.DATA
    if set(levels) != {Level.POSIX, Level.MPIIO}:
        wanted &= np.isin(rows.level, np.array(levels, dtype=np.uint8))
    index = np.flatnonzero(wanted)
    n_files = int(table.file.max(initial=0)) + 1
    n_ranks = int(table.rank.max(initial=0)) + 1
    key = (rows.level[index].astype(np.int64) * n_files + table.file[index]) * n_ranks + table.rank[
        index
    ]
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key, kind="stable")
        index, key = index[order], key[order]
    stream = np.zeros(len(index), dtype=np.int64)
    np.cumsum(key[1:] != key[:-1], out=stream[1:])
    count = table.count[index]
    first_op = np.zeros(len(index), dtype=np.int64)
    np.cumsum(count[:-1], out=first_op[1:])
    return DataRows(
        row=index,
        stream=stream,
        rank=table.rank[index],
        file=table.file[index],
        level=rows.level[index],
        op=table.op[index],
        slot=rows.slot[index],
        view=table.view[index],
        count=count,
        size=table.size[index],
        moved=table.moved[index],
        offset=table.offset[index],
        disp=table.disp[index],
        view_offset=table.view_offset[index],
        view_disp=table.view_disp[index],
        comm=rows.comm[index],
        first_op=first_op,
    )


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


def _comm_step(table: FoldTable, level: UInt8Array) -> Int64Array:
    # An MPI-IO call is one tick itself; the rest is communication.
    step = table.tick_step - (level == Level.MPIIO)
    return np.where(table.count > 1, np.maximum(step, 0), 0)


def _comm_before(table: FoldTable, level: UInt8Array) -> Int64Array:
    """Ticks that were not MPI-IO calls of the rank, before each row."""
    calls = np.where(level == Level.MPIIO, table.count, 0)
    before = np.cumsum(calls) - calls
    if len(table):
        starts = np.flatnonzero(np.diff(table.rank, prepend=table.rank[0] - 1))
        before -= np.repeat(before[starts], np.diff(starts, append=len(table)))
    comm: Int64Array = table.tick - before
    return comm


def _inside_calls(table: FoldTable, level: UInt8Array) -> Int64Array:
    """The MPI-IO call of the same rank that contains each POSIX call in time; -1 for none.

    Rows are in the order of their ends (traces) or of their starts (importers): the call is the
    next MPI-IO row or the one before.
    """
    inside = np.full(len(table), -1, dtype=np.int64)
    calls = np.flatnonzero((level == Level.MPIIO) & (table.start_ns != UNKNOWN))
    posix = np.flatnonzero((level == Level.POSIX) & (table.start_ns != UNKNOWN))
    if not len(calls) or not len(posix):
        return inside
    position = np.searchsorted(calls, posix)
    for candidate in (np.maximum(position - 1, 0), np.minimum(position, len(calls) - 1)):
        call = calls[candidate]
        contains = (
            (table.rank[call] == table.rank[posix])
            & (table.start_ns[call] <= table.start_ns[posix])
            & (table.end_ns[posix] <= table.end_ns[call])
        )
        inside[posix[contains]] = call[contains]
    return inside


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


def _part_empty_last(table: FoldTable, kinds: UInt8Array) -> FoldTable:
    """Give a row's last operation a row of its own where it moved nothing (the end of a file)."""
    mask = (
        (table.count > 1)
        & (table.size > 0)
        & (table.moved == (table.count - 1) * table.size)
        & (table.error == 0)
        & _is_data(kinds[table.op])
    )
    return part_rows(table, mask, table.count - 1) if mask.any() else table


def _slots(table: FoldTable, level: UInt8Array, kinds: UInt8Array) -> Int64Array:
    """Which open of its file each row goes through: the lowest number not in use at the open."""
    n_handles = int(table.handle.max(initial=0)) + 2
    n_files = int(table.file.max(initial=0)) + 2
    owner = (table.rank.astype(np.int64) * n_files + table.file + 1) * 4 + level
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


# Operations that move the pointer of their handle; the explicit-offset ones (pread) do not.
SEEK_CUR = 1  # <unistd.h> of Linux
_EXPLICIT_OFFSET = ("pread", "pwrite", "aio_", "_at")


def _find_null_seeks(
    table: FoldTable,
    kind: UInt8Array,
    columns: tuple[UInt8Array, Int64Array, Int64Array],
    ops: Mapping[int, Op],
) -> tuple[UInt8Array, FoldTable, tuple[UInt8Array, Int64Array, Int64Array]]:
    """Tell seeks that leave the pointer where it is from those that move it.

    The first seek of a folded row may move the pointer and the others not: it is parted.
    """
    seeks = kind == RowKind.SEEK
    if not seeks.any():
        return kind, table, columns
    moves = np.zeros(256, dtype=bool)
    for code, op in ops.items():
        moves[code] = op.kind in (OpKind.OPEN, OpKind.SEEK, OpKind.VIEW) or (
            op.kind in (OpKind.READ, OpKind.WRITE)
            and not any(part in op.name for part in _EXPLICIT_OFFSET)
        )
    index = np.flatnonzero(moves[table.op] & (table.error == 0) & (table.file >= 0))
    key = _handle_key(table, columns[0])[index]
    order = index[np.argsort(key, kind="stable")]
    key = _handle_key(table, columns[0])[order]
    # Position that a row leaves behind. An open leaves 0; of a view, positions count from its start.
    position = np.where(table.view == UNKNOWN, table.offset, table.view_offset)
    disp = np.where(table.view == UNKNOWN, table.disp, table.view_disp)
    last_moved = table.moved - (table.count - 1) * table.size
    is_data = (kind == RowKind.DATA) | (kind == RowKind.EMPTY)
    left = np.where(
        is_data, position + (table.count - 1) * disp + last_moved, np.where(seeks, position, 0)
    )
    before = np.full(len(table), -1, dtype=np.int64)
    before[order[1:]] = np.where(key[1:] == key[:-1], left[order[:-1]], 0)
    before[order[:1]] = 0
    # Elsewhere a seek that happens to lead to where the pointer is already is like its neighbours.
    constant = seeks & (disp == 0) & (columns[0] == Level.POSIX) & (table.arg == SEEK_CUR)
    null = constant & (before == position)
    parted = constant & ~null & (table.count > 1)
    kind = kind.copy()
    kind[null] = RowKind.NULL_SEEK
    if parted.any():
        repeat = np.repeat(np.arange(len(table)), 1 + parted)
        second = np.zeros(len(repeat), dtype=bool)
        second[1:] = repeat[1:] == repeat[:-1]
        table = part_rows(table, parted, np.ones(len(table), dtype=np.int64))
        kind = kind[repeat]
        kind[second] = RowKind.NULL_SEEK
        level, slot, step = columns
        columns = (level[repeat], slot[repeat], step[repeat])
    return kind, table, columns


def _handle_key(table: FoldTable, level: UInt8Array) -> Int64Array:
    n_handles = int(table.handle.max(initial=0)) + 2
    n_files = int(table.file.max(initial=0)) + 2
    owner = (table.rank.astype(np.int64) * n_files + table.file + 1) * 4 + level
    key: Int64Array = owner * n_handles + table.handle + 1
    return key
