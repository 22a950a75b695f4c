"""What tests of makers share: a service with servers on real nodes, the nodes of two tenants, and calls on the wire.

c1 is ann's node, c2 is bob's; c3 and those after it are the servers of both. By default c3 alone serves NFS.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leftovers import up
from service_fakes import Clock, ip, request, tenant

from waiting import HANG_S, until
from wavetank.cluster.deploy import DeployedCluster
from wavetank.cluster.devices import device_paths
from wavetank.cluster.host import Host
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import RemoteCommandError
from wavetank.service.core.nfs_export import NfsExport
from wavetank.service.core.records import AccessList, Device, Kind, Resize, Server, Space
from wavetank.service.csi.mounts import MOUNTERS
from wavetank.service.daemon.registry import load_makers
from wavetank.service.makers import packet_filter
from wavetank.service.makers.glusterfs import bricks, telling
from wavetank.service.makers.glusterfs import maker as gluster_maker
from wavetank.service.makers.images import FOLDERS, Images
from wavetank.service.makers.nfs import maker as nfs_maker
from wavetank.service.makers.nfs import servers as nfs_servers
from wavetank.service.reconcile.driver import Reconciler
from wavetank.service.store.folder import open_store
from wavetank.service.store.store import Store

MIB = 2**20
SMALL = 320 * MIB  # of each device
ROOM = 1400 * MIB  # of the device: all but what its XFS keeps for itself
WIRES = {"nfs": "nfs_wire.py", "glusterfs": "gluster_wire.py"}
NEEDS = {"nfs": nfs_maker.needs, "glusterfs": gluster_maker.needs}


class Service:
    """A service of one kind of spaces, and the nodes of two tenants.

    Attributes:
        server: the first one.
        node: what the service calls it.
    """

    def __init__(self, store: Store, cluster: DeployedCluster, kind: Kind) -> None:
        self.store, self.now, self.kind = store, Clock(), kind
        self.ann, self.bob, *self.servers = cluster.compute_hosts
        self.server = self.servers[0]
        for node in cluster.compute_hosts:
            node.put(Path(__file__).parent / WIRES[kind], f"/tmp/{WIRES[kind]}")
        self.nodes = [f"{cluster.name}.{server.name}" for server in self.servers]
        self.node = self.nodes[0]
        self.driver = Reconciler(store, load_makers(store)[kind], self.now)
        for name in ("ann", "bob"):
            store.put_tenant(tenant(name), self.now())
        paths = device_paths(cluster.spec.storage, cluster.storage_path)
        self.devices = tuple(Device(name=at, size=ROOM) for at in paths)
        for node in self.nodes:
            store.put_server(Server(node=node, devices=self.devices, kinds=(kind,)), self.now())

    @property
    def small(self) -> int:
        """Bytes of the smallest space on all servers."""
        return SMALL * len(self.servers)

    def create(self, owner: str, name: str, **asked: Any) -> Space:
        node = {"ann": self.ann, "bob": self.bob}[owner]
        kept = {"kind": self.kind, "size": self.small, "servers": len(self.servers)}
        asked = {**kept, "access": [ip(node.address)], **asked}
        space, _ = self.store.create_space(owner, request(name, **asked), self.now(), owner)
        return self.settled(space)

    def mount(self, node: Host, space: Space, at: str) -> None:
        """Mount a space as a tenant does.

        Raises:
            WavetankError: it is not mounted.
        """
        MOUNTERS[self.kind].mount(node, str(space.export), at, {})

    def settled(self, space: Space) -> Space:
        def settles() -> bool:
            self.driver.settle()
            return not self.store.unsettled()

        until(settles)  # growth by servers waits for clients
        found = self.store.space(space.id)
        assert found.state in ("ready", "gone"), found.reason
        return found

    def grant(self, space: Space, *rules: Any) -> Space:
        self.store.set_access(space.id, AccessList(access=rules), self.now(), space.tenant)
        return self.settled(space)

    def grow(self, space: Space, size: int, servers: int | None = None) -> Space:
        asked = Resize(size=size, servers=servers)
        self.store.resize_space(space.id, asked, self.now(), space.tenant)
        return self.settled(space)

    def delete(self, space: Space) -> Space:
        self.store.delete_space(space.id, self.now(), space.tenant)
        return self.settled(space)

    def folders(self) -> list[str]:
        """What is left of spaces on the servers."""
        images = Images(FOLDERS[self.kind])
        places = [*(f"{each.name}/{images.folder}" for each in self.devices), images.mounts]
        return [
            name
            for server in self.servers
            for at in places
            for name in server.run(["sh", "-c", 'ls "$1" 2>/dev/null || true', "sh", at]).stdout.split()
        ]  # fmt: skip

    def mounted_at(self, space: Space) -> str:
        """Where its servers have the file system of a space."""
        return f"{Images(FOLDERS[self.kind]).mounts}/{space.id}"

    @property
    def device(self) -> str:
        return self.devices[0].name

    def on_disk(self, text: str, device: str | None = None) -> bool:
        """Whether the disk below a device of the first server, its first one, has a text anywhere, files or not."""
        finds = (
            'disk=$(findmnt -n -o SOURCE --mountpoint "$1"); sync -f "$1"; blockdev --flushbufs "$disk"; grep -q "$2" "$disk"'
            " && echo yes || echo no"
        )
        argv = ["sh", "-c", finds, "sh", device or self.device, text]
        return self.server.run(argv, timeout_s=HANG_S).stdout == "yes\n"

    def folder(self, space: Space) -> str:
        return f"{self.device}/{FOLDERS[self.kind]}/{space.id}"


class KilledError(BaseException):
    """The service ended here."""


class EndsInside:
    """A server on which one script ends before one of the programs that it starts; the service ends with it.

    Attributes:
        script: that ends.
        left: programs before that.
        whole: times that the script runs to its end before.
    """

    def __init__(self, server: Host) -> None:
        self._server = server
        self.script, self.left, self.whole = "", 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def run(self, argv: Any, **others: Any) -> Any:
        if self.script not in argv or self.whole:
            self.whole -= self.script in argv
            return self._server.run(argv, **others)
        counted = f"left={self.left}\n" + "".join(
            f'{program}() {{ [ $left -gt 0 ] || kill -KILL $$; left=$((left - 1)); command {program} "$@"; }}\n'
            for program in (
                "mv",
                "fallocate",
                "umount",
                "mount",
                "cat",
                "rm",
                "truncate",
                "losetup",
                "xfs_growfs",
            )
        )
        try:
            cut = [counted + word if word == self.script else word for word in argv]
            return self._server.run(cut, **others)
        except RemoteCommandError as error:
            assert error.status in (-9, 137), error
            raise KilledError from error


@contextlib.contextmanager
def serving(
    folders: pytest.TempPathFactory,
    name: str,
    kind: Kind = "nfs",
    servers: int = 1,
    devices: int = 1,
) -> Iterator[Service]:
    """A service, with nothing left on its servers in the end."""
    spec = ClusterSpec.model_validate(
        {
            "name": f"t{os.getpid()}-{name}",
            "provider": "local",
            "instance": {"name": "t.small", "vcpus": 1, "memory": "512 MiB"},
            "nodes": {"compute": 2 + servers},
            "file_system": {"kind": "none"},
            "storage": {"size": "1536 MiB", "devices": devices},
        }
    )
    if missing := NEEDS[kind]().missing_here():
        pytest.skip("; ".join(map(str, missing)))
    with (
        up(folders.mktemp("state"), spec) as cluster,
        open_store(folders.mktemp("service") / "folder") as store,
    ):
        found = Service(store, cluster, kind)
        yield found
        for space in store.spaces(None):
            found.delete(space)
        assert found.folders() == []
        for server in found.servers:
            assert packet_filter.in_force(server) == {}
            if kind == "nfs":
                assert nfs_servers.DAEMONS.running(server) == {}
            else:
                assert bricks.DAEMONS.running(server) == {}
                assert telling.told(server) == telling.Told(False, {})


def at_of(space: Space) -> str:
    """Address and port of the server of an NFS space, as calls on the wire take it."""
    export = NfsExport.of(str(space.export))
    return f"{export.address}:{export.port}"


def send(node: Host, *calls: list[Any], kind: Kind = "nfs") -> list[list[Any]]:
    """What came of calls on the wire, as root of a node."""
    argv = [sys.executable, f"/tmp/{WIRES[kind]}", json.dumps(calls)]
    return json.loads(node.run(argv, timeout_s=HANG_S).stdout)
