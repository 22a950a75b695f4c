"""What numbers from guests are worth: sentences for measurements and characterisations of clusters of virtual machines."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping

from wavetank.cluster.guests.hypervisors import COMPARABLE_BYTES, RATES, RATES_KEY
from wavetank.cluster.host import Host
from wavetank.errors import MeasurementError
from wavetank.kernel.document.kernel import Kernel
from wavetank.units import format_size

N_BLOCKS = 20_000
CALLS = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={N_BLOCKS}"]
CALLS_OF_A_BLOCK = 2  # a read and a write
TIMEOUT_S = 120.0
_TOOK = re.compile(r"copied, ([0-9.e+-]+) s")


def doubts_of_guests(kernel: Kernel, limits: Mapping[str, str]) -> list[str]:
    """Sentences where rates of a run in guests are not comparable with hardware.

    Args:
        kernel: that was run.
        limits: of the cluster; provider vm says there what its rates are worth.
    """
    worth = limits.get(RATES_KEY)
    if worth == RATES["tcg"]:
        return [f"run in guests: {worth}"]
    if worth != RATES["uml"]:
        return []
    small = [
        phase.ph_id
        for phase in kernel.phases
        if any(0 < member.rs < COMPARABLE_BYTES for member in phase.pattern)
    ]
    if not small:
        return []
    shown = ", ".join(map(str, small[:10])) + (", ..." if len(small) > 10 else "")
    return [
        f"run in guests of User-mode Linux: {len(small)} of {len(kernel.phases)} phases have requests below "
        f"{format_size(COMPARABLE_BYTES)}, whose rates are not comparable with hardware (phases {shown})"
    ]


def notes_of_guests(host: Host, limits: Mapping[str, str]) -> list[str]:
    """What rates of guests are worth, with the time of a system call in one and on this machine; none without guests.

    Args:
        host: a guest.
        limits: of the cluster.

    Raises:
        ClusterError: the guest does not answer.
        MeasurementError: dd says no time.
    """
    worth = limits.get(RATES_KEY)
    if worth is None:
        return []
    inside = call_s(host.run(CALLS, timeout_s=TIMEOUT_S).stderr)
    here = subprocess.run(
        CALLS, capture_output=True, text=True, check=True, timeout=TIMEOUT_S, env={**os.environ, "LC_ALL": "C"}
    )  # fmt: skip
    outside = call_s(here.stderr)
    return [
        f"nodes are guests; their rates are {worth}",
        f"a system call takes {1e6 * inside:.2g} us in {host.name} and {1e6 * outside:.2g} us on this machine "
        f"({N_BLOCKS:,} blocks of 1 byte by dd)",
    ]


def call_s(said: str) -> float:
    """Time of a system call, seconds, of what dd says.

    Sample (coreutils 9.1): ``20000 bytes (20 kB, 20 KiB) copied, 0.0123 s, 1.6 MB/s``.

    Raises:
        MeasurementError: it says no time.
    """
    found = _TOOK.search(said)
    if found is None:
        raise MeasurementError(f"dd does not say how long it took: {said.strip()!r}")
    return float(found[1]) / N_BLOCKS / CALLS_OF_A_BLOCK
