"""What numbers from guests are worth: sentences for measurements and characterisations of clusters of virtual machines."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping

from wavetank import native
from wavetank.cluster.guests.hypervisors import COMPARABLE_BYTES, INCOMPARABLE, RATES, RATES_KEY
from wavetank.cluster.guests.nodes import GuestHost
from wavetank.cluster.host import ON_THIS_MACHINE_AT_ONCE, Host, on_all
from wavetank.errors import ClusterError, MeasurementError
from wavetank.kernel.document.kernel import Kernel
from wavetank.measure.result import Measurement
from wavetank.units import format_size

PROGRAM = "bin/wavetank-node"
TIMEOUT_S = 120.0
MEMORY_LEFT = 0.05
"""Share of a guest's memory; page cache that can be given up counts as left, so below this little of it is."""


def are_calls_comparable(limits: Mapping[str, str]) -> bool:
    """Whether rates of calls that move no data are comparable with hardware: each is one system call of the guest.

    Args:
        limits: of the cluster; provider vm says there what its rates are worth.
    """
    return limits.get(RATES_KEY) not in (RATES["tcg"], RATES["uml"])


def incomparable_phases(kernel: Kernel, limits: Mapping[str, str]) -> tuple[int, ...]:
    """Numbers of the phases whose rates are not comparable with hardware: with small requests in User-mode Linux, all by TCG.

    Args:
        kernel: that was run.
        limits: of the cluster; provider vm says there what its rates are worth.
    """
    if are_calls_comparable(limits):
        return ()
    everything = limits[RATES_KEY] == RATES["tcg"]
    return tuple(
        phase.ph_id
        for phase in kernel.phases
        if everything or any(0 < member.rs < COMPARABLE_BYTES for member in phase.pattern)
    )


def is_comparable(measurement: Measurement) -> bool:
    """Whether a measurement is comparable with hardware: all phases; of one that moves no data, its calls."""
    if any(phase.bytes for phase in measurement.result.phases):
        return not measurement.incomparable_phases
    return are_calls_comparable(measurement.limits)


def doubts_of_guests(kernel: Kernel, limits: Mapping[str, str]) -> list[str]:
    """Sentences where rates of a run in guests are not comparable with hardware.

    Args:
        kernel: that was run.
        limits: of the cluster; provider vm says there what its rates are worth.
    """
    worth = limits.get(RATES_KEY)
    if worth == RATES["tcg"]:
        return [f"run in guests: {worth}"]
    small = incomparable_phases(kernel, limits)
    if not small:
        return []
    shown = ", ".join(map(str, small[:10])) + (", ..." if len(small) > 10 else "")
    return [
        f"run in guests of User-mode Linux: {len(small)} of {len(kernel.phases)} phases have requests below "
        f"{format_size(COMPARABLE_BYTES)}, whose rates are {INCOMPARABLE} (phases {shown})"
    ]


def doubts_of_memory(hosts: Iterable[Host]) -> list[str]:
    """Sentences on guests that are nearly out of memory, as their own kernels count; nodes that are no guests are left out.

    Args:
        hosts: the cluster's, just after a run.
    """
    by_name = {host.name: host for host in hosts if isinstance(host, GuestHost)}
    guests = list(by_name.values())  # servers may be on compute nodes
    found = []
    for host, said in zip(guests, on_all(guests, _meminfo, ON_THIS_MACHINE_AT_ONCE), strict=True):
        left, total = (memory_bytes(said, key) for key in ("MemAvailable", "MemTotal"))
        if left is not None and total and left < MEMORY_LEFT * total:
            found.append(
                f"guest {host.name} had {format_size(left)} of {format_size(total)} of memory left after the run: "
                "it may have read again what its page cache could not keep"
            )
    return found


def _meminfo(host: Host) -> str:
    try:
        return host.run(["cat", "/proc/meminfo"], timeout_s=TIMEOUT_S).stdout
    except ClusterError:  # of a guest that is gone the cluster's health says so
        return ""


def memory_bytes(meminfo: str, key: str) -> int | None:
    """A number of /proc/meminfo, bytes; None without it. Sample (Linux 6.1): ``MemAvailable:     131072 kB``."""
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    return None


def notes_of_guests(host: Host, limits: Mapping[str, str]) -> list[str]:
    """What rates of guests are worth, with the time of a system call and of an interrupt in one and on this machine; none without guests.

    Args:
        host: a guest.
        limits: of the cluster.

    Raises:
        ClusterError: the guest does not answer.
        MeasurementError: one of the two does not say its costs.
        NativeError: the program that measures them is not built.
    """
    worth = limits.get(RATES_KEY)
    if worth is None:
        return []
    command = [str(native.find(PROGRAM, "measure what system calls cost")), "costs"]
    inside = costs_us(host.run(command, timeout_s=TIMEOUT_S).stdout)
    here = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    outside = costs_us(here.stdout)
    places = f"in {host.name} and {{}} on this machine"
    return [
        f"nodes are guests; their rates are {worth}",
        f"a system call takes {_us(inside[0])} {places.format(_us(outside[0]))} (getppid)",
        f"an interrupt takes {_us(inside[1])} {places.format(_us(outside[1]))} (from a timer's moment until its process runs)",
    ]


def costs_us(said: str) -> tuple[float, float]:
    """Of a system call and an interrupt, microseconds, of what ``wavetank-node costs`` says: ``195 93798`` (ns).

    Raises:
        MeasurementError: it says something else.
    """
    try:
        call_ns, interrupt_ns = map(int, said.split())
    except ValueError:
        raise MeasurementError(
            f"wavetank-node costs does not say two numbers: {said.strip()!r}. Run '{native.how_to_build()}'"
        ) from None
    return call_ns / 1e3, interrupt_ns / 1e3


def _us(value: float) -> str:
    """Two digits, and no powers of ten: 0.2 us, 52 us, 1200 us."""
    return f"{float(f'{value:.2g}'):g} us"
