"""Which calls on a file are the first of their rank."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from wavetank.trace.schema import BoolArray, FoldTable, Int32Array, Int64Array


def first_of_ranks(rank: Int32Array, file: Int32Array, n_files: int) -> BoolArray:
    """Whether each call is the first one of its rank on its file, in time linear in the calls.

    Args:
        rank: of each call, ascending; those of one rank in their order.
        file: of each call, below ``n_files``.
        n_files: of the trace.
    """
    begin = np.append(np.flatnonzero(np.diff(rank, prepend=-1)), len(rank)).tolist()
    place, found = np.zeros(n_files, dtype=np.int64), np.zeros(len(rank), dtype=bool)
    for low, high in pairwise(begin):
        own = np.arange(low, high)
        place[file[low:high][::-1]] = own[::-1]  # the first one is set last
        found[low:high] = place[file[low:high]] == own
    return found


def begin_with(
    chosen: BoolArray, table: FoldTable, rows: Int64Array, file: Int32Array, n: int
) -> BoolArray:
    """Which files' first row is a chosen one; of several ranks' first ones by time, where it is known.

    Args:
        chosen: of each of the rows.
        table: rows of all ranks.
        rows: some of them, of each rank in order.
        file: that each of these is on.
        n: files.
    """
    some = first_of_ranks(table.rank[rows], file, n)
    rows, file, chosen = rows[some], file[some], chosen[some]
    start = table.start_ns[rows]
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, file, start)
    at_first = np.flatnonzero(start == first[file])[::-1]
    found = np.zeros(n, dtype=bool)
    found[file[at_first]] = chosen[at_first]  # of several at one time the first row is set last
    return found
