"""Servers of a space's own, brought up as a cluster of this machine: mounted, refused, ended, and killed at every step.

On provider local each cluster has a network of its own, so the machine that mounts the space is the cluster's head node.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from leftovers import Traces
from service_fakes import Clock, ip, refusal, request, tenant
from service_killing import DONE, ended

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import names
from wavetank.service.core.own_servers import Template
from wavetank.service.core.records import Device, Kind, Space
from wavetank.service.csi.mounts import MOUNTERS
from wavetank.service.daemon.registry import load_clusters, load_makers
from wavetank.service.makers.glusterfs import maker as gluster_maker
from wavetank.service.makers.images import FOLDERS, Images
from wavetank.service.makers.nfs import maker as nfs_maker
from wavetank.service.reconcile.driver import Reconciler
from wavetank.service.reconcile.kinds import MakerOfKinds
from wavetank.service.store.folder import open_store
from wavetank.service.store.store import Store

pytestmark = [pytest.mark.cluster]

MIB = 2**20
ROOM = 1400 * MIB
HEAD = {"nfs": "10.77.0.2", "glusterfs": "10.77.0.3"}
"""Address of the head node, which comes after the servers."""
SERVERS = {"nfs": 1, "glusterfs": 2}
CLUSTER = {
    "name": "any",
    "instance": {"name": "t.small", "vcpus": 1, "memory": "512 MiB"},
    "nodes": {"compute": 1, "head": 1},
    "file_system": {"kind": "none"},
    "storage": {"size": "1536 MiB"},
}


GUEST = {
    **CLUSTER,
    "provider": "vm",
    "instance": {"name": "t.small", "vcpus": 1, "memory": "256 MiB"},
    "nodes": {"compute": 1},
}


class Service:
    """A service without servers, and a template of two."""

    def __init__(self, folder: Path, cluster: dict[str, Any]) -> None:
        self.folder, self.now = folder, Clock()
        with self.open() as store:
            store.put_tenant(tenant(), self.now())
            template = Template(
                name="mine",
                cluster=cluster,
                devices=(Device(name="/storage", size=ROOM),),
                kinds=("nfs", "glusterfs"),
                most_servers=2,
            )
            load_clusters().see(template)
            store.put_template(template, self.now())

    def open(self):
        return open_store(self.folder / "service")

    def settle(self, store: Store) -> None:
        maker = MakerOfKinds(load_makers(store))
        Reconciler(store, maker, self.now, clusters=load_clusters()).recover()

    def create(self, kind: Kind, name: str = "data") -> Space:
        n = SERVERS[kind]
        asked = request(name, n * 320 * MIB, kind=kind, mode="dedicated", servers=n, access=[ip(HEAD[kind])])  # fmt: skip
        with self.open() as store:
            space, _ = store.create_space("ann", asked, self.now(), "ann")
        return space

    def delete(self, space: Space) -> None:
        with self.open() as store:
            store.delete_space(space.id, self.now(), "ann")

    def settled(self, space: Space) -> Space:
        with self.open() as store:
            self.settle(store)
            return store.space(space.id)


@pytest.fixture
def service(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    cluster = getattr(request, "param", CLUSTER)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    for needs in (nfs_maker.needs(), gluster_maker.needs()):
        if missing := needs.missing_here():
            pytest.skip("; ".join(missing))
    if findings := deploy.check(ClusterSpec.model_validate(cluster)):
        pytest.skip("; ".join(findings))
    try:
        yield Service(tmp_path, cluster)
    finally:
        for name in names():
            deploy.take_down(name)


@pytest.mark.parametrize("kind", ["nfs", "glusterfs"])
def test_a_space_has_servers_of_its_own_that_are_mounted_and_end_with_it(
    service: Service, tmp_path: Path, kind: Kind
) -> None:
    space = service.settled(service.create(kind))
    assert space.state == "ready", space.reason
    assert names() == [space.id]
    traces = Traces(tmp_path / "state", space.id)
    cluster = deploy.find(space.id)
    traces.note_processes()
    head = cluster.nodes.hosts["h1"]
    MOUNTERS[kind].mount(head, str(space.export), "/mine", {})
    head.run(["sh", "-c", "echo kept > /mine/file; sync -f /mine; umount /mine"], timeout_s=HANG_S)
    MOUNTERS[kind].mount(head, str(space.export), "/mine", {})
    assert head.run(["cat", "/mine/file"]).stdout == "kept\n"
    head.run(["umount", "/mine"])
    with service.open() as store:
        assert {held.dedicated_to for held in store.servers()} == {space.id}
        asked = request("more", 640 * MIB, kind="glusterfs", mode="dedicated", servers=2)
        refused = refusal(store.create_space, "ann", asked, service.now(), "ann")
        assert f"template mine: {SERVERS[kind]} of its 2 servers are in use" in str(refused)
    service.delete(space)
    assert service.settled(space).state == "gone"
    assert traces.left() == []
    with service.open() as store:
        assert store.servers() == ()


@pytest.mark.parametrize("service", [GUEST], indirect=True, ids=["vm"])
def test_servers_are_guests_with_loop_devices_of_their_own(service: Service) -> None:
    """Kernels of guests have loop devices as a module, which nothing loads by itself."""
    space = service.settled(service.create("nfs"))
    assert space.state == "ready", space.reason
    guest = deploy.find(space.id).nodes.hosts["c1"]
    assert guest.run(["uname", "-r"]).stdout.strip() != os.uname().release
    guest.run(["mountpoint", f"{Images(FOLDERS['nfs']).mounts}/{space.id}"])
    service.delete(space)
    assert service.settled(space).state == "gone"
    assert names() == []


def killed_after(programs: int, do: Callable[[], object]) -> int:
    """Do something in a process of its own that is killed when it starts its n-th program; how that ended."""

    def child() -> None:
        left, start = programs, subprocess.Popen.__init__

        def counted(self, *args, **others):
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            start(self, *args, **others)

        subprocess.Popen.__init__ = counted
        do()

    return ended(child)


def test_a_service_that_is_killed_brings_nothing_up_twice_and_forgets_nothing(
    service: Service, tmp_path: Path
) -> None:
    """Each process goes on from what the one before left, and is killed some programs later, from the first program on."""
    space = service.create("nfs")
    traces = Traces(tmp_path / "state", space.id)

    def go_on() -> None:
        service.settled(space)

    def until_done() -> int:
        programs = kills = 0
        while (status := killed_after(programs, go_on)) != DONE:
            assert status == -signal.SIGKILL
            assert set(names()) <= {space.id}
            traces.note_processes()
            programs, kills = programs + 4, kills + 1
        return kills

    assert until_done() > 5
    with service.open() as store:
        found = store.space(space.id)
        assert found.state == "ready", found.reason
        assert [held.server.node for held in store.servers()] == [f"{space.id}.c1"]
    head = deploy.find(space.id).nodes.hosts["h1"]
    MOUNTERS["nfs"].mount(head, str(found.export), "/mine", {})
    head.run(["sh", "-c", "echo kept > /mine/file; umount /mine"], timeout_s=HANG_S)
    traces.note_processes()
    service.delete(space)
    assert until_done() > 1
    with service.open() as store:
        assert store.space(space.id).state == "gone"
        assert store.servers() == ()
        assert store.open_intents() == ()
    assert names() == []
    assert traces.left() == []
