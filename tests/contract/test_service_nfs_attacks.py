"""One tenant attacks the NFS space of another: root on a node of its own, which sends what it likes.

Numbers of file handles are those of ganesha 4.3: the number of the export is in bytes 2 and 3, what names the file comes behind.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from spaces_service import Service, at_of, send, serving

from waiting import HANG_S
from wavetank.cluster.filesystems.nfs_export import ganesha
from wavetank.cluster.filesystems.nfs_export.ganesha import Client, Export
from wavetank.errors import RemoteCommandError
from wavetank.service.core.nfs_export import NfsExport
from wavetank.service.makers.nfs import servers

pytestmark = [pytest.mark.cluster]

VFS = {"Name": "VFS"}
MODES = ("shared", "dedicated")
NOT_ALLOWED = "status 13"  # MNT3ERR_ACCES
FILTERED = "[Errno 111] Connection refused"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory, "attacks") as found:
        yield found


def number_in(handle: str) -> str:
    """The number of the export in a handle of ganesha 4.3: bytes 2 and 3, after its version."""
    return handle[4:8]


def under(number: str, handle: str) -> str:
    """A handle as if it were of another export."""
    return handle[:4] + number + handle[8:]


def open_filter(service: Service) -> None:
    """As if the packet filter were not there."""
    service.server.run(["nft", "delete", "table", "inet", "wavetank_spaces"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("filtered", [True, False])
def test_an_attacker_reads_and_writes_nothing_of_another_tenant(
    service: Service, mode: str, filtered: bool
) -> None:
    victim = service.create("ann", "victim", mode=mode)
    own = service.create("bob", "own") if mode == "shared" else None
    ann, bob, at = service.ann, service.bob, at_of(victim)
    service.mount(ann, victim, "/victim")
    ann.run(["sh", "-c", "mkdir /victim/d; echo secret > /victim/d/file; chmod 666 /victim/d/file"])
    root = send(ann, ["mount", at, f"/{victim.id}"])[0][1]
    folder = send(ann, ["lookup", at, root, "d"])[0][1]
    file = send(ann, ["lookup", at, folder, "file"])[0][1]
    assert send(ann, ["read", at, file]) == [["ok", b"secret\n".hex()]]
    if not filtered:
        open_filter(service)

    # Names: of the export, of the folder below it, of what is around it on the server.
    paths = [f"/{victim.id}", f"/{victim.id}/d", f"/{victim.id}/..", f"{servers.MOUNTS}/{victim.id}",
             service.folder(victim), service.device, "/", servers.MOUNTS]  # fmt: skip
    got = send(bob, ["exports", at], *(["mount", at, path] for path in paths))
    assert {tuple(each) for each in got[1:]} == {("refused", FILTERED if filtered else NOT_ALLOWED)}
    assert got[0] == (["refused", FILTERED] if filtered else ["ok", []])

    # Handles at the victim's server, and at the attacker's own.
    calls = []
    for server in (at, *([at_of(own)] if own is not None else [])):
        for number in {number_in(root), "0001", "0002"}:
            handle = under(number, file)
            calls += [["read", server, handle], ["write", server, handle, b"broken".hex()]]
            for handle in (under(number, root), under(number, folder)):
                calls += [["names", server, handle], ["lookup", server, handle, "file"]]
                calls += [["lookup", server, handle, ".."]]
    got = send(bob, *calls)
    assert [each for each in got if each[0] != "refused"] == []
    if own is not None:
        # The parent of the own root is the own root, and the own server knows no other name.
        there = at_of(own)
        mine = send(bob, ["mount", there, f"/{own.id}"])[0][1]
        assert send(bob, ["exports", there]) == [["ok", [f"/{own.id}", f"{bob.address}/32"]]]
        ways = [["mount", there, f"/{own.id}/../{victim.id}"], ["mount", there, f"/{victim.id}"]]
        got = send(bob, ["lookup", there, mine, ".."], *ways)
        assert got == [["ok", mine], *[["refused", NOT_ALLOWED]] * 2]
    assert ann.run(["cat", "/victim/d/file"]).stdout == "secret\n"
    ann.run(["umount", "/victim"])
    for space in (victim, own):
        if space is not None:
            service.delete(space)


def test_no_port_of_a_server_is_open_but_those_of_the_own_spaces(service: Service) -> None:
    space, own = service.create("ann", "closed"), service.create("bob", "open")
    listening = "for port in $(seq 24099 29999); do (: </dev/tcp/$0/$port) 2>/dev/null && echo $port; done; true"
    found = service.bob.run(["bash", "-c", listening, service.server.address], timeout_s=HANG_S)
    assert [int(port) for port in found.stdout.split()] == list(NfsExport.of(str(own.export)).ports)
    # Its port mapper is nobody's but its own.
    asks = ["bash", "-c", ": </dev/tcp/$0/111", service.server.address]
    with pytest.raises(RemoteCommandError):
        service.bob.run(asks)
    for each in (space, own):
        service.delete(each)


def test_many_connections_of_a_stranger_harm_no_space(service: Service) -> None:
    space = service.create("ann", "stormed")
    port = NfsExport.of(str(space.export)).port
    running = servers.DAEMONS.running(service.server)
    storms = "for i in $(seq 300); do (echo garbage > /dev/tcp/$0/$1) 2>/dev/null; done; true"
    service.bob.run(["bash", "-c", storms, service.server.address, str(port)], timeout_s=HANG_S)
    root = send(service.ann, ["mount", at_of(space), f"/{space.id}"])[0][1]
    assert send(service.ann, ["names", at_of(space), root])[0][0] == "ok"
    assert servers.DAEMONS.running(service.server) == running
    service.delete(space)


def test_an_attack_that_comes_through_elsewhere_does_not_where_spaces_are(
    service: Service,
) -> None:
    """Where two exports share a server, handles of one are good for the other and for all above: spaces share none."""
    server, bob, at = service.server, service.bob, f"{service.server.address}:30000"
    own, other = f"{service.device}/one", f"{service.device}/two"
    server.run(["sh", "-c", f"mkdir {own} {other}; echo secret > {other}/file"])
    served = [
        Export(own, VFS, 1001, "/one", (Client(bob.address),)),
        Export(other, VFS, 1002, "/two", (Client(service.ann.address),)),
    ]
    core = {"mount_path_pseudo": "true", "MNT_Port": "30001"}
    text = ganesha.configuration(service.server.address, served, {}, port=30000, core=core)
    ganesha.start(server, text, service.server.address, "elsewhere")
    theirs = send(service.ann, ["mount", at, "/two"])[0][1]
    file = send(service.ann, ["lookup", at, theirs, "file"])[0][1]
    mine = send(bob, ["mount", at, "/one"])[0][1]
    assert send(bob, ["read", at, file])[0][0] == "refused"
    assert send(bob, ["read", at, under(number_in(mine), file)]) == [["ok", b"secret\n".hex()]]
    device = send(bob, ["lookup", at, under(number_in(mine), theirs), ".."])[0][1]
    assert "two" in send(bob, ["names", at, device])[0][1]
    ganesha.stop(server, "elsewhere")
    space = service.create("bob", "again")
    there = at_of(space)
    mine = send(bob, ["mount", there, f"/{space.id}"])[0][1]
    calls = []
    for handle in (device, theirs):
        calls += [["names", there, under(number_in(mine), handle)]]
        calls += [["lookup", there, under(number_in(mine), handle), ".."]]
    calls.append(["read", there, under(number_in(mine), file)])
    got = send(bob, *calls)
    assert [each for each in zip(calls, got, strict=True) if each[1][0] != "refused"] == []
    server.run(["rm", "-r", own, other])
    service.delete(space)


@pytest.mark.parametrize("mode", MODES)
def test_a_deleted_space_leaves_nothing_to_read(service: Service, mode: str) -> None:
    ann, bob = service.ann, service.bob
    gone = service.create("ann", "gone", mode=mode)
    at = at_of(gone)
    service.mount(ann, gone, "/gone")
    ann.run(["sh", "-c", "yes SECRET-OF-ANN | head -c 67108864 > /gone/file; sync /gone/file"], timeout_s=HANG_S)  # fmt: skip
    root = send(ann, ["mount", at, f"/{gone.id}"])[0][1]
    file = send(ann, ["lookup", at, root, "file"])[0][1]
    ann.run(["umount", "/gone"])
    assert service.on_disk("SECRET-OF-ANN")  # what is looked for is found where it is
    service.delete(gone)
    assert not service.on_disk("SECRET-OF-ANN")
    new = service.create("bob", "new", mode=mode)
    assert at_of(new) == at  # where the old one was
    mine = send(bob, ["mount", at, f"/{new.id}"])[0][1]
    for node in (ann, bob):
        got = send(node, ["read", at, file], ["read", at, under(number_in(mine), file)])
        assert [each[0] for each in got] == ["refused", "refused"]
    service.delete(new)
