"""Counters of nodes out of namespaces, read from outside of them by a thread of this process.

Files are opened once and read again and again: a reading of six nodes takes less than a millisecond. Their namespaces
and groups are not held up: when a node goes, its files answer with an error, and its counters end there.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wavetank.cluster.counters import (
    CPU_S,
    DISK_BUSY_S,
    Capacity,
    Counters,
    NodeCounters,
    parse_cpu_pressure,
    parse_cpu_stat,
    parse_cpuacct_usage,
    parse_disk_numbers,
    parse_machine_stat,
    parse_net_dev,
)
from wavetank.cluster.namespaces.cgroups import NodeGroup

READ_BYTES_AT_MOST = 16 * 1024
NODE_DEVICE = "eth0"
END_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Source:
    """A file of counters, and how to read it."""

    path: Path
    parse: Callable[[str], Mapping[str, float]]
    adds: bool = False  # to what was read of others by the same names


@dataclass(frozen=True)
class Watched:
    """What of a node is read, and what it is judged by."""

    node: str
    sources: tuple[Source, ...]
    capacity: Capacity


def sources_of(group: NodeGroup, pid: int, disks: Sequence[str]) -> tuple[Source, ...]:
    """The files with a node's counters.

    Args:
        group: its control groups.
        pid: its process 1, as this machine counts.
        disks: names of the devices of its disks, "loop3"; none without one.
    """
    found = [*_cpu_sources(group), Source(Path(f"/proc/{pid}/net/dev"), _node_device)]
    found += [_disk_source(disk, len(disks)) for disk in disks]
    return tuple(found)


def _disk_source(disk: str, n: int) -> Source:
    """One of a node's n disks. Counters of all are added up, and busy is the mean of their busy times."""

    def parse(text: str) -> dict[str, float]:
        found = parse_disk_numbers(text.split())
        return {**found, DISK_BUSY_S: found[DISK_BUSY_S] / n}

    return Source(Path(f"/sys/block/{disk}/stat"), parse, adds=True)


def _cpu_sources(group: NodeGroup) -> Iterator[Source]:
    """Version 2 counts time in every group, also where version 1 has the controllers; version 1 in cpuacct's alone."""
    v1, v2 = group.where.v1.get("cpu"), group.where.v2
    if v2 is not None:
        yield Source(v2 / group.path / "cpu.stat", parse_cpu_stat)
        pressure = v2 / group.path / "cpu.pressure"
        if pressure.exists():  # not with every kernel
            yield Source(pressure, parse_cpu_pressure)
    elif v1 is not None:
        yield Source(v1 / group.path / "cpuacct.usage", parse_cpuacct_usage)
    if v1 is not None:
        yield Source(v1 / group.path / "cpu.stat", parse_cpu_stat)


def used_cpu_s(group: NodeGroup) -> float | None:
    """Processor time of a group and those below it so far, seconds; None where it is not counted."""
    for source in _cpu_sources(group):
        with contextlib.suppress(OSError, ValueError):
            found = source.parse(source.path.read_text())
            if CPU_S in found:
                return found[CPU_S]
    return None


def _node_device(text: str) -> Mapping[str, float]:
    return parse_net_dev(text).get(NODE_DEVICE, {})


def machine_source() -> Source:
    """The file with this machine's processor time."""
    ticks = os.sysconf("SC_CLK_TCK")
    return Source(Path("/proc/stat"), lambda text: parse_machine_stat(text, ticks))


@dataclass
class _Series:
    """Readings of one node, as they come."""

    watched: Watched
    files: list[tuple[int, Source]]
    at_s: list[float] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)

    def read(self) -> None:
        """Add a reading; a node that is gone has no more."""
        row: dict[str, float] = {}
        before = time.monotonic()
        for number, source in self.files:
            try:
                found = source.parse(os.pread(number, READ_BYTES_AT_MOST, 0).decode())
            except (OSError, ValueError, IndexError):
                return
            before_it = row if source.adds else {}
            row |= {name: value + before_it.get(name, 0.0) for name, value in found.items()}
        self.at_s.append((before + time.monotonic()) / 2)
        self.rows.append(row)

    def counters(self) -> NodeCounters | None:
        """All readings; None where there was nothing to read."""
        names = sorted(set.intersection(*(set(row) for row in self.rows))) if self.rows else []
        if not names:
            return None
        return NodeCounters(
            self.watched.node,
            np.array(self.at_s),
            {name: np.array([row[name] for row in self.rows]) for name in names},
            self.watched.capacity,
        )


@contextlib.contextmanager
def recording(nodes: Sequence[Watched], every_s: float) -> Iterator[Counters]:
    """Record nodes and this machine while the ``with`` block lasts.

    Args:
        nodes: what to read of each.
        every_s: time from one reading to the next.
    """
    machine = Watched(
        "machine", (machine_source(),), Capacity(cpus=float(os.cpu_count() or 1), own_cpus=True)
    )
    result = Counters(every_s)
    with contextlib.ExitStack() as files:
        series = [_open(watched, files, result.missing) for watched in (machine, *nodes)]
        for each in series:
            each.read()
        over = threading.Event()
        spent: list[float] = []
        thread = threading.Thread(
            target=_read_until, args=(series, every_s, over, spent), name="counters", daemon=True
        )
        thread.start()
        try:
            yield result
        finally:
            over.set()
            thread.join(END_TIMEOUT_S)
    found = [each.counters() for each in series]
    result.machine = found[0]
    result.nodes = tuple(each for each in found[1:] if each is not None)
    result.own_cpu_s = spent[0] if spent else None


def _open(watched: Watched, files: contextlib.ExitStack, missing: list[str]) -> _Series:
    found = []
    for source in watched.sources:
        try:
            number = os.open(source.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            missing.append(f"{watched.node}: {source.path}: {error.strerror}")
            continue
        files.callback(os.close, number)
        found.append((number, source))
    return _Series(watched, found)


def _read_until(
    series: Sequence[_Series], every_s: float, over: threading.Event, spent: list[float]
) -> None:
    """Read all nodes at regular moments, and once more at the end."""
    moment = time.monotonic()
    is_over = False
    while not is_over:
        # A reading that came late does not make the next ones come at once.
        moment = max(moment + every_s, time.monotonic() + every_s / 4)
        is_over = over.wait(moment - time.monotonic())
        for each in series:
            each.read()
    spent.append(time.thread_time())
