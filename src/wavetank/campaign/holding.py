"""How long clusters are held: from the moment at which one is brought up until it is down again.

Clusters that are up side by side are all held while one of them is measured. The store keeps it, so that it counts over
all runs of a campaign; a run that is killed loses what came after its last measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.store import Store


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
