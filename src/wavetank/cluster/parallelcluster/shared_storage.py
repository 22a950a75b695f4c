"""Volumes and shared file systems as ParallelCluster writes them."""

from __future__ import annotations

from typing import Any

from wavetank.cluster.components import Storage
from wavetank.cluster.managed import fsx_capacity, fsx_deployment, fsx_throughput_per_tib
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.volumes import VOLUME_TYPES, provisioned, volume_type
from wavetank.units import GIB, MIB

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
