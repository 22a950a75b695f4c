"""Whether two sets of repetitions differ: the exact test of Mann and Whitney, and what it takes to pass it.

Pure functions of numbers. The test assumes no shape of the noise: under "no difference" every order of all
values is as likely as every other, and the orders are counted.
Source: H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is stochastically larger
than the other", Annals of Mathematical Statistics 18 (1947).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist, fmean, pvariance

ERROR = 0.05
"""Rate of false alarms that all comparisons of one report may have together."""
FEWEST_REPETITIONS = 3
"""Where there is nothing to compare: enough to see a value that is far from the others."""
POWER = 0.9
"""Of the cases with a change that some number of repetitions is said to tell."""
MOST_REPETITIONS = 1000
"""That a campaign makes."""
LARGEST_COUNT = 10_000
"""Pairs of values up to which orders are counted (half a second); beyond, a bound holds that is a little wider."""


def smaller_pairs(first: Sequence[float], second: Sequence[float]) -> tuple[int, int]:
    """How many pairs of a value of each speak against "first is smaller", and against "second is smaller".

    Mann and Whitney's U in both directions. Equal values speak against both, so that equal values never make a
    difference clearer than it is.
    """
    against_first = sum(a >= b for a in first for b in second)
    against_second = sum(b >= a for a in first for b in second)
    return against_first, against_second


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Probability of values at least as far apart as these when there is no difference, two-sided.

    1 where a side has no values. Two sets of n that do not overlap have 2 / C(2n, n).
    """
    if not first or not second:
        return 1.0
    return p_of(min(smaller_pairs(first, second)), len(first), len(second))


def p_of(u: int, n_first: int, n_second: int) -> float:
    """Probability, two-sided, that at most ``u`` pairs of values are in the wrong order, without a difference.

    Args:
        u: pairs in the wrong order, in the direction in which they are fewer.
        n_first: repetitions of one side, at least 1.
        n_second: of the other.
    """
    pairs = n_first * n_second
    if 2 * u >= pairs:
        return 1.0
    if pairs > LARGEST_COUNT:
        # W. Hoeffding, "Probability inequalities ...", JASA 58 (1963), section 5b: U-statistics of two samples.
        off = 0.5 - u / pairs
        return min(1.0, 2 * math.exp(-2 * min(n_first, n_second) * off**2))
    smaller, larger = sorted((n_first, n_second))
    orders = sum(_orders(smaller, larger)[: u + 1])
    return min(1.0, 2 * orders / math.comb(n_first + n_second, n_first))


@lru_cache(maxsize=256)
def _orders(n_first: int, n_second: int) -> tuple[int, ...]:
    """Number of orders of two sets with 0, 1, ... pairs in the wrong order, up to half of all pairs.

    Coefficients of the Gaussian binomial: the product of (1 - q**(n_second + i)) / (1 - q**i) for i = 1 to n_first.
    """
    highest = n_first * n_second // 2
    counts = [1] + [0] * highest
    for i in range(1, n_first + 1):
        for u in range(highest, n_second + i - 1, -1):
            counts[u] -= counts[u - n_second - i]
        for u in range(i, highest + 1):
            counts[u] += counts[u - i]
    return tuple(counts)


def fewest_repetitions(n_pairs: int, error: float = ERROR) -> int:
    """Fewest repetitions of each with which every one of some pairs can be told apart.

    The smallest n with 2 / C(2n, n) <= error / n_pairs.

    Args:
        n_pairs: comparisons that share the error.
        error: rate of false alarms of all of them together.
    """
    if n_pairs < 1:
        return FEWEST_REPETITIONS
    n = 1
    while math.comb(2 * n, n) * error < 2 * n_pairs:
        n += 1
    return n


def repetitions_for(
    change: float, sets: Sequence[Sequence[float]], n_pairs: int, error: float = ERROR
) -> int | None:
    """About how many repetitions of each side it takes to tell a change in ``POWER`` of all cases.

    The chance that a changed value is above one that is not, and how much it differs from value to value, are counted in the
    values that there are. Of n and n values the number of pairs in the wrong order is then taken as normal (E. L. Lehmann,
    "Nonparametrics", 1975, section 2.3), and held against the most that the test allows. Where more than a hundred are needed
    it is G. E. Noether's approximation (Journal of the American Statistical Association 82, 1987).

    Args:
        change: relative, of all values: 0.1 makes them 10 % larger.
        sets: values without the change, each set around a median of its own; positive.
        n_pairs: comparisons that share the error.
        error: rate of false alarms of all of them together.

    Returns:
        None where it cannot be said: fewer than three values in each set, one that is not positive, or so much noise that the
        number is beyond ``MOST_REPETITIONS``.
    """
    wrong = [
        _wrong_orders(change, each)
        for each in sets
        if len(each) >= FEWEST_REPETITIONS and min(each) > 0
    ]
    if not wrong:
        return None
    share = fmean(value for rows, _ in wrong for value in rows)
    spread = pvariance([value for rows, _ in wrong for value in rows])
    spread += pvariance([value for _, columns in wrong for value in columns])
    alpha = error / max(n_pairs, 1)
    if share >= 0.5:
        return None
    quantiles = _NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(POWER)
    most = math.ceil(quantiles**2 / (6 * (0.5 - share) ** 2))
    fewest = fewest_repetitions(n_pairs, error)
    if most**2 > LARGEST_COUNT:
        return None if most > MOST_REPETITIONS else max(most, fewest)
    for n in range(fewest, most):
        variance = n**2 * (share * (1 - share) + (n - 1) * spread)
        room = _most_wrong(n, alpha) + 0.5 - n**2 * share
        if room > 0 and room >= _NORMAL.inv_cdf(POWER) * math.sqrt(variance):
            return n
    return max(most, fewest)


_NORMAL = NormalDist()


def _wrong_orders(change: float, values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Of each value with a change the share of the others that are above it, and of each without the share below it."""
    rows, columns = [], []
    for i, one in enumerate(values):
        others = [*values[:i], *values[i + 1 :]]
        rows.append(fmean(float((1 + change) * one <= other) for other in others))
        columns.append(fmean(float((1 + change) * other <= one) for other in others))
    return rows, columns


@lru_cache(maxsize=1024)
def _most_wrong(n: int, alpha: float) -> int:
    """The most pairs in the wrong order with which n and n values are told apart; -1 where none is."""
    total, allowed, found = 0, alpha * math.comb(2 * n, n) / 2, -1
    for u, orders in enumerate(_orders(n, n)):
        total += orders
        if total > allowed:
            break
        found = u
    return found


def ratio_interval(
    before: Sequence[float], after: Sequence[float], confidence: float
) -> tuple[float, float, bool]:
    """Ends of the factor between two sets of repetitions, and whether they hold it with this confidence.

    The factor's values that the test would not refuse: the k-th smallest and the k-th largest of all ratios of a
    value of each (J. L. Hodges, E. L. Lehmann, Annals of Mathematical Statistics 34, 1963). Exact where one
    distribution is a multiple of the other. With too few repetitions: the smallest and the largest ratio.

    Args:
        before: positive values, at least one.
        after: the same.
        confidence: wanted, e.g. 0.95.
    """
    ratios = sorted(b / a for a in before for b in after)
    k = 0
    while 2 * (k + 1) <= len(ratios) and p_of(k, len(before), len(after)) <= 1 - confidence:
        k += 1
    return ratios[max(k - 1, 0)], ratios[-max(k, 1)], k > 0
