"""What tests of NFS spaces share: a service with one server on a real node, the nodes of two tenants, and calls on the wire.

c1 is ann's node, c2 is bob's; c3 is the server of both.
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

from waiting import HANG_S
from wavetank.cluster.deploy import DeployedCluster
from wavetank.cluster.host import Host
from wavetank.cluster.spec import ClusterSpec
from wavetank.service.core.records import AccessList, Device, Resize, Server, Space
from wavetank.service.daemon.registry import load_makers
from wavetank.service.makers.nfs import exports, images, maker
from wavetank.service.reconcile.driver import Reconciler
from wavetank.service.store.folder import open_store
from wavetank.service.store.store import Store

MIB = 2**20
SMALL = 320 * MIB
ROOM = 1400 * MIB  # of the device: all but what its XFS keeps for itself
WIRE = Path(__file__).parent / "nfs_wire.py"


class Service:
    """A service of one server, and the nodes of two tenants."""

    def __init__(self, store: Store, cluster: DeployedCluster) -> None:
        self.store, self.now = store, Clock()
        self.ann, self.bob, self.server = cluster.compute_hosts
        for node in cluster.compute_hosts:
            node.put(WIRE, "/tmp/nfs_wire.py")
        self.node = f"{cluster.name}.{self.server.name}"
        self.driver = Reconciler(store, load_makers(store)["nfs"], self.now)
        for name in ("ann", "bob"):
            store.put_tenant(tenant(name), self.now())
        device = Device(name=cluster.storage_path, size=ROOM)
        store.put_server(Server(node=self.node, devices=(device,), kinds=("nfs",)), self.now())

    def create(self, owner: str, name: str, **asked: Any) -> Space:
        node = {"ann": self.ann, "bob": self.bob}[owner]
        asked = {"kind": "nfs", "size": SMALL, "access": [ip(node.address)], **asked}
        space, _ = self.store.create_space(owner, request(name, **asked), self.now(), owner)
        return self.settled(space)

    def settled(self, space: Space) -> Space:
        self.driver.settle()
        found = self.store.space(space.id)
        assert found.state in ("ready", "gone"), found.reason
        return found

    def grant(self, space: Space, *rules: Any) -> Space:
        self.store.set_access(space.id, AccessList(access=rules), self.now(), space.tenant)
        return self.settled(space)

    def grow(self, space: Space, size: int) -> Space:
        self.store.resize_space(space.id, Resize(size=size), self.now(), space.tenant)
        return self.settled(space)

    def delete(self, space: Space) -> Space:
        self.store.delete_space(space.id, self.now(), space.tenant)
        return self.settled(space)

    def folders(self) -> list[str]:
        """What is left of spaces on the server."""
        places = [f"{self.device}/{images.ROOT}", images.MOUNTS]
        return [name for at in places for name in self.server.run(["ls", at]).stdout.split()]

    @property
    def device(self) -> str:
        return self.store.servers()[0].server.devices[0].name

    def folder(self, space: Space) -> str:
        return f"{self.device}/{images.ROOT}/{space.id}"


@contextlib.contextmanager
def serving(folders: pytest.TempPathFactory, name: str) -> Iterator[Service]:
    """A service, with nothing left on its server in the end."""
    spec = ClusterSpec.model_validate(
        {
            "name": f"t{os.getpid()}-{name}",
            "provider": "local",
            "instance": {"name": "t.small", "vcpus": 1, "memory": "512 MiB"},
            "nodes": {"compute": 3},
            "file_system": {"kind": "none"},
            "storage": {"size": "1536 MiB"},
        }
    )
    if missing := maker.needs().missing_here():
        pytest.skip("; ".join(missing))
    with (
        up(folders.mktemp("state"), spec) as cluster,
        open_store(folders.mktemp("service") / "folder") as store,
    ):
        found = Service(store, cluster)
        yield found
        for space in store.spaces(None):
            found.delete(space)
        assert found.folders() == []
        assert exports.in_force(found.server, ())


def send(node: Host, *calls: list[str]) -> list[list[Any]]:
    """What came of calls on the wire, as root of a node."""
    argv = [sys.executable, "/tmp/nfs_wire.py", json.dumps(calls)]
    return json.loads(node.run(argv, timeout_s=HANG_S).stdout)
