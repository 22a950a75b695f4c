"""GlusterFS spaces whose rules are by certificate: used by names, attacked by others, revoked, grown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gluster_wire import ROOT
from service_certificates import Authority
from service_fakes import ip
from spaces_service import SMALL, Service, send, serving

from waiting import HANG_S, until
from wavetank.cli.space_mount import mount_on
from wavetank.cluster.host import Host
from wavetank.errors import WavetankError
from wavetank.service.core.records import Access, Resize, Space
from wavetank.service.core.refusals import Refused
from wavetank.service.core.volume import Volume
from wavetank.service.csi import mounts
from wavetank.service.makers.glusterfs import moving
from wavetank.service.makers.glusterfs.bricks import Rules, certificate_of

pytestmark = [pytest.mark.cluster]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory, "names", "glusterfs", servers=2) as found:
        yield found


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ann"))


def named(signs: Authority, *names: str) -> list[Access]:
    return [
        Access(kind="certificate", subject=name, authority=signs.file.read_text()) for name in names
    ]


def create(
    service: Service, name: str, signs: Authority, *names: str, mode: str = "shared"
) -> Space:
    access = named(signs, *names)
    return service.create("ann", name, servers=1, size=SMALL, access=access, mode=mode)


def own(files: tuple[Path, Path]) -> dict[str, str]:
    """A client's certificate and key, as options of a mount."""
    return {"certificate": str(files[0]), "key": str(files[1])}


def reads(node: Host, at: str) -> str:
    return node.run(["cat", f"{at}/file"]).stdout


@pytest.mark.parametrize("mode", ["shared", "dedicated"])
def test_a_name_that_an_authority_signed_mounts_from_anywhere_and_nothing_else_does(
    service: Service, ours: Authority, tmp_path: Path, mode: str
) -> None:
    one, other = ours.signs("one"), ours.signs("other")
    forged = Authority(tmp_path).signs("one")
    space = create(service, "named", ours, "one", mode=mode)
    ann, bob = service.ann, service.bob
    for node in (ann, bob):
        mount_on(node, space, "/named", own(one))
    ann.run(["sh", "-c", "echo secret > /named/file"])
    assert reads(bob, "/named") == "secret\n"
    bob.run(["umount", "/named"])

    for wrong, said in ((other, "Authentication failed"), (forged, "has a rule with the name in ")):
        with pytest.raises(WavetankError, match=said):
            mount_on(bob, space, "/named", own(wrong))
    with pytest.raises(WavetankError, match="rules are by certificate, and this client has none"):
        mount_on(bob, space, "/named")

    ((at, port),) = Volume.of(str(space.export)).bricks
    looks = [["lookup", ROOT, "file"], ["names", ROOT]]
    # What is sent here is understood where the certificate is the right one.
    shows = ["tls", *map(str, one)]
    got = send(bob, shows, ["bind", at, port, space.id, "bob"], *looks, kind="glusterfs")
    assert got[-1][0] == "ok" and "file" in got[-1][1]
    # Without TLS, without a certificate, with others' certificates, and with a name that is claimed and not shown.
    tries = [
        [],
        [["tls"]],
        *([["tls", *map(str, each)]] for each in (other, forged)),
    ]
    for begins in tries:
        calls = [*begins, ["bind", at, port, space.id, "bob"], *looks]
        calls += [["connect", at, port], ["claim", space.id, "bob", "one"], *looks]
        for layer in ("files", "network", ""):
            calls += [["bind", at, port, layer, "bob"], *looks]
        got = send(bob, *calls, kind="glusterfs")[len(begins) :]
        # A connection may be there, which names nothing.
        assert {each[0] for place, each in enumerate(got) if place != 3} == {"refused"}
    assert reads(ann, "/named") == "secret\n"
    ann.run(["umount", "/named"])
    service.delete(space)


