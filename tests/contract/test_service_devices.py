"""A GlusterFS space on two devices of a real server: made and grown through kills, spread, attacked, wiped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gluster_wire import ROOT
from service_fakes import ip, request
from spaces_service import MIB, SMALL, EndsInside, KilledError, Service, send, serving

from waiting import HANG_S
from wavetank.errors import WavetankError
from wavetank.service.core.records import Resize
from wavetank.service.core.volume import Volume
from wavetank.service.makers import images
from wavetank.service.makers.daemons import CONFINE
from wavetank.service.makers.glusterfs import bricks, telling
from wavetank.service.makers.glusterfs.maker import GlusterMaker
from wavetank.service.reconcile.driver import Reconciler

pytestmark = [pytest.mark.cluster]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory, "devices", "glusterfs", devices=2) as found:
        yield found


def blocks(service: Service, at: str) -> int:
    return int(service.server.run(["stat", "-f", "-c", "%b", at]).stdout)


def test_a_space_on_two_devices_is_made_and_grown_through_kills(service: Service) -> None:
    store, host = service.store, EndsInside(service.server)
    killed = Reconciler(store, GlusterMaker(store, {service.node: host}), service.now)

    def ends_at(*cuts: tuple[str, int, int]) -> None:
        for host.script, host.whole, host.left in cuts:
            with pytest.raises(KilledError):
                killed.recover()
            assert store.space(space.id).state != "ready"
        host.script = ""
        killed.recover()

    asked = request("two", size=2 * SMALL, devices_per_server=2, access=[ip(service.ann.address)])
    space, _ = store.create_space("ann", asked, service.now(), "ann")
    ends_at((images.MAKE, 0, 2), (images.MAKE, 1, 0), (images.MAKE, 1, 4), (CONFINE + bricks.START, 1, 3), (telling.PUT, 0, 1))  # fmt: skip
    space = store.space(space.id)
    assert space.state == "ready", space.reason
    assert set(bricks.DAEMONS.running(service.server)) == {space.id, f"{space.id}-2"}
    (at, first), (again, second) = Volume.of(str(space.export)).bricks
    assert (at, first) != (again, second)
    assert at == again

    node, parts = service.ann, [service.mounted_at(space), f"{service.mounted_at(space)}-2"]
    service.mount(node, space, "/two")
    node.run(["sh", "-c", "mkdir /two/d; for i in $(seq 60); do echo $i > /two/d/$i; done"])
    # Of 60 names some belong to each of two bricks, but for one chance in 2^59.
    assert all(
        service.server.run(["find", f"{part}/d", "-type", "f", "-size", "+0"]).stdout
        for part in parts
    )
    assert int(node.run(["stat", "-f", "-c", "%b", "/two"]).stdout) == sum(
        blocks(service, part) for part in parts
    )
    before = [blocks(service, part) for part in parts]
    store.resize_space(space.id, Resize(size=2 * SMALL + 160 * MIB), service.now(), "ann")
    ends_at((images.GROW, 0, 0), (images.GROW, 1, 2))
    assert store.space(space.id).state == "ready"
    # A block of XFS is 4 KiB; nothing of what is added is its log.
    assert [blocks(service, part) - n for part, n in zip(parts, before, strict=True)] == [80 * MIB // 4096] * 2  # fmt: skip
    assert node.run(["sh", "-c", "cat /two/d/* | wc -l"]).stdout == "60\n"

    # After the server started again, both are put back.
    bricks.DAEMONS.end(service.server, f"{space.id}-2")
    service.server.run(["umount", parts[1]])
    service.driver.examine()
    assert store.space(space.id).state == "ready"
    assert len(bricks.DAEMONS.running(service.server)) == 2
    node.run(["umount", "/two"])
    service.delete(space)
    assert service.folders() == []


def test_an_attacker_reaches_neither_device_and_deleted_data_is_on_none(service: Service) -> None:
    victim = service.create("ann", "victim", size=2 * SMALL, devices_per_server=2)
    own = service.create("bob", "own")
    ann, bob = service.ann, service.bob
    service.mount(ann, victim, "/victim")
    writes = "for i in $(seq 32); do yes SECRET-OF-ANN | head -c 1048576 > /victim/$i; done; sync /victim/*"
    ann.run(["sh", "-c", writes], timeout_s=HANG_S)
    with pytest.raises(WavetankError):
        service.mount(bob, victim, "/victim")
    for at, port in Volume.of(str(victim.export)).bricks:
        for name in (victim.id, f"{victim.id}-2", own.id, ""):
            calls = [["bind", at, port, name, "bob"], ["names", ROOT]]
            assert [each[0] for each in send(bob, *calls, kind="glusterfs")] == ["refused"] * 2
        let_in = send(ann, ["bind", at, port, victim.id, "ann"], ["names", ROOT], kind="glusterfs")
        assert [each[0] for each in let_in] == ["ok", "ok"]
    assert ann.run(["head", "-c", "13", "/victim/1"]).stdout == "SECRET-OF-ANN"
    ann.run(["umount", "/victim"])
    places = [device.name for device in service.devices]
    assert all(service.on_disk("SECRET-OF-ANN", device) for device in places)
    service.delete(victim)
    assert not any(service.on_disk("SECRET-OF-ANN", device) for device in places)
    assert set(bricks.DAEMONS.running(service.server)) == {own.id}
    service.delete(own)
