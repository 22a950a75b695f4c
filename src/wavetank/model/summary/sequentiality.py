"""Darshan's sequential and consecutive operations, counted on rows.

Sequential: past the last byte of the rank's previous operation of this direction; consecutive:
right behind it. Before the first operation Darshan's last byte is 0, so a first operation at
an offset above 0 counts (POSIX_SEQ_READS, POSIX_CONSEC_READS in darshan-posix.c).
"""

from __future__ import annotations

import numpy as np

from wavetank.model.columns import stable_order, starts
from wavetank.model.events.rows import Rows
from wavetank.model.phases.streams import Streams
from wavetank.trace.schema import BoolArray, Int64Array

_FIRST_END = 1  # last byte 0


def darshan_counts(
    rows: Rows, data: Streams, reads: BoolArray
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Rows that moved data in an order of their own; and of each its sequential and consecutive operations.

    ``reads``: by operation code, whether it reads.
    """
    table, around = rows.table, rows.around
    if not len(data):
        return data.row, data.row, data.row
    # By level, file, rank and direction; rows of an irregular order, which lie apart by call, in the order of the run again.
    of_stream = starts(*(c[data.row] for c in (rows.level, table.file, table.rank)))
    stream = np.zeros(len(data), dtype=np.int64)
    stream[of_stream[1:]] = 1
    key = np.cumsum(stream) * 2 + reads[table.op[data.row]]
    row = data.row
    apart = (row[1:] < row[:-1]) & (stream[1:] == 0)
    order = np.lexsort((row, key)) if apart.any() else stable_order(key)
    if order is not None:
        row, key = row[order], key[order]
    count, offset, disp = table.count[row], table.offset[row], table.disp[row]
    end = offset + (count - 1) * disp + table.moved[row] - (count - 1) * table.size[row]
    before = np.full(len(row), _FIRST_END)
    before[1:] = np.where(key[1:] == key[:-1], end[:-1], _FIRST_END)
    if around.contracts:  # the row before as if it lay in the repetition right before
        loop, left, step = (column[row] for column in (around.loop, around.left, around.step))
        same = (loop[1:] >= 0) & (loop[1:] == loop[:-1]) & (key[1:] == key[:-1])
        before[1:] += np.where(same, (left[1:] - left[:-1]) * step[:-1], 0)
    distance = offset - before
    inner = disp - table.size[row]
    sequential = (distance >= 0) + np.where(inner >= 0, count - 1, 0)
    consecutive = (distance == 0) + np.where(inner == 0, count - 1, 0)
    some = np.flatnonzero(around.gap[row] > 0) if around.contracts else row[:0]
    if len(some):
        # What is left out: between two rows the distance grows evenly from repetition to repetition.
        grows = step[some] - step[some - 1]
        at_least, equal = _solutions(distance[some] - grows, -grows, around.gap[row[some]])
        sequential[some] += at_least
        consecutive[some] += equal
    return row, sequential, consecutive


def _solutions(gap: Int64Array, step: Int64Array, n: Int64Array) -> tuple[Int64Array, Int64Array]:
    """For how many i in [0, n) gap + i*step is at least 0, and for how many it is 0."""
    safe = np.where(step == 0, 1, step)
    first = -(gap // np.abs(safe))  # the least i at which a growing gap is no longer negative
    growing = n - np.clip(first, 0, n)
    shrinking = np.clip(gap // np.abs(safe) + 1, 0, n)
    same = np.where(gap >= 0, n, 0)
    at_least = np.where(step > 0, growing, np.where(step < 0, shrinking, same))
    at = -gap // safe
    hit = (gap % safe == 0) & (at >= 0) & (at < n)
    equal = np.where(step == 0, np.where(gap == 0, n, 0), hit.astype(np.int64))
    return at_least, equal
