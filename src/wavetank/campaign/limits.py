"""When to stop: the stop rule of each configuration, and the budget of the whole campaign."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations

from wavetank.campaign.criterion import score_of
from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.futility import Futility
from wavetank.campaign.holding import Holds
from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.selection import Selection
from wavetank.campaign.spec import Budget, CampaignSpec
from wavetank.campaign.store import Key, Store
from wavetank.compare.decisions import Subject, is_compared
from wavetank.cost.estimate import bill
from wavetank.cost.hours import SECONDS_PER_HOUR
from wavetank.cost.prices import PriceTable
from wavetank.kernel.results.io_time import io_time_s
from wavetank.measure.guests import is_comparable
from wavetank.measure.result import Measurement
from wavetank.measure.statistics import estimate, relative_width
from wavetank.units import format_duration

Configuration = tuple[str, str, str]
"""Kernel hash, cluster key and mapping."""


class StopRules:
    """Which repetitions are not needed any more. Looks at I/O times as they come in.

    With a stop rule: those of a configuration whose interval is narrow enough. Where the campaign chose the number of
    repetitions itself: those of a configuration that cannot be told apart from any other any more (futility). With a
    search: those of configurations that were dropped.
    """

    def __init__(self, spec: CampaignSpec, plan: Plan, prices: PriceTable | None = None) -> None:
        self._spec = spec
        self.selection = None
        if plan.search is not None:
            self.selection = Selection(plan, plan.search, score_of(spec, plan, prices))
        self._fewest = max(plan.repetitions, 2)
        self._keys: dict[Configuration, list[Key]] = defaultdict(list)
        for run in plan.runs:
            self._keys[_configuration(run.key)].append(run.key)
        self._futility = None
        if spec.repetitions is None and spec.stop is None and spec.search is None:
            self._futility = Futility(
                _pairs(spec, plan), plan.repetitions, error=1 - spec.confidence
            )
        self._times_s: dict[Configuration, list[float]] = defaultdict(list)
        self.not_needed: set[Key] = set()
        self.futile: set[Key] = (
            set()
        )  # of all repetitions of configurations that ended for futility

    def learn(self, key: Key, measurement: Measurement) -> None:
        """Take a finished measurement into account."""
        configuration = _configuration(key)
        times = self._times_s[configuration]
        times.append(io_time_s(measurement.result))
        if self._enough(times):
            self.not_needed.update(self._keys[configuration])
        if self._futility is not None:
            for decided in self._futility.learn(configuration, times[-1]):
                self.not_needed.update(self._keys[decided])
                self.futile.update(self._keys[decided])
        if self.selection is not None:
            self.selection.learn(key, times[-1], comparable=is_comparable(measurement))
            self.not_needed.update(self.selection.not_needed)

    def miss(self, key: Key) -> None:
        """Take into account that a measurement failed."""
        if self.selection is not None:
            self.selection.miss(key)
            self.not_needed.update(self.selection.not_needed)

    def is_ready(self, run: Run) -> bool:
        """Whether it is decided that a measurement is made; False in a search before its round has begun."""
        return self.selection is None or self.selection.is_ready(run)

    def _enough(self, times_s: Sequence[float]) -> bool:
        stop = self._spec.stop
        if stop is None or len(times_s) < self._fewest:
            return False
        width = relative_width(estimate(times_s, self._spec.confidence))
        return width is not None and width <= stop.width


def _pairs(spec: CampaignSpec, plan: Plan) -> dict[frozenset[Configuration], bool]:
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


def _configuration(key: Key) -> Configuration:
    return key.kernel_sha256, key.cluster_key, key.mapping


class Spending:
    """What a campaign has spent of its budget, over all its runs."""

    def __init__(
        self,
        budget: Budget | None,
        clusters: Sequence[ClusterFacts],
        prices: PriceTable | None,
        holds: Holds | None = None,
    ) -> None:
        self._budget = budget or Budget()
        self._holds = holds
        self._clusters = clusters
        self._prices = prices

    def spent_s(self, store: Store) -> float:
        """Wall time of all measurements and deployments so far."""
        return sum(self._cluster_s(store, cluster) for cluster in self._clusters)

    def spent_money(self, store: Store) -> Decimal:
        """What the same took on rented instances, each cluster billed once."""
        if self._prices is None:
            return Decimal(0)
        return sum(
            (
                self._bill(cluster, self._cluster_s(store, cluster), self._prices)
                for cluster in self._clusters
            ),
            Decimal(0),
        )

    def spent_core_hours(self, store: Store) -> float:
        """Of all clusters, from bringing each up until it is down; of jobs, while they measure."""
        if self._holds is not None:
            self._holds.note()
        held_s = store.held_s()
        return (
            sum(
                cluster.n_cores * max(held_s.get(cluster.key, 0.0), self._cluster_s(store, cluster))
                for cluster in self._clusters
            )
            / SECONDS_PER_HOUR
        )

    def refuses(self, store: Store, next_s: float, cluster: ClusterFacts) -> str | None:
        """Why the next thing cannot be afforded; None when it can.

        Args:
            store: what was done.
            next_s: wall time that the next thing will take.
            cluster: that it is done on.
        """
        budget = self._budget
        if budget.time is not None and self.spent_s(store) + next_s > budget.time:
            return f"the time budget of {format_duration(budget.time)} is spent"
        if budget.core_hours is not None:
            spent = self.spent_core_hours(store)
            # All clusters that are up are held while one of them is measured.
            cores = cluster.n_cores if self._holds is None else self._holds.cores_with(cluster)
            if spent + cores * next_s / SECONDS_PER_HOUR > budget.core_hours:
                return f"the budget of {budget.core_hours:g} core-hours is spent ({spent:.3g} until now)"
        if budget.money is None or self._prices is None:
            return None
        used_s = self._cluster_s(store, cluster)
        before = self._bill(cluster, used_s, self._prices)
        more = self._bill(cluster, used_s + next_s, self._prices) - before
        if self.spent_money(store) + more > budget.money:
            return f"the budget of {budget.money} {self._prices.currency} is spent"
        return None

    @staticmethod
    def _bill(cluster: ClusterFacts, used_s: float, prices: PriceTable) -> Decimal:
        return bill(cluster.instances, used_s, prices, cluster.storage)

    def _cluster_s(self, store: Store, cluster: ClusterFacts) -> float:
        beside_s = store.beside_s().get(cluster.key, 0.0)
        return beside_s + sum(store.spent_s().get(cluster.key, ()))
