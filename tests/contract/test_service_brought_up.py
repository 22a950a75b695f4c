"""Servers of a space's own, brought up as a cluster of this machine: mounted, refused, ended, and killed at every step.

On provider local each cluster has a network of its own, so the machine that mounts the space is the cluster's head node.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from leftovers import Traces
from service_fakes import ip, refusal, request
from service_killing import DONE
from spaces_brought_up import MIB, Service, killed_after

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import names
from wavetank.service.core.records import Kind, Space
from wavetank.service.csi.mounts import MOUNTERS
from wavetank.service.makers.glusterfs import maker as gluster_maker
from wavetank.service.makers.nfs import maker as nfs_maker

pytestmark = [pytest.mark.cluster]

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


@pytest.fixture
def service(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    cluster = getattr(request, "param", CLUSTER)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    for needs in (nfs_maker.needs(), gluster_maker.needs()):
        if missing := needs.missing_here():
            pytest.skip("; ".join(map(str, missing)))
    if findings := deploy.check(ClusterSpec.model_validate(cluster)):
        pytest.skip("; ".join(findings))
    try:
        yield Service(tmp_path, cluster, ROOM)
    finally:
        for name in names():
            deploy.take_down(name)


def create(service: Service, kind: Kind) -> Space:
    return service.create(kind, SERVERS[kind], ip(HEAD[kind]))


@pytest.mark.parametrize("kind", ["nfs", "glusterfs"])
def test_a_space_has_servers_of_its_own_that_are_mounted_and_end_with_it(
    service: Service, tmp_path: Path, kind: Kind
) -> None:
    space = service.settled(create(service, kind))
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
def test_a_server_whose_kernel_filters_no_packets_serves_no_space(service: Service) -> None:
    """The kernel of guests without virtualisation has none of nftables for IP: strangers would reach daemons."""
    space = service.settled(create(service, "nfs"))
    assert space.state == "failed"
    assert "cannot filter packets by nftables" in str(space.reason)
    service.delete(space)
    assert service.settled(space).state == "gone"
    assert names() == []


def test_a_service_that_is_killed_brings_nothing_up_twice_and_forgets_nothing(
    service: Service, tmp_path: Path
) -> None:
    """Each process goes on from what the one before left, and is killed some programs later, from the first program on."""
    space = create(service, "nfs")
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
