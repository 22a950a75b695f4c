"""Disks of an instance: its root's, and those of nodes that hold data, by the key ``storage``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wavetank.cluster.clouds.terms import OpenStackTerms
from wavetank.cluster.devices import device_paths, provisioned, volume_type
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.spec import ClusterSpec
from wavetank.units import GIB

ROOT_GB = 30
CINDER = "cinder"
DEFAULT_TYPE = "default"  # where the cloud's own is taken
STORAGE = "/storage"  # where the first start mounts the first device
# $1: where the first start mounted a device, $2: where it is to be. A directory of it, as on the first device.
BIND = 'mkdir -p "$1/wavetank" "$2" && mount --bind "$1/wavetank" "$2"'


@dataclass(frozen=True)
class Volume:
    """A network volume. None: what comes with its type and size."""

    kind: str
    size_gb: int
    iops: int | None = None
    throughput_bytes_per_s: int | None = None
    family: str = "ebs"

    @property
    def price_name(self) -> str:
        """In price tables."""
        return f"{self.family}-{self.kind}"


def on_own_disks(spec: ClusterSpec, node: str) -> bool:
    """Whether a node's storage is on the instance's own disks."""
    return spec.storage.on == "instance" and node in _holders(spec)


def data_volumes(spec: ClusterSpec, node: str) -> tuple[Volume, ...]:
    """Volumes of a node beside its root's; they are its storage. gp3 where the specification does not say what it is on."""
    storage = spec.storage
    if node not in _holders(spec) or storage.on == "instance":
        return ()
    if spec.cloud is not None and spec.cloud.openstack is not None:
        return (_of_cinder(spec.cloud.openstack, storage.cloud_bytes),) * storage.devices
    size_gb = max(1, -(-storage.cloud_bytes // GIB))
    iops, throughput = provisioned(storage)
    volume = Volume(volume_type(storage), size_gb, iops, throughput)
    return (volume,) * storage.devices


def _of_cinder(there: OpenStackTerms, size_bytes: int) -> Volume:
    """A volume of the type that is asked for."""
    size_gb = max(1, -(-size_bytes // GIB))
    return Volume(there.volume_type or DEFAULT_TYPE, size_gb, family=CINDER)


def root_volumes(spec: ClusterSpec) -> tuple[Volume, ...]:
    """Volumes that the root of a node is on; none where a server of OpenStack has its root on the disk of its flavor."""
    there = spec.cloud.openstack if spec.cloud is not None else None
    if there is not None:
        size = there.root_size
        return () if size is None else (_of_cinder(there, size),)
    return (Volume("gp3", ROOT_GB),)


def jump_node(spec: ClusterSpec) -> str | None:
    """The one node with an address of the outside, which all others are reached by: the first head node, else the first compute node.

    Returns:
        None where each has one (AWS), or where a host of somebody's own leads to them (cloud.bastion).
    """
    if spec.cloud is None or spec.cloud.openstack is None or spec.cloud.bastion != "none":
        return None
    names = spec.node_names()
    return "h1" if "h1" in names else names[0]


def has_address(spec: ClusterSpec, node: str) -> bool:
    """Whether a node gets an address of the outside, which is paid for."""
    if spec.cloud is None or spec.cloud.openstack is None:
        return True
    return node == jump_node(spec)


def mount_further_devices(spec: ClusterSpec, hosts: Mapping[str, Host], storage_path: str) -> None:
    """Have each further device of a node where drivers look for it, beside the directory on the first one.

    Args:
        spec: of the cluster.
        hosts: by node.
        storage_path: the cluster's directory on the first device.

    Raises:
        RemoteCommandError: one is not there.
    """
    made = device_paths(spec.storage, STORAGE)[1:]
    wanted = device_paths(spec.storage, storage_path)[1:]

    def mount(host: Host) -> None:
        for device, path in zip(made, wanted, strict=True):
            host.run(["sh", "-ec", BIND, "sh", device, path])

    if made:
        on_all([hosts[node] for node in _holders(spec)], mount)


def _holders(spec: ClusterSpec) -> tuple[str, ...]:
    """Nodes with disks beside their root's; none where the cloud runs the file system."""
    return () if spec.file_system.facts.made_by is not None else spec.storage_names()
