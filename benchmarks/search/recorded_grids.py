"""A search against the full grid, on grids that were measured whole: which configuration does each choose?

    benchmarks/search/run [--resamplings 200] [--seed 1] [GRID.json ...]

In each resampling both measure the grid anew: every measurement is drawn, with replacement, from the recorded repetitions of its
configuration; where these are fewer than four it is their median times the noise of a grid: its own, or ``noise_of``.

Printed for each grid: measurements of the full grid and of the search; in how many resamplings the search chooses what the
full grid chooses, or what it cannot tell apart from that; in how many a second full grid does; and the regret of each, which
is how much longer the median of the choice is than the shortest one (over all recorded repetitions).
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from math import comb
from pathlib import Path
from statistics import fmean, median

import numpy as np
from numpy.random import Generator

from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.schedule import Schedule, make_schedule
from wavetank.campaign.store import Key
from wavetank.campaign.strategy import Search
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import decide
from wavetank.compare.rank import rank
from wavetank.measure.rank_test import ERROR, fewest_repetitions
from wavetank.measure.statistics import Estimate

GRIDS = Path(__file__).parent / "grids"
APPLICATION = "app"
ENOUGH = 4
"""Recorded repetitions of a configuration from which others are drawn."""
ENOUGH_FOR_NOISE = 3
"""Recorded repetitions of a configuration whose factors to its median count as noise of the grid."""


@dataclass(frozen=True)
class Named:
    """A cluster, as far as a search asks."""

    name: str


@dataclass(frozen=True)
class Grid:
    """A recorded grid."""

    name: str
    times_s: dict[str, tuple[float, ...]]
    noise: tuple[float, ...]  # factors, where configurations have too few repetitions of their own

    @property
    def medians_s(self) -> dict[str, float]:
        """Of each configuration."""
        return {name: median(times) for name, times in self.times_s.items()}

    def draw(self, name: str, n: int, rng: Generator) -> list[float]:
        """Measure a configuration n times."""
        recorded = self.times_s[name]
        if len(recorded) >= ENOUGH:
            return [float(each) for each in rng.choice(recorded, n)]
        return [median(recorded) * float(factor) for factor in rng.choice(self.noise, n)]


def read_grid(path: Path) -> Grid:
    """Read a recorded grid."""
    body = json.loads(path.read_text())
    times = {
        f"{each['cluster']} {each['mapping']}": tuple(each["io_times_s"])
        for each in body["configurations"]
    }
    noisy = times
    if "noise_of" in body:
        noisy = read_grid(path.parent / body["noise_of"]).times_s
    noise = tuple(
        each / median(of) for of in noisy.values() for each in of if len(of) >= ENOUGH_FOR_NOISE
    )
    return Grid(path.stem, times, noise)


def best_and_ties(times_s: dict[str, list[float]]) -> tuple[str, set[str]]:
    """What a report on these measurements ranks first, and all that it cannot tell apart from it."""
    configurations = [
        Configuration.model_construct(
            id=name,
            application=APPLICATION,
            io_time_s=Estimate.model_construct(median=median(times), values=tuple(times)),
            cost=None,
        )
        for name, times in times_s.items()
    ]
    first = rank(configurations, APPLICATION, "time", decide(configurations)).places[0]
    return first.configuration, {first.configuration, *first.ties_with}


def schedule_of(grid: Grid) -> tuple[int, Schedule]:
    """Repetitions of the full grid, and the search that a campaign would make."""
    count = len(grid.times_s)
    repetitions = fewest_repetitions(comb(count, 2))
    return repetitions, make_schedule(
        {APPLICATION: count},
        at_most=1 / 3,
        finalists=None,
        grid_repetitions=repetitions,
        final_repetitions=None,
        error=ERROR,
    )


def search(grid: Grid, schedule: Schedule, rng: Generator) -> tuple[str, int]:
    """What a search chooses, and its measurements."""
    runs = [
        Run(APPLICATION, name, "", repetition, 0, Key("", name, "", "cold", repetition))
        for repetition in range(schedule.repetitions)
        for name in grid.times_s
    ]
    clusters = tuple(Named(name) for name in grid.times_s)
    plan = Plan((), clusters, tuple(runs), (), schedule.final, schedule)  # type: ignore[arg-type]
    strategy = Search(plan, lambda application, cluster, time_s: time_s)
    final: dict[str, list[float]] = {}
    done: set[Key] = set()
    while (run := strategy.next(runs, done)) is not None:
        (time_s,) = grid.draw(run.cluster, 1, rng)
        done.add(run.key)
        strategy.learn(run.key, time_s)
        if strategy.is_counted(run):
            final.setdefault(run.cluster, []).append(time_s)
    return best_and_ties(final)[0], len(done)


@dataclass(frozen=True)
class Compared:
    """A search beside the full grid, over many resamplings.

    Attributes:
        n_configurations: of the grid.
        n_grid: measurements of the full grid.
        n_search: of the search; the most of all resamplings.
        same: share of resamplings in which the search chooses what the full grid cannot tell from its best.
        again: the same of another full grid.
        regrets: of the search and of the full grid, per cent, by resampling.
    """

    n_configurations: int
    n_grid: int
    n_search: int
    same: float
    again: float
    regrets: dict[str, list[float]]


def compare(grid: Grid, n: int, seed: int) -> Compared:
    """Both on one grid, many times."""
    rng = np.random.default_rng(seed)
    repetitions, schedule = schedule_of(grid)
    shortest = min(grid.medians_s.values())
    same = again = 0
    regrets: dict[str, list[float]] = {"search": [], "full": []}
    measured = 0
    for _ in range(n):
        fulls = [
            best_and_ties({name: grid.draw(name, repetitions, rng) for name in grid.times_s})
            for _ in range(2)
        ]
        found, count = search(grid, schedule, rng)
        measured = max(measured, count)
        same += found in fulls[0][1]
        again += fulls[1][0] in fulls[0][1]
        regrets["search"].append(100 * (grid.medians_s[found] / shortest - 1))
        regrets["full"].append(100 * (grid.medians_s[fulls[0][0]] / shortest - 1))
    return Compared(len(grid.times_s), schedule.n_grid, measured, same / n, again / n, regrets)


def row(name: str, found: Compared) -> str:
    """A row of the table."""
    search, full = found.regrets["search"], found.regrets["full"]
    words = [
        f"{name:24}", f"{found.n_configurations:4}", f"{found.n_grid:6}",
        f"{found.n_search:6} ({100 * found.n_search / found.n_grid:.0f} %)",
        f"{100 * found.same:8.1f} %", f"{100 * found.again:8.1f} %",
        f"{fmean(search):8.2f} %", f"{fmean(full):8.2f} %", f"{max(search):8.1f} %",
    ]  # fmt: skip
    return "  ".join(words)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("grids", nargs="*", type=Path)
    parser.add_argument("--resamplings", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(
        "grid                     configs  full  search       same choice  2nd full   regret: search    full   worst of search"
    )
    for path in asked.grids or sorted(GRIDS.glob("*.json")):
        grid = read_grid(path)
        print(row(grid.name, compare(grid, asked.resamplings, asked.seed)), flush=True)


if __name__ == "__main__":
    main()
