"""The rows that moved data, by stream: what patterns are looked for in.

Reads ``Rows``; leaves ``DataRows``, ordered by stream: one level, file and rank.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from wavetank.model.compression.folded_table import Folded, Lists, blocks
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.events.rows import Rows
from wavetank.trace.schema import UNKNOWN, Int32Array, Int64Array, Level, UInt8Array


@dataclass(frozen=True)
class DataRows:
    """Rows that moved data, ordered by (stream, occurrence). A stream is one level, file and rank.

    Rows of one ``block`` are the k members of a loop that lie in this stream, k > 1: operation i of its
    member j is operation ``first_op + i*k`` of this table, where member j has ``first_op`` of the
    block's first row plus j.
    """

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
    listed: Int64Array  # as in Folded
    sized: Int64Array
    block: Int64Array  # number of the row's block, ascending; -1 for none
    block_start: Int64Array  # of each block: its first row
    block_members: Int64Array
    lists: Lists
    gap_row: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Rows before which repetitions of a loop are left out, ascending; see ``phases.loop_samples``."""
    gap_members: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.row)

    @property
    def members(self) -> Int64Array:
        """Members of each row's block; 1 for rows in none."""
        if not len(self.block_members):
            return np.ones(len(self), dtype=np.int64)
        return np.where(self.block >= 0, self.block_members[self.block], 1)

    @property
    def n_operations(self) -> int:
        """Operations of all rows."""
        return int(self.count.sum())

    def locate(self, operation: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The row of each operation, and which of the row's operations it is."""
        row = np.searchsorted(self.first_op, operation, side="right") - 1
        within = operation - self.first_op[row]
        if len(self.block_start):
            inside = np.flatnonzero(self.block[row] >= 0)
            block = self.block[row[inside]]
            start, k = self.block_start[block], self.block_members[block]
            local = operation[inside] - self.first_op[start]
            row[inside], within[inside] = start + local % k, local // k
        return row, within

    def offsets(self, row: Int64Array, within: Int64Array) -> Int64Array:
        """Offsets of some operations of rows, bytes; UNKNOWN where they are not known."""
        offset = self.offset[row]
        offset = np.where(offset == UNKNOWN, UNKNOWN, offset + within * self.disp[row])
        listed = self.listed[row]
        some = np.flatnonzero(listed >= 0)
        if len(some):
            offset[some] = self.lists.offset[listed[some] + within[some]]
        return offset

    def sizes(self, row: Int64Array, within: Int64Array) -> Int64Array:
        """Request sizes of some operations of rows, bytes."""
        size = self.size[row]
        some = np.flatnonzero(self.sized[row] >= 0)
        if len(some):
            size[some] = self.lists.size[self.sized[row[some]] + within[some]]
        return size

    @cached_property
    def last_moved(self) -> Int64Array:
        """Bytes that each row's last operation moved."""
        last: Int64Array = self.moved - (self.count - 1) * self.size
        for row in np.flatnonzero(self.sized >= 0).tolist():
            sizes = self.lists.size[self.sized[row] :][: self.count[row]]
            last[row] = sizes[-1] - (int(sizes.sum()) - self.moved[row])
        return last

    def pick(self, index: Int64Array) -> dict[str, Any]:
        """Some rows' columns, as keyword arguments of a table without blocks; ``first_op`` stays to be set."""
        columns = {name: getattr(self, name)[index] for name in COLUMNS}
        none = np.zeros(0, dtype=np.int64)
        return {
            **columns, "block": np.full(len(index), -1), "block_start": none, "block_members": none,
            "lists": self.lists,
        }  # fmt: skip


COLUMNS = (
    "row", "stream", "rank", "file", "level", "op", "slot", "view", "count", "size", "moved", "offset", "disp",
    "view_offset", "view_disp", "comm", "first_op", "listed", "sized",
)  # fmt: skip


def data_rows(rows: Rows, levels: tuple[int, ...]) -> DataRows:
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
    block, start, members = _data_blocks(table, index, stream)
    first_op = first_operations(count, block, start)
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
        listed=table.listed[index],
        sized=table.sized[index],
        block=block,
        block_start=start,
        block_members=members,
        lists=table.lists,
    )


def first_operations(count: Int64Array, block: Int64Array, start: Int64Array) -> Int64Array:
    """Number of each row's first operation: those of a block's members are neighbours."""
    first_op: Int64Array = np.cumsum(count) - count
    if len(start):
        inside = np.flatnonzero(block >= 0)
        first = start[block[inside]]
        first_op[inside] = first_op[first] + inside - first
    return first_op


def _data_blocks(
    table: Folded, index: Int64Array, stream: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Block of each data row, and each block's first row and members. A member on its own is a plain row."""
    block = np.full(len(index), -1, dtype=np.int64)
    loop = blocks(table).of_row[index]
    same = np.zeros(len(index), dtype=bool)
    same[1:] = (loop[1:] >= 0) & (loop[1:] == loop[:-1]) & (stream[1:] == stream[:-1])
    inside = same.copy()
    inside[:-1] |= same[1:]
    start = np.flatnonzero(inside & ~same)
    block[inside] = np.cumsum((inside & ~same)[inside]) - 1
    members = np.bincount(block[inside], minlength=len(start)) if len(start) else start
    return block, start, members.astype(np.int64)
