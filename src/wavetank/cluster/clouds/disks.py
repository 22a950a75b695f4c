"""Disks of an instance: its root's, and those of nodes that hold data, by the key ``storage``."""

from __future__ import annotations

from dataclasses import dataclass

from wavetank.cluster.components import MANAGED
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.volumes import provisioned, volume_type
from wavetank.units import GIB

ROOT_GB = 30


@dataclass(frozen=True)
class Volume:
    """A network volume. None: what comes with its type and size."""

    kind: str
    size_gb: int
    iops: int | None = None
    throughput_bytes_per_s: int | None = None


def on_own_disks(spec: ClusterSpec, node: str) -> bool:
    """Whether a node's storage is on the instance's own disks."""
    return spec.storage.on == "instance" and node in _holders(spec)


def data_volumes(spec: ClusterSpec, node: str) -> tuple[Volume, ...]:
    """Volumes of a node beside its root's; they are its storage. gp3 where the specification does not say what it is on."""
    storage = spec.storage
    if node not in _holders(spec) or storage.on == "instance":
        return ()
    iops, throughput = provisioned(storage)
    volume = Volume(volume_type(storage), max(1, -(-storage.cloud_bytes // GIB)), iops, throughput)
    return (volume,) * storage.devices


def _holders(spec: ClusterSpec) -> tuple[str, ...]:
    """Nodes with disks beside their root's; none where the cloud runs the file system."""
    return () if spec.file_system.kind in MANAGED else spec.storage_names()
