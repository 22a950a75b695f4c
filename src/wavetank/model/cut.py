"""Cuts loops where a part of a phase begins inside one."""

from __future__ import annotations

import numpy as np

from wavetank.model.data_rows import DataRows
from wavetank.model.folded import blocks, cut_loops
from wavetank.model.rows import Rows, comm_before, inside_calls
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
    table, source = cut_loops(rows.table, block[some], at[some])
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
