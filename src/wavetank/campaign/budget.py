"""What a campaign may take: time, money and core-hours, and measurements that are made again because they were disturbed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.spec import Budget
from wavetank.campaign.store import Key, Store
from wavetank.cost.estimate import bill
from wavetank.cost.prices import SECONDS_PER_HOUR, PriceTable
from wavetank.measure.result import Measurement
from wavetank.units import format_duration


@dataclass
class Holds:
    """Clusters that are held now.

    Attributes:
        store: open for writing.
        clock: seconds.
    """

    store: Store
    clock: Callable[[], float] = time.monotonic
    _since: dict[str, float] = field(default_factory=dict)  # cluster key -> until when it is kept
    _cores: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def holding(self, cluster: ClusterFacts) -> Iterator[None]:
        """Hold a cluster inside of the context."""
        self._since[cluster.key] = self.clock()
        self._cores[cluster.key] = cluster.n_cores
        try:
            yield
        finally:
            self._note(cluster.key)
            del self._since[cluster.key], self._cores[cluster.key]

    def note(self) -> None:
        """Keep what was held until now."""
        for key in self._since:
            self._note(key)

    def cores_with(self, cluster: ClusterFacts) -> float:
        """Cores that are held now, those of one cluster included."""
        return sum((self._cores | {cluster.key: cluster.n_cores}).values())

    def _note(self, key: str) -> None:
        now = self.clock()
        self.store.add_held(key, now - self._since[key])
        self._since[key] = now


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
        """What the same took on rented instances, each deployment billed."""
        if self._prices is None:
            return Decimal(0)
        up_s = store.deployments_s()
        return sum(
            (
                self._bill(
                    cluster,
                    self._cluster_s(store, cluster),
                    len(up_s.get(cluster.key, ())),
                    self._prices,
                )
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
            cores = cluster.n_cores if self._holds is None else self._holds.cores_with(cluster)
            if spent + cores * next_s / SECONDS_PER_HOUR > budget.core_hours:
                return f"the budget of {budget.core_hours:g} core-hours is spent ({spent:.3g} until now)"
        if budget.money is None or self._prices is None:
            return None
        used_s = self._cluster_s(store, cluster)
        n = len(store.deployments_s().get(cluster.key, ()))
        before = self._bill(cluster, used_s, n, self._prices)
        more = self._bill(cluster, used_s + next_s, n, self._prices) - before
        if self.spent_money(store) + more > budget.money:
            return f"the budget of {budget.money} {self._prices.currency} is spent"
        return None

    @staticmethod
    def _bill(cluster: ClusterFacts, used_s: float, n: int, prices: PriceTable) -> Decimal:
        """What a cluster takes that was up ``n`` times, for the same time each."""
        n = max(n, 1)
        return n * bill(cluster.instances, used_s / n, prices, cluster.storage)

    def _cluster_s(self, store: Store, cluster: ClusterFacts) -> float:
        beside_s = store.beside_s().get(cluster.key, 0.0)
        return beside_s + sum(store.spent_s().get(cluster.key, ()))


MOST_SHARE = 0.25
"""Of a campaign's measurements that are made again, at most: a machine that is never quiet must not double the time."""


@dataclass
class Repeats:
    """What may be made again.

    Attributes:
        most_each: times that one measurement is made again, at most.
        n_left: measurements that this campaign may still make again.
    """

    most_each: int
    n_left: int
    times: dict[Key, int] = field(default_factory=dict)

    def again(self, key: Key, measurement: Measurement) -> bool:
        """Whether a measurement that was just made is made again; counts it then."""
        load = measurement.load
        if load is None or not load.disturbed or self.n_left < 1:
            return False
        if self.times.get(key, 0) >= self.most_each:
            return False
        self.times[key] = self.times.get(key, 0) + 1
        self.n_left -= 1
        return True
