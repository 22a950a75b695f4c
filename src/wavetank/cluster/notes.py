"""What a person should know of a cluster's limits before it comes up: sentences, none of which keeps it from coming up.

Says which limits are the catalogue's, what the catalogue does not know, and which are more than this machine has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from wavetank.cluster.components import DISK_LIMITS, MAKES_NODES, Instance
from wavetank.cluster.devices import emulated_words, volume_rates, volume_type
from wavetank.cluster.instance_types import (
    GROUPS,
    InstanceType,
    aws_instances,
    catalogue_limits,
    nearest,
)
from wavetank.cluster.registry import CLOUDS
from wavetank.cluster.spec import ClusterSpec
from wavetank.document import HostFacts, host_facts
from wavetank.units import format_rate, format_size

# Between two nodes without a limit iperf3 moved 6.4 Gbit/s on a machine of 2 cores with a load of 7 (Linux 6.18). Ranks and
# servers want the cores too: above this a limit may not be what decides.
FAST_NETWORK_BYTES_PER_S = 5 * 10**9 // 8


def notes(spec: ClusterSpec, machine: HostFacts | None = None) -> list[str]:
    """Sentences on the limits of a cluster, and on servers that may have nothing to do.

    Args:
        spec: of the cluster.
        machine: that nodes are made of; this one by default.
    """
    if spec.provider in CLOUDS:
        return [
            f"provider {spec.provider}: instances are as they are sold; no limit that is written for {spec.instance.name} is emulated"
        ]
    if spec.provider not in MAKES_NODES:
        return [
            f"provider {spec.provider}: hosts are as they are; no limit of instance {spec.instance.name} is emulated"
        ]
    found: list[str] = []
    counted = Counter(spec.instance_of(node) for node in spec.node_names())
    with_disk = {spec.instance_of(node) for node in spec.storage_names()}
    if spec.has_flavors:
        found.append("limits of flavors are those that are written: no catalogue has them")
    for instance in () if spec.has_flavors else counted:
        found += _of_instance(instance, has_disk=instance in with_disk, on=spec.storage.on)
    found += _of_devices(spec)
    found += _of_machine(spec, counted, machine or host_facts())
    n_servers, fs = len(spec.server_names()), spec.file_system
    if n_servers > 1 and fs.stripe.kind == "distributed" and not fs.keeper.in_objects:
        found.append(
            f"each file lies whole on one of the {n_servers} data servers: one file alone is served by one of them. "
            "'stripe: {kind: sharded}' spreads it, where the file system can"
        )
    return list(dict.fromkeys(found))


def _of_instance(
    instance: Instance, *, has_disk: bool, on: Literal["instance", "ebs"] | None
) -> Iterator[str]:
    kind = aws_instances().get(instance.name)
    if kind is None:
        near = ", ".join(nearest(instance.name)[:3])
        yield (
            f"{instance.name} is no instance type of the catalogue: its limits are those that are written, and else "
            f"{_default_words(instance)}. If it is misspelt: {near}"
        )
        return
    known = catalogue_limits(kind)
    same = [
        group
        for group in GROUPS
        if all(getattr(instance, key) == known.get(key) for key in group)
        and (group != DISK_LIMITS or has_disk)
    ]
    words = [_words(kind, group) for group in same]
    if words:
        yield f"{instance.name} as the catalogue has it: {'; '.join(words)}"
    if has_disk and on is None and kind.n_local_disks:
        yield (
            f"{instance.name} also has {kind.n_local_disks} x {kind.local_disk_bytes // 10**9} GB of local disks, whose "
            "rates are not published: storage is limited as the volumes are"
        )
    if kind.burstable:
        yield f"{instance.name} has full speed for CPU credits only; the limit of its vCPUs does not emulate that"


def _of_devices(spec: ClusterSpec) -> Iterator[str]:
    """What devices are in a cloud, and how much of that is emulated."""
    storage = spec.storage
    if storage.on == "instance" and not all(
        spec.disk_rates(node, storage) for node in spec.storage_names()
    ):
        yield (
            "storage is on the instance's own disks, whose rates are not published: no limit. Write disk_read and disk_write, or "
            "storage.read and storage.write"
        )
    if storage.on == "ebs":
        rate, iops = volume_rates(storage)
        yield (
            f"a volume of {volume_type(storage)} of {format_size(storage.cloud_bytes)} has {format_rate(rate)} and {iops:,} IOPS for "
            "reads and writes together; here reads and writes have that limit each"
        )
    shared = any(
        getattr(spec.instance_of(node), key) is not None
        for node in spec.storage_names()
        for key in DISK_LIMITS
    )
    if storage.devices > 1 and shared:
        yield f"the {storage.devices} devices of a node have its disk limits in equal parts; a cloud lets one have all"
    striped = emulated_words(storage)
    if striped:
        yield (
            f"storage is {striped}: requests of the stripe's size and below, one after another, may be faster than on a real array"
        )
    if spec.placement is not None:
        yield f"placement {spec.placement} is not emulated: all nodes are on this machine"


def _default_words(instance: Instance) -> str:
    left = [key for key in ("vcpus", "memory") if key not in instance.model_fields_set]
    words = {"vcpus": f"{instance.vcpus:g} vCPUs", "memory": format_size(instance.memory)}
    none = "no limit of network and disk"
    return ", ".join([*(words[key] for key in left), none])


def _words(kind: InstanceType, group: tuple[str, ...]) -> str:
    if group == ("vcpus",):
        return f"{kind.vcpus} vCPUs"
    if group == ("memory",):
        return f"{format_size(kind.memory_bytes)} of memory"
    if group == ("network",):
        base, peak = kind.network_baseline_bytes_per_s, kind.network_peak_bytes_per_s
        return f"network {_rate(base)}" + _bursts(base, peak)
    disk, most = kind.ebs_baseline_bytes_per_s, kind.ebs_maximum_bytes_per_s
    if disk is None:
        return "no limit of its disk, which the catalogue does not know"
    iops = f" and {kind.ebs_baseline_iops:,} IOPS" if kind.ebs_baseline_iops else ""
    return f"disk {_rate(disk)}{iops} each way, as its volumes (EBS)" + _bursts(disk, most)


def _rate(value: int | None) -> str:
    return "without limit" if value is None else format_rate(value)


def _bursts(base: int | None, peak: int | None) -> str:
    if base is None or peak is None or peak <= base:
        return ""
    return f" (baseline; bursts to {format_rate(peak)} are not emulated)"


def _of_machine(spec: ClusterSpec, counted: Counter[Instance], machine: HostFacts) -> Iterator[str]:
    for instance in counted:
        if instance.memory > machine.memory_bytes:
            yield (
                f"memory {format_size(instance.memory)} of {instance.name} is more than the "
                f"{format_size(machine.memory_bytes)} of this machine, which cannot back it: page caches stay smaller than on the "
                "instance. 'scale' divides rates only; write a smaller memory, and smaller files"
            )
        if instance.vcpus > machine.n_cpus:
            yield (
                f"{instance.vcpus:g} vCPUs of {instance.name} are more than the {machine.n_cpus} of this machine: the processor may "
                "decide where a limit should. 'scale' divides the rates of network and disks"
            )
        if (
            instance.network is not None
            and instance.network / spec.scale > FAST_NETWORK_BYTES_PER_S
        ):
            yield (
                f"network {format_rate(instance.network / spec.scale)} of {instance.name} may be more than this machine moves "
                "between its nodes: 'wavetank characterise' measures it; a larger 'scale' divides it"
            )
    whole = sum(instance.memory * n for instance, n in counted.items())
    if whole > machine.memory_bytes and all(i.memory <= machine.memory_bytes for i in counted):
        yield (
            f"the nodes may use {format_size(whole)} of memory together, and this machine has {format_size(machine.memory_bytes)}: when "
            "all of their page caches are full, some are smaller than their limit. Write a smaller memory"
        )
