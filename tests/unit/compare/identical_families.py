"""Families of configurations that are the same, in several shapes of noise, and what a report says of them."""

import numpy as np
from compare_fakes import configuration

from wavetank.compare.decisions import CRITERIA, decide
from wavetank.measure.statistics import Estimate

N_REPORTS = 1000
ALLOWED = 0.05 + 3 * (0.05 * 0.95 / N_REPORTS) ** 0.5
"""5 %, and three standard deviations of a share of so many reports: 7.1 %."""


def lognormal(rng, shape):
    return np.exp(rng.normal(0, 0.1, shape))


def heavy_tailed(rng, shape):
    return 1 + np.abs(rng.standard_cauchy(shape))


def bimodal(rng, shape):
    return np.where(rng.random(shape) < 0.3, 1.5, 1.0) * (1 + 0.01 * rng.random(shape))


def drifting(rng, shape):
    """The machine becomes slower from round to round, for all configurations alike."""
    rounds = np.cumsum(rng.normal(0, 0.1, shape[-1]))
    return np.exp(rounds + rng.normal(0, 0.03, shape))


def in_steps(rng, shape):
    """A clock that only tells tenths: many values are equal."""
    return 1 + np.round(np.abs(rng.normal(0, 0.2, shape)), 1)


NOISES = [lognormal, heavy_tailed, bimodal, drifting, in_steps]


PLAIN = configuration("plain", [1.0])
PRICED = configuration("priced", [1.0], costs=[1.0])


def estimates(values):
    ordered = tuple(float(value) for value in values)
    return Estimate.model_construct(median=float(np.median(values)), values=ordered)


def family(times, prices=None):
    """Configurations with these times, shape (k, n), at these hourly prices."""
    made = []
    for index, row in enumerate(times):
        name = {"id": f"a / c{index} / 1PxCN", "io_time_s": estimates(row)}
        if prices is None:
            made.append(PLAIN.model_copy(update=name))
            continue
        costs = prices[index] * row
        cost = {"cost_tot": estimates(costs), "perf_cost": estimates(1 / row / costs)}
        made.append(PRICED.model_copy(update=name | {"cost": PRICED.cost.model_copy(update=cost)}))
    return made


def says_a_difference(configurations):
    """Whether any ranking of the report tells any two configurations apart."""
    decisions = decide(configurations, smallest_difference=0)
    return any(decisions.apart[by] for by in CRITERIA)
