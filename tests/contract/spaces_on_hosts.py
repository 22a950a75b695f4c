"""Dedicated spaces whose servers the service brings up on hosts over ssh: tests that run where these are nodes of this machine.

Machines of a cloud are such hosts (clouds/loopback_runs.py), and so are those of somebody (test_ssh_provider.py). The service is killed as
soon as it has begun with them, and the next one goes on.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract_clusters import CLOUD, INSTANCE, SSH
from emulated_account import account_of
from service_fakes import ip
from spaces_brought_up import MIB, SMALL, Service, killed_after

from waiting import HANG_S, until
from wavetank.cluster import deploy, registry
from wavetank.cluster.host import Host
from wavetank.cluster.state import names
from wavetank.service.core.records import Space
from wavetank.service.csi.mounts import MOUNTERS

NODES = "10.77.0.0/24"  # of the local cluster, whose nodes are machines
ROOM = 400 * MIB  # of 512 MiB of a node's disk
PROGRAMS = (
    8  # of a cluster: keys are made by two; the others are ssh, which begins when machines run
)


def servers() -> dict[str, Any]:
    """What a template says: a head node mounts the space."""
    alike = {
        "nodes": {"compute": 1, "head": 1},
        "file_system": {"kind": "none"},
        "storage": {"size": "1 GiB"},
    }
    if CLOUD is None:
        hosts = dict(zip(("c1", "h1"), SSH["hosts"].values(), strict=False))
        return {
            "name": "any",
            "provider": "ssh",
            "instance": INSTANCE,
            "ssh": {**SSH, "hosts": hosts},
            **alike,
        }
    # clusters reach each other
    openstack = {"openstack": {"network": "lab-net"}} if CLOUD == "openstack" else {}
    return account_of(CLOUD).body_of(cloud={"clients_from": [NODES]}, **openstack, **alike)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    try:
        yield Service(tmp_path, servers(), ROOM, most=3)
    finally:
        for name in names():
            deploy.take_down(name)


def see_machines(n: int) -> None:
    """See that the account, where there is one, has so many."""
    if CLOUD is not None:
        region = account_of(CLOUD).body_of()["cloud"]["region"]
        found = registry.cloud(CLOUD, region).found(None)
        assert sum(each.kind == "instance" for each in found) == n, found


def killed_once(service: Service, space: Space, n: int, cluster: str = "") -> Space:
    """Go on, in a process that is killed when hosts are there, and then in this one until all is done.

    Args:
        service: with something to do.
        space: for which.
        n: machines that there are then, in a cloud.
        cluster: that comes up; the default is the first one.
    """
    of = f"/clusters/{cluster or space.id}/"
    assert killed_after(PROGRAMS, lambda: service.settled(space), of) == -signal.SIGKILL
    see_machines(n)
    with service.open() as store:

        def is_done() -> bool:
            service.settle(store)
            return not store.unsettled()

        until(is_done)
        found = store.space(space.id)
    assert found.state == "ready", found.reason
    see_machines(n)  # none was made twice
    return found


def client(space: Space) -> Host:
    """A host that mounts a space."""
    return deploy.find(space.id).nodes.hosts["h1"]


def mount(host: Host, space: Space) -> None:
    MOUNTERS[space.kind].mount(host, str(space.export), "/mine", {})


def test_a_space_of_nfs_gets_a_server_and_bytes_and_leaves_nothing(service: Service) -> None:
    space = killed_once(service, service.create("nfs", 1, ip(NODES)), 2)
    host = client(space)
    mount(host, space)
    host.run(["sh", "-c", "echo kept > /mine/file"], timeout_s=HANG_S)
    before = int(host.run(["stat", "-f", "-c", "%b * %S", "/mine"]).stdout.split()[0])
    service.resize(space, SMALL + 40 * MIB)
    space = service.settled(space)
    assert space.state == "ready", space.reason
    assert int(host.run(["stat", "-f", "-c", "%b * %S", "/mine"]).stdout.split()[0]) > before
    assert host.run(["cat", "/mine/file"]).stdout == "kept\n"
    host.run(["umount", "/mine"])
    service.delete(space)
    assert service.settled(space).state == "gone"
    assert names() == []
    see_machines(0)


def test_a_space_of_glusterfs_gets_servers_while_it_is_written_and_leaves_nothing(
    service: Service,
) -> None:
    space = killed_once(service, service.create("glusterfs", 2, ip(NODES)), 3)
    host = client(space)
    mount(host, space)
    host.run(["sh", "-c", "mkdir /mine/d; for i in $(seq 30); do echo $i > /mine/d/$i; done"], timeout_s=HANG_S)  # fmt: skip
    writes = "i=0; while [ ! -e /tmp/enough ]; do echo $i >> /mine/log || exit 1; i=$((i+1)); sleep 0.05; done; echo $i > /tmp/wrote"
    host.start(["sh", "-c", writes], log="writes")
    service.resize(space, 3 * (SMALL + 40 * MIB), 3)
    space = killed_once(service, space, 4, f"{space.id}-2")
    assert names() == [space.id, f"{space.id}-2"]
    further = deploy.find(f"{space.id}-2").nodes.hosts
    assert list(further) == ["c1"]
    on_new = further["c1"].run(["sh", "-c", "ls /run/wavetank-bricks/*/d | wc -l"]).stdout
    assert 0 < int(on_new) < 30  # some files belong there now, by their names
    host.run(["sh", "-c", "touch /tmp/enough; until [ -s /tmp/wrote ]; do sleep 0.1; done"], timeout_s=HANG_S)  # fmt: skip
    assert host.run(["sh", "-c", "wc -l < /mine/log"]).stdout == host.run(["cat", "/tmp/wrote"]).stdout  # fmt: skip
    assert host.run(["sh", "-c", "cat /mine/d/* | wc -l"]).stdout == "30\n"
    host.run(["umount", "/mine"])
    service.delete(space)
    assert service.settled(space).state == "gone"
    assert names() == []
    see_machines(0)
