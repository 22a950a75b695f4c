"""Whether a kernel may stand for its application: both were measured on the same configurations, in the same rounds.

Reads the configurations of a kernel and those of the application itself; leaves a ``Trust``. The error is P15 figure 7's,
of the I/O time; the order is judged by Kendall's tau over the pairs that both tell apart.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Literal

from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions
from wavetank.compare.trust_record import OwnTime, ReversedPair, Tau, Trust, Verdict
from wavetank.kernel.execution.pauses import Pauses
from wavetank.measure.statistics import Estimate

MEDIAN_GOAL_PERCENT = 5.0
"""Of the errors of all configurations, their median."""
WORST_GOAL_PERCENT = 10.0
"""Of any configuration, beyond the application's own spread."""
RESAMPLES = 2000
"""Of the bootstrap: the ends of a 95 % interval of tau then move by less than a pair."""
SEED = 1


@dataclass(frozen=True)
class Judged:
    """A kernel and its application in a campaign.

    Attributes:
        kernel: the application's name as the kernel stands for it.
        own: its name as it runs itself.
        program: what performed the kernel.
        pauses: of the application that the kernel made.
    """

    kernel: str
    own: str
    program: str
    pauses: Pauses


def trust(
    judged: Judged,
    configurations: Sequence[Configuration],
    decisions: Decisions,
    *,
    confidence: float,
) -> Trust | None:
    """How a kernel compares with its application; None where no configuration has both.

    Args:
        judged: what is compared.
        configurations: of the report, of all applications.
        decisions: for all pairs of the report.
        confidence: of the intervals of tau.
    """
    ours = {(c.cluster, c.mapping): c for c in configurations if c.application == judged.kernel}
    theirs = {(c.cluster, c.mapping): c for c in configurations if c.application == judged.own}
    both = [(ours[where], theirs[where]) for where in ours if where in theirs]
    if not both:
        return None
    times = tuple(own_time(kernel, own) for kernel, own in both)
    pairs = list(combinations(range(len(both)), 2))
    told = {
        pair: (_order(both, pair, 0, decisions), _order(both, pair, 1, decisions)) for pair in pairs
    }
    apart = [pair for pair, orders in told.items() if all(orders)]
    reversed_ = [pair for pair in apart if told[pair][0] != told[pair][1]]
    values = [(kernel.io_time_s.values, own.io_time_s.values) for kernel, own in both]
    errors = [abs(each.difference_percent) for each in times]
    tau = _tau(values, apart, confidence)
    return Trust(
        application=judged.kernel,
        own=judged.own,
        program=judged.program,
        pauses=judged.pauses,
        times=times,
        median_error_percent=median(errors),
        worst_error_percent=max(errors),
        worst_beyond_percent=max(each.beyond_percent for each in times),
        tau=tau,
        tau_of_medians=_tau(values, pairs, confidence),
        n_pairs=len(pairs),
        n_apart=len(apart),
        n_kernel_only=sum(bool(kernel) and not own for kernel, own in told.values()),
        n_own_only=sum(bool(own) and not kernel for kernel, own in told.values()),
        reversed_pairs=tuple(
            ReversedPair(
                kernel_prefers=_faster(both, pair, 0), application_prefers=_faster(both, pair, 1)
            )
            for pair in reversed_
        ),
        verdict=_verdict(times, errors, len(apart), len(reversed_)),
    )


def own_time(kernel: Configuration, own: Configuration) -> OwnTime:
    """The kernel's I/O time on a configuration against the application's own."""
    theirs = own.io_time_s
    low, high = min(theirs.values), max(theirs.values)
    return OwnTime(
        configuration=kernel.id,
        own_configuration=own.id,
        kernel_s=kernel.io_time_s,
        application_s=theirs,
        difference_percent=_percent(kernel.io_time_s.median - theirs.median, theirs),
        spread_low_percent=_percent(low - theirs.median, theirs),
        spread_high_percent=_percent(high - theirs.median, theirs),
        beyond_percent=_percent(
            max(low - kernel.io_time_s.median, kernel.io_time_s.median - high, 0.0), theirs
        ),
    )


