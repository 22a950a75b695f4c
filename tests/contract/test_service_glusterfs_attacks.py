"""One tenant attacks the GlusterFS space of another: root on a node of its own, which sends what it likes.

Files are named on the wire by 16 bytes, their GFID, which the attacker knows of the other's files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest
from gluster_wire import ROOT
from spaces_service import Service, send, serving

from waiting import HANG_S
from wavetank.cluster.host import Host
from wavetank.errors import WavetankError
from wavetank.service.core.volume import TOLD_AT_PORT, Volume
from wavetank.service.makers.glusterfs import bricks

pytestmark = [pytest.mark.cluster]

MODES = ("shared", "dedicated")
LAYERS = (
    "files",
    "rights",
    "locks",
    "network",
)  # of a brick, below and above the one that clients name


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory, "steals", "glusterfs") as found:
        yield found


def climb(node: Host, address: str, port: int, brick: str) -> list[list[str]]:
    """What the folders hold that lie above a brick, one after the other, by its own client; none where it cannot climb."""
    calls, at = [["bind", address, port, brick, "climber"]], ROOT
    for step in range(1, 9):
        new = f"{step:02x}" * 16
        calls += [["lookup", at, "..", new], ["names", new]]
        at = new
    got = send(node, *calls, kind="glusterfs")
    return [value for done, value in got[2::2] if done == "ok"]


@pytest.mark.parametrize("mode", MODES)
def test_an_attacker_reads_nothing_of_another_tenant(service: Service, mode: str) -> None:
    victim = service.create("ann", "victim", mode=mode)
    own = service.create("bob", "own") if mode == "shared" else None
    ann, bob = service.ann, service.bob
    service.mount(ann, victim, "/victim")
    ann.run(["sh", "-c", "mkdir /victim/d; echo secret > /victim/d/file; chmod 666 /victim/d/file"])
    ((at, port),) = Volume.of(str(victim.export)).bricks
    bound = ["bind", at, port, victim.id, "ann"]
    folder = send(ann, bound, ["lookup", ROOT, "d"], kind="glusterfs")[1][1]
    file = send(ann, bound, ["lookup", ROOT, "d"], ["lookup", folder, "file"], kind="glusterfs")[2][1]  # fmt: skip
    looks = [["lookup", ROOT, "d"], ["lookup", folder, "file"], ["names", folder], ["read", file]]
    assert send(ann, bound, *looks, kind="glusterfs")[-1] == ["ok", b"secret\n".hex()]

    # By mounting it, by naming any part of the brick, and by naming nothing at all.
    with pytest.raises(WavetankError):
        service.mount(bob, victim, "/victim")
    calls = [["connect", at, port], *looks, ["names", ROOT]]
    for name in (victim.id, *LAYERS, "", "/", f"/{victim.id}"):
        calls += [["bind", at, port, name, "bob"], *looks, ["names", ROOT]]
    got = send(bob, *calls, kind="glusterfs")
    assert [each for each in got[1:] if each[0] != "refused"] == []

    if own is not None:
        # By way of the own brick: the other's names and GFIDs, and folders above it.
        ((_, mine),) = Volume.of(str(own.export)).bricks
        calls = [["bind", at, mine, own.id, "bob"], *looks]
        for name in (f"../{victim.id}", f"../../{victim.id}/d", f"/{victim.id}", ".glusterfs"):
            calls.append(["lookup", ROOT, name])
        got = send(bob, *calls, kind="glusterfs")
        assert [each[0] for each in got] == ["ok", *["refused"] * (len(calls) - 1)]
        above = climb(bob, at, mine, own.id)
        assert above  # it comes out of its brick, and to the root that this has for itself
        for found in above:
            assert {"brick", "usr", "var"} <= set(found)
            assert {"proc", "run", "home", "root", service.device.strip("/")}.isdisjoint(found)
        service.delete(own)
    assert ann.run(["cat", "/victim/d/file"]).stdout == "secret\n"
    ann.run(["umount", "/victim"])
    service.delete(victim)


def test_a_brick_that_sees_its_server_gives_all_of_it_to_its_clients(service: Service) -> None:
    """Why bricks of spaces have a root of their own: one as GlusterFS starts it lets its clients climb to the server's root."""
    space = service.create("bob", "plain")
    ((at, port),) = Volume.of(str(space.export)).bricks
    (image,) = service.driver.maker.servers.all_on(service.node)
    text = bricks.brick_text(service.server, image).replace("/brick", service.mounted_at(space))
    bricks.DAEMONS.end(service.server, space.id)
    starts = 'cat >/run/plain; glusterfsd --brick-name "$1" --volfile /run/plain --log-file /run/plain.log'
    service.server.run(["sh", "-c", starts, "sh", space.id], stdin=text)
    above = climb(service.bob, at, port, space.id)
    assert any({"run", "proc", "etc", service.device.strip("/")} <= set(found) for found in above)
    ends = 'kill "$(pgrep -f -- "--brick-name $1 --volfile /run/plain")"; rm /run/plain*'
    service.server.run(["sh", "-c", ends, "sh", space.id])
    service.driver.examine()
    assert service.store.space(space.id).state == "ready"
    above = climb(service.bob, at, port, space.id)
    assert not any("run" in found for found in above)
    service.delete(space)


def test_whoever_knows_what_a_client_calls_itself_reaches_no_brick(service: Service) -> None:
    """A client's name is told on the network, and GlusterFS takes whoever has it for that client: so strangers come to no port."""
    space = service.create("ann", "named")
    ((at, port),) = Volume.of(str(space.export)).bricks
    stays = [["bind", at, port, space.id, "random-name"], ["until", "/tmp/in", "/tmp/out"]]
    argv = [sys.executable, "/tmp/gluster_wire.py", json.dumps(stays)]
    service.ann.start(argv, log="stays")
    service.ann.run(["sh", "-c", "until [ -e /tmp/in ]; do sleep 0.1; done"], timeout_s=HANG_S)
    running = bricks.DAEMONS.running(service.server)
    for who in ("another-name", "random-name"):
        for _ in range(10):
            asked = send(service.bob, ["bind", at, port, space.id, who], ["names", ROOT], kind="glusterfs")  # fmt: skip
            assert [each[0] for each in asked] == ["refused", "refused"]
    told = send(service.bob, ["connect", at, TOLD_AT_PORT], kind="glusterfs")
    assert told[0][0] == "refused"  # nor what tells clients of volumes
    assert bricks.DAEMONS.running(service.server) == running
    service.ann.run(["touch", "/tmp/out"])
    service.delete(space)


@pytest.mark.parametrize("mode", MODES)
def test_a_deleted_space_leaves_nothing_to_read(service: Service, mode: str) -> None:
    gone = service.create("ann", "gone", mode=mode)
    service.mount(service.ann, gone, "/gone")
    service.ann.run(["sh", "-c", "yes SECRET-OF-ANN | head -c 67108864 > /gone/file; sync /gone/file"], timeout_s=HANG_S)  # fmt: skip
    service.ann.run(["umount", "/gone"])
    ((at, port),) = Volume.of(str(gone.export)).bricks
    assert service.on_disk("SECRET-OF-ANN")  # what is looked for is found where it is
    service.delete(gone)
    assert not service.on_disk("SECRET-OF-ANN")
    new = service.create("bob", "new", mode=mode)
    # The new brick may have the old one's port: the old name is nobody's there.
    got = send(service.ann, ["bind", at, port, gone.id, "ann"], ["names", ROOT], kind="glusterfs")
    assert [each[0] for each in got] == ["refused", "refused"]
    service.delete(new)
