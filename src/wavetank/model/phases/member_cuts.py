"""Parts patterns of several operations where the displacement of one of their members changes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from wavetank.model.events.streams import DataRows
from wavetank.model.rules import Rules
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array

_TOGETHER = 1 << 8
"""Short patterns that are looked at at a time."""


def with_member_cuts(data: DataRows, patterns: Int64Array, rules: Rules) -> Int64Array:
    """Patterns, separated where the displacement of a member changes.

    Args:
        data: operations by stream.
        patterns: shape (patterns, 3): operations [low, high), operations of a repetition.
        rules: what is similar.

    Returns:
        shape (parts, 3), likewise.
    """
    ranges: list[tuple[int, int, int]] = []
    gaps = data.first_op[data.gap_row]
    even = _even(data, patterns, rules) if not len(gaps) else np.zeros(len(patterns), dtype=bool)
    for (low, high, period), is_even in zip(patterns.tolist(), even.tolist(), strict=True):
        if is_even or high - low < 3 * period:  # nothing changes in two repetitions
            ranges.append((low, high, period))
            continue
        offset = _offsets(data, np.arange(low, high))
        for gap in gaps[np.searchsorted(gaps, low) : np.searchsorted(gaps, high)].tolist():
            _close_gap(offset, gap - low, period)
        cuts = _member_cuts(offset, period, rules)
        bounds = [low, *(low + cut for cut in cuts), high]
        ranges.extend((a, b, period) for a, b in pairwise(bounds))
    return np.array(ranges, dtype=np.int64).reshape(-1, 3)


def _even(data: DataRows, patterns: Int64Array, rules: Rules) -> BoolArray:
    """Which of these patterns have no member whose displacement changes; of short ones, looked at together."""
    low, high, period = patterns.T
    length = high - low
    even = np.zeros(len(patterns), dtype=bool)
    some = np.flatnonzero((length <= rules.work.pattern_operations) & (length >= 3 * period))
    for begin in range(0, len(some), _TOGETHER):
        mine = some[begin : begin + _TOGETHER]
        # Operations of the patterns in sequence; each is compared with the one two repetitions later.
        n = length[mine]
        ends = np.cumsum(n)
        operation = np.repeat(low[mine] - ends + n, n) + np.arange(ends[-1])
        offset = _offsets(data, operation)
        distance = np.repeat(period[mine], n)
        first = np.flatnonzero(np.arange(ends[-1]) + 2 * distance < np.repeat(ends, n))
        distance = distance[first]
        once, twice = offset[first + distance], offset[first + 2 * distance]
        changed = ~rules.similar(once - offset[first], twice - once)
        owner = np.repeat(np.arange(len(mine)), n)[first[changed]]
        even[mine] = np.bincount(owner, minlength=len(mine)) == 0
    return even


def _close_gap(offset: Int64Array, place: int, period: int) -> None:
    """The same for each member of a pattern that begins at the first of these operations, in place."""
    if place < 2 * period:
        return
    for first in range(place, min(place + period, len(offset))):
        before = offset[first - period]
        offset[first::period] -= offset[first] - 2 * before + offset[first - 2 * period]


def _offsets(data: DataRows, operation: Int64Array) -> Int64Array:
    """Offsets of operations; 0 where they are not known."""
    offset = data.offsets(*data.locate(operation))
    return np.where(offset == UNKNOWN, 0, offset)


def _member_cuts(offset: Int64Array, period: int, rules: Rules) -> list[int]:
    """Where the displacement of any pattern member changes between long regular parts."""
    n_rep = len(offset) // period
    if n_rep < 3:
        return []
    table = offset.reshape(n_rep, period)
    step = np.diff(table, axis=0)
    change = ~rules.similar(step[:-1], step[1:]).all(axis=1)
    if not change.any():
        return []
    begin = np.flatnonzero(np.append(True, change))
    end = np.append(begin[1:], n_rep - 1) + 1
    bounds: list[int] = []
    position = 0
    for a, b in zip(begin.tolist(), end.tolist(), strict=True):
        first = max(a, position)
        if b - first < rules.thresholds.run_operations:
            continue
        bounds.extend(bound for bound in (first, b) if bound not in (0, n_rep, *bounds[-1:]))
        position = b
        if len(bounds) > rules.thresholds.pieces:
            return []
    return [bound * period for bound in bounds]
