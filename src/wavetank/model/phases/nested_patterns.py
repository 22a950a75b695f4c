"""Finds patterns that hold a run of one operation: (write x 5, read) x 100.

Reads stretches of like operations in order; leaves the ranges of operations that repeat such a
pattern, and the stretches that are left. Source: method, section 2, "a pattern may hold several operations".

A run of ``Thresholds.run_operations`` operations or more is a phase of its own unless it recurs as a part of a longer
pattern often enough that the pattern, member by member, is no longer than the list of the phases
that it stands for: 40 writes and 40 reads are two phases, (write x 5, read) x 100 is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.rules import Rules
from wavetank.trace.schema import BoolArray, Int64Array


@dataclass(frozen=True)
class Stretches:
    """Like operations in a row: [low, high), ascending, neighbours not always adjacent.

    ``symbol`` and ``size`` are those of the first operation; ``linked[i]`` says whether stretch i + 1
    follows stretch i with no boundary between them, shape (n - 1,).
    """

    low: Int64Array
    high: Int64Array
    symbol: Int64Array
    size: Int64Array
    linked: BoolArray

    def __len__(self) -> int:
        return len(self.low)


def find_nested(stretches: Stretches, rules: Rules) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Patterns with runs in them, and what they leave of the stretches.

    Returns:
        patterns: shape (patterns, 3): first operation, the one after the last, operations of the pattern.
        low, high: the stretches that are left, or parts of them, in order.
    """
    best, matched = _candidates(stretches, rules)
    low, high = stretches.low.copy(), stretches.high.copy()
    found = []
    position = 0  # the first stretch that no pattern has touched
    for start in np.flatnonzero(best).tolist():
        if start < position:
            continue
        period, stop = int(best[start]), start + int(matched[start])
        members = int(high[start + period - 1] - low[start])
        begin, end = int(low[start]), int(high[stop - 1])
        end += _lent(stretches, stop, stop - period, rules)
        if start:
            lent = _lent(stretches, start - 1, start - 1 + period, rules)
            lent = min(lent, int(high[start - 1] - low[start - 1]))
            if (end - begin + lent) // members > (end - begin) // members:
                begin -= lent
                high[start - 1] = begin
        end -= (end - begin) % members
        found.append((begin, end, members))
        # What the pattern covers is taken from the stretches; of the last a part may be left.
        position = int(np.searchsorted(stretches.low, end))
        low[start:position] = np.minimum(end, high[start:position])
    left = high > low
    patterns = np.array(found, dtype=np.int64).reshape(-1, 3)
    return patterns, low[left], high[left]


def _lent(stretches: Stretches, outer: int, like: int, rules: Rules) -> int:
    """Operations that a stretch beside a pattern has in common with its place in the pattern."""
    n = len(stretches)
    # Link i lies between stretches i and i + 1: the one between the stretch and the pattern.
    if not 0 <= outer < n or not stretches.linked[outer if outer < like else outer - 1]:
        return 0
    size = stretches.size
    if stretches.symbol[outer] != stretches.symbol[like] or not rules.alike(
        int(size[min(outer, like)]), int(size[max(outer, like)])
    ):
        return 0
    lacking = int(stretches.high[like] - stretches.low[like])
    return lacking if stretches.high[outer] - stretches.low[outer] >= lacking else 0


def _candidates(stretches: Stretches, rules: Rules) -> tuple[Int64Array, Int64Array]:
    """For each stretch the pattern that begins at it and covers most: its stretches, and all that match it.

    0 where none does. Work is a pass for each length of a pattern, over the stretches, and none where no run is long.
    """
    n = len(stretches)
    best = np.zeros(n, dtype=np.int64)
    most = np.zeros(n, dtype=np.int64)
    total = np.zeros(n, dtype=np.int64)
    count = stretches.high - stretches.low
    long = np.concatenate([[0], np.cumsum(count >= rules.thresholds.run_operations)])
    if long[-1] < 2:
        return best, total
    chain = np.concatenate([[0], np.cumsum(~stretches.linked)])  # number of the unbroken chain
    operations = np.concatenate([[0], np.cumsum(count)])
    other = np.zeros(n, dtype=np.int64)
    other[1:] = _unlike(stretches, rules)
    changes = np.cumsum(other)
    index = np.arange(n)
    for period in range(2, min(rules.thresholds.nested_stretches, n // 2) + 1):
        equal = (
            (stretches.symbol[period:] == stretches.symbol[:-period])
            & (count[period:] == count[:-period])
            & (chain[period:] == chain[:-period])
            & rules.similar(stretches.size[:-period], stretches.size[period:])
        )
        m = len(equal)
        ends = np.minimum.accumulate(np.where(equal, m, index[:m])[::-1])[::-1]
        matched = ends - index[:m]
        times = matched // period + 1
        members = operations[period:] - operations[:-period]
        fits = (times > 1) & (long[period:] > long[:-period])[:m]
        fits &= changes[period - 1 :][:m] > changes[:m]
        fits &= members[:m] <= rules.thresholds.nested_operations
        fits &= members[:m] <= times * period
        # Of those that cover as much the first found, the shortest.
        covered = np.where(fits, times * period, 0)
        better = np.flatnonzero(covered > most[:m])
        best[better], most[better] = period, covered[better]
        total[better] = matched[better] + period
    return best, total


def _unlike(stretches: Stretches, rules: Rules) -> BoolArray:
    """Whether a stretch is of another operation than the one before it, or of another size."""
    unlike: BoolArray = (stretches.symbol[1:] != stretches.symbol[:-1]) | ~rules.similar(
        stretches.size[:-1], stretches.size[1:]
    )
    return unlike
