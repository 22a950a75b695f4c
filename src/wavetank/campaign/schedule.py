"""How many configurations are measured in each round, and how often the last ones. A grid is a search without selection.

A search measures all configurations once and lets the better part go on, round by round, until few are left: successive
halving (Z. Karnin, T. Koren, O. Somekh, ICML 2013; K. Jamieson, A. Talwalkar, AISTATS 2016). These finalists are then
measured anew. The report tests the new repetitions
alone, since values that selected a configuration are biased.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, comb

from wavetank.measure.rank_test import fewest_repetitions

WAYS = ((3, 2), (2, 2), (3, 3), (2, 3), (2, None))
"""Finalists, and the divisor of a round (None: straight to the final), widest first: the first that fits is taken."""


@dataclass(frozen=True)
class Rounds:
    """Of one application.

    Attributes:
        sizes: configurations that are measured once in each round of the selection; the first are all. At most so
            many where the baseline is taken along.
        finalists: configurations of the final, at most.
        with_baseline: whether the baseline's best configuration goes on whatever its place.
    """

    sizes: tuple[int, ...]
    finalists: int
    with_baseline: bool = False

    def kept(self, position: int) -> int:
        """Configurations that a round's values let go on, beside the baseline's."""
        following = (*self.sizes, self.finalists)[position + 1]
        return following - self.with_baseline


@dataclass(frozen=True)
class Schedule:
    """Of a whole campaign: rounds of a selection, of which a grid has none, and the final.

    Attributes:
        applications: name -> its rounds.
        final: repetitions of each finalist, at most.
        n_grid: measurements of the full grid.
        baseline: cluster that always has a finalist.
    """

    applications: Mapping[str, Rounds]
    final: int
    n_grid: int
    baseline: str | None = None

    @property
    def selection(self) -> int:
        """Rounds before the final. A measurement's repetition counts them, and then those of the final."""
        return max((len(each.sizes) for each in self.applications.values()), default=0)

    @property
    def repetitions(self) -> int:
        """Of a configuration that is measured in every round."""
        return self.selection + self.final

    @property
    def n_at_most(self) -> int:
        """Measurements in all."""
        return sum(
            sum(each.sizes) + each.finalists * self.final for each in self.applications.values()
        )

    def size(self, application: str, repetition: int) -> int:
        """Configurations of an application that are measured with this repetition, at most."""
        rounds = self.applications[application]
        if repetition >= self.selection:
            return rounds.finalists
        return rounds.sizes[repetition] if repetition < len(rounds.sizes) else 0

    def words(self) -> str:
        """What is measured, for people: "10, then 4 configurations once each; 2 finalists, 4 repetitions each"."""
        found = []
        for name, each in self.applications.items():
            sizes = ", then ".join(map(str, each.sizes))
            rounds = f"{sizes} configurations once each; " if sizes else ""
            which = f"{name}: " if len(self.applications) > 1 else ""
            found.append(
                f"{which}{rounds}{each.finalists} finalists, {self.final} repetitions each"
            )
        return " | ".join(found)

    def deployments(self, *, redeploy: bool) -> tuple[range, ...]:
        """Repetitions that one deployment of a cluster serves, deployment by deployment.

        Args:
            redeploy: one each; else a deployment for each round of the selection, as the next round depends on all
                clusters, and one for the final.
        """
        last = self.repetitions if redeploy else self.selection
        rest = range(last, self.repetitions)
        return (*(range(each, each + 1) for each in range(last)), *([rest] if rest else []))


def grid_schedule(counts: Mapping[str, int], repetitions: int) -> Schedule:
    """Everything equally often.

    Args:
        counts: application -> its configurations.
        repetitions: of each, at most.
    """
    rounds = {name: Rounds((), count) for name, count in counts.items()}
    return Schedule(rounds, repetitions, sum(counts.values()) * repetitions)


def make_schedule(
    counts: Mapping[str, int],
    *,
    at_most: float,
    finalists: int | None,
    grid_repetitions: int,
    final_repetitions: int | None,
    error: float,
    baseline: str | None = None,
    with_baseline: Collection[str] = (),
) -> Schedule:
    """The widest search that takes a part of the full grid's measurements; the shortest where none does.

    Args:
        counts: application -> its configurations.
        at_most: part of the full grid's measurements.
        finalists: of each application, asked for; None: chosen here.
        grid_repetitions: of each configuration in the full grid.
        final_repetitions: of each finalist, asked for; None: the fewest with which all can be told apart.
        error: rate of false alarms of all comparisons together.
        baseline: cluster that always has a finalist.
        with_baseline: applications that can run on it.

    Returns:
        The full grid itself, without a round of selection, where every search takes as many measurements.
    """
    n_grid = sum(counts.values()) * grid_repetitions
    ways: Sequence[tuple[int, int | None]] = WAYS
    if finalists is not None:
        ways = [(finalists, divisor) for divisor in (2, 3, None)]
    found = []
    for n_finalists, divisor in ways:
        rounds = {
            name: _rounds(count, n_finalists, divisor, name in with_baseline)
            for name, count in counts.items()
        }
        n_pairs = sum(comb(each.finalists, 2) for each in rounds.values())
        final = final_repetitions or fewest_repetitions(n_pairs, error)
        schedule = Schedule(rounds, final, n_grid, baseline)
        if schedule.n_at_most <= at_most * n_grid:
            return schedule
        found.append(schedule)
    shortest = min(found, key=lambda each: each.n_at_most)
    if shortest.n_at_most < n_grid:
        return shortest
    return grid_schedule(counts, grid_repetitions)


def _rounds(count: int, finalists: int, divisor: int | None, with_baseline: bool) -> Rounds:
    most = finalists + with_baseline
    if count <= most:
        return Rounds((), count)
    left = [count]
    while left[-1] > finalists:
        left.append(finalists if divisor is None else max(finalists, ceil(left[-1] / divisor)))
    sizes = [count, *(each + with_baseline for each in left[1:])]
    # The baseline's place can make a round as wide as the one before: such a round selects nothing.
    narrowing = [here for here, following in pairwise(sizes) if here > following]
    return Rounds(tuple(narrowing), sizes[-1], with_baseline)
