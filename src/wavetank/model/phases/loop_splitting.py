"""Cuts loops where a part of a phase begins inside one."""

from __future__ import annotations

import numpy as np

from wavetank.model.compression.folded_table import Folded, blocks, cut_loops, every_repetition
from wavetank.model.events.rows import Rows, comm_before, inside_calls
from wavetank.model.events.streams import DataRows
from wavetank.trace.schema import Int64Array


def cut_at(rows: Rows, data: DataRows, bounds: Int64Array) -> Rows:
    """Rows with their loops cut so that no part of a phase begins inside one.

    Args:
        rows: all rows.
        data: those of them that moved data.
        bounds: first operations of parts, numbered as in ``data``.
    """
    found = blocks(rows.table)
    if not len(found):
        return rows
    row, within = data.locate(bounds)
    loop = found.of_row[data.row[row]]
    # Inside a repetition: both it and the next one begin anew.
    inner = data.block[row] >= 0
    first = (
        np.where(inner, data.block_start[data.block[row]], row) if len(data.block_start) else row
    )
    partial = inner & (row > first)
    block = np.concatenate([loop, loop[partial]])
    at = np.concatenate([within, within[partial] + 1])
    some = (block >= 0) & (at > 0)
    some[some] = at[some] < found.count[block[some]]
    if not some.any():
        return rows
    return _with_table(rows, *cut_loops(rows.table, block[some], at[some]))


def without_loops(rows: Rows, data: DataRows, chosen: Int64Array) -> Rows:
    """Rows with some loops (numbers of blocks of ``data``) as rows of single operations."""
    found = blocks(rows.table)
    loop = np.unique(found.of_row[data.row[data.block_start[chosen]]])
    return _with_table(rows, *cut_loops(rows.table, *every_repetition(found, loop)))


def _with_table(rows: Rows, table: Folded, source: Int64Array) -> Rows:
    """Rows for a table whose rows are pieces of rows ``source``."""
    level = rows.level[source]
    return Rows(
        table=table,
        kind=rows.kind[source],
        level=level,
        slot=rows.slot[source],
        comm=comm_before(table, level),
        inside=inside_calls(table, level),
        target=rows.target[source],
        ops=rows.ops,
    )