def _percent(part_s: float, of: Estimate) -> float:
    if of.median > 0:
        return 100 * part_s / of.median
    return 0.0 if part_s == 0 else 100.0


def _order(
    both: Sequence[tuple[Configuration, Configuration]],
    pair: tuple[int, int],
    which: Literal[0, 1],
    decisions: Decisions,
) -> int:
    """-1: the first of a pair is faster; 1: the second; 0: they are not told apart."""
    first, second = both[pair[0]][which], both[pair[1]][which]
    if not decisions.told_apart(first.id, second.id):
        return 0
    return _sign(first.io_time_s.median - second.io_time_s.median)


def _faster(
    both: Sequence[tuple[Configuration, Configuration]],
    pair: tuple[int, int],
    which: Literal[0, 1],
) -> str:
    """The kernel's configuration where the kernel, or the application, is faster."""
    first, second = (both[at] for at in pair)
    faster = first[which].io_time_s.median < second[which].io_time_s.median
    return (first if faster else second)[0].id


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


Values = Sequence[tuple[Sequence[float], Sequence[float]]]
"""Of each configuration the kernel's times and the application's, by repetition."""


def _tau(values: Values, pairs: Sequence[tuple[int, int]], confidence: float) -> Tau | None:
    """Kendall's tau over some pairs, with the percentile interval of a bootstrap over repetitions.

    Repetitions of each configuration are drawn anew, with replacement, and their medians are put in order again.
    (B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.)
    """
    if not pairs:
        return None
    value = kendall_tau([(median(ours), median(theirs)) for ours, theirs in values], pairs)
    if value is None:
        return None
    if min(len(times) for both in values for times in both) < 2:
        return Tau(value=value, low=None, high=None)
    draw = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    drawn = []
    for _ in range(RESAMPLES):
        medians = [
            (median(draw.choices(ours, k=len(ours))), median(draw.choices(theirs, k=len(theirs))))
            for ours, theirs in values
        ]
        found = kendall_tau(medians, pairs)
        if found is not None:
            drawn.append(found)
    drawn.sort()
    cut = round((1 - confidence) / 2 * (len(drawn) - 1)) if drawn else 0
    return Tau(
        value=value,
        low=min(drawn[cut], value) if drawn else None,
        high=max(drawn[-1 - cut], value) if drawn else None,
    )


def kendall_tau(
    points: Sequence[tuple[float, float]], pairs: Sequence[tuple[int, int]]
) -> float | None:
    """Kendall's tau-b over some pairs of points: 1 where all are in the same order by both, -1 in the opposite one.

    (C - D) / sqrt((C + D + X) (C + D + Y)), with C pairs in the same order, D in the opposite one, X and Y equal by
    one quantity only. (M. G. Kendall, Biometrika 33, 1945.)

    Args:
        points: both quantities of each.
        pairs: places in ``points``.

    Returns:
        None where one quantity is equal in all pairs.
    """
    both = first_only = second_only = 0
    score = 0
    for i, j in pairs:
        x, y = _sign(points[i][0] - points[j][0]), _sign(points[i][1] - points[j][1])
        score += x * y
        both += bool(x and y)
        first_only += bool(x and not y)
        second_only += bool(y and not x)
    by_first, by_second = both + first_only, both + second_only
    if not by_first or not by_second:
        return None
    return float(score / (by_first * by_second) ** 0.5)


def _verdict(
    times: Sequence[OwnTime], errors: Sequence[float], n_apart: int, n_reversed: int
) -> Verdict:
    """Times may be trusted within both goals; the order, where both tell some apart and agree on all of them."""
    if n_reversed:
        return "not"
    close = (
        median(errors) <= MEDIAN_GOAL_PERCENT
        and max(each.beyond_percent for each in times) <= WORST_GOAL_PERCENT
    )
    if n_apart:
        return "order and times" if close else "order"
    return "times" if close else "unknown"
