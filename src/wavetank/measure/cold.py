"""Was a cold read cold? Compares what was read with what the emulated limits let through.

A page cache that was not empty shows as a rate above the disks' and the network's limits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from wavetank.kernel.plan import Kernel
from wavetank.kernel.result import PhaseResult, ReplayResult
from wavetank.measure.direction import direction
from wavetank.units import format_rate, parse_rate

TOLERANCE = 1.15
"""Token buckets let bursts through, and throttles count in slices of 0.1 s."""
SMALLEST_BYTES = 4 * 2**20
"""Below this a burst decides the rate, and nothing can be said."""

_RATE = re.compile(r"\d+(?:\.\d+)?\s*[kMGT]?i?(?:B|bit)(?:/s|ps)", re.IGNORECASE)


@dataclass(frozen=True)
class ReadLimits:
    """What limits reading on one node, bytes per second; None where nothing does."""

    disk_bytes_per_s: int | None
    network_bytes_per_s: int | None


def read_limits(limits: Mapping[str, str]) -> ReadLimits:
    """What bounds reading, out of a running cluster's ``limits()``.

    Reads entries such as ``"io disk read": "100.0 MB/s by blkio"``; those with ``io`` are of the
    servers, those with ``compute`` of the nodes with ranks.
    """
    return ReadLimits(
        disk_bytes_per_s=_smallest(limits, "disk", "io"),
        network_bytes_per_s=_smallest(limits, "network", "compute"),
    )


def rates_of(limits: Mapping[str, str]) -> dict[str, int]:
    """Every enforced rate in a running cluster's ``limits()``, bytes/s, by its key."""
    return {
        key: parse_rate(found[0])
        for key, value in limits.items()
        if not value.endswith("by nothing") and (found := _RATE.search(value))
    }


def _smallest(limits: Mapping[str, str], word: str, kind: str) -> int | None:
    """The smallest enforced rate of one thing, on nodes of a kind where there are entries of it."""
    rates = {
        key.lower(): rate
        for key, rate in rates_of(limits).items()
        if word in key.lower() and "write" not in key.lower()
    }
    of_kind = [rate for key, rate in rates.items() if key.startswith(kind)]
    return min(of_kind or rates.values(), default=None)


def possible_read_rate(
    limits: ReadLimits, readers: Collection[str], servers: Collection[str]
) -> float | None:
    """The rate that the limits let through, bytes per second; None without limits.

    Args:
        limits: of each node.
        readers: names of the nodes that read.
        servers: names of the nodes with the data; empty when each reader has its own.
    """
    sources = set(servers) or set(readers)
    bounds = []
    if limits.disk_bytes_per_s is not None:
        bounds.append(limits.disk_bytes_per_s * len(sources))
    # A server that reads from itself uses no network.
    if limits.network_bytes_per_s is not None and servers and not set(readers) & set(servers):
        bounds.append(limits.network_bytes_per_s * min(len(sources), len(set(readers))))
    return min(bounds, default=None)


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
        possible = possible_read_rate(allowed, _hosts(done), servers)
        if possible is not None and done.rate_bytes_per_s > TOLERANCE * possible:
            doubts.append(
                f"phase {done.ph_id} read from cold caches at "
                f"{format_rate(done.rate_bytes_per_s)}, and the limits allow "
                f"{format_rate(possible)}: the caches may not have been cold"
            )
    return doubts


def _hosts(done: PhaseResult) -> set[str]:
    return {rank.host for rank in done.ranks}
