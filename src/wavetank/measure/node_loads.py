"""What a node's counters grew by in some spans of time, and how much of each resource that is.

Reads the counters that were recorded beside a replay. Leaves the load of a node: its share of a resource's limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.cluster import counters as c
from wavetank.cluster.counters import Capacity, NodeCounters
from wavetank.measure.use import FULL, RESOURCES, Resource, Unit


@dataclass(frozen=True)
class Span:
    """From one moment to another, s."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.end_s - self.start_s


class Increment:
    """What a node's counters grew by in some spans."""

    def __init__(self, node: NodeCounters, spans: Sequence[Span]) -> None:
        self.node = node.node
        self.capacity: Capacity = node.capacity
        self._length_s = sum(span.length_s for span in spans)
        starts = np.array([span.start_s for span in spans])
        ends = np.array([span.end_s for span in spans])
        self._grown = {
            name: float(np.sum(_at(node, name, ends) - _at(node, name, starts)))
            for name in node.counted
        }

    def has(self, name: str) -> bool:
        """Whether the node has this counter."""
        return name in self._grown

    def rate(self, name: str) -> float:
        """Growth a second."""
        return self._grown[name] / self._length_s


def _at(node: NodeCounters, name: str, moments: c.FloatArray) -> c.FloatArray:
    """A counter at some moments, shape as ``moments``.

    What grows steadily is interpolated. A disk's counter jumps: a limit holds a request of several megabytes back until
    all of it may pass, and then it ends at once, right before the call that waited for it. It counts as first read
    after the moment, at both ends of a span.
    """
    values = node.counted[name]
    if name not in c.OF_DISKS:
        return np.interp(moments, node.at_s, values)
    after = np.searchsorted(node.at_s, moments)
    return values[np.minimum(after, values.size - 1)]


@dataclass(frozen=True)
class Load:
    """One resource of one node."""

    node: str
    share: float
    amount: float
    limit: float | None
    unit: Unit


def full_resources(node: Increment) -> Iterator[Resource]:
    """Those at their limit; a disk that is busy alone is not at one."""
    for resource in RESOURCES[:-1]:
        load = LOADS[resource](node)
        if load is not None and load.share >= FULL:
            yield resource


def covers(node: NodeCounters, spans: Sequence[Span], every_s: float) -> bool:
    """Whether a node was read from before the first span to after the last, or nearly so."""
    if node.at_s.size < 2:
        return False
    first, last = min(span.start_s for span in spans), max(span.end_s for span in spans)
    return bool(node.at_s[0] <= first + every_s and node.at_s[-1] >= last - every_s)


def readings(node: NodeCounters, spans: Sequence[Span]) -> int:
    """How often a node was read within spans."""
    return sum(
        int(np.count_nonzero((node.at_s >= span.start_s) & (node.at_s <= span.end_s)))
        for span in spans
    )


def _processors(node: Increment) -> Load | None:
    if not node.has(c.CPU_S):
        return None
    amount, cpus = node.rate(c.CPU_S), node.capacity.cpus
    return Load(node.node, amount / cpus, amount, cpus, "cores")


def _network(counter: str) -> Callable[[Increment], Load | None]:
    def load(node: Increment) -> Load | None:
        limit = node.capacity.network_bytes_per_s
        if limit is None or not node.has(counter):
            return None
        return Load(node.node, node.rate(counter) / limit, node.rate(counter), limit, "B/s")

    return load


def _disk(size: str, requests: str) -> Callable[[Increment], Load | None]:
    """By bytes or by requests, whichever is nearer to its limit."""

    def load(node: Increment) -> Load | None:
        capacity, reads = node.capacity, size == c.READ_BYTES
        loads = []
        by_bytes = capacity.read_bytes_per_s if reads else capacity.write_bytes_per_s
        if by_bytes is not None and node.has(size):
            rate = node.rate(size)
            loads.append(Load(node.node, rate / by_bytes, rate, by_bytes, "B/s"))
        by_requests = capacity.reads_per_s if reads else capacity.writes_per_s
        if by_requests is not None and node.has(requests):
            rate = node.rate(requests)
            loads.append(Load(node.node, rate / by_requests, rate, by_requests, "requests/s"))
        return max(loads, key=lambda each: each.share, default=None)

    return load


def _disk_busy(node: Increment) -> Load | None:
    if not node.has(c.DISK_BUSY_S):
        return None
    share = node.rate(c.DISK_BUSY_S)
    return Load(node.node, share, share, None, "share of time")


LOADS: dict[Resource, Callable[[Increment], Load | None]] = {
    "processors": _processors,
    "network in": _network(c.RECEIVED_BYTES),
    "network out": _network(c.SENT_BYTES),
    "disk read": _disk(c.READ_BYTES, c.READS),
    "disk write": _disk(c.WRITTEN_BYTES, c.WRITES),
    "disk busy": _disk_busy,
}
