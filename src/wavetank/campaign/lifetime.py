"""The lifetime of a cluster in a campaign: up, used, and down on every way out.

A lease in the store says that it is up, so that a run after a kill takes it down first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.progress import Observer
from wavetank.campaign.store import Store
from wavetank.cluster.host import RunningCluster
from wavetank.cluster.interrupts import held_back
from wavetank.errors import ClusterError, WavetankError

DOWN = "taking the cluster down"
"""What is finished before an interrupt ends the campaign."""


class Deployer(Protocol):
    """Brings the plan's clusters up and down, by name."""

    def up(self, cluster: str) -> RunningCluster:
        """Bring a cluster up; destroys what it made when it fails."""

    def down(self, cluster: str) -> None:
        """Take a cluster down."""

    def is_there(self, cluster: str) -> bool:
        """Whether there is anything of a cluster of this name, whoever made it."""


class NotUpError(ClusterError):
    """A cluster of the plan did not come up. What could not be removed of it is leased still."""


@contextmanager
def deployed(
    cluster: ClusterFacts, store: Store, deployer: Deployer, observer: Observer
) -> Iterator[RunningCluster]:
    """A cluster that is up inside of the context, and down after it.

    Raises:
        NotUpError: it did not come up.
    """
    observer.says(f"bringing up {cluster.name}: {cluster.title}, {cluster.n_instances} instances")
    started = time.monotonic()
    # by what is not ours to take down, or is leased since
    is_taken = deployer.is_there(cluster.name)
    if not is_taken:
        store.lease(cluster.name)
    try:
        running = deployer.up(cluster.name)
    except WavetankError as error:
        left = ""
        if not is_taken and deployer.is_there(cluster.name):
            left = f". Not all of it could be removed: the next run does, or 'wavetank cluster down {cluster.name}'"
        elif not is_taken:
            store.release(cluster.name)
        raise NotUpError(f"the cluster did not come up: {error}{left}") from error
    try:
        up_s = time.monotonic() - started
        store.add_deployment(cluster.key, cluster.name, up_s)
        observer.says(f"{cluster.name} is up after {up_s:.1f} s")
        yield running
    finally:
        with held_back(DOWN):
            try:
                observer.says(f"taking {cluster.name} down")
            finally:  # whatever becomes of what is said
                _take_down(cluster.name, store, deployer, observer)


def take_down_leftovers(store: Store, deployer: Deployer, observer: Observer) -> None:
    """Take down what a run of this campaign left up, as it was killed or could not: needed again or not."""
    for cluster in store.leases():
        observer.says(f"taking {cluster} down: an earlier run left it")
        _take_down(cluster, store, deployer, observer)


def _take_down(cluster: str, store: Store, deployer: Deployer, observer: Observer) -> None:
    try:
        deployer.down(cluster)
    except WavetankError as error:
        observer.says(
            f"{cluster} did not go down whole: {error}. Run 'wavetank cluster down {cluster}'"
        )
    else:
        store.release(cluster)
