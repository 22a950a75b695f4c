"""Clusters that come up for measurements, each for a block of them, and go down on every way out.

A lease in the store says that a cluster is up, so that a run after a kill takes it down first.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from wavetank.campaign.budget import Holds
from wavetank.campaign.executor import Ended, Observer, ResultT, Site, Work
from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.store import Store
from wavetank.campaign.strategy import RunT
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.interrupts import held_back
from wavetank.errors import ClusterError, WavetankError

DOWN = "taking the cluster down"
"""What is finished before an interrupt ends the campaign."""


class Deployer(Protocol):
    """Brings the plan's clusters up and down, by name."""

    def up(self, cluster: str) -> DeployedCluster:
        """Bring a cluster up; destroys what it made when it fails."""

    def down(self, cluster: str) -> None:
        """Take a cluster down."""

    def is_there(self, cluster: str) -> bool:
        """Whether there is anything of a cluster of this name, whoever made it."""


class Deployment(Site[RunT, ResultT]):
    """Clusters that come up here.

    Attributes:
        up: clusters that are up, by name.
    """

    def __init__(
        self,
        work: Work[RunT, ResultT],
        clusters: Sequence[ClusterFacts],
        deployer: Deployer,
        holds: Holds,
    ) -> None:
        super().__init__()
        self.work = work
        self.up: dict[str, DeployedCluster] = {}
        self._clusters = clusters
        self._deployer = deployer
        self._holds = holds
        self._stacks: dict[str, ExitStack] = {}

    @abstractmethod
    def measure(self, run: RunT, running: DeployedCluster) -> ResultT:
        """Make a measurement on its cluster.

        Raises:
            WavetankError: it failed.
        """

    def prepare(self, cluster: ClusterFacts, running: DeployedCluster, stack: ExitStack) -> None:
        """Make a cluster ready that came up; ``stack`` ends before it goes down."""

    @contextmanager
    def open(self) -> Iterator[None]:
        """Take everything down after the context."""
        try:
            yield
        finally:
            with held_back(DOWN), ExitStack() as all_of_them:
                for name in self._stacks:
                    all_of_them.callback(self.close, name)

    def to_bring_up(self, runs: Sequence[RunT]) -> Sequence[ClusterFacts]:
        """Clusters of the runs on which something is left."""
        names = {run.cluster for run in runs}
        return [
            each for each in self._clusters if each.name in names and self.work.left_on(each.name)
        ]

    def bring_up(self, cluster: ClusterFacts) -> None:
        """Bring a cluster up.

        Raises:
            ClusterError: it did not come up. What could not be removed of it is leased still.
        """
        store, says, name = self.work.store, self.work.observer.says, cluster.name
        says(f"bringing up {name}: {cluster.title}, {cluster.n_instances} instances")
        stack = self._stacks[name] = ExitStack()
        stack.enter_context(self._holds.holding(cluster))
        started = time.monotonic()
        # by what is not ours to take down, or is leased since
        is_taken = self._deployer.is_there(name)
        if not is_taken:
            store.lease(name)
        try:
            running = self.up[name] = self._deployer.up(name)
        except WavetankError as error:
            left = ""
            if not is_taken and self._deployer.is_there(name):
                left = f". Not all of it could be removed: the next run does, or 'wavetank cluster down {name}'"
            elif not is_taken:
                store.release(name)
            self.close(name)
            raise ClusterError(f"the cluster did not come up: {error}{left}") from error
        stack.callback(take_down, name, store, self._deployer, self.work.observer)
        up_s = time.monotonic() - started
        store.add_deployment(cluster.key, up_s)
        says(f"{name} is up after {up_s:.1f} s")
        self.prepare(cluster, running, stack)

    def has_room(self) -> bool:
        """Whether nothing is measured now."""
        return not self.under_way

    def start(self, run: RunT) -> None:
        """Say which measurement is next."""
        self.under_way[run.key] = run

    def ended(self) -> Iterable[Ended[RunT, ResultT]]:
        """Make the measurement."""
        run = self.under_way.popitem()[1]
        try:
            return [Ended(run, self.measure(run, self.up[run.cluster]))]
        except WavetankError as error:
            return [Ended(run, error=error, lost=self.up[run.cluster].lost())]

    def close(self, cluster: str) -> None:
        """Take a cluster down that is up."""
        stack = self._stacks.pop(cluster, None)
        self.up.pop(cluster, None)
        if stack is not None:
            with held_back(DOWN):
                stack.close()

    def release(self) -> None:
        """Nothing to do: a cluster is up for one block, and goes down behind it."""


def take_down_leftovers(store: Store, deployer: Deployer, observer: Observer) -> None:
    """Take down what a run of this campaign left up, as it was killed or could not: needed again or not."""
    for cluster in store.leases():
        take_down(cluster, store, deployer, observer, ": an earlier run left it")


def take_down(
    cluster: str, store: Store, deployer: Deployer, observer: Observer, why: str = ""
) -> None:
    """Take a cluster down and give its lease back; one that does not go down whole stays leased."""
    try:
        observer.says(f"taking {cluster} down{why}")
    finally:  # whatever becomes of what is said
        try:
            deployer.down(cluster)
        except WavetankError as error:
            observer.says(
                f"{cluster} did not go down whole: {error}. Run 'wavetank cluster down {cluster}'"
            )
        else:
            store.release(cluster)
