"""What a reader of ``wavetank try`` must know: what its nodes stand for, and what page caches can answer.

Reads a kernel; leaves the limits of the nodes, and sentences for the campaign's notes.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from wavetank.cluster.instance_types import InstanceType, find_instance
from wavetank.errors import SpecError
from wavetank.findings.finding import percent
from wavetank.findings.requests import io_of
from wavetank.kernel.document.kernel import Kernel
from wavetank.units import MIB, format_rate, format_size

INSTANCE = "c3.2xlarge"
"""Of the papers (P16 table 3): 8 vCPUs, 15 GiB, 1 Gbit/s."""
LEAST_MEMORY_BYTES = 256 * MIB
"""Of a node: a store of CephFS and its caches need most of it."""
USUAL_MEMORY_BYTES = 1024 * MIB
"""Of a node, where the files fit into it as they fit into the instance: a small machine can hold several such."""
COPIES = 3
"""Of the files, in the caches of clients and servers of all nodes together."""
CACHED_SHARE = 0.1
"""Of the bytes: from here on what caches answer is told with its number."""


def memory_for(kernel: Kernel, free_memory_bytes: int | None, asked: int | None) -> int:
    """Memory limit of each node, bytes.

    Files that fit into the memory of the real instance should fit here too, and the others should not: the limit is
    as large as that needs, where this machine has the memory.

    Args:
        kernel: whose files.
        free_memory_bytes: of this machine; None: not known.
        asked: by the user; None: chosen here.

    Raises:
        SpecError: less is asked for than servers need.
    """
    if asked is not None:
        if asked < LEAST_MEMORY_BYTES:
            raise SpecError(
                f"nodes with {format_size(asked)} of memory cannot hold the servers: give them "
                f"{format_size(LEAST_MEMORY_BYTES)} or more"
            )
        return asked
    files, real = kernel.capacity_bytes, _instance().memory_bytes
    if files <= USUAL_MEMORY_BYTES // 2:
        return USUAL_MEMORY_BYTES
    wanted = min(2 * files, real)
    # Caches hold the files several times; where they cannot, fewer bytes fit here than there.
    if free_memory_bytes is None or COPIES * min(files, wanted) > free_memory_bytes:
        return USUAL_MEMORY_BYTES
    return wanted


def instance_with(memory_bytes: int) -> dict[str, Any]:
    """The nodes, as a cluster file has them: rates of the real instance, and this much memory."""
    real = _instance()
    disk = real.ebs_baseline_bytes_per_s
    return {
        "name": real.name,
        "vcpus": real.vcpus,
        "memory": memory_bytes,
        "network": round(real.network_baseline_bytes_per_s or 0) or None,
        "disk_read": round(disk) if disk else None,
        "disk_write": round(disk) if disk else None,
    }


def _instance() -> InstanceType:
    return find_instance(INSTANCE)


def notes_for(kernel: Kernel, memory_bytes: int, *, flush: bool = True) -> tuple[str, ...]:
    """Sentences on what was emulated and on what caches can hold, with their numbers.

    Args:
        kernel: of the application.
        memory_bytes: of each node.
        flush: whether what is written is flushed within the measured time.
    """
    real = _instance()
    network, disk = real.network_baseline_bytes_per_s, real.ebs_baseline_bytes_per_s
    rates = f"{format_rate(network or 0)} of network and {format_rate(disk or 0)} of disk (EBS)"
    stands = (
        f"Every node stands for {real.name}: {real.vcpus} vCPUs, {format_size(real.memory_bytes)}, {rates}. Network and "
        f"disk are limited to these rates; memory is limited to {format_size(memory_bytes)}; the processors are this "
        "machine's, which all nodes share."
    )
    return (stands, *_caches(kernel, memory_bytes, real.memory_bytes, flush))


def _caches(kernel: Kernel, memory_bytes: int, real_bytes: int, flush: bool) -> tuple[str, ...]:
    files = kernel.capacity_bytes
    of_files = f"The application's files ({format_size(files)})"
    if files > memory_bytes:
        if files > real_bytes:
            return ()
        return (
            f"{of_files} do not fit into the memory of a node ({format_size(memory_bytes)}), and would fit into that "
            f"of {INSTANCE} ({format_size(real_bytes)}): disks count for more here than there.",
        )
    again, moved = _read_again(kernel)
    written = 0 if flush else _written(kernel)
    fits = f"{of_files} fit into the memory of every node ({format_size(memory_bytes)}; {INSTANCE} has {format_size(real_bytes)})."
    if again + written < CACHED_SHARE * moved:
        return (
            f"{fits} First reads still come from disks, as caches are cold"
            + (", and what is written is flushed within the time." if flush else "."),
        )
    kinds = [
        *([f"{format_size(again)} are read after they were read or written"] if again else []),
        *([f"{format_size(written)} are written and not flushed"] if written else []),
    ]
    return (
        f"{fits} {' and '.join(kinds)} ({percent((again + written) / moved)} of all bytes): there caches, not disks, are "
        "compared. For larger files trace a larger run, or give the nodes less memory (--memory).",
    )


def _read_again(kernel: Kernel) -> tuple[int, int]:
    """Bytes that are read beyond what lay on storage before the run, and all bytes that are moved."""
    io = io_of(kernel)
    read: dict[int, int] = defaultdict(int)
    for one in io.requests:
        if not one.writes:
            read[one.phase.file_id] += one.moved_bytes
    there = {file.file_id: file.prepare_bytes for file in kernel.files}
    again = sum(max(0, size - there.get(file_id, 0)) for file_id, size in read.items())
    return again, max(io.moved_bytes, 1)


def _written(kernel: Kernel) -> int:
    return sum(one.moved_bytes for one in io_of(kernel).requests if one.writes)


def free_memory_bytes(memory: Path = Path("/proc/meminfo")) -> int | None:
    """Of this machine, as Linux tells it; None where it does not say."""
    lines = memory.read_text(encoding="ascii").splitlines() if memory.exists() else []
    # MemAvailable:   18043616 kB (Linux 6.1)
    found = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    return None if found is None else int(found) * 1024
