"""Places of copies that move nothing: with them a program sees that the member of a family at hand has ended.

Reads a trace's rows by visit; leaves offsets.
"""

from __future__ import annotations

import numpy as np

from wavetank.trace.ops import codes_where
from wavetank.trace.schema import UNKNOWN, FoldTable, Int64Array, Level

COPIES = ("copy_file_range", "copy_file_range_to", "sendfile", "sendfile_to")
"""The two sides of calls that move bytes inside of the kernel."""


def offsets_of_visits(table: FoldTable, rows: Int64Array, number: Int64Array) -> Int64Array:
    """The offset of each row; UNKNOWN where a copy that moved nothing begins where its open's one before it ended.

    Where a member ends is no part of what is done with it: so these copies are alike for all members.

    Args:
        table: rows of the trace.
        rows: those on families, of one visit after another.
        number: of each of these rows' visit.
    """
    codes = codes_where(lambda op: op.name in COPIES and op.level == Level.POSIX)
    some = codes[table.op[rows]] & (table.error[rows] == 0) & (table.loop[rows] == 0)
    if not some.any():
        return table.offset
    rows, number = rows[some], number[some]
    n_handles = int(table.handle.max(initial=0)) + 2
    opened = number * n_handles + table.handle[rows] + 1
    order = np.argsort(opened, kind="stable")
    rows, opened = rows[order], opened[order]
    count, size = table.count[rows], table.size[rows]
    empty = table.moved[rows] == 0
    last = table.offset[rows] + (count - 1) * table.disp[rows]
    end = np.where(empty, last, last + table.moved[rows] - (count - 1) * size)
    before = np.zeros(len(rows), dtype=np.int64)
    before[1:] = np.where(opened[1:] == opened[:-1], end[:-1], 0)
    stays = (count == 1) | (table.disp[rows] == 0)
    offset = table.offset.copy()
    offset[rows[empty & stays & (table.offset[rows] == before)]] = UNKNOWN
    return offset
