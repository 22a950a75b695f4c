"""Which open of its file each row goes through, and where seeks lead.

Reads rows without loops; leaves slots, which seeks move nothing, and the targets of the others.
"""

from __future__ import annotations

import heapq

import numpy as np

from wavetank.model.columns import Numbers, lengths, stable_order, starts
from wavetank.model.events.codes import MOVES_POINTER
from wavetank.model.events.loop_layout import Around
from wavetank.model.events.row_kinds import BESIDE_MPI, NEXT_DATA, RowKind
from wavetank.trace.schema import UNKNOWN, FoldTable, Int32Array, Int64Array, Level, UInt8Array

_SEEK_CUR = 1  # <unistd.h> of Linux


def handle_key(table: FoldTable, level: UInt8Array) -> Int64Array:
    """Rank, file, level and handle as one number."""
    n_handles = int(table.handle.max(initial=0)) + 2
    n_files = int(table.file.max(initial=0)) + 2
    owner = (table.rank.astype(np.int64) * n_files + table.file + 1) * 8 + level
    return owner * n_handles + table.handle + 1


def find_slots(table: FoldTable, level: UInt8Array) -> Int32Array:
    """Which open of its file each row goes through: the lowest number not in use at the open.

    A failed open and a call on a name go through none, and take no number.
    """
    none = np.broadcast_to(np.int32(0), len(table))
    if table.handle is table.file or not len(table) or (table.handle == table.file).all():
        return none
    n_handles = int(table.handle.max(initial=0)) + 2
    # Opens by MPI-IO and of the application beside it are told apart.
    key = handle_key(table, np.where(level == BESIDE_MPI, Level.MPIIO, level).astype(np.uint8))
    first = starts(key)  # rows where it changes: few
    handles, inverse = np.unique(key[first], return_inverse=True)
    owners, opened = handles // n_handles, handles % n_handles > 0
    again = np.zeros(len(handles), dtype=bool)
    again[1:] = owners[1:] == owners[:-1]
    again[:-1] |= again[1:]
    again &= opened
    if not again.any():
        return none
    begin, end = np.full(len(handles), len(key)), np.zeros(len(handles), dtype=np.int64)
    np.minimum.at(begin, inverse, first)
    np.maximum.at(end, inverse, np.append(first[1:], len(key)) - 1)
    slots = np.zeros(len(handles), dtype=np.int32)
    shared = np.flatnonzero(again)
    owner, used = -1, 0
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for handle in shared[np.lexsort((begin[shared], owners[shared]))].tolist():
        if owners[handle] != owner:
            owner, used, free, busy = int(owners[handle]), 0, [], []
        while busy and busy[0][0] < begin[handle]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        slot = heapq.heappop(free) if free else used
        used += slot == used
        slots[handle] = slot
        heapq.heappush(busy, (int(end[handle]), slot))
    return np.repeat(slots[inverse], lengths(first, len(key)))


def find_seeks(
    table: FoldTable, around: Around, kind: UInt8Array, level: UInt8Array
) -> tuple[UInt8Array, Int64Array]:
    """The kinds of rows with null seeks told from the others, and where seeks go.

    Targets are NEXT_DATA where the handle's next data operation starts there, and UNKNOWN for other rows.
    """
    seek = kind == RowKind.SEEK
    if not seek.any():
        return kind, np.broadcast_to(np.int64(UNKNOWN), len(kind))
    key = handle_key(table, level)
    is_data = (kind == RowKind.DATA) | (kind == RowKind.EMPTY)
    plain = table.view == UNKNOWN
    # Position that a row leaves behind. An open leaves 0; of a view, positions count from its start.
    position = np.where(plain, table.offset, table.view_offset)
    last = position + (table.count - 1) * np.where(plain, table.disp, table.view_disp)
    last_moved = table.moved - (table.count - 1) * table.size
    left = np.where(is_data, last + last_moved, np.where(seek, position, 0))
    moves = MOVES_POINTER[table.op] & (table.error == 0) & (table.file >= 0)
    a, b, apart = _following(key, around, np.flatnonzero(moves))
    before = np.zeros(len(kind), dtype=np.int64)
    before[b] = left[a] + apart
    constant = seek & (level != Level.MPIIO) & (table.disp == 0)
    constant &= table.details.origin[table.given] == _SEEK_CUR
    kind = kind.copy()
    kind[constant & (before == position)] = RowKind.NULL_SEEK
    target = np.where(seek, table.offset, UNKNOWN)
    # A call that moves nothing in between keeps the seek's own place: where it is itself says nothing of the next.
    a, b, apart = _following(key, around, np.flatnonzero((kind == RowKind.SEEK) | is_data))
    reaches = (kind[a] == RowKind.SEEK) & (kind[b] == RowKind.DATA) & (table.count[a] == 1)
    reaches &= table.offset[b] - apart == table.offset[a]
    target[a[reaches]] = NEXT_DATA
    return kind, target


def _following(
    key: Numbers, around: Around, some: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Of some rows those that follow each other through one handle, and the bytes that are left out between."""
    order = stable_order(key[some])
    some = some if order is None else some[order]
    same = key[some[:-1]] == key[some[1:]]
    a, b = some[:-1][same], some[1:][same]
    if not around.contracts:
        return a, b, np.zeros(len(a), dtype=np.int64)
    in_one = (around.loop[a] >= 0) & (around.loop[a] == around.loop[b])
    return a, b, np.where(in_one, (around.left[b] - around.left[a]) * around.step[a], 0)
