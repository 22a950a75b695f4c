"""One tenant attacks the NFS space of another: root on a node of its own, which sends what it likes.

Numbers of file handles are those of ganesha 4.3: the number of the export is in bytes 2 and 3, what names the file comes behind.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from spaces_service import Service, send, serving

from waiting import HANG_S
from wavetank.cluster.filesystems.nfs_export import ganesha, nfs_mount
from wavetank.cluster.filesystems.nfs_export.exports import Client, Export
from wavetank.service.makers.nfs import exports

pytestmark = [pytest.mark.cluster]

VFS = {"Name": "VFS"}
MODES = ("shared", "dedicated")
NOT_ALLOWED, NO_WRITES = "status 13", "status 30"  # MNT3ERR_ACCES, NFS3ERR_ROFS


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


@pytest.mark.parametrize("mode", MODES)
def test_an_attacker_reads_and_writes_nothing_of_another_tenant(
    service: Service, mode: str
) -> None:
    victim = service.create("ann", "victim", mode=mode)
    own = service.create("bob", "own") if mode == "shared" else None
    at, ann, bob = service.server.address, service.ann, service.bob
    nfs_mount.mount(ann, str(victim.export), "/victim", {})
    ann.run(["sh", "-c", "mkdir /victim/d; echo secret > /victim/d/file; chmod 666 /victim/d/file"])
    root = send(ann, ["mount", at, f"/{victim.id}"])[0][1]
    folder = send(ann, ["lookup", at, root, "d"])[0][1]
    file = send(ann, ["lookup", at, folder, "file"])[0][1]
    assert send(ann, ["read", at, file]) == [["ok", b"secret\n".hex()]]

    # Names: of the export, of the folder below it, of what is around it on the server, and by way of an own name.
    paths = [f"/{victim.id}", f"/{victim.id}/d", f"/{victim.id}/..", f"{exports.MOUNTS}/{victim.id}",
             service.folder(victim), service.device, "/", exports.MOUNTS]  # fmt: skip
    assert {tuple(each) for each in send(bob, *(["mount", at, path] for path in paths))} == {
        ("refused", NOT_ALLOWED)
    }
    # What the server tells of its exports.
    shown = [f"/{own.id}", f"{bob.address}/32"] if own is not None else []
    assert send(bob, ["exports", at]) == [["ok", shown]]

    # Handles: as they are, and as if they were of each other export that there is: the attacker's own, and the server's.
    numbers = [number_in(root), *(f"{number:04x}" for number in exports.OWN_NUMBERS)]
    if own is not None:
        mine = send(bob, ["mount", at, f"/{own.id}"])[0][1]
        assert number_in(mine) not in numbers
        numbers.append(number_in(mine))
        # The parent of the own root is the own root.
        assert send(
            bob, ["lookup", at, mine, ".."], ["mount", at, f"/{own.id}/../{victim.id}"]
        ) == [
            ["ok", mine],
            ["refused", NOT_ALLOWED],
        ]
    calls = []
    for number in numbers:
        handle = under(number, file)
        calls += [["read", at, handle], ["write", at, handle, b"broken".hex()]]
        for handle in (under(number, root), under(number, folder)):
            calls += [
                ["names", at, handle],
                ["lookup", at, handle, "file"],
                ["lookup", at, handle, ".."],
            ]
    got = send(bob, *calls)
    assert [each for each in got if each[0] != "refused"] == []
    assert ann.run(["cat", "/victim/d/file"]).stdout == "secret\n"
    ann.run(["umount", "/victim"])
    for space in (victim, own):
        if space is not None:
            service.delete(space)


def test_an_attack_that_comes_through_elsewhere_does_not_where_spaces_are(
    service: Service,
) -> None:
    """Where two exports share a file system, handles of one are good for the other and for all above: spaces share none."""
    server, bob, at = service.server, service.bob, service.server.address
    own, other, above = f"{service.device}/one", f"{service.device}/two", "/run/above"
    server.run(["sh", "-c", f"mkdir {own} {other} {above}; echo secret > {other}/file"])
    served = [
        Export(own, VFS, 1001, "/one", (Client(bob.address),)),
        Export(other, VFS, 1002, "/two", (Client(service.ann.address),)),
        Export(above, VFS, 1003, "/above", (Client(bob.address),)),
    ]
    text = ganesha.configuration(at, served, {}, core={"mount_path_pseudo": "true"})
    ganesha.stop(server, exports.NAME)
    ganesha.start(server, text, at, "elsewhere")
    theirs = send(service.ann, ["mount", at, "/two"])[0][1]
    file = send(service.ann, ["lookup", at, theirs, "file"])[0][1]
    mine = send(bob, ["mount", at, "/one"])[0][1]
    assert send(bob, ["mount", at, "/two"]) == [["refused", NOT_ALLOWED]]
    assert send(bob, ["read", at, file])[0][0] == "refused"
    assert send(bob, ["read", at, under(number_in(mine), file)]) == [["ok", b"secret\n".hex()]]
    device = send(bob, ["lookup", at, under(number_in(mine), theirs), ".."])[0][1]
    assert "two" in send(bob, ["names", at, device])[0][1]
    run = send(bob, ["mount", at, "/above"])[0][1]
    ganesha.stop(server, "elsewhere")
    space = service.create("bob", "again")
    mine = send(bob, ["mount", at, f"/{space.id}"])[0][1]
    shown = send(server, ["exports", at])[0][1][0]
    mounts = send(server, ["mount", at, shown])[0][1]
    assert send(server, ["names", at, mounts])[0] == ["ok", [".", "..", space.id]]
    calls = []
    for number in map(number_in, (mine, mounts)):
        for handle in (device, theirs, run, mounts):
            calls += [
                ["names", at, under(number, handle)],
                ["lookup", at, under(number, handle), ".."],
            ]
        calls.append(["read", at, under(number, file)])
    got = send(bob, *calls)
    assert [each for each in zip(calls, got, strict=True) if each[1][0] != "refused"] == []
    server.run(["rm", "-r", own, other, above])
    service.delete(space)


@pytest.mark.parametrize("mode", MODES)
def test_a_deleted_space_leaves_nothing_to_read(service: Service, mode: str) -> None:
    at, ann, bob = service.server.address, service.ann, service.bob
    gone = service.create("ann", "gone", mode=mode)
    nfs_mount.mount(ann, str(gone.export), "/gone", {})
    ann.run(["sh", "-c", "yes SECRET-OF-ANN | head -c 67108864 > /gone/file; sync /gone/file"], timeout_s=HANG_S)  # fmt: skip
    root = send(ann, ["mount", at, f"/{gone.id}"])[0][1]
    file = send(ann, ["lookup", at, root, "file"])[0][1]
    ann.run(["umount", "/gone"])
    assert service.on_disk("SECRET-OF-ANN")  # what is looked for is found where it is
    service.delete(gone)
    assert not service.on_disk("SECRET-OF-ANN")
    new = service.create("bob", "new", mode=mode)
    mine = send(bob, ["mount", at, f"/{new.id}"])[0][1]
    for node in (ann, bob):
        got = send(node, ["read", at, file], ["read", at, under(number_in(mine), file)])
        assert [each[0] for each in got] == ["refused", "refused"]
    service.delete(new)
