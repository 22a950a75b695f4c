"""Where two curves part: a change point on a ramp, with a bootstrap interval.

Pure functions of numbers. The gap between the curves is modelled as level, then a straight ramp, then level again:

    gap(x) = g0                      for x <= a
             g0 + (g1 - g0) * (x - a) / (b - a)   between
             g1                      for x >= b

``a`` is the point where they part. It is found by least squares over a grid of all ramps, 8 steps between two
neighbouring values of x; its interval is that of the ramps found in resampled measurements. That there is a ramp at
all is tested first, against resamples in which the gap is level: the best of so many ramps always fits a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

FEWEST_VALUES = 4
"""A level, a ramp and a level again need as many."""
STEPS = 8
"""Of the grid between two values of x."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChangePoint:
    """Where the curves part.

    Attributes:
        at: the point, in the unit of x.
        low, high: of the bootstrap interval; also every point that fits the curves as well as ``at``.
        change: of the gap over the whole ramp, g1 - g0.
        change_low, change_high: of its bootstrap interval.
    """

    at: float
    low: float
    high: float
    change: float
    change_low: float
    change_high: float


def find_change(
    x: Sequence[float],
    gap: Sequence[float],
    resampled: npt.ArrayLike,
    *,
    confidence: float,
    smallest: float,
) -> ChangePoint | None:
    """Where the gap begins to change; None when it does not, or too little.

    Args:
        x: shape (n,), ascending.
        gap: shape (n,), the measured gap at each x.
        resampled: shape (n_resamples, n), the gap in resamples of the measurements.
        confidence: of the interval and of the test that there is a change.
        smallest: a change of the gap below this is none.
    """
    at, measured = np.asarray(x, dtype=float), np.asarray(gap, dtype=float)
    samples = np.asarray(resampled, dtype=float)
    if len(at) < FEWEST_VALUES:
        return None
    ramps = _Ramps(at)
    if not _is_clear(ramps, measured, samples, confidence):
        return None
    equal = ramps.equally_good(measured)
    best = float((ramps.starts[equal].min() + ramps.starts[equal].max()) / 2)
    chosen = ramps.best(samples)
    changes = ramps.changes(samples, chosen)
    change = float(ramps.changes(measured[None, :], equal[:1])[0])
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(ramps.starts[chosen], [tail, 100 - tail])
    change_low, change_high = np.percentile(changes, [tail, 100 - tail])
    if (
        best < at[1]
    ):  # the level before rests on one value: the point is somewhere before the second
        low, high = at[0], max(high, at[1])
    if abs(change) < smallest or change_low <= 0 <= change_high:
        return None
    return ChangePoint(
        at=best,
        low=float(min(low, ramps.starts[equal].min())),
        high=float(max(high, ramps.starts[equal].max())),
        change=change,
        change_low=float(change_low),
        change_high=float(change_high),
    )


class _Ramps:
    """All ramps between two points of the grid, as centred unit vectors over x."""

    def __init__(self, x: Floats) -> None:
        grid = np.unique(
            np.concatenate([np.linspace(left, right, STEPS + 1) for left, right in pairwise(x)])
        )
        first, last = np.triu_indices(len(grid), k=1)
        starts, ends = grid[first], grid[last]
        shape = np.clip((x[None, :] - starts[:, None]) / (ends - starts)[:, None], 0, 1)
        centred = shape - shape.mean(axis=1, keepdims=True)
        norms = np.linalg.norm(centred, axis=1)
        rising = norms > 1e-9 * np.sqrt(len(x))  # others are level at every x
        self.starts: Floats = starts[rising]
        self._norms: Floats = norms[rising]
        self._vectors: Floats = centred[rising] / norms[rising, None]

    def fits(self, gaps: Floats) -> Floats:
        """Sum of squares that each ramp explains, shape (n_ramps, n_gaps)."""
        squares: Floats = (self._vectors @ gaps.T) ** 2
        return squares

    def best(self, gaps: Floats) -> npt.NDArray[np.intp]:
        """The ramp that explains most, for each row; of equal ones the middle one by its start."""
        squares = self.fits(gaps)
        good = squares >= (1 - 1e-9) * squares.max(axis=0, keepdims=True)
        order = np.argsort(self.starts, kind="stable")
        rank_of_middle = (good[order].sum(axis=0) + 1) // 2
        position = np.argmax(np.cumsum(good[order], axis=0) >= rank_of_middle, axis=0)
        chosen: npt.NDArray[np.intp] = order[position]
        return chosen

    def equally_good(self, gap: Floats) -> npt.NDArray[np.intp]:
        """All ramps that explain as much as the best one."""
        squares = self.fits(gap[None, :])[:, 0]
        return np.flatnonzero(squares >= (1 - 1e-9) * squares.max())

    def changes(self, gaps: Floats, chosen: npt.NDArray[np.intp]) -> Floats:
        """g1 - g0 of the chosen ramp, for each row."""
        along: Floats = np.einsum("ij,ij->i", self._vectors[chosen], gaps) / self._norms[chosen]
        return along


def _is_clear(ramps: _Ramps, measured: Floats, samples: Floats, confidence: float) -> bool:
    """Whether a ramp explains more of the gap than of level gaps with the same noise."""
    explained = ramps.fits(measured[None, :]).max()
    noise = samples - samples.mean(axis=0, keepdims=True)
    of_noise = ramps.fits(noise).max(axis=0)
    return bool(explained > 0 and (of_noise >= explained).mean() < 1 - confidence)
