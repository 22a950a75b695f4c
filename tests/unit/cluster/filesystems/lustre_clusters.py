"""Clusters with Lustre on hosts that are none: specifications, sites, and a provider of such hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lustre_hosts import HOME, STORAGE, LustreHost, World

from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.needs import Needs
from wavetank.cluster.providers.base import PlainNodes, Provider
from wavetank.cluster.spec import ClusterSpec

DEVICES = {"ost_devices": "/dev/sdb,/dev/sdc", "mdt_device": "/dev/sdd"}
ZFS = {"backend": "zfs"}
OWN_MGS = {"mgs": "own"}


def spec(options: Mapping[str, Any] | None = None, **parts: Any) -> ClusterSpec:
    nodes = parts.pop("nodes", {"compute": 2, "io": 2})
    names = [
        f"{kind}{i + 1}"
        for kind, key in (("c", "compute"), ("io", "io"), ("h", "head"))
        for i in range(nodes.get(key, 0))
    ]
    file_system = parts.pop("file_system", {})
    ssh = {"hosts": {name: f"{name}.test" for name in names}, "user": "root", "identity_file": "/k", "known_hosts": "/h"}  # fmt: skip
    return ClusterSpec.model_validate({
        "name": "lab", "provider": "ssh", "instance": {"name": "x"}, "nodes": nodes, "storage": {"size": "8 GiB"},
        "ssh": ssh, **parts,
        "file_system": {"kind": "lustre", **file_system, "options": {"fsname": "lab", **(options or {})}},
    })  # fmt: skip


def site(world: World, asked: ClusterSpec) -> Site:
    def pick(names: tuple[str, ...]) -> tuple[LustreHost, ...]:
        return tuple(world.hosts[name] for name in names)

    return Site(asked, pick(asked.server_names()), pick(asked.compute_names()), STORAGE, pick(asked.metadata_names()))  # fmt: skip


@dataclass
class Hosts(Provider, PlainNodes):
    """A provider that takes the hosts of a world, as that of hosts over ssh does, and its nodes."""

    world: World
    name: str = "ssh"
    hosts_outlive: bool = True
    storage_path: str = STORAGE
    remote_shell: tuple[str, ...] = ()
    launcher_prefix: tuple[str, ...] = ()
    network: str | None = None
    hosts: Mapping[str, LustreHost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hosts = self.world.hosts

    def check(self, asked: ClusterSpec) -> list[str]:
        return []

    def examine(self, asked: ClusterSpec, needs: Mapping[str, Needs]) -> list[str]:
        return []

    def create(self, asked: ClusterSpec, *, leave: bool = False) -> Hosts:
        return self

    def find(self, asked: ClusterSpec) -> Hosts:
        return self

    def destroy(self, name: str) -> None:
        """As remote/scripts.py: a home with something mounted below it is not deleted."""
        for host in self.world.hosts.values():
            assert not any(at.startswith(f"{HOME}/") for at in host.mounts)

    def drop_caches(self) -> str:
        return "page caches"

    def health(self) -> list[str]:
        return []


def with_devices(world: World) -> World:
    for host in world.hosts.values():
        host.give(devices={"/dev/sdb": [], "/dev/sdc": [], "/dev/sdd": []})
    return world
