"""Classes of seeks: those that move nothing, those to where the next operation on data begins, and the places of all others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wavetank.model.compression.folded_table import (
    Folded,
    blocks,
    last_moved,
    last_offset,
    part_rows,
    stray_seeks,
    taken_apart,
)
from wavetank.model.events.row_kinds import NEXT_DATA, RowKind
from wavetank.trace.ops import DATA_KINDS, codes_where
from wavetank.trace.schema import (
    UNKNOWN,
    FoldTable,
    Int64Array,
    Level,
    Op,
    OpKind,
    UInt8Array,
)

# Operations that move the pointer of their handle; the explicit-offset ones (pread) do not.
SEEK_SET, SEEK_CUR = 0, 1  # <unistd.h> of Linux
_EXPLICIT_OFFSET = ("pread", "pwrite", "aio_", "_at")


def find_null_seeks(
    table: Folded,
    kind: UInt8Array,
    columns: tuple[UInt8Array, Int64Array],
    ops: Mapping[int, Op],
) -> tuple[UInt8Array, Folded, tuple[UInt8Array, Int64Array]]:
    """Tell seeks that leave the pointer where it is from those that move it.

    The first seek of a folded row may move the pointer and the others not: it is separated.
    """
    seeks = kind == RowKind.SEEK
    if not seeks.any():
        return kind, table, columns
    moves = codes_where(
        lambda op: (
            op.kind in (OpKind.OPEN, OpKind.SEEK, OpKind.VIEW)
            or (op.kind in DATA_KINDS and not any(part in op.name for part in _EXPLICIT_OFFSET))
        ),
        ops,
    )
    index = np.flatnonzero(moves[table.op] & (table.error == 0) & (table.file >= 0))
    key = _handle_key(table, columns[0])[index]
    order = index[np.argsort(key, kind="stable")]
    key = _handle_key(table, columns[0])[order]
    # Position that a row leaves behind. An open leaves 0; of a view, positions count from its start.
    plain = table.view == UNKNOWN
    position = np.where(plain, table.offset, table.view_offset)
    disp = np.where(plain, table.disp, table.view_disp)
    last = position + (table.count - 1) * disp
    last = np.where(table.listed >= 0, last_offset(table), last)
    is_data = (kind == RowKind.DATA) | (kind == RowKind.EMPTY)
    left = np.where(is_data, last + last_moved(table), np.where(seeks, last, 0))
    before = np.full(len(table), -1, dtype=np.int64)
    before[order[1:]] = np.where(key[1:] == key[:-1], left[order[:-1]], 0)
    before[order[:1]] = 0
    # Elsewhere a seek that happens to lead to where the pointer is already is like its neighbours.
    constant = (
        seeks
        & (disp == 0)
        & (columns[0] != Level.MPIIO)
        & (table.details.origin[table.given] == SEEK_CUR)
    )
    null = constant & (before == position)
    separated = constant & ~null & (table.count > 1) & (table.loop == 0)
    kind = kind.copy()
    kind[null] = RowKind.NULL_SEEK
    if separated.any():
        repeat = np.repeat(np.arange(len(table)), 1 + separated)
        second = np.zeros(len(repeat), dtype=bool)
        second[1:] = repeat[1:] == repeat[:-1]
        table = part_rows(table, separated, np.ones(len(table), dtype=np.int64))
        kind = kind[repeat]
        kind[second] = RowKind.NULL_SEEK
        level, slot = columns
        columns = (level[repeat], slot[repeat])
    return kind, table, columns


def seek_targets(table: Folded, kind: UInt8Array, level: UInt8Array) -> Int64Array:
    """Where seeks go; NEXT_DATA where the handle's next data operation starts there. UNKNOWN for other rows."""
    target = np.full(len(table), UNKNOWN, dtype=np.int64)
    seeks = np.flatnonzero((kind == RowKind.SEEK) | (kind == RowKind.NULL_SEEK))
    if not len(seeks):
        return target
    target[seeks] = table.offset[seeks]
    # A call that moves nothing in between keeps the seek's own place: where it is itself says nothing of the next.
    between = (kind == RowKind.SEEK) | (kind == RowKind.DATA) | (kind == RowKind.EMPTY)
    candidates = np.flatnonzero(between)
    key = _handle_key(table, level)[candidates]
    order = np.argsort(key, kind="stable")
    key, sorted_rows = key[order], candidates[order]
    following = np.full(len(table), -1, dtype=np.int64)
    following[sorted_rows[:-1]] = np.where(key[1:] == key[:-1], sorted_rows[1:], -1)
    after = following[seeks]
    reaches = (
        (kind[seeks] == RowKind.SEEK)
        & (after >= 0)
        & (kind[after] == RowKind.DATA)
        & (table.offset[after] == target[seeks])
        & (table.count[seeks] == 1)
        & ~stray_seeks(table)[seeks]
    )
    target[seeks[reaches]] = NEXT_DATA
    # Each of a substream of seeks leads to the next operation of its file.
    target[seeks[taken_apart(table)[seeks]]] = NEXT_DATA
    return target


def _handle_key(table: FoldTable, level: UInt8Array) -> Int64Array:
    n_handles = int(table.handle.max(initial=0)) + 2
    n_files = int(table.file.max(initial=0)) + 2
    owner = (table.rank.astype(np.int64) * n_files + table.file + 1) * 8 + level
    key: Int64Array = owner * n_handles + table.handle + 1
    return key


def of_loops(
    table: Folded, kind: UInt8Array, target: Int64Array
) -> tuple[UInt8Array, Int64Array, Int64Array]:
    """What seeks inside loops are, by those of the repetitions before and behind; and loops of which these differ.

    Both are linear in the repetition: what holds for the first and for the last holds for all.
    """
    found = blocks(table)
    seeks = np.flatnonzero(
        (found.of_row >= 0) & ((kind == RowKind.SEEK) | (kind == RowKind.NULL_SEEK))
    )
    if not len(seeks):
        return kind, target, found.start[:0]
    n = found.members[found.of_row[seeks]]
    before, after = seeks - n, seeks + n
    settled = kind[before] == kind[after]
    follows = (target[before] == NEXT_DATA) & (target[after] == NEXT_DATA)
    null = kind[before] == RowKind.NULL_SEEK
    settled &= null | follows | (table.disp[seeks] == 0) & (target[before] == target[after])
    kind, target = kind.copy(), target.copy()
    kind[seeks], target[seeks] = kind[before], target[before]
    return kind, target, np.unique(found.of_row[seeks[~settled]])
