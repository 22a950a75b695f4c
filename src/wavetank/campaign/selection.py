"""Who goes on in a search, by the I/O times of its rounds alone: one that was interrupted goes on as it would have.

What was measured in the final never decides who is in it, and what decided it is never tested: the test on the final's
repetitions is as true as in a full grid of the finalists.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from statistics import median

from wavetank.campaign.criterion import Score
from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.schedule import Schedule
from wavetank.campaign.store import Key
from wavetank.compare.search_record import Dropped, SearchRound

Place = tuple[str, str]
"""Cluster and mapping."""


class Selection:
    """The state of a search.

    Attributes:
        not_needed: measurements of configurations that were dropped.
        dropped: in the order in which they were.
        rounds: that were decided.
    """

    def __init__(self, plan: Plan, schedule: Schedule, score: Score) -> None:
        self._schedule = schedule
        self._score = score
        self._runs = {run.key: run for run in plan.runs}
        self._keys: dict[tuple[str, Place], list[Key]] = defaultdict(list)
        self._going: dict[str, list[Place]] = {}
        for run in plan.runs:
            self._keys[run.application, _place(run)].append(run.key)
        for name in schedule.applications:
            # The order of the clusters in the campaign decides between equal values, not that of the measurements.
            order = {cluster.name: index for index, cluster in enumerate(plan.clusters)}
            places = dict.fromkeys(_place(run) for run in plan.runs if run.application == name)
            self._going[name] = sorted(places, key=lambda place: (order[place[0]], place[1]))
        self._round = dict.fromkeys(schedule.applications, 0)
        self._times_s: dict[tuple[str, Place], dict[int, float]] = defaultdict(dict)
        self._incomparable: set[tuple[str, Place]] = set()
        self._missed: set[tuple[str, Place, int]] = set()
        self._after: dict[tuple[str, Place], int] = {}  # last repetition of what does not go on
        self.not_needed: set[Key] = set()
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
        begun = self._round[run.application]
        if run.repetition < self._schedule.selection:
            return run.repetition <= begun
        return self.is_decided(run.application)

    def is_decided(self, application: str) -> bool:
        """Whether the finalists of an application are known."""
        return self._round[application] >= len(self._schedule.applications[application].sizes)

    def is_counted(self, run: Run) -> bool:
        """Whether a comparison looks at a measurement: one of the final."""
        return run.repetition >= self._schedule.selection and self.is_ready(run)

    def is_part(self, run: Run) -> bool:
        """Whether the search asked for a measurement; a store may hold more, of an earlier campaign."""
        dropped_after = self._after.get((run.application, _place(run)))
        if dropped_after is not None:
            return run.repetition <= dropped_after
        return self.is_ready(run)

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
        for place in going:
            if place not in stay:
                self._after[application, place] = now
                self.not_needed.update(
                    key for key in self._keys[application, place] if key.repetition > now
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


def _place(run: Run) -> Place:
    return run.cluster, run.mapping
