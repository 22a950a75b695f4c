"""Darshan's sequential and consecutive operations, counted on folded rows.

Sequential: past the last byte of the rank's previous operation of this direction; consecutive:
right behind it. Before the first operation Darshan's last byte is 0, so a first operation at
an offset above 0 counts (POSIX_SEQ_READS, POSIX_CONSEC_READS in darshan-posix.c).
"""

from __future__ import annotations

import numpy as np

from wavetank.model.compression.folded_table import Folded
from wavetank.model.events.streams import DataRows
from wavetank.model.native.lists import sequential
from wavetank.model.summary.interleaved_sequentiality import interleaved_groups
from wavetank.trace.schema import BoolArray, Int64Array

_FIRST_END = 1  # last byte 0


def darshan_counts(
    data: DataRows, reads: BoolArray, table: Folded
) -> tuple[Int64Array, Int64Array]:
    """Sequential and consecutive operations of each row.

    Args:
        data: operations by stream.
        reads: by operation code, whether it reads.
        table: all rows.
    """
    n = len(data)
    n_sequential, consecutive = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    if not n:
        return n_sequential, consecutive
    # By level, file and rank; operations of an irregular order, which lie apart, in the order of the run again.
    same = (data.level[1:] == data.level[:-1]) & (data.file[1:] == data.file[:-1])
    same &= data.rank[1:] == data.rank[:-1]
    key = np.cumsum(np.append(False, ~same)) * 2 + reads[data.op]
    order = np.lexsort((data.row, key))
    key = key[order]
    # Members of one loop and direction follow on each other within a repetition.
    block = data.block[order]
    later = np.zeros(n, dtype=bool)
    later[1:] = (block[1:] >= 0) & (block[1:] == block[:-1]) & (key[1:] == key[:-1])
    interleaved = interleaved_groups(data, order, key, table)
    if interleaved is not None:
        turning = interleaved.covers(n)
        later |= turning
        later[interleaved.low] = False
    start = np.flatnonzero(~later)
    head, tail = order[start], order[np.append(start[1:], n) - 1]
    offset = data.offset[head]
    last = data.offsets(tail, data.count[tail] - 1) + data.last_moved[tail]
    if interleaved is not None:
        place = np.searchsorted(start, interleaved.low)
        offset[place], last[place] = interleaved.offset, interleaved.end
    before = np.full(len(start), _FIRST_END)
    before[1:] = np.where(key[start[1:]] == key[start[:-1]], last[:-1], _FIRST_END)
    n_sequential[head] += offset >= before
    consecutive[head] += offset == before
    listed = _listed(data, order, start)
    plain = np.ones(n, dtype=bool)
    if interleaved is not None:
        n_sequential[order[interleaved.low]] += interleaved.sequential
        consecutive[order[interleaved.low]] += interleaved.consecutive
        plain[turning] = False
        listed = [(a, b) for a, b in listed if not turning[a]]
    for a, b in listed:
        behind, right = _of_single(data, order[a:b])
        n_sequential[order[a]] += behind
        consecutive[order[a]] += right
    for a, b in listed:
        plain[a:b] = False
    # The next operation after a member's: the next member's, or the first one's of the next repetition.
    begins = np.maximum.accumulate(np.where(~later, np.arange(n), 0))
    ends = np.append(~later[1:], True)
    following = np.where(ends, order[begins], np.append(order[1:], 0))
    shift = ends.astype(np.int64)
    pairs = data.count[order] - shift
    step = data.disp[following] - data.disp[order]
    gap = (
        data.offset[following]
        + shift * data.disp[following]
        - data.offset[order]
        - data.size[order]
    )
    some = plain & (pairs > 0)
    ge, eq = _solutions(gap[some], step[some], pairs[some])
    np.add.at(n_sequential, order[some], ge)
    np.add.at(consecutive, order[some], eq)
    return n_sequential, consecutive


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


def _listed(data: DataRows, order: Int64Array, start: Int64Array) -> list[tuple[int, int]]:
    """Groups of rows (ranges of ``order``) with lists among them."""
    if not (data.listed >= 0).any():
        return []
    some = np.logical_or.reduceat(data.listed[order] >= 0, start)
    stop = np.append(start[1:], len(order))
    return list(zip(start[some].tolist(), stop[some].tolist(), strict=True))


def _of_single(data: DataRows, rows: Int64Array) -> tuple[int, int]:
    """Sequential and consecutive operations behind the first one, of rows of one count that take turns."""
    n = int(data.count[rows[0]])
    if len(rows) == 1:
        row = int(rows[0])
        offset = data.lists.offset[data.listed[row] :][:n]
        sized = data.sized[row]
        return sequential(
            offset, data.lists.size[sized:][:n] if sized >= 0 else int(data.size[row])
        )
    turn = np.tile(rows, n)
    within = np.repeat(np.arange(n), len(rows))
    return sequential(data.offsets(turn, within), data.sizes(turn, within))
