"""Limits of an instance that a person left out: those that the catalogue of instance types has for its name.

What a cloud sells for a time only (bursts of network and of volumes, CPU credits) is no limit here: a kernel is to
meet what the instance has for long. Rates of local disks are not published; storage has those of volumes (EBS).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from wavetank.cluster.components import DISK_LIMITS, Instance
from wavetank.cluster.instance_types import InstanceType, aws_instances

# Limits that are left out or written together: who writes one of a disk describes that disk.
GROUPS = (("vcpus",), ("memory",), ("network",), DISK_LIMITS)


def catalogue_limits(kind: InstanceType) -> dict[str, int]:
    """Limits of an instance type by the keys of ``Instance``; without those that its provider does not say."""
    disk, iops = kind.ebs_baseline_bytes_per_s, kind.ebs_baseline_iops
    found = {
        "vcpus": kind.vcpus,
        "memory": kind.memory_bytes,
        "network": kind.network_baseline_bytes_per_s,
        **dict(zip(DISK_LIMITS, (disk, disk, iops, iops), strict=True)),
    }
    return {key: value for key, value in found.items() if value is not None}


def left_out(written: Collection[str], name: str, *, volumes: bool = True) -> dict[str, int]:
    """The catalogue's limits for what is not written; none for a name that it does not have.

    Args:
        written: keys that are written.
        name: of the instance type.
        volumes: whether its disks are volumes, whose limits the catalogue has, or its own, whose rates nobody publishes.
    """
    kind = aws_instances().get(name)
    if kind is None:
        return {}
    known = catalogue_limits(kind)
    return {
        key: known[key]
        for group in GROUPS
        if (volumes or group != DISK_LIMITS) and not any(key in written for key in group)
        for key in group
        if key in known
    }


def with_catalogue(instance: object, *, volumes: bool = True) -> object:
    """An instance, as it is written or validated, with the limits that are left out; anything else as it is."""
    if isinstance(instance, Instance):
        found = left_out(instance.model_fields_set, instance.name, volumes=volumes)
        return instance.model_copy(update=found)
    if isinstance(instance, Mapping) and isinstance(instance.get("name"), str):
        return {**instance, **left_out(instance, instance["name"], volumes=volumes)}
    return instance
