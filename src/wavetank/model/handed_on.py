"""Finds names that one rank makes or removes and others use, in runs whose ranks never meet.

What a call found says who came first then, and a kernel's ranks wait accordingly; of files that are one with members
it would say so of no single one.
"""

from __future__ import annotations

import numpy as np

from wavetank.trace.schema import BoolArray, FoldTable

_ENDS = 2  # collectives: MPI_Init and MPI_Finalize


def handed_on(table: FoldTable, n_files: int, changes: BoolArray) -> BoolArray:
    """Which files without data are such.

    Args:
        table: rows of all ranks.
        n_files: files that they may name.
        changes: of each row, whether it makes or removes a name.
    """
    found = np.zeros(n_files, dtype=bool)
    meets = np.bincount(table.rank, weights=np.where(table.file < 0, table.count, 0))
    if meets.max(initial=0) > _ENDS:
        return found
    on_file = table.file >= 0
    file, rank = table.file[on_file], table.rank[on_file]
    lowest, highest = np.full(n_files, len(meets)), np.zeros(n_files, dtype=np.int64)
    np.minimum.at(lowest, file, rank)
    np.maximum.at(highest, file, rank)
    found[table.file[on_file & changes]] = True
    found[table.file[on_file & (table.moved > 0)]] = False
    return found & (lowest < highest)
