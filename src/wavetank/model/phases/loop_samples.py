"""Samples of long loops, in which patterns are looked for: as many repetitions as the rules can count.

Reads ``DataRows``; leaves rows without blocks in which each loop has its first and last repetitions only, and
the way back from their operations to those of the loop. So the time to find patterns does not grow with repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.events.streams import DataRows
from wavetank.trace.schema import UNKNOWN, Int64Array


@dataclass(frozen=True)
class Way:
    """From operations of a sample to those of the loops that it is of."""

    at: Int64Array  # operations from which on repetitions are left out, ascending
    skipped: Int64Array  # operations left out before and at each of them

    def back(self, operation: Int64Array) -> Int64Array:
        """The operations of the loops that these are."""
        before = np.searchsorted(self.at, operation, side="right")
        total = np.concatenate([[0], self.skipped])
        found: Int64Array = operation + total[before]
        return found


def sample_loops(data: DataRows, most: int) -> tuple[DataRows, Way]:
    """Rows without blocks, of each its first and last repetitions, ``most`` in all; and the way back."""
    none = np.zeros(0, dtype=np.int64)
    if not len(data.block_start):
        return data, Way(none, none)
    start, k = data.block_start, data.block_members
    n = data.count[start]
    kept = np.minimum(n, most)
    front = kept - kept // 2
    # Each block as its repetitions' rows, in the place of its first row.
    block = np.repeat(np.arange(len(start)), kept * k)
    local = np.arange(len(block)) - np.repeat(np.cumsum(kept * k) - kept * k, kept * k)
    repetition = local // k[block]
    within = np.where(repetition < front[block], repetition, repetition + (n - kept)[block])
    inner = start[block] + local % k[block]
    alone = np.flatnonzero(data.block < 0)
    index = np.concatenate([alone, inner])
    order = np.argsort(np.concatenate([alone, start[block]]), kind="stable")
    index = index[order]
    single = np.concatenate([np.zeros(len(alone), dtype=bool), np.ones(len(inner), dtype=bool)])[
        order
    ]
    within, repetition = (
        np.concatenate([np.zeros(len(alone), dtype=np.int64), column])[order]
        for column in (within, repetition)
    )
    columns = data.pick(index)
    regular = data.listed[index] < 0
    known = columns["offset"] != UNKNOWN
    for name, step in (("offset", "disp"), ("view_offset", "view_disp")):
        # Of a member whose offsets are listed, 0, 1, 3, 0, 1, 3, ... stand for them: regular nowhere.
        irregular = columns[name] + repetition % 3 * (repetition % 3 + 1) // 2
        at = np.where(regular, columns[name] + within * columns[step], irregular)
        at = np.where(known, at, columns[name])
        columns[name] = np.where(single, at, columns[name])
        columns[step] = np.where(single, 0, columns[step])
    columns["moved"] = np.where(single, columns["size"], columns["moved"])
    columns["count"] = np.where(single, 1, columns["count"])
    columns["listed"] = np.where(single, -1, columns["listed"])
    columns["first_op"] = np.cumsum(columns["count"]) - columns["count"]
    position = np.searchsorted(alone, start)  # rows on their own before each block
    before = np.cumsum(kept * k) - kept * k
    counts = np.concatenate([[0], np.cumsum(data.count[alone])])
    at = counts[position] + before + front * k
    gaps = position + before + front * k  # in rows: those of the blocks are single operations
    cut = kept < n
    proxy = DataRows(**columns, gap_row=gaps[cut], gap_members=k[cut])
    return proxy, Way(at, np.cumsum((n - kept) * k))
