"""The level at which the application itself uses each file: MPI-IO, or POSIX where no MPI library lies between."""

from __future__ import annotations

import numpy as np

from wavetank.model.columns import different, starts
from wavetank.model.events.codes import LEVEL
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.events.rows import Rows
from wavetank.trace.schema import FoldTable, Int32Array, Int64Array, Level


def own_levels(rows: Rows, levels: tuple[int, ...], by_time: bool) -> dict[int, int]:
    """The level at which the application itself uses each file, in the order of their first use.

    First is by logical clocks: ticks, then operations of the rank, then rank; by time where processes
    take part that make no MPI calls.

    A file that is used through MPI-IO at all is used at that level (Choice): its POSIX calls are the MPI
    library's, but for those of ``rows.beside_mpi``.
    """
    table = rows.table
    found: dict[int, int] = {}
    for level in sorted(levels):
        some = (table.file >= 0) & (rows.level == level) & (rows.kind != RowKind.IGNORED)
        found.update(dict.fromkeys(different(table.file[some]).tolist(), level))
    own = np.full(int(table.file.max(initial=-1)) + 2, 255, dtype=np.uint8)
    for file, level in found.items():
        own[file] = level
    index = np.flatnonzero(own[table.file] == rows.level)
    index = index[starts(table.rank[index], table.file[index])]
    keys: list[Int32Array | Int64Array] = [table.rank[index], table.seq[index], table.tick[index]]
    if by_time:
        keys.append(rows.launched(table.rank[index], table.start_ns[index]))
    order = index[np.lexsort(keys)]
    _, first = np.unique(table.file[order], return_index=True)
    return {file: found[file] for file in table.file[order[np.sort(first)]].tolist()}


def files_of_mpi(table: FoldTable) -> set[int]:
    """Files that are used through MPI-IO: their POSIX calls are the MPI library's."""
    is_mpi = LEVEL[table.op] == Level.MPIIO
    return set(different(table.file[is_mpi & (table.file >= 0)]).tolist())
