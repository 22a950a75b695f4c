"""GlusterFS spaces on two real servers: made, spread, grown while they are written, given other rules, put back, deleted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest
from gluster_wire import ROOT
from service_fakes import ip
from spaces_service import MIB, SMALL, EndsInside, KilledError, Service, serving

from waiting import HANG_S, until
from wavetank.cli.space_mount import mount_on
from wavetank.errors import WavetankError
from wavetank.service.core.records import Device, Resize, Server
from wavetank.service.core.volume import Volume
from wavetank.service.daemon.registry import load_makers
from wavetank.service.makers import images
from wavetank.service.makers.daemons import CONFINE
from wavetank.service.makers.glusterfs import bricks, moving, telling
from wavetank.service.makers.glusterfs.maker import GlusterMaker
from wavetank.service.reconcile.driver import Reconciler

BRICK = CONFINE + bricks.START
pytestmark = [pytest.mark.cluster]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory, "volume", "glusterfs", servers=2) as found:
        yield found


def test_a_space_gets_bytes_and_servers_while_it_is_written_and_the_service_killed(
    service: Service,
) -> None:
    space = service.create("ann", "life", stripe_size=4 * MIB, servers=1, size=SMALL)
    node, first = service.ann, service.servers[0]
    assert len(Volume.of(str(space.export)).bricks) == 1
    mount_on(node, space, "/life")

    def on_servers(*argv: str) -> list[int]:
        at = service.mounted_at(space)
        return [int(host.run([*argv, at]).stdout.split()[0]) for host in service.servers]

    node.run(["dd", "if=/dev/urandom", "of=/life/large", "bs=1M", "count=64", "conv=fsync"], timeout_s=HANG_S)  # fmt: skip
    node.run(["sh", "-c", "mkdir /life/d; for i in $(seq 30); do echo $i > /life/d/$i; done"])
    before = node.run(["md5sum", "/life/large"], timeout_s=HANG_S).stdout
    blocks = int(first.run(["stat", "-f", "-c", "%b", service.mounted_at(space)]).stdout)
    writes = "i=0; while [ ! -e /tmp/enough ]; do echo $i >> /life/log || exit 1; i=$((i+1)); sleep 0.02; done; echo $i > /tmp/wrote"
    node.start(["sh", "-c", writes], log="writes")
    # Directories are seen in their parent all the time, whichever brick their names belong to by then.
    node.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do mkdir /life/e$i; done"])
    looks = "while [ ! -e /tmp/enough ]; do n=$(ls /life | grep -c ^e); [ $n = 8 ] || echo $n >> /tmp/missed; sleep 0.1; done"
    node.start(["sh", "-c", looks], log="looks")

    # The service ends within what it does on the servers, time and again; the next one goes on.
    hosts = [EndsInside(server) for server in service.servers]
    killed = Reconciler(
        service.store,
        GlusterMaker(service.store, dict(zip(service.nodes, hosts, strict=True))),
        service.now,
    )
    cuts = [(images.MAKE, 6), (BRICK, 9), (images.SET_RULES, 1), (telling.PUT, 1), (moving.MOVE, 1), (moving.END, 0)]  # fmt: skip
    asked = Resize(size=2 * SMALL + 160 * MIB, servers=2)
    service.store.resize_space(space.id, asked, service.now(), "ann")
    for script, programs in cuts:
        for host in hosts:
            host.script, host.left = script, programs
        with pytest.raises(KilledError):
            until(lambda: not killed.settle())
        assert service.store.space(space.id).state == "growing"
    for host in hosts:
        host.script = ""
    killed.recover()
    space = service.settled(space)

    assert len(Volume.of(str(space.export)).bricks) == 2
    # A block of XFS is 4 KiB; nothing of what is added is its log.
    grown = on_servers("stat", "-f", "-c", "%b")
    assert (grown[0] - blocks, grown[0]) == (80 * MIB // 4096, grown[1])
    # 16 parts of 4 MiB: each server has some by now, by their names.
    assert all(kept >= 4 * MIB for kept in on_servers("du", "-sb"))
    node.run(["sh", "-c", "touch /tmp/enough; until [ -s /tmp/wrote ]; do sleep 0.1; done"], timeout_s=HANG_S)  # fmt: skip
    assert node.run(["sh", "-c", "wc -l < /life/log"]).stdout == node.run(["cat", "/tmp/wrote"]).stdout  # fmt: skip
    assert node.run(["md5sum", "/life/large"], timeout_s=HANG_S).stdout == before
    assert node.run(["sh", "-c", "cat /life/d/* | wc -l"]).stdout == "30\n"
    assert int(node.run(["stat", "-f", "-c", "%b", "/life"]).stdout) == sum(grown)
    assert node.run(["sh", "-c", "sort /tmp/missed 2>/dev/null | uniq -c"]).stdout == ""
    node.run(["umount", "/life"])
    service.delete(space)
    assert service.folders() == []


def test_what_a_server_lost_when_it_started_again_is_put_back(service: Service) -> None:
    space = service.create("ann", "back")
    service.mount(service.ann, space, "/back")
    names = "for i in 1 2 3 4 5 6 7 8; do echo $i > /back/$i; done"
    service.ann.run(["sh", "-c", f"{names}; umount /back"])
    lost = service.servers[1]
    bricks.DAEMONS.end(lost, space.id)
    lost.run(["umount", service.mounted_at(space)])
    service.driver.examine()
    assert service.store.space(space.id).state == "ready"
    service.mount(service.ann, space, "/back")
    assert len(service.ann.run(["ls", "/back"]).stdout.split()) == 8
    service.ann.run(["umount", "/back"])
    service.delete(space)


def test_other_rules_end_mounts_that_are_not_to_be_and_others_live_on(service: Service) -> None:
    space = service.create("ann", "rules")
    ann, bob = service.ann, service.bob
    with pytest.raises(WavetankError):
        service.mount(bob, space, "/rules")
    service.mount(ann, space, "/rules")
    service.grant(space, ip(ann.address), ip(bob.address))
    service.mount(bob, space, "/rules")
    bob.run(["sh", "-c", "echo shown > /rules/file"])
    # A connection that named a wrong brick in the name of one that was let in is not looked at again when rules change (10.3):
    # it has to end with the process.
    (address, port), *_ = Volume.of(str(space.export)).bricks
    hidden = [
        ["bind", address, port, space.id, "bob"], ["names", ROOT], ["connect", address, port], ["set_volume", "locks", "bob"],
        ["until", "/tmp/hidden", "/tmp/look"], ["names", ROOT], ["use", 0], ["names", ROOT],
    ]  # fmt: skip
    calls = f"python3 /tmp/gluster_wire.py '{json.dumps(hidden)}' > /tmp/came.new; mv /tmp/came.new /tmp/came"
    bob.start(["sh", "-c", calls.replace("python3", sys.executable)], log="hidden")
    bob.run(["sh", "-c", "until [ -e /tmp/hidden ]; do sleep 0.1; done"], timeout_s=HANG_S)
    service.grant(space, ip(ann.address))
    waits = "touch /tmp/look; until [ -e /tmp/came ]; do sleep 0.1; done; cat /tmp/came"
    came = json.loads(bob.run(["sh", "-c", waits], timeout_s=HANG_S).stdout)
    assert [each[0] for each in came] == [
        "ok", "ok", "ok", "refused", "ok", "refused", "ok", "refused"
    ]  # fmt: skip
    with pytest.raises(WavetankError):
        bob.run(["cat", "/rules/file"])
    again = 'until [ "$(cat /rules/file 2>/dev/null)" = shown ]; do sleep 0.1; done'
    ann.run(["sh", "-c", again], timeout_s=HANG_S)  # and ann's mount lives on
    ann.run(["umount", "/rules"])
    bob.run(["sh", "-c", "umount -l /rules || true"])
    service.delete(space)


def test_a_network_is_the_addresses_that_it_has(service: Service) -> None:
    """GlusterFS 10.3 itself takes 10.77.0.0/30 for others too, as it compares the wrong bits."""
    ann, bob = service.ann, service.bob
    whole = ann.address.rpartition(".")[0]
    space = service.create("ann", "net", access=[ip(f"{whole}.0/24")])
    service.mount(bob, space, "/net")
    bob.run(["umount", "/net"])
    service.grant(space, ip(f"{whole}.128/25"))
    with pytest.raises(WavetankError):
        service.mount(ann, space, "/net")
    service.delete(space)


def test_a_server_that_cannot_serve_is_told_all_that_is_wrong(service: Service) -> None:
    sees = load_makers(service.store)["glusterfs"].see
    kept = service.store.servers()[0].server
    sees(kept)
    devices = (Device(name="/no-such", size=SMALL), Device(name="/etc", size=SMALL))
    with pytest.raises(WavetankError) as refused:
        sees(Server(node=service.node, devices=devices, kinds=("glusterfs",)))
    assert "cannot serve GlusterFS: there is no /no-such; nothing is mounted at /etc" in str(
        refused.value
    )
