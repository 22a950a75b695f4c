"""Estimates over repetitions: medians, their intervals, and what few repetitions can say.

Pure functions of numbers. No shape of the noise is assumed. Whether two sets differ is asked in rank_test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Literal

import numpy as np
from pydantic import Field

from wavetank.document import Record
from wavetank.errors import MeasurementError
from wavetank.measure.rank_test import ratio_interval

CONFIDENCE = 0.95
SMALLEST_DIFFERENCE = 0.03
"""Medians that are closer than this, relative to the smaller one, are not told apart however they are ordered.

What is significant by an order of values may still be too little for anyone to act on.
"""


class Estimate(Record):
    """A quantity over repetitions: the median, and what the repetitions say of its uncertainty."""

    median: float
    low: float | None = Field(
        description="lower end of the interval of the median; None with one repetition"
    )
    high: float | None = Field(description="upper end; None with one repetition")
    values: tuple[float, ...] = Field(description="by repetition")
    range_of: int | None = Field(
        default=None,
        description="low and high are the smallest and the largest of so few repetitions, "
        "which hold the true median less often than the confidence",
    )


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Median of repetitions, with the order statistics that hold the true one, or with their range.

    The k-th smallest and the k-th largest of n hold the true median of any distribution with probability
    1 - 2 * P(fewer than k of n heads). The largest k that reaches the confidence is taken; below six
    repetitions none reaches 95 %, and the ends are the smallest and the largest value.

    Raises:
        MeasurementError: no values.
    """
    if not values:
        raise MeasurementError("there is no estimate of nothing: no repetition was measured")
    if len(values) == 1:
        return Estimate(median=values[0], low=None, high=None, values=(values[0],))
    n = len(values)
    ordered = sorted(values)
    k = 1
    while 2 * (k + 1) <= n and coverage(n, k + 1) >= confidence:
        k += 1
    return Estimate(
        median=float(np.median(ordered)),
        low=ordered[k - 1],
        high=ordered[-k],
        values=tuple(values),
        range_of=None if coverage(n, k) >= confidence else n,
    )


def mapped(of: Estimate, change: Callable[[float], float]) -> Estimate:
    """An estimate of what follows from a quantity; ``change`` rises everywhere, or falls everywhere.

    Of an even number of repetitions the median is that of the quantity, changed.
    """
    ends = None if of.low is None or of.high is None else sorted(map(change, (of.low, of.high)))
    return Estimate(
        median=change(of.median),
        low=None if ends is None else ends[0],
        high=None if ends is None else ends[1],
        values=tuple(map(change, of.values)),
        range_of=of.range_of,
    )


AgainstLimit = Literal["within", "beyond", "cannot be told"]


def against_limit(of: Estimate, limit: float) -> AgainstLimit:
    """Whether the true median is at most a limit, as far as repetitions tell: by the ends of the interval, not by the median.

    Within: the upper end is. Beyond: the lower end is not. One repetition has no interval, and tells nothing.
    """
    if of.low is None or of.high is None:
        return "cannot be told"
    return "within" if of.high <= limit else "beyond" if of.low > limit else "cannot be told"


def change_percent(
    before: Sequence[float], after: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate:
    """Change of the median from one set of repetitions to another, percent, with its interval.

    The sets are independent: repetitions are not pairs. The interval is of this one change alone; whether
    a report may call it a difference is decided for all of its comparisons together.

    Raises:
        MeasurementError: no values, or the first median is zero.
    """
    if not before or not after:
        raise MeasurementError("there is no change without repetitions on both sides")
    start = float(np.median(before))
    if start == 0:
        raise MeasurementError("there is no change in percent from a median of zero")
    change = 100 * (float(np.median(after)) / start - 1)
    if len(before) == 1 or len(after) == 1 or min(*before, *after) <= 0:
        return Estimate(median=change, low=None, high=None, values=(change,))
    low, high, holds = ratio_interval(before, after, confidence)
    return Estimate(
        median=change,
        low=min(100 * (low - 1), change),
        high=max(100 * (high - 1), change),
        values=(change,),
        range_of=None if holds else min(len(before), len(after)),
    )


def coverage(n: int, k: int = 1) -> float:
    """Probability that the k-th smallest and the k-th largest of n repetitions enclose the true median.

    Every repetition is below the median with probability one half. Holds for any distribution.
    """
    below = sum(comb(n, heads) for heads in range(k))
    return max(0.0, 1 - below * 0.5 ** (n - 1))


def intervals_words(n_repetitions: Sequence[int], confidence: float = CONFIDENCE) -> str:
    """What the intervals of some configurations are, true to their repetitions.

    "95 % intervals (order statistics)", or how often the range of fewer repetitions holds the median.
    """
    counts = sorted({n for n in n_repetitions if n > 1})
    if not counts:
        return "no intervals (one repetition)"
    few = [n for n in counts if coverage(n) < confidence]
    if not few:
        return f"{100 * confidence:.0f} % intervals (order statistics)"
    ranges = (
        f"the range of their repetitions (of {few[0]} repetitions it holds the true median in "
        f"{100 * coverage(few[0]):.0f} % of cases)"
    )
    if few == counts:
        return ranges
    return f"{100 * confidence:.0f} % intervals (order statistics); with fewer repetitions {ranges}"


def relative_width(of: Estimate) -> float | None:
    """Width of the interval relative to the median; None without an interval."""
    if of.low is None or of.high is None or of.median == 0:
        return None
    return (of.high - of.low) / abs(of.median)
