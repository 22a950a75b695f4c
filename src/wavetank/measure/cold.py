"""Was a cold read cold, and did a write reach the disks? Compares what was moved with what the emulated limits let through.

A page cache that was not empty, or that kept what was written, shows as a rate above the disks' and the network's limits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from wavetank.cluster.host import NOT_EMPTIED
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.preparation.space import written_bytes
from wavetank.kernel.results.result import PhaseResult, ReplayResult
from wavetank.measure.direction import direction
from wavetank.measure.result import CacheState
from wavetank.units import format_duration, format_rate, format_size, parse_rate

TOLERANCE = 1.15
"""Token buckets let bursts through, and throttles count in slices of 0.1 s."""
SMALLEST_BYTES = 4 * 2**20
"""Below this a burst decides the rate, and nothing can be said."""

_RATE = re.compile(r"\d+(?:\.\d+)?\s*[kMGT]?i?(?:B|bit)(?:/s|ps)", re.IGNORECASE)


@dataclass(frozen=True)
class NodeLimits:
    """What limits reading, or writing, on one node, bytes per second; None where nothing does."""

    disk_bytes_per_s: int | None
    network_bytes_per_s: int | None


def read_limits(limits: Mapping[str, str]) -> NodeLimits:
    """What bounds reading, out of a running cluster's ``limits()``.

    Reads entries such as ``"io disk read": "100.0 MB/s by blkio"``; those with ``io`` are of the
    servers, those with ``compute`` of the nodes with ranks.
    """
    return NodeLimits(
        disk_bytes_per_s=_smallest(limits, "disk", "io", without="write"),
        network_bytes_per_s=_smallest(limits, "network", "compute", without="write"),
    )


def write_limits(limits: Mapping[str, str]) -> NodeLimits:
    """What bounds writing, out of a running cluster's ``limits()``, as ``read_limits`` does for reading."""
    return NodeLimits(
        disk_bytes_per_s=_smallest(limits, "disk", "io", without="read"),
        network_bytes_per_s=_smallest(limits, "network", "compute", without="read"),
    )


def rates_of(limits: Mapping[str, str]) -> dict[str, int]:
    """Every enforced rate in a running cluster's ``limits()``, bytes/s, by its key."""
    return {
        key: parse_rate(found[0])
        for key, value in limits.items()
        if not value.endswith("by nothing") and (found := _RATE.search(value))
    }


def _smallest(limits: Mapping[str, str], word: str, kind: str, *, without: str) -> int | None:
    """The smallest enforced rate of one thing, on nodes of a kind where there are entries of it."""
    rates = {
        key.lower(): rate
        for key, rate in rates_of(limits).items()
        if word in key.lower() and without not in key.lower()
    }
    of_kind = [rate for key, rate in rates.items() if key.startswith(kind)]
    return min(of_kind or rates.values(), default=None)


def possible_rate(
    limits: NodeLimits, clients: Collection[str], servers: Collection[str]
) -> float | None:
    """The rate that the limits let through, bytes per second; None without limits.

    Args:
        limits: of each node.
        clients: names of the nodes that read, or write.
        servers: names of the nodes with the data; empty when each client has its own.
    """
    sources = set(servers) or set(clients)
    bounds = []
    if limits.disk_bytes_per_s is not None:
        bounds.append(limits.disk_bytes_per_s * len(sources))
    # A server that is its own client uses no network.
    if limits.network_bytes_per_s is not None and servers and not set(clients) & set(servers):
        bounds.append(limits.network_bytes_per_s * min(len(sources), len(set(clients))))
    return min(bounds, default=None)


def doubts_of_caches(cache: CacheState) -> list[str]:
    """A sentence where caches were to be empty at the start, and nobody could empty them."""
    if cache.found != NOT_EMPTIED:
        return []
    return [
        f"page caches were not cold: {cache.how}. Reads may have come from memory; only root empties caches"
    ]


def doubts_of_cold_reads(
    kernel: Kernel, result: ReplayResult, limits: Mapping[str, str], servers: Collection[str]
) -> list[str]:
    """A sentence for each phase that read its input faster than the limits allow."""
    allowed = read_limits(limits)
    phases = {phase.ph_id: phase for phase in kernel.phases}
    sizes = {file.file_id: file.prepare_bytes for file in kernel.files if file.role == "input"}
    doubts = []
    for done in result.phases:
        phase = phases[done.ph_id]
        size = sizes.get(phase.file_id, 0)
        reads_once = phase.ph_weight <= size
        if direction(phase) != "read" or not reads_once or done.bytes < SMALLEST_BYTES:
            continue
        possible = possible_rate(allowed, _hosts(done), servers)
        if possible is not None and done.rate_bytes_per_s > TOLERANCE * possible:
            doubts.append(
                f"phase {done.ph_id} read from cold caches at "
                f"{format_rate(done.rate_bytes_per_s)}, and the limits allow "
                f"{format_rate(possible)}: the caches may not have been cold"
            )
    return doubts


def doubts_of_writes(
    kernel: Kernel, result: ReplayResult, limits: Mapping[str, str], servers: Collection[str]
) -> list[str]:
    """A sentence where all that was written, and is said to be on disk, came there faster than the limits allow.

    What is written may go to the disks at any time until the last flush has ended. So all of it counts over the time
    from the first write's start to the run's end, and no single phase is judged. Bytes that were written twice, cut
    off or removed may never reach a disk: they do not count.
    """
    if result.io.not_on_disk_bytes:
        return []  # it says itself that caches hold some
    writing = {
        phase.ph_id
        for phase in kernel.phases
        if any(not calls.reads(member.iop_type) for member in phase.pattern)
    }
    done = [phase for phase in result.phases if phase.ph_id in writing and phase.ranks]
    size = min(sum(written_bytes(kernel).values()), sum(phase.bytes for phase in done))
    if size < SMALLEST_BYTES:
        return []
    time_s = result.elapsed_s - min(rank.start_s for phase in done for rank in phase.ranks)
    hosts = {host for phase in done for host in _hosts(phase)}
    possible = possible_rate(write_limits(limits), hosts, servers)
    if possible is None or size <= TOLERANCE * possible * time_s:
        return []
    return [
        f"{format_size(size)} were written and flushed within {format_duration(time_s)}, which is "
        f"{format_rate(size / time_s) if time_s > 0 else 'no time'}, and the limits allow {format_rate(possible)}: part "
        "of it may not have reached the disks"
    ]


def _hosts(done: PhaseResult) -> set[str]:
    return {rank.host for rank in done.ranks}