def test_nobody_who_has_another_key_poses_as_a_brick(
    service: Service, ours: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    theirs = Authority(tmp_path)
    one, (certificate, key) = ours.signs("one"), theirs.signs("posing")
    space = create(service, "posed", ours, "one")
    volume = Volume.of(str(space.export))
    argv = [
        "openssl",
        "s_server",
        "-accept",
        f"{service.bob.address}:24999",
        "-cert",
        str(certificate),
        "-key",
        str(key),
    ]
    starts = 'sleep 1000 | exec "$@" >/tmp/posed 2>&1'
    service.bob.start(["sh", "-c", starts, "sh", *argv], log="posed")
    begun = "until grep -q ACCEPT /tmp/posed; do sleep 0.1; done"
    service.bob.run(["sh", "-c", begun], timeout_s=HANG_S)
    whole = mounts.tls_files

    def elsewhere(trusted: str | None) -> None:
        """The client is led there: as one who has the address of the brick leads it."""

        def files(_: Volume, *own: str) -> tuple[str, str]:
            name, text = whole(Volume(volume.space, volume.bricks, None, trusted), *own)
            ((at, port),) = volume.bricks
            text = text.replace(f"remote-host {at}", f"remote-host {service.bob.address}")
            return name, text.replace(f"remote-port {port}", "remote-port 24999")

        monkeypatch.setattr(mounts, "tls_files", files)
        script = mounts.how_to_mount_by_tls(volume, "/posed", own(one))
        service.ann.start(["sh", "-c", f"{script}\n"], log="posed")

    def told(what: str) -> bool:
        """Whether the one who poses has seen that."""
        looks = 'grep -q -a "$1" /tmp/posed && echo yes || echo no'
        return service.bob.run(["sh", "-c", looks, "sh", what]).stdout == "yes\n"

    elsewhere(volume.certificate)
    until(lambda: told("alert unknown ca"))
    assert not told("CIPHER is")  # no client went on after it had seen the certificate
    elsewhere(theirs.file.read_text())
    until(lambda: told("CIPHER is"))  # one that trusts it does
    service.ann.run(
        ["sh", "-c", "pkill -f 'process-name [f]use.* /posed'; umount -l /posed || true"]
    )
    service.bob.run(["pkill", "-f", "s_server -accept"])
    service.delete(space)


def test_a_name_that_is_revoked_loses_its_mount_and_the_key_of_bricks_opens_none(
    service: Service, ours: Authority, tmp_path: Path
) -> None:
    one, other = ours.signs("one"), ours.signs("other")
    ann, bob = service.ann, service.bob
    space = create(service, "revoked", ours, "one", "other")
    mount_on(ann, space, "/revoked", own(one))
    mount_on(bob, space, "/revoked", own(other))
    ann.run(["sh", "-c", "echo shown > /revoked/file"])
    assert reads(bob, "/revoked") == "shown\n"
    space = service.grant(space, *named(ours, "one"))
    with pytest.raises(WavetankError):
        reads(bob, "/revoked")
    bob.run(["umount", "-l", "/revoked"])
    again = 'until [ "$(cat /revoked/file 2>/dev/null)" = shown ]; do sleep 0.1; done'
    ann.run(["sh", "-c", again], timeout_s=HANG_S)  # its brick was started again

    # A client may climb to the root of its brick, and read there what bricks show.
    servers = service.driver.maker.servers
    found = [each for node in service.nodes for each in servers.all_on(node)]
    (image,) = [each for each in found if each.space == space.id]
    keys = Rules.of(image).keys
    assert keys is not None and certificate_of(keys.bricks) != certificate_of(keys.mover)
    stolen = tmp_path / "stolen.pem"
    stolen.write_text(keys.bricks)
    with pytest.raises(WavetankError):
        mount_on(bob, space, "/revoked", own((stolen, stolen)))
    ann.run(["umount", "/revoked"])

    # Rules of the other kind: nobody comes by a certificate any more, and then again.
    with pytest.raises(Refused, match="rules by ip or by certificate, not both"):
        service.grant(space, *space.access, ip(bob.address))
    before = Volume.of(str(space.export))
    space = service.grant(space, ip(bob.address))
    assert Volume.of(str(space.export)) == Volume(before.space, before.bricks, before.stripe_bytes)
    mount_on(bob, space, "/revoked")
    assert reads(bob, "/revoked") == "shown\n"
    bob.run(["umount", "/revoked"])
    space = service.grant(space, *named(ours, "other"))
    assert Volume.of(str(space.export)) == before  # so who trusted it goes on
    mount_on(bob, space, "/revoked", own(other))
    assert reads(bob, "/revoked") == "shown\n"
    bob.run(["umount", "/revoked"])
    service.delete(space)


def test_it_gets_a_server_and_clients_mount_it_again(
    service: Service, ours: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "LONGEST_WAIT_S", 0.0)
    one, ann = ours.signs("one"), service.ann
    space = create(service, "wider", ours, "one")
    mount_on(ann, space, "/wider", own(one))
    ann.run(
        [
            "sh",
            "-c",
            "for d in a b c d e f; do mkdir /wider/$d; done; for i in $(seq 30); do echo $i > /wider/d/$i; done",
        ]
    )
    service.store.resize_space(space.id, Resize(size=2 * SMALL, servers=2), service.now(), "ann")
    service.driver.settle()
    assert service.store.space(space.id).state == "growing"
    told = [each.text for each in service.store.events() if each.space == space.id and each.kind == "waiting"]  # fmt: skip
    assert f"{ann.address} has not taken the new servers yet" in told[-1]
    assert ann.run(["sh", "-c", "cat /wider/d/* | wc -l"]).stdout == "30\n"
    ann.run(["umount", "/wider"])
    space = service.settled(space)
    assert len(Volume.of(str(space.export)).bricks) == 2
    mount_on(ann, space, "/wider", own(one))
    assert ann.run(["ls", "/wider"]).stdout.split() == list("abcdef")
    assert ann.run(["sh", "-c", "cat /wider/d/* | wc -l"]).stdout == "30\n"
    counts = ["sh", "-c", 'ls "$1/d" | wc -l', "sh", service.mounted_at(space)]
    kept = [server.run(counts).stdout for server in service.servers]
    assert all(int(each) > 0 for each in kept), kept
    ann.run(["umount", "/wider"])
    service.delete(space)
