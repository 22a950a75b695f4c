"""NFS spaces on a real server: made, grown while they are written, given other rules, put back, deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from service_fakes import ip
from spaces_service import MIB, ROOM, Service, at_of, send, serving

from waiting import HANG_S
from wavetank.cli.space_mount import mount_on
from wavetank.errors import ServiceError, WavetankError
from wavetank.service.core.nfs_export import NfsExport
from wavetank.service.core.records import AccessList, Device, Server
from wavetank.service.daemon.registry import load_makers
from wavetank.service.makers.hosts import NodesOfClusters
from wavetank.service.makers.nfs import servers
from wavetank.units import exact_size

pytestmark = [pytest.mark.cluster]

NO_WRITES = "status 30"  # NFS3ERR_ROFS
FILTERED = "[Errno 111] Connection refused"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory, "life") as found:
        yield found


def test_a_space_is_mounted_grows_while_it_is_written_and_goes(service: Service) -> None:
    space = service.create("ann", "life")
    node = service.ann
    assert NfsExport.of(str(space.export)).source() == f"{service.server.address}:/{space.id}"
    service.mount(node, space, "/life")

    def blocks() -> int:
        return int(service.server.run(["stat", "-f", "-c", "%b", f"{servers.MOUNTS}/{space.id}"]).stdout)  # fmt: skip

    node.run(["sh", "-c", "umask 077; mkdir /life/own; echo kept > /life/own/file"])
    before = blocks()
    writes = "i=0; while [ ! -e /tmp/enough ]; do echo $i >> /life/log || exit 1; i=$((i+1)); done; echo $i > /tmp/wrote"
    node.start(["sh", "-c", writes], log="writes")
    service.grow(space, 400 * MIB)
    assert (
        blocks() - before
    ) * 4096 == 80 * MIB  # a block of XFS is 4 KiB; nothing of what is added is its log
    node.run(["sh", "-c", "touch /tmp/enough; until [ -s /tmp/wrote ]; do sleep 0.1; done"], timeout_s=HANG_S)  # fmt: skip
    assert node.run(["sh", "-c", "wc -l < /life/log"]).stdout == node.run(["cat", "/tmp/wrote"]).stdout  # fmt: skip
    assert node.run(["cat", "/life/own/file"]).stdout == "kept\n"
    node.run(["umount", "/life"])
    service.delete(space)
    assert space.id not in service.folders()


def test_a_space_grows_into_all_that_is_free(service: Service) -> None:
    # The device has room for what is added, and not for the whole again beside what is there.
    space = service.create("ann", "large", size=800 * MIB)
    assert service.grow(space, 1300 * MIB).size == 1300 * MIB
    service.delete(space)


def test_a_tenant_mounts_its_space_and_is_told_what_to_do_where_it_may_not(
    service: Service,
) -> None:
    space = service.create("ann", "own")
    mount_on(service.ann, space, "/own")
    service.ann.run(["sh", "-c", "echo kept > /own/file"])
    assert service.ann.run(["cat", "/own/file"]).stdout == "kept\n"
    service.ann.run(["umount", "/own"])
    with pytest.raises(ServiceError, match="wavetank space grant own ADDRESS"):
        mount_on(service.bob, space, "/own")
    service.delete(space)


def test_what_the_server_lost_when_it_started_again_is_put_back(service: Service) -> None:
    space = service.create("ann", "back")
    at = at_of(space)
    handle = send(service.ann, ["mount", at, f"/{space.id}"])[0][1]
    servers.DAEMONS.end(service.server, space.id)
    # Threads of a server that was killed end after it.
    unmounts = f"until umount {servers.MOUNTS}/{space.id}; do sleep 0.1; done"
    service.server.run(["sh", "-c", unmounts], timeout_s=HANG_S)
    service.server.run(["nft", "delete", "table", "inet", "wavetank_spaces"])
    assert send(service.ann, ["names", at, handle])[0][0] == "refused"
    service.driver.examine()
    assert service.store.space(space.id).state == "ready"
    assert send(service.ann, ["names", at, handle]) == [["ok", [".", ".."]]]
    service.delete(space)


def test_rules_hold_for_mounts_that_there_are(service: Service) -> None:
    space = service.create("ann", "rules")
    at, bob, ann = at_of(space), service.bob, service.ann
    mine = send(ann, ["mount", at, f"/{space.id}"])[0][1]
    service.grant(space, ip(ann.address), ip(bob.address, "ro"))
    service.mount(ann, space, "/rules")
    ann.run(["sh", "-c", "echo shown > /rules/file"])
    file = send(ann, ["lookup", at, mine, "file"])[0][1]
    assert send(bob, ["read", at, file]) == [["ok", b"shown\n".hex()]]
    (wrote,) = send(bob, ["write", at, file, b"broken".hex()])
    assert wrote == ["refused", NO_WRITES]
    service.grant(space, ip(ann.address))
    assert send(bob, ["read", at, file], ["mount", at, f"/{space.id}"])[0][0] == "refused"
    assert send(bob, ["mount", at, f"/{space.id}"]) == [["refused", FILTERED]]
    assert ann.run(["cat", "/rules/file"]).stdout == "shown\n"  # and ann's mount lives on
    ann.run(["umount", "/rules"])
    service.delete(space)


def test_a_server_that_cannot_serve_is_told_all_that_is_wrong(service: Service) -> None:
    sees, node, server = load_makers(service.store)["nfs"].see, service.node, service.server
    kept = service.store.servers()[0].server
    sees(kept)
    server.run(["sh", "-c", "mkdir -p /plain; : > /file; [ -b /block ] || mknod /block b 7 4095"])
    server.run(["sh", "-c", f"echo mine > {service.device}/other"])
    server.run(["sh", "-c", "mkdir -p /memory; mount -t tmpfs memory /memory"])
    at = ["/no-such", "/file", "/block", "/plain", service.device, "/memory"]
    devices = tuple(Device(name=name, size=4 * ROOM) for name in at)
    with pytest.raises(WavetankError) as refused:
        sees(Server(node=node, devices=devices, kinds=("nfs",)))
    server.run(["umount", "/memory"])
    server.run(["rm", f"{service.device}/other", "/block"])
    for said in (
        "there is no /no-such",
        "/file is no folder",
        "/block is a block device: mount",
        "nothing is mounted at /plain",
        f"{service.device} is in use: it holds other things than spaces (other)",
        f"and spaces are to have {exact_size(4 * ROOM)} of it",
        "/memory is a file system of type tmpfs",
    ):
        assert said in str(refused.value)
    sees(kept)


@pytest.mark.parametrize(
    ("name", "said"),
    [("io1", "call a server of spaces CLUSTER.NODE"), ("no-such.io1", "no cluster is called")],
)
def test_a_server_that_is_no_node_of_a_cluster_is_told(
    service: Service, name: str, said: str
) -> None:
    with pytest.raises(WavetankError, match=said):
        NodesOfClusters()[name]
    cluster = service.node.rpartition(".")[0]
    with pytest.raises(WavetankError, match="has nodes c1, c2, c3"):
        NodesOfClusters()[f"{cluster}.io9"]


def test_a_client_is_shut_out_before_all_else_and_stays_so(service: Service) -> None:
    space = service.create("ann", "shut")
    at, ann = at_of(space), service.ann
    root = send(ann, ["mount", at, f"/{space.id}"])[0][1]
    assert send(ann, ["names", at, root])[0][0] == "ok"
    service.store.set_access(space.id, AccessList(access=()), service.now(), "admin")
    service.driver.shut_out(space.id, service.node)
    assert send(ann, ["names", at, root]) == [["refused", FILTERED]]
    assert service.settled(space).state == "ready"
    assert send(ann, ["names", at, root]) == [["refused", FILTERED]]
    service.delete(space)


def test_what_harms_one_server_of_a_space_harms_no_other(service: Service) -> None:
    space, other = service.create("ann", "harmed"), service.create("bob", "spared")
    running = servers.DAEMONS.running(service.server)
    servers.DAEMONS.end(service.server, space.id)
    root = send(service.bob, ["mount", at_of(other), f"/{other.id}"])[0][1]
    assert send(service.bob, ["names", at_of(other), root])[0][0] == "ok"
    service.driver.examine()
    assert servers.DAEMONS.running(service.server) == running
    for each in (space, other):
        service.delete(each)


def test_a_file_that_ganesha_does_not_take_leaves_the_one_in_force(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = service.create("ann", "taken")
    running = servers.DAEMONS.running(service.server)
    image = service.driver.maker.servers.made_on(service.node, space.id)
    wrong = servers.text_of(service.server, image).replace("RW;", "RW\n} ; { = ;")
    monkeypatch.setattr(servers, "text_of", lambda *_: wrong)
    with pytest.raises(ServiceError, match="would not take what it is to serve"):
        servers.start(service.server, image)
    monkeypatch.undo()
    assert servers.DAEMONS.running(service.server) == running
    service.delete(space)


@pytest.mark.parametrize("how", ["stopped", "started again"])
def test_a_deletion_asks_no_daemon(service: Service, how: str) -> None:
    """A server that does not answer, or was just started, keeps no data from being overwritten."""
    space = service.create("ann", "goes")
    service.mount(service.ann, space, "/goes")
    service.ann.run(
        ["sh", "-c", "yes KEPT-BY-NOBODY | head -c 1048576 > /goes/file; sync /goes/file"]
    )
    if how == "stopped":
        ends = 'kill -STOP "$(pgrep -f "ganesha.nfsd -p /$1")"'
        service.server.run(["sh", "-c", ends, "sh", space.id])
    else:
        servers.DAEMONS.end(service.server, space.id)
        service.driver.examine()
    service.delete(space)
    assert not service.on_disk("KEPT-BY-NOBODY")
    service.ann.run(["umount", "-l", "/goes"])
