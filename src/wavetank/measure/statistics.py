"""Estimates over repetitions: medians, bootstrap intervals, and what few repetitions can say.

Pure functions of numbers; the seed is an argument, so that the same measurements always give the
same intervals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import Field

from wavetank.document import Record
from wavetank.errors import MeasurementError

CONFIDENCE = 0.95
SMALLEST_DIFFERENCE = 0.03
"""Medians that are closer than this, relative to the smaller one, tie whatever their intervals.

Repetitions on one deployment do not show how deployments differ: medians of the same NFS cluster,
brought up four times on a busy machine of two cores, lay within 2 % of each other.
"""
N_RESAMPLES = 4000
"""Enough for the ends of a 95 % interval to move by less than the third digit."""


class Estimate(Record):
    """A quantity over repetitions: the median, and what the repetitions say of its uncertainty."""

    median: float
    low: float | None = Field(
        description="lower end of the bootstrap confidence interval; None with one repetition"
    )
    high: float | None = Field(description="upper end; None with one repetition")
    values: tuple[float, ...] = Field(description="by repetition")

    def overlaps(self, other: Estimate) -> bool:
        """Whether the intervals share a value; without an interval nothing can be told apart."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return self.low <= other.high and other.low <= self.high

    def ties_with(self, other: Estimate, smallest_difference: float = SMALLEST_DIFFERENCE) -> bool:
        """Whether the two cannot be told apart: intervals overlap, or medians are too close."""
        near = min(abs(self.median), abs(other.median)) * smallest_difference
        return self.overlaps(other) or abs(self.median - other.median) < near


def estimate(values: Sequence[float], seed: int, confidence: float = CONFIDENCE) -> Estimate:
    """Median of repetitions with a percentile bootstrap interval.

    With n repetitions the interval never reaches beyond the smallest and the largest value, which
    hold the true median with probability 1 - 2 * 0.5**n at most: see ``coverage_limit``.

    Raises:
        MeasurementError: no values.
    """
    if not values:
        raise MeasurementError("there is no estimate of nothing: no repetition was measured")
    if len(values) == 1:
        return Estimate(median=values[0], low=None, high=None, values=(values[0],))
    sample = np.asarray(values, dtype=float)
    low, high = _ends(_resampled_medians(sample, np.random.default_rng(seed)), confidence)
    return Estimate(median=float(np.median(sample)), low=low, high=high, values=tuple(values))


def change_percent(
    before: Sequence[float], after: Sequence[float], seed: int, confidence: float = CONFIDENCE
) -> Estimate:
    """Change of the median from one set of repetitions to another, percent, with its interval.

    The sets are resampled independently: repetitions are not pairs.

    Raises:
        MeasurementError: no values, or the first median is zero.
    """
    if not before or not after:
        raise MeasurementError("there is no change without repetitions on both sides")
    start = float(np.median(before))
    if start == 0:
        raise MeasurementError("there is no change in percent from a median of zero")
    change = 100 * (float(np.median(after)) / start - 1)
    if len(before) == 1 or len(after) == 1:
        return Estimate(median=change, low=None, high=None, values=(change,))
    rng = np.random.default_rng(seed)
    first = _resampled_medians(np.asarray(before, dtype=float), rng)
    second = _resampled_medians(np.asarray(after, dtype=float), rng)
    low, high = _ends(100 * (second / first - 1), confidence)
    return Estimate(median=change, low=low, high=high, values=(change,))


def coverage_limit(n: int) -> float:
    """Probability that the smallest and largest of n repetitions enclose the true median.

    Every repetition is below the median with probability one half, so all are on one side with
    probability 2 * 0.5**n. Holds for any distribution.
    """
    return max(0.0, 1 - 2 * 0.5**n)


def intervals_words(n_repetitions: Sequence[int], confidence: float = CONFIDENCE) -> str:
    """What the intervals of some configurations are, true to their repetitions.

    "95 % bootstrap intervals", or what fewer repetitions hold at most.
    """
    fewest = min((n for n in n_repetitions if n > 1), default=1)
    if fewest == 1:
        return "no intervals (one repetition)"
    limit = coverage_limit(fewest)
    if limit >= confidence:
        return f"{100 * confidence:.0f} % bootstrap intervals"
    return (
        f"bootstrap intervals (with {fewest} repetitions from the smallest to the largest value, "
        f"which hold the true median in {100 * limit:.0f} % of cases at most)"
    )


def relative_width(of: Estimate) -> float | None:
    """Width of the interval relative to the median; None without an interval."""
    if of.low is None or of.high is None or of.median == 0:
        return None
    return (of.high - of.low) / abs(of.median)


def _resampled_medians(
    sample: npt.NDArray[np.float64], rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    picks = rng.integers(0, len(sample), size=(N_RESAMPLES, len(sample)))
    medians: npt.NDArray[np.float64] = np.median(sample[picks], axis=1)
    return medians


def _ends(medians: npt.NDArray[np.float64], confidence: float) -> tuple[float, float]:
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(medians, [tail, 100 - tail])
    return float(low), float(high)
