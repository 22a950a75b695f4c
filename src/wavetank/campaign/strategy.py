"""Which measurement of a plan is made next: of the whole grid, until medians are known well enough, or of a search.

A strategy decides by I/O times and failures alone, in whatever order it learns them. An interrupted campaign therefore goes
on as it would have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Generic, TypeVar

from wavetank.campaign.criterion import Score, score_of
from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.futility import Futility
from wavetank.campaign.plan import Plan, PlannedRun, Run
from wavetank.campaign.spec import CampaignSpec, SearchRule, UntilRule
from wavetank.campaign.store import Key
from wavetank.compare.decisions import Subject, is_compared
from wavetank.compare.search_record import Dropped, SearchRound
from wavetank.cost.prices import PriceTable
from wavetank.measure.guests import is_comparable
from wavetank.measure.result import Measurement
from wavetank.measure.statistics import estimate, relative_width

Configuration = tuple[str, str, str]
"""Kernel hash, cluster key and mapping."""
Place = tuple[str, str]
"""Cluster and mapping."""


RunT = TypeVar("RunT", bound=PlannedRun)


class Strategy(Generic[RunT]):
    """Measures everything, in the order of the plan.

    Attributes:
        not_needed: keys of measurements that are not made any more.
        futile: those of them that no outcome could have told apart.
    """

    def __init__(self) -> None:
        self.not_needed: set[Hashable] = set()
        self.futile: set[Hashable] = set()

    def learn(self, key: Key, time_s: float, *, comparable: bool = True) -> None:
        """Take a finished measurement into account: its I/O time, and whether it is comparable with hardware."""

    def miss(self, key: Key) -> None:
        """Take into account that a measurement failed."""

    def is_ready(self, run: RunT) -> bool:
        """Whether it is decided that a measurement is made."""
        return True

    def is_counted(self, run: RunT) -> bool:
        """Whether a comparison looks at a measurement."""
        return True

    def next(self, runs: Iterable[RunT], taken: Collection[Hashable]) -> RunT | None:
        """The measurement that is made next; None where none can be made now.

        Args:
            runs: in the order in which they are made.
            taken: keys of those that are finished, failed or under way.
        """
        return next(
            (
                run
                for run in runs
                if run.key not in taken and run.key not in self.not_needed and self.is_ready(run)
            ),
            None,
        )


class Grid(Strategy[Run]):
    """Measures every configuration equally often.

    Where the campaign chose how often, a configuration ends early that cannot be told apart from any other any more.
    """

    def __init__(self, spec: CampaignSpec, plan: Plan) -> None:
        super().__init__()
        self._keys = _keys(plan)
        self._futility = None
        if spec.ends_what_is_futile:
            error = 1 - spec.confidence
            self._futility = Futility(pairs_of(spec, plan), plan.repetitions, error=error)

    def learn(self, key: Key, time_s: float, *, comparable: bool = True) -> None:
        """Take the I/O time of a finished measurement into account."""
        if self._futility is not None:
            for decided in self._futility.learn(_configuration(key), time_s):
                self.not_needed.update(self._keys[decided])
                self.futile.update(self._keys[decided])


class Until(Strategy[Run]):
    """Repeats each configuration until the interval of its median is narrow enough."""

    def __init__(self, rule: UntilRule, confidence: float, plan: Plan) -> None:
        super().__init__()
        self._rule = rule
        self._confidence = confidence
        self._fewest = max(plan.repetitions, 2)
        self._keys = _keys(plan)
        self._times_s: dict[Configuration, list[float]] = defaultdict(list)

    def learn(self, key: Key, time_s: float, *, comparable: bool = True) -> None:
        """Take the I/O time of a finished measurement into account."""
        times = self._times_s[_configuration(key)]
        times.append(time_s)
        if len(times) < self._fewest:
            return
        width = relative_width(estimate(times, self._confidence))
        if width is not None and width <= self._rule.width:
            self.not_needed.update(self._keys[_configuration(key)])


class Search(Strategy[Run]):
    """Measures all configurations once and lets the better part go on, round by round; then measures the last ones anew.

    What was measured in the final never decides who is in it, and what decided it is never tested: the test on the
    final's repetitions is as true as in a full grid of the finalists.

    Attributes:
        dropped: in the order in which they were.
        rounds: that were decided.
    """

    def __init__(self, plan: Plan, score: Score) -> None:
        super().__init__()
        self._schedule = plan.schedule
        self._score = score
        self._runs = {run.key: run for run in plan.runs}
        self._going: dict[str, list[Place]] = {}
        # The order of the clusters in the campaign decides between equal values, not that of the measurements.
        order = {cluster.name: index for index, cluster in enumerate(plan.clusters)}
        for name in self._schedule.applications:
            places = {_place(run) for run in plan.runs if run.application == name}
            self._going[name] = sorted(places, key=lambda place: (order[place[0]], place[1]))
        self._round = dict.fromkeys(self._schedule.applications, 0)
        self._times_s: dict[tuple[str, Place], dict[int, float]] = defaultdict(dict)
        self._incomparable: set[tuple[str, Place]] = set()
        self._missed: set[tuple[str, Place, int]] = set()
        self._after: dict[tuple[str, Place], int] = {}  # last repetition of what does not go on
        self.dropped: list[Dropped] = []
        self.rounds: list[SearchRound] = []

    def learn(self, key: Key, time_s: float, *, comparable: bool = True) -> None:
        """Take a finished measurement into account: its I/O time, and whether it is comparable with hardware."""
        run = self._runs.get(key)
        if run is not None and run.repetition < self._schedule.selection:
            self._times_s[run.application, _place(run)][run.repetition] = time_s
            if not comparable:
                self._incomparable.add((run.application, _place(run)))
            self._go_on(run.application)

    def miss(self, key: Key) -> None:
        """Take into account that a measurement failed: its round is decided without it."""
        run = self._runs.get(key)
        if run is not None and run.repetition < self._schedule.selection:
            self._missed.add((run.application, _place(run), run.repetition))
            self._go_on(run.application)

    def is_ready(self, run: Run) -> bool:
        """Whether it is decided that a measurement is made: its round has begun."""
        if _place(run) not in self._going[run.application]:
            return False
        if run.repetition < self._schedule.selection:
            return run.repetition <= self._round[run.application]
        return self.is_decided(run.application)

    def is_counted(self, run: Run) -> bool:
        """Whether a comparison looks at a measurement: one of the final."""
        return run.repetition >= self._schedule.selection and self.is_ready(run)

    def is_decided(self, application: str) -> bool:
        """Whether the finalists of an application are known."""
        return self._round[application] >= len(self._schedule.applications[application].sizes)

    def is_part(self, run: Run) -> bool:
        """Whether the search asked for a measurement; a store may hold more, of an earlier campaign."""
        dropped_after = self._after.get((run.application, _place(run)))
        return self.is_ready(run) if dropped_after is None else run.repetition <= dropped_after

    def finalists(self, application: str) -> tuple[Place, ...]:
        """Of an application; none as long as they are not known."""
        return tuple(self._going[application]) if self.is_decided(application) else ()

    def _go_on(self, application: str) -> None:
        while not self.is_decided(application) and self._is_over(application):
            self._decide(application)

    def _is_over(self, application: str) -> bool:
        now = self._round[application]
        return all(
            now in self._times_s[application, place] or (application, place, now) in self._missed
            for place in self._going[application]
        )

    def _decide(self, application: str) -> None:
        now, going = self._round[application], self._going[application]
        ranked = self._ranked(application, now)
        stay = ranked[: self._schedule.applications[application].kept(now)]
        baseline = [place for place in ranked if place[0] == self._schedule.baseline]
        if baseline and not any(place in baseline for place in stay):
            stay.append(baseline[0])
        self._keep_a_comparable(application, ranked, stay)
        self._after |= {(application, place): now for place in going if place not in stay}
        self.not_needed.update(
            key
            for key, run in self._runs.items()
            if run.application == application
            and run.repetition > now
            and self._after.get((application, _place(run))) == now
        )
        first_s = self._median_s(application, ranked[0], now) if ranked else 0.0
        self.dropped += [
            Dropped(
                application=application,
                cluster=place[0],
                mapping=place[1],
                round=now + 1,
                place=position,
                of=len(ranked),
                io_times_s=self._until(application, place, now),
                first_s=first_s,
                comparable=(application, place) not in self._incomparable,
                incomparable_kept=self._incomparable_kept(application, place, ranked, stay),
            )
            for position, place in enumerate(ranked, 1)
            if place not in stay
        ]
        self.rounds.append(
            SearchRound(
                application=application, round=now + 1, measured=len(ranked), went_on=len(stay)
            )
        )
        self._going[application] = [place for place in going if place in stay]
        self._round[application] = now + 1

    def _keep_a_comparable(
        self, application: str, ranked: Sequence[Place], stay: list[Place]
    ) -> None:
        """Where all that go on are not comparable with hardware, the best that is takes the last one's place.

        So as many go on as were planned. The first of the round and the baseline keep their places.
        """
        comparable = [place for place in ranked if (application, place) not in self._incomparable]
        if not comparable or any(place in stay for place in comparable):
            return
        others = [place for place in stay[1:] if place[0] != self._schedule.baseline]
        if others:
            stay[stay.index(others[-1])] = comparable[0]

    def _incomparable_kept(
        self, application: str, dropped: Place, ranked: Sequence[Place], stay: Collection[Place]
    ) -> int:
        """How many that are not comparable with hardware were preferred to one that is, and is dropped."""
        if (application, dropped) in self._incomparable:
            return 0
        before = ranked[: ranked.index(dropped)]
        return sum(place in stay and (application, place) in self._incomparable for place in before)

    def _ranked(self, application: str, now: int) -> list[Place]:
        """Those that have a value, best first."""
        there = [p for p in self._going[application] if now in self._times_s[application, p]]
        return sorted(
            there,
            key=lambda place: self._score(
                application, place[0], self._median_s(application, place, now)
            ),
        )

    def _median_s(self, application: str, place: Place, now: int) -> float:
        return median(self._until(application, place, now))

    def _until(self, application: str, place: Place, now: int) -> tuple[float, ...]:
        times = self._times_s[application, place]
        return tuple(times[each] for each in sorted(times) if each <= now)


def strategy_of(
    spec: CampaignSpec,
    plan: Plan,
    prices: PriceTable | None,
    stored: Iterable[tuple[Key, Measurement]],
    missed: Iterable[Key] = (),
) -> Strategy[Run]:
    """The strategy of a campaign, which has learned what was measured and what failed."""
    made: Strategy[Run]
    if isinstance(spec.strategy, UntilRule):
        made = Until(spec.strategy, spec.confidence, plan)
    elif isinstance(spec.strategy, SearchRule):
        made = Search(plan, score_of(spec, plan, prices))
    else:
        made = Grid(spec, plan)
    for key, measurement in stored:
        made.learn(key, measurement.result.io.total_s, comparable=is_comparable(measurement))
    for key in missed:
        made.miss(key)
    return made


def pairs_of(spec: CampaignSpec, plan: Plan) -> Mapping[frozenset[Configuration], bool]:
    """All pairs that the report will compare, and whether their times alone decide them.

    Costs are another question where prices differ: equal times mean different costs then.
    """
    variant_of = {each.name: each.variant_of for each in plan.applications}
    found: dict[Configuration, tuple[Subject, ClusterFacts]] = {}
    for run in plan.runs:
        cluster = plan.cluster(run.cluster)
        subject = Subject(run.application, variant_of[run.application], cluster.place, run.mapping)
        found[_configuration(run.key)] = subject, cluster
    return {
        frozenset((first, second)): spec.prices is None
        or (found[first][1].instances == found[second][1].instances and not spec.add_to_cost)
        for first, second in combinations(found, 2)
        if is_compared(found[first][0], found[second][0])
    }


def _keys(plan: Plan) -> dict[Configuration, list[Key]]:
    keys: dict[Configuration, list[Key]] = defaultdict(list)
    for run in plan.runs:
        keys[_configuration(run.key)].append(run.key)
    return keys


def _configuration(key: Key) -> Configuration:
    return key.kernel_sha256, key.cluster_key, key.mapping


def _place(run: Run) -> Place:
    return run.cluster, run.mapping
