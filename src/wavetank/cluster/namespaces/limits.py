"""The limits of a node as they are in force: read back from control groups and queueing disciplines."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from wavetank.cluster.host import Host
from wavetank.cluster.namespaces.cgroups import NodeGroup, throttle_files

# Version 1 writes its largest page-aligned number for "no limit".
NO_LIMIT_BYTES = 2**62
V2_KEYS = {"read": "rbps", "write": "wbps", "read_iops": "riops", "write_iops": "wiops"}


def memory_bytes(group: NodeGroup) -> int | None:
    """Memory that a node may use, page cache included; None without a limit."""
    where = group.where
    if "memory" in where.v1:
        text = _read(where.v1["memory"] / group.path / "memory.limit_in_bytes")
    elif where.v2 is not None:
        text = _read(where.v2 / group.path / "memory.max")
    else:
        return None
    value = int(text) if text.isdigit() else NO_LIMIT_BYTES
    return None if value >= NO_LIMIT_BYTES else value


def cpus(group: NodeGroup) -> float | None:
    """CPUs that a node may use; None without a limit."""
    where = group.where
    if "cpu" in where.v1:
        directory = where.v1["cpu"] / group.path
        quota, period = (
            _read(directory / "cpu.cfs_quota_us"),
            _read(directory / "cpu.cfs_period_us"),
        )
    elif where.v2 is not None:
        quota, _, period = _read(where.v2 / group.path / "cpu.max").partition(" ")
    else:
        return None
    if not quota.isdigit() or not period.isdigit():  # "-1" and "max" are no limit
        return None
    return int(quota) / int(period)


def disk(group: NodeGroup, number: str) -> dict[str, int]:
    """Limits of a disk: read and write in bytes/s, read_iops and write_iops; those that are set.

    Samples: version 1, ``7:2 50000000`` a line a device; version 2, ``7:2 rbps=50000000 wbps=max riops=max wiops=max``.
    """
    found: dict[str, int] = {}
    for name, file in throttle_files(group.where, group.path).items():
        for line in _read(file).splitlines():
            device, _, rest = line.partition(" ")
            if device != number:
                continue
            if name == "all":
                given = dict(word.split("=", 1) for word in rest.split())
                found |= {
                    ours: int(given[key])
                    for ours, key in V2_KEYS.items()
                    if given.get(key, "max").isdigit()
                }
            else:
                found[name] = int(rest)
    return found


def network_bytes_per_s(host: Host, device: str) -> int | None:
    """Rate at which a node or the switch sends through a device; None without a limit.

    Sample of ``tc -j qdisc show`` (iproute2 6.1): ``[{"kind":"tbf","root":true,"options":{"rate":125000000,...}}]``.
    """
    out = host.run(["tc", "-j", "qdisc", "show", "dev", device]).stdout
    for discipline in json.loads(out or "[]"):
        if discipline.get("kind") == "tbf":
            return int(discipline["options"]["rate"])
    return None


def disk_number(
    journal: list[dict[str, str | int]], group_path: str, at: str = "/storage"
) -> str | None:
    """The device of the disk that a node has mounted at ``at``, as the journal has it."""
    for entry in journal:
        mounted = entry.get("at", "/storage")
        if entry["do"] == "throttle" and entry["group"] == group_path and mounted == at:
            return str(entry["number"])
    return None


def _read(file: Path) -> str:
    with contextlib.suppress(OSError):
        return file.read_text().strip()
    return ""
