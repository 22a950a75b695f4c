"""Joins what has no regularity: neighbouring scraps of one operation become one phase with listed offsets.

Reads and leaves ranges of operations as ``patterns`` finds them. Writes of random sizes are similar to each
other by chance, a few at a time; such pieces are no phases of their own.
"""

from __future__ import annotations

import numpy as np

from wavetank.model.events.streams import DataRows
from wavetank.model.rules import Rules
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array

Columns = tuple[Int64Array, Int64Array, Int64Array]  # low, high, period


def join_irregular(
    data: DataRows,
    symbol: Int64Array,
    separated: BoolArray,
    ranges: Columns,
    rules: Rules,
    listed: BoolArray,
) -> Columns:
    """Join ``scraps`` scraps or more of one operation with no boundary between them.

    A scrap holds one operation only, and is either of dissimilar sizes, or shorter than ``similar_operations``
    operations without being regular: ``run_operations`` repetitions or more, of exactly one size and displacement.
    ``listed`` says which rows are long stretches of dissimilar sizes: any scrap beside one joins it.
    """
    limits = rules.thresholds
    low, high, period = ranges
    if len(low) < limits.scraps and not listed.any():
        return ranges
    first = np.searchsorted(data.first_op, low, side="right") - 1
    last = np.searchsorted(data.first_op, high - 1, side="right") - 1
    changes = np.concatenate([[0], np.cumsum(symbol[1:] != symbol[:-1])])
    jumps = np.concatenate([[0], np.cumsum(~rules.similar(data.size[:-1], data.size[1:]))])
    one = changes[first] == changes[last]
    mixed = (period == 1) & (jumps[first] != jumps[last])
    repeated = (high - low) // period >= limits.run_operations
    short = one & (high - low < limits.similar_operations)
    short[short & repeated] = ~exactly_regular(data, low, high, period, short & repeated)
    long = (period == 1) & listed[first]
    scrap = one & (mixed | short | long)
    linked = np.zeros(len(low), dtype=bool)  # to the scrap before it
    crosses = (data.first_op[first] == low) & np.append(True, separated)[first]
    linked[1:] = scrap[1:] & scrap[:-1] & ~crosses[1:] & (changes[first[1:]] == changes[last[:-1]])
    start = np.flatnonzero(~linked)
    stop = np.append(start[1:], len(low))
    # Groups of too few scraps stay as they are.
    joins = np.logical_or.reduceat(long, start)
    few = np.repeat((stop - start < limits.scraps) & ~joins, stop - start)
    kept = ~linked | few
    begin = np.flatnonzero(kept)
    end = np.append(begin[1:], len(low)) - 1
    return low[begin], high[end], np.where(end > begin, 1, period[begin])


def exactly_regular(
    data: DataRows, low: Int64Array, high: Int64Array, period: Int64Array, some: BoolArray
) -> BoolArray:
    """Of some short ranges: whether each pattern member has one size and one displacement throughout."""
    low, n = low[some], (high - low)[some]
    owner = np.repeat(np.arange(len(low)), n)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(n) - n, n)
    operation = low[owner] + within
    row, position = data.locate(operation)
    offset = data.offsets(row, position)
    offset = np.where(offset == UNKNOWN, 0, offset)
    back = period[some][owner]
    index = np.arange(len(owner))
    before = np.where(within >= back, index - back, index)
    step = offset - offset[before]
    unequal = data.size[row] != data.size[row][before]
    unequal |= (within >= 2 * back) & (step != step[before])
    equal = np.ones(len(low), dtype=bool)
    equal[owner[unequal]] = False
    return equal
