"""What nodes use over time: counters of processors, network and disk, read while something else runs on them.

Leaves ``Counters`` in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

CPU_S = "cpu_s"
HELD_BACK_S = "held_back_s"  # by the limit of the processor time
CPU_WAIT_S = "cpu_wait_s"  # time in which at least one process waited for a processor
RECEIVED_BYTES, SENT_BYTES = "received_bytes", "sent_bytes"
RECEIVED_PACKETS, SENT_PACKETS = "received_packets", "sent_packets"
READ_BYTES, WRITTEN_BYTES = "read_bytes", "written_bytes"
READS, WRITES = "reads", "writes"
DISK_BUSY_S = "disk_busy_s"  # time in which the disk had a request under way
OF_DISKS = frozenset({READ_BYTES, WRITTEN_BYTES, READS, WRITES, DISK_BUSY_S})
STOLEN_S = "stolen_s"  # processor time that the machine below gave to others

SECTOR_BYTES = 512  # of the kernel's counters, whatever the device's own


@dataclass(frozen=True)
class Capacity:
    """What limits a node; None where nothing does, or where it is not known.

    Attributes:
        cpus: processors' worth of time a second.
        own_cpus: whether a limit of the node's own says so; False: the machine's processors, shared with others.
        network_bytes_per_s: each way.
        read_bytes_per_s, write_bytes_per_s: of the disk.
        reads_per_s, writes_per_s: requests of the disk.
    """

    cpus: float
    own_cpus: bool
    network_bytes_per_s: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    reads_per_s: float | None = None
    writes_per_s: float | None = None


@dataclass(frozen=True)
class NodeCounters:
    """One node's counters over time.

    Attributes:
        node: its name.
        at_s: shape (n,), seconds on CLOCK_MONOTONIC of the machine that asked.
        counted: counter -> shape (n,), in all since whenever; only those that the node has.
        capacity: what they are judged by.
        clock_s: the node's CLOCK_MONOTONIC minus that of the machine that asked.
    """

    node: str
    at_s: FloatArray
    counted: Mapping[str, FloatArray]
    capacity: Capacity
    clock_s: float = 0.0


@dataclass
class Counters:
    """What was recorded; complete when the recording has ended.

    Attributes:
        every_s: time from one reading to the next that was asked for.
        nodes: of each node that could be read.
        machine: of the one machine that all nodes share; None where each has its own.
        own_cpu_s: processor time of the recording itself; None where it is not known.
    """

    every_s: float
    nodes: tuple[NodeCounters, ...] = ()
    machine: NodeCounters | None = None
    own_cpu_s: float | None = None
    missing: list[str] = field(default_factory=list)  # what could not be read, in words


def parse_cpu_stat(text: str) -> dict[str, float]:
    r"""Processor time of a version-2 group, or (without ``usage_usec``) the throttling of a version-1 group.

    Samples: version 2 (Linux 6.18) ``usage_usec 5120\nuser_usec ...\nthrottled_usec 33``; without the controller there
    is no ``throttled_usec``. Version 1 ``nr_periods 7\nnr_throttled 2\nthrottled_time 41000000`` (ns).
    """
    words = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    found = {}
    for key, name, unit_s in (
        ("usage_usec", CPU_S, 1e-6),
        ("throttled_usec", HELD_BACK_S, 1e-6),
        ("throttled_time", HELD_BACK_S, 1e-9),
    ):
        if key in words:
            found[name] = int(words[key]) * unit_s
    return found


def parse_cpu_pressure(text: str) -> dict[str, float]:
    """Time in which a process of a version-2 group waited for a processor (pressure stall information).

    Sample (Linux 6.18): ``some avg10=0.00 avg60=0.00 avg300=0.00 total=129341`` (us), then a line ``full ...``.
    """
    for line in text.splitlines():
        if line.startswith("some "):
            return {CPU_WAIT_S: int(line.rpartition("total=")[2]) * 1e-6}
    return {}


def parse_cpuacct_usage(text: str) -> dict[str, float]:
    """Processor time of a version-1 group. Sample (Linux 6.1): ``5120333021`` (ns)."""
    return {CPU_S: int(text) * 1e-9}


def parse_net_dev(text: str) -> dict[str, dict[str, float]]:
    """Counters of each network device.

    Sample of /proc/net/dev (Linux 6.18), after two lines of titles: received bytes, packets, six more, then sent:
    ``  eth0: 1291011   10538    0    0    0     0          0         0   884211    9120    0 ...``
    """
    found = {}
    for line in text.splitlines():
        device, colon, rest = line.partition(":")
        numbers = rest.split()
        if colon and len(numbers) >= 16:
            found[device.strip()] = {
                RECEIVED_BYTES: float(numbers[0]),
                RECEIVED_PACKETS: float(numbers[1]),
                SENT_BYTES: float(numbers[8]),
                SENT_PACKETS: float(numbers[9]),
            }
    return found


def parse_disk_numbers(numbers: list[str]) -> dict[str, float]:
    """Counters of a disk: the words of /sys/block/NAME/stat, or of /proc/diskstats behind the name.

    Sample (Linux 6.18; Linux 4.18 has 11 words): reads, merged, sectors, ms; writes, merged, sectors, ms; under way,
    ms busy, ms weighted, ...: ``368 0 1504 75 419 161 548832 378 0 376 507 0 0 0 0 53 52``. Requests that were merged
    count as requests, as limits count them before they are merged.
    """
    n = [float(word) for word in numbers[:11]]
    return {
        READS: n[0] + n[1],
        READ_BYTES: n[2] * SECTOR_BYTES,
        WRITES: n[4] + n[5],
        WRITTEN_BYTES: n[6] * SECTOR_BYTES,
        DISK_BUSY_S: n[9] * 1e-3,
    }


def parse_diskstats(text: str) -> dict[str, dict[str, float]]:
    """Counters of each disk by its number.

    Sample of /proc/diskstats (Linux 6.18): ``   7       0 loop0 368 0 1504 75 419 ...``. Lines of other files may come before it.
    """
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 14 and words[0].isdigit() and words[1].isdigit():
            found[f"{words[0]}:{words[1]}"] = parse_disk_numbers(words[3:])
    return found


def parse_machine_stat(text: str, ticks_per_s: int) -> dict[str, float]:
    """Busy and stolen processor time of a machine, all processors.

    Sample of /proc/stat (Linux 6.18): user, nice, system, idle, iowait, irq, softirq, steal, guest (within user), ...:
    ``cpu  60476 0 17228 116266 1403 0 455 6652 0 0`` (ticks).
    """
    for line in text.splitlines():
        if line.startswith("cpu "):
            n = [int(word) for word in line.split()[1:9]]
            busy = n[0] + n[1] + n[2] + n[5] + n[6]
            return {CPU_S: busy / ticks_per_s, STOLEN_S: n[7] / ticks_per_s}
    return {}
