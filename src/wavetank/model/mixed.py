"""Irregular mixes of several operations: each operation's share of one becomes a stream of its own.

Reads ``DataRows`` and the ranges that patterns were found in; leaves rows in which an operation's part of a
mix lies together. The order of the mix stays in the programs, which go by the rows of the trace.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wavetank.model.data_rows import COLUMNS, DataRows, first_operations
from wavetank.model.irregular import exactly_regular
from wavetank.model.nested import MIN_RUN
from wavetank.model.pattern import Ranges
from wavetank.model.rules import BoolArray
from wavetank.trace.schema import Int64Array

SHORT = 32
"""Operations from which on a range is no scrap of a mix. Below, one is that is not exactly regular (Choice)."""
MIN_SCRAPS = 64
"""Scraps in a row that are a mix: more pieces than a phase table can bear (Choice)."""


def apart(data: DataRows, ranges: Ranges, parted: BoolArray) -> DataRows | None:
    """Rows with the operations of irregular mixes apart; None where there are no such mixes.

    Args:
        data: operations by stream.
        ranges: of these operations.
        parted: shape (rows - 1,), of these rows, whether a boundary lies between a row and the next.
    """
    n = ranges.high - ranges.low
    scrap = n < SHORT
    repeated = scrap & (n // ranges.period >= MIN_RUN)
    scrap[repeated] = ~exactly_regular(data, ranges.low, ranges.high, ranges.period, repeated)
    row, _ = data.locate(ranges.low)
    crosses = (data.first_op[row] == ranges.low) & np.append(True, parted)[row]
    linked = np.zeros(len(n), dtype=bool)
    linked[1:] = scrap[1:] & scrap[:-1] & ~crosses[1:]
    start = np.flatnonzero(~linked)
    stop = np.append(start[1:], len(n))
    long = stop - start >= MIN_SCRAPS
    if not long.any():
        return None
    low, high = ranges.low[start[long]], ranges.high[stop[long] - 1]
    return _by_operation(data, low, high)


def _by_operation(data: DataRows, low: Int64Array, high: Int64Array) -> DataRows | None:
    """Rows of operations [low, high) by call and handle, each a stream of its own."""
    # Only whole rows are moved: a row that reaches out of a mix is no part of it.
    ends = np.where(data.block < 0, data.first_op + data.count, data.n_operations + 1)
    mix = np.searchsorted(low, data.first_op, side="right") - 1
    inside = (mix >= 0) & (ends <= high[np.maximum(mix, 0)])
    symbol = (data.slot.astype(np.int64) << 8) | data.op
    several = np.zeros(len(low), dtype=bool)
    for number in np.unique(mix[inside]).tolist():
        mine = symbol[inside & (mix == number)]
        several[number] = bool((mine != mine[0]).any())
    inside &= several[np.maximum(mix, 0)]
    if not inside.any():
        return None
    # Before a mix 0, in it 1, behind it 2: of each mix, and its operations one after another.
    section = 2 * (mix + 1) - inside
    order = np.lexsort((np.where(inside, symbol, 0), section, data.stream))
    block = data.block[order]
    start = np.flatnonzero((block >= 0) & (np.diff(block, prepend=-1) != 0))
    renumbered = np.full(len(data.block_start) + 1, -1)
    renumbered[block[start]] = np.arange(len(start))
    columns = {name: getattr(data, name)[order] for name in COLUMNS}
    columns["block"] = renumbered[block]
    columns["block_start"], columns["block_members"] = start, data.block_members[block[start]]
    key = np.stack([data.stream, section, np.where(inside, symbol, 0)])[:, order]
    columns["stream"] = np.cumsum(np.append(False, (key[:, 1:] != key[:, :-1]).any(axis=0)))
    columns["first_op"] = first_operations(columns["count"], columns["block"], start)
    return replace(data, **columns)
