"""Counters of hosts over ssh: a small loop on each prints them, a thread here reads and stamps them.

The loop ends when its connection does, also when this process is killed: then nobody reads what it prints.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from wavetank.cluster.command_host import end_read
from wavetank.cluster.counters import (
    Capacity,
    Counters,
    NodeCounters,
    parse_diskstats,
    parse_machine_stat,
    parse_net_dev,
)
from wavetank.cluster.host import on_all
from wavetank.cluster.remote import scripts
from wavetank.cluster.remote.host import SshHost
from wavetank.errors import ClusterError

LEAST_EVERY_S = 0.1
"""Each reading starts two programs on the host, 2 ms of a processor."""
TICKS_PER_S = 100  # USER_HZ, the same on every architecture that Linux is built for today
BITS_PER_BYTE, MEGA = 8, 10**6
END_TIMEOUT_S = 60.0
END_OF_READING = "="


@dataclass(frozen=True)
class Facts:
    """What of a host's counters is its own.

    Attributes:
        cpus: processors.
        device: of the cluster's network; None where it is not found.
        network_bytes_per_s: of the device; None where it tells none.
        disk: number of the disk with the data, "254:1"; None for what is no disk.
    """

    cpus: float
    device: str | None
    network_bytes_per_s: float | None
    disk: str | None


def parse_facts(text: str) -> Facts:
    """Read what scripts.FACTS prints: ``c 8``, ``n eth0 10000``, ``d 65025``."""
    cpus, device, speed, disk = 1.0, None, None, None
    for line in text.splitlines():
        kind, *words = line.split()
        if kind == "c" and words:
            cpus = float(words[0])
        elif kind == "n" and words:
            device = words[0]
            if len(words) > 1 and words[1].isdigit():  # -1: not known
                speed = int(words[1]) * MEGA / BITS_PER_BYTE
        elif kind == "d" and words and os.major(int(words[0])) > 0:
            disk = f"{os.major(int(words[0]))}:{os.minor(int(words[0]))}"
    return Facts(cpus, device, speed, disk)


def parse_reading(text: str, facts: Facts) -> tuple[float, dict[str, float]]:
    """One reading: seconds since the host was started, and its counters.

    Sample of /proc/uptime, its first line (Linux 6.18): ``1005.31 1162.66``.

    Raises:
        ValueError, IndexError: it is not whole.
    """
    uptime_s = float(text.split(None, 1)[0])
    counted = parse_machine_stat(text, TICKS_PER_S)
    if facts.device is not None:
        counted |= parse_net_dev(text).get(facts.device, {})
    if facts.disk is not None:
        counted |= parse_diskstats(text).get(facts.disk, {})
    return uptime_s, counted


@dataclass
class _Stream:
    """One host's loop, and what came of it."""

    host: SshHost
    facts: Facts
    process: subprocess.Popen[str]
    readings: list[tuple[float, float, dict[str, float]]] = field(default_factory=list)

    def read(self) -> None:
        """Take readings as they come, each with the moment at which it was whole, until there are no more."""
        lines: list[str] = []
        for line in self.process.stdout or ():
            if line.strip() != END_OF_READING:
                lines.append(line)
                continue
            arrived_s = time.monotonic()
            with contextlib.suppress(ValueError, IndexError):
                uptime_s, counted = parse_reading("".join(lines), self.facts)
                self.readings.append((arrived_s, uptime_s, counted))
            lines = []

    def counters(self) -> NodeCounters | None:
        """All readings; None without any. The fastest one tells how the host's clock differs from ours."""
        names = (
            sorted(set.intersection(*(set(counted) for *_, counted in self.readings)))
            if self.readings
            else []
        )
        if not names:
            return None
        to_here_s = min(arrived_s - uptime_s for arrived_s, uptime_s, _ in self.readings)
        facts = self.facts
        return NodeCounters(
            self.host.name,
            np.array([uptime_s + to_here_s for _, uptime_s, _ in self.readings]),
            {name: np.array([counted[name] for *_, counted in self.readings]) for name in names},
            Capacity(facts.cpus, own_cpus=True, network_bytes_per_s=facts.network_bytes_per_s),
            clock_s=-to_here_s,
        )


@contextlib.contextmanager
def recording(hosts: Mapping[str, SshHost], every_s: float) -> Iterator[Counters]:
    """Record hosts while the ``with`` block lasts; those that do not answer are said to be missing."""
    result = Counters(max(every_s, LEAST_EVERY_S))
    started = on_all(hosts.values(), lambda host: _start(host, result))
    streams = [stream for stream in started if stream is not None]
    threads = [threading.Thread(target=stream.read, name="counters", daemon=True) for stream in streams]  # fmt: skip
    try:
        for thread in threads:
            thread.start()
        yield result
    finally:
        for stream in streams:
            end_read(stream.process, END_TIMEOUT_S)
        for thread in threads:
            thread.join(END_TIMEOUT_S)
        for stream in streams:
            if stream.process.stdout is not None:
                stream.process.stdout.close()
    found = [(stream.host.name, stream.counters()) for stream in streams]
    result.nodes = tuple(counters for _, counters in found if counters is not None)
    result.missing += [f"{name}: no reading came" for name, counters in found if counters is None]


def _start(host: SshHost, result: Counters) -> _Stream | None:
    try:
        facts = parse_facts(host.script(scripts.FACTS, host.address, host.home))
    except ClusterError as error:
        result.missing.append(f"{host.name}: {error}")
        return None
    return _Stream(host, facts, host.stream(scripts.COUNTERS, f"{result.every_s:g}"))
