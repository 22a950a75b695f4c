"""A cluster as a configuration of AWS ParallelCluster 3: what carries over, and in words what does not.

Reads a specification; leaves YAML that ``pcluster create-cluster`` takes. Keys and their ranges are those of ClusterSchema in
the PyPI package aws-parallelcluster 3.16.1. Nothing is asked of an account.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from wavetank.cluster.clouds.terms import Terms
from wavetank.cluster.components import SCRATCH_PATH, Storage
from wavetank.cluster.devices import VOLUME_TYPES, provisioned, volume_type
from wavetank.cluster.instance_types import catalogue_limits, find_instance
from wavetank.cluster.managed import fsx_capacity, fsx_deployment, fsx_throughput_per_tib
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import SpecError
from wavetank.units import GIB, MIB, format_size

EFS_MOST_MIB = 1024
RAID_VOLUMES = range(2, 6)


def bought(storage: Storage) -> dict[str, int]:
    """IOPS and throughput (MiB/s) that are provisioned with a volume, by ParallelCluster's keys."""
    iops, throughput = provisioned(storage)
    found: dict[str, int] = {}
    if iops is not None:
        found["Iops"] = iops
    if throughput is not None:
        found["Throughput"] = -(-throughput // MIB)
    return found


def gib(size_bytes: int) -> int:
    """Whole GiB that hold a size."""
    return -(-size_bytes // GIB)


def shared_storage(spec: ClusterSpec, notes: list[str]) -> dict[str, Any] | None:
    """The file system that all nodes mount; None where ParallelCluster makes none of it. Adds to the notes."""
    fs = spec.file_system
    base = {"MountDir": fs.mount, "Name": "wavetank"}
    if fs.kind == "nfs":
        return {**base, "StorageType": "Ebs", "EbsSettings": _ebs(spec.storage, notes)}
    if fs.kind == "efs":
        return {**base, "StorageType": "Efs", "EfsSettings": _efs(spec, notes)}
    if fs.kind == "fsx-lustre":
        settings: dict[str, Any] = {
            "StorageCapacity": gib(fsx_capacity(fs)),
            "DeploymentType": fsx_deployment(fs),
            "DeletionPolicy": "Delete",
        }
        per_tib = fsx_throughput_per_tib(fs)
        if per_tib is not None:
            settings["PerUnitStorageThroughput"] = per_tib
        return {**base, "StorageType": "FsxLustre", "FsxLustreSettings": settings}
    if fs.kind == "existing":
        notes.append(
            f"the file system at {fs.path} is not part of this file: mount it on all nodes"
        )
    elif fs.facts.made_by is not None:
        notes.append(
            f"{fs.kind} is of another cloud: nothing serves {fs.mount}. Take kind efs or fsx-lustre"
        )
    elif fs.kind != "none":
        where = " and ".join(dict.fromkeys(spec.server_names()))
        notes.append(
            f"ParallelCluster makes no {fs.kind}: nothing serves {fs.mount}. Servers were on {where}; with the addresses of the "
            "nodes a specification with provider ssh brings them up, or take kind fsx-lustre"
        )
    return None


def _ebs(storage: Storage, notes: list[str]) -> dict[str, Any]:
    if storage.on == "instance":
        notes.append(
            "ParallelCluster shares no instance store by NFS: the export lies on a volume of gp3 of the same size"
        )
    elif storage.on is None:
        notes.append("storage.on is not said: the export lies on a volume of gp3")
    # all that is said of devices is right for volumes alone
    plain = Storage(on="ebs", size=max(GIB, storage.cloud_bytes * storage.devices))
    data = storage if storage.on == "ebs" else plain
    settings: dict[str, Any] = {
        "VolumeType": volume_type(data),
        "Size": gib(max(data.cloud_bytes, VOLUME_TYPES[volume_type(data)].smallest_bytes)),
        "Encrypted": True,
        "DeletionPolicy": "Delete",
        **bought(data),
    }
    if data.devices > 1:
        if data.devices_as == "servers":
            notes.append(f"{data.devices} devices are one export here, striped (RAID 0)")
        n = min(data.devices, RAID_VOLUMES[-1])
        if n != data.devices:
            notes.append(
                f"of {data.devices} volumes {n} are left, the most that ParallelCluster stripes"
            )
        settings["Raid"] = {"Type": 0, "NumberOfVolumes": n}
    return settings


def _efs(spec: ClusterSpec, notes: list[str]) -> dict[str, Any]:
    asked = spec.file_system.throughput or "elastic"
    settings: dict[str, Any] = {"Encrypted": True, "DeletionPolicy": "Delete"}
    if isinstance(asked, int):
        rate = -(-asked // MIB)
        if rate > EFS_MOST_MIB:
            notes.append(
                f"EFS with {rate} MiB/s: ParallelCluster provisions {EFS_MOST_MIB} at most"
            )
        return {
            **settings,
            "ThroughputMode": "provisioned",
            "ProvisionedThroughput": min(rate, EFS_MOST_MIB),
        }
    if asked == "elastic":
        notes.append(
            "elastic throughput of EFS cannot be asked for, bursting is: make the file system with elastic throughput, and name it "
            "by FileSystemId"
        )
    return {**settings, "ThroughputMode": "bursting"}


OPERATING_SYSTEMS = (
    "alinux2023", "ubuntu2204", "ubuntu2404", "rhel8", "rhel9", "rocky8", "rocky9",
)  # fmt: skip
# Of the right form, and nobody's: create-cluster refuses it by name.
NO_SUBNET = "subnet-00000000"
SUBNET = re.compile(r"subnet-(?:[0-9a-z]{8}|[0-9a-z]{17})")
SYSTEM_GIB = 40  # room that a root volume keeps for the system beside data
# EBS boots from SSD types alone.
BOOTABLE = ("gp2", "gp3", "io2")


@dataclass(frozen=True)
class Place:
    """Where the cluster is to be.

    Attributes:
        region: of AWS.
        subnet: of all nodes; None writes one that has to be replaced.
        key: name of an EC2 key pair for ssh to the head node; None: without.
        operating_system: one of OPERATING_SYSTEMS.
    """

    region: str
    subnet: str | None = None
    key: str | None = None
    operating_system: str = "alinux2023"


# Images of the key cloud that ParallelCluster has too; of Debian it has none.
IMAGES = {"ubuntu-24.04": "ubuntu2404", "amazon-linux-2023": "alinux2023"}
DEFAULT_REGION = "us-east-1"


def place_of(spec: ClusterSpec) -> Place:
    """Where the key ``cloud`` of a specification puts it; the defaults without that key."""
    terms = spec.cloud
    if terms is None:
        return Place(DEFAULT_REGION)
    subnet = None if terms.subnet == "default" else terms.subnet
    return Place(terms.region, subnet, None, IMAGES.get(terms.image, "alinux2023"))


@dataclass(frozen=True)
class Export:
    """A configuration.

    Attributes:
        text: the YAML file, with the notes as comments.
        notes: what it cannot express, and what it adds; sentences.
    """

    text: str
    notes: tuple[str, ...]


def parallelcluster(spec: ClusterSpec, place: Place) -> Export:
    """Write a cluster as a ParallelCluster configuration.

    Raises:
        SpecError: it has no such form: an instance type that is not AWS's, mixed processors, a subnet that is none.
        CostError: an instance type is not in the catalogue.
    """
    if place.subnet is not None and not SUBNET.fullmatch(place.subnet):
        raise SpecError(
            f"{place.subnet!r} is no subnet: write subnet- and 8 or 17 letters and digits"
        )
    if place.operating_system not in OPERATING_SYSTEMS:
        known = ", ".join(OPERATING_SYSTEMS)
        raise SpecError(
            f"ParallelCluster has no image of {place.operating_system!r}; it has {known}"
        )
    _see_processors(spec)
    notes: list[str] = []
    body: dict[str, Any] = {
        "Region": place.region,
        "Image": {"Os": place.operating_system},
        "Imds": {"ImdsSupport": "v2.0"},
        "HeadNode": _head_node(spec, place, notes),
        "Scheduling": {
            "Scheduler": "slurm",
            # without all of its nodes a cluster is another one
            "ScalingStrategy": "all-or-nothing",
            "SlurmQueues": list(_queues(spec, place, notes)),
        },
    }
    shared = shared_storage(spec, notes)
    if shared is not None:
        body["SharedStorage"] = [shared]
    body["Tags"] = [{"Key": "wavetank:cluster", "Value": spec.name}]
    if place.subnet is None:
        notes.append(f"no subnet was given: replace {NO_SUBNET} by yours")
    notes += _left_out(spec)
    head = [
        f"AWS ParallelCluster 3 configuration of cluster {spec.name}, made by 'wavetank cluster export'.",
        "Check it in your account: pcluster create-cluster --dryrun true -n NAME -c THIS-FILE",
        "What this file cannot say of the cluster, or adds to it:",
        *(f"- {note}" for note in notes or ["nothing"]),
    ]
    text = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=120)
    return Export("".join(f"# {line}\n" for line in head) + text, tuple(notes))


def _see_processors(spec: ClusterSpec) -> None:
    """All nodes run one image, so that they have one kind of processor."""
    kinds = {
        name: set(find_instance(name).architecture.split("+"))
        for name in dict.fromkeys(spec.instance_of(node).name for node in spec.node_names())
    }
    if not set.intersection(*kinds.values()):
        words = ", ".join(f"{name} is {'/'.join(sorted(found))}" for name, found in kinds.items())
        raise SpecError(
            f"ParallelCluster has one image for all nodes, and {words}. Take types of one kind"
        )


def _head_instance(spec: ClusterSpec) -> str:
    """The NFS server is the head node; else it is as the specification's own, or as a compute node."""
    if spec.file_system.kind == "nfs":
        return spec.instance_of(spec.server_names()[0]).name
    return spec.instance.name


def _head_node(spec: ClusterSpec, place: Place, notes: list[str]) -> dict[str, Any]:
    node: dict[str, Any] = {
        "InstanceType": _head_instance(spec),
        "Networking": {"SubnetId": place.subnet or NO_SUBNET},
    }
    ssh = {"KeyName": place.key} if place.key is not None else {}
    if spec.cloud is not None and spec.cloud.ssh_from != "caller":
        ssh["AllowedIps"] = spec.cloud.ssh_from
    if ssh:
        node["Ssh"] = ssh
    fs = spec.file_system
    if fs.kind == "nfs":
        server = spec.server_names()[0]
        notes.append(
            f"the NFS server {server} is the head node, which runs the scheduler too: NFS of the kernel with ParallelCluster's settings"
        )
        if spec.nodes.head:
            notes.append(
                "the head node of the specification and the NFS server are one machine here"
            )
        if len(spec.server_names()) > 1:
            notes.append(f"of {len(spec.server_names())} NFS servers one is left")
    elif spec.nodes.head == 0:
        notes.append(
            f"a head node of {spec.instance.name} is added, as ParallelCluster has one always; it is paid for too"
        )
    elif spec.nodes.head > 1:
        notes.append(f"of {spec.nodes.head} head nodes one is left")
    return node


def _queues(spec: ClusterSpec, place: Place, notes: list[str]) -> Iterator[dict[str, Any]]:
    yield _queue(spec, place, "compute", spec.nodes.compute, spec.instance.name, notes)
    n_io, kind = spec.nodes.io, spec.file_system.kind
    if n_io == 0:
        return
    if not spec.file_system.facts.has_servers:
        notes.append(f"the {n_io} I/O nodes are left out: {kind} has no servers on them")
        return
    if kind == "nfs":
        if n_io > 1:
            notes.append(
                f"the other {n_io - 1} of {n_io} I/O nodes are left out: NFS has one server"
            )
        return
    name = (spec.io_instance or spec.instance).name
    yield _queue(spec, place, "io", n_io, name, notes)


def _queue(
    spec: ClusterSpec, place: Place, name: Literal["compute", "io"], count: int, instance: str, notes: list[str]
) -> dict[str, Any]:  # fmt: skip
    networking: dict[str, Any] = {"SubnetIds": [place.subnet or NO_SUBNET]}
    if spec.placement == "cluster":
        networking["PlacementGroup"] = {"Enabled": True}
    elif spec.placement == "spread" and name == "compute":
        notes.append(
            "placement spread: ParallelCluster makes cluster placement groups alone. Make a spread group, and name it "
            "in SlurmQueues: Networking: PlacementGroup: Name"
        )
    queue: dict[str, Any] = {
        "Name": name,
        "CapacityType": "SPOT" if spec.cloud is not None and spec.cloud.spot else "ONDEMAND",
        "ComputeResources": [
            {"Name": name, "InstanceType": instance, "MinCount": count, "MaxCount": count}
        ],
        "Networking": networking,
    }
    local = _local_storage(spec, name, notes)
    if local:
        queue["ComputeSettings"] = {"LocalStorage": local}
    return queue


def _local_storage(spec: ClusterSpec, queue: str, notes: list[str]) -> dict[str, Any]:
    """Devices of nodes of a queue: ParallelCluster has all of an instance's own disks as one, or its root volume."""
    holds = queue == "io" or not spec.nodes.io
    data = (
        spec.storage
        if holds
        and spec.file_system.facts.made_by is None
        and spec.file_system.kind not in ("nfs", "existing")
        else None
    )
    local: dict[str, Any] = {}
    if data is not None and data.on == "instance":
        local["EphemeralVolume"] = {"MountDir": "/storage"}
        notes.append(
            f"queue {queue}: all disks of an instance are one device at /storage (ParallelCluster stripes them by LVM)"
        )
    elif data is not None:
        local |= _root_volume(spec, queue, data, notes)
    if spec.temporary is not None and queue == "compute":
        if "EphemeralVolume" in local:
            notes.append(
                "temporary storage has no place of its own: /storage has the instance's disks"
            )
        elif spec.temporary.on == "ebs" or not find_instance(spec.instance.name).n_local_disks:
            notes.append(
                f"temporary storage: {SCRATCH_PATH} is on the root volume, as a queue has no further volumes"
            )
        else:
            local["EphemeralVolume"] = {"MountDir": SCRATCH_PATH}
    return local


def _root_volume(spec: ClusterSpec, queue: str, data: Storage, notes: list[str]) -> dict[str, Any]:
    if data.on is None:
        notes.append(
            f"queue {queue}: storage.on is not said; data lies on the root volume as it is"
        )
        return {}
    kind = volume_type(data)
    if kind not in BOOTABLE:
        notes.append(
            f"queue {queue}: its {data.devices} volumes of {kind} are left out: a queue has a root volume alone, which cannot be {kind}"
        )
        return {}
    notes.append(
        f"queue {queue}: data lies on the root volume, {SYSTEM_GIB} GiB larger for the system: a queue has no further volumes"
        + (f", and not {data.devices}" if data.devices > 1 else "")
    )
    size = gib(data.cloud_bytes * data.devices) + SYSTEM_GIB
    return {"RootVolume": {"VolumeType": kind, "Size": size, **bought(data)}}


def _left_out(spec: ClusterSpec) -> Iterator[str]:
    """What no key of ParallelCluster stands for."""
    fs = spec.file_system
    if fs.kind == "fsx-lustre" and (
        fs.stripe.count or fs.stripe.size or fs.stripe.kind != "distributed"
    ):
        count = f"-c {fs.stripe.count}" if fs.stripe.count else "-c -1"
        size = f" -S {fs.stripe.size}" if fs.stripe.size else ""
        yield f"stripes: run 'lfs setstripe {count}{size} {fs.mount}' once on a node"
    for what, options in (("options", fs.options), ("mount options", fs.mount_options)):
        if options:
            yield f"{what} of {fs.title}: {', '.join(f'{k}={v}' for k, v in options.items())}"
    if spec.layout != "striped":
        yield f"layout {spec.layout} of input files"
    if spec.mpi.io_library or spec.mpi.hints:
        hints = ", ".join(f"{name}={value}" for name, value in spec.mpi.hints.items())
        yield f"MPI-IO: library {spec.mpi.io_library or 'romio'}" + (
            f", hints {hints}" if hints else ""
        )
    if spec.mapping != "1PxCN":
        yield f"mapping {spec.mapping}: ask for it in jobs, by --ntasks-per-node"
    if spec.scale != 1:
        yield f"scale {spec.scale:g}: instances have their own rates, not those divided by it"
    if fs.kind == "nfs" and spec.storage.local_file_system != "ext4":
        yield f"local file system {spec.storage.local_file_system}: ParallelCluster makes ext4"
    if spec.cloud is not None:
        yield from _left_out_of_terms(spec.cloud)
    yield from _emulated_limits(spec)


def _left_out_of_terms(terms: Terms) -> Iterator[str]:
    yield "ttl and budget: ParallelCluster ends nothing by itself and knows no amount; delete the cluster when it has done its work"
    if terms.image not in IMAGES:
        yield f"image {terms.image}: see Image, another system"
    if terms.zone != "any":
        yield f"zone {terms.zone}: that of the subnet"
    if terms.ssh_from == "caller":
        yield "ssh_from caller: AllowedIps is left out, so that every address may reach port 22"
    if terms.clients_from or terms.packages:
        yield "clients_from and packages"
    if terms.bastion != "none" or terms.reaper != "none":
        yield "bastion and reaper"


def _emulated_limits(spec: ClusterSpec) -> Iterator[str]:
    """Limits that are written and are not the type's."""
    for instance in dict.fromkeys(spec.instance_of(node) for node in spec.node_names()):
        known = catalogue_limits(find_instance(instance.name))
        other = [
            key
            for key in ("vcpus", "memory", "network")
            if getattr(instance, key) != known.get(key)
        ]
        if other and spec.provider == "local":
            words = ", ".join(other)
            yield f"{instance.name} has its own {words}, not what the specification emulates ({format_size(instance.memory)} of memory)"
