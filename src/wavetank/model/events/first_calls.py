"""Which calls on a file are the first of their rank."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from wavetank.trace.schema import BoolArray, Int32Array


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
