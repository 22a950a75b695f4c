"""Instance types: what a cloud's machine has, as published by its provider.

Reads cluster/data/instances-aws.csv (made by cost/refresh.py from public data; its first lines say
from what and when). Rates are in bytes per second, sizes in bytes.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from typing import Any

from pydantic import Field

from wavetank.cluster.components import DISK_LIMITS, Instance
from wavetank.document import Record
from wavetank.errors import CostError
from wavetank.nearest import nearest as names_near

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


GIGABYTE = 10**9


class InstanceType(Record):
    """One instance type. None: the provider does not say."""

    name: str
    vcpus: int
    cores: int
    memory_bytes: int
    network_baseline_bytes_per_s: int | None
    network_peak_bytes_per_s: int | None
    network_text: str = Field(description='the provider\'s words: "Up to 10 Gigabit"')
    ebs_baseline_bytes_per_s: int | None
    ebs_maximum_bytes_per_s: int | None
    ebs_baseline_iops: int | None
    ebs_maximum_iops: int | None
    n_local_disks: int
    local_disk_bytes: int = Field(description="of each local disk")
    local_disk_type: str | None = Field(description='"ssd", "hdd"; None without local disks')
    architecture: str
    current_generation: bool
    burstable: bool = Field(description="CPU credits: full speed for a time only")

    @property
    def local_storage_bytes(self) -> int:
        """Capacity of all local disks."""
        return self.n_local_disks * self.local_disk_bytes


COLUMNS = tuple(InstanceType.model_fields)


def row_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An instance type by the catalogue's columns.

    Args:
        entry: of the answer of EC2's DescribeInstanceTypes.

    Raises:
        KeyError: it lacks what EC2 says of every type.
    """
    cpu = entry["VCpuInfo"]
    cards = entry["NetworkInfo"].get("NetworkCards", [])
    ebs = entry.get("EbsInfo", {}).get("EbsOptimizedInfo", {})
    disks = entry.get("InstanceStorageInfo", {}).get("Disks", [])
    return {
        "name": entry["InstanceType"],
        "vcpus": cpu["DefaultVCpus"],
        "cores": cpu.get("DefaultCores", cpu["DefaultVCpus"]),
        "memory_bytes": entry["MemoryInfo"]["SizeInMiB"] * 2**20,
        "network_baseline_bytes_per_s": _gigabits(cards, "BaselineBandwidthInGbps"),
        "network_peak_bytes_per_s": _gigabits(cards, "PeakBandwidthInGbps"),
        "network_text": entry["NetworkInfo"]["NetworkPerformance"],
        "ebs_baseline_bytes_per_s": _megabytes(ebs.get("BaselineThroughputInMBps")),
        "ebs_maximum_bytes_per_s": _megabytes(ebs.get("MaximumThroughputInMBps")),
        "ebs_baseline_iops": ebs.get("BaselineIops"),
        "ebs_maximum_iops": ebs.get("MaximumIops"),
        "n_local_disks": sum(disk["Count"] for disk in disks),
        "local_disk_bytes": disks[0]["SizeInGB"] * GIGABYTE if disks else 0,
        "local_disk_type": disks[0]["Type"] if disks else None,
        "architecture": "+".join(entry["ProcessorInfo"]["SupportedArchitectures"]),
        "current_generation": entry["CurrentGeneration"],
        "burstable": entry["BurstablePerformanceSupported"],
    }


def _gigabits(cards: list[dict[str, Any]], key: str) -> int | None:
    rates = [card[key] for card in cards if card.get(key)]
    return round(sum(rates) * GIGABYTE / 8) if rates else None


def _megabytes(rate: float | None) -> int | None:
    return None if rate is None else round(rate * 10**6)


@cache
def aws_instances() -> Mapping[str, InstanceType]:
    """All AWS instance types that wavetank knows, by name."""
    text = resources.files("wavetank.cluster").joinpath("data", "instances-aws.csv").read_text()
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    types = (
        InstanceType.model_validate({key: value or None for key, value in row.items()})
        for row in rows
    )
    return {each.name: each for each in types}


def origin() -> tuple[str, ...]:
    """Where the instance data comes from: the file's own words."""
    text = resources.files("wavetank.cluster").joinpath("data", "instances-aws.csv").read_text()
    return tuple(
        line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")
    )


def find_instance(name: str) -> InstanceType:
    """One instance type.

    Raises:
        CostError: it is not known.
    """
    try:
        return aws_instances()[name]
    except KeyError:
        raise CostError(
            f"no instance type {name!r} in the data that comes with wavetank "
            f"({len(aws_instances())} AWS types). Is it misspelt? Near it: {', '.join(nearest(name))}"
        ) from None


def nearest(name: str) -> list[str]:
    """The names nearest to one that is not known: up to five, of its family where there is one."""
    family = name.partition(".")[0]
    of_family = [known for known in aws_instances() if known.partition(".")[0] == family]
    return names_near(name, of_family or aws_instances(), most=5, near=0.0)
