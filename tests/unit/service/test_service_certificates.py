"""Rules by certificate: which texts name an authority, what a volume with TLS is, and what its bricks and clients are told."""

from __future__ import annotations

import re
import subprocess
from types import SimpleNamespace

import pytest
from pydantic import ValidationError
from service_certificates import Authority
from service_fakes import ip, request

from wavetank.errors import ServiceError
from wavetank.service.core import certificates, changes
from wavetank.service.core.records import Access
from wavetank.service.core.refusals import Refused
from wavetank.service.core.volume import Identity, Volume, shown
from wavetank.service.csi.mounts import MOUNTERS, Mount, how_to_mount_by_tls, tls_files
from wavetank.service.makers.glusterfs import bricks, moving

MIB = 2**20


@pytest.fixture(autouse=True, scope="module")
def kind_that_can_do_all() -> None:
    """Here GlusterFS is what its maker makes of it."""


BRICKS = (("10.0.0.3", 24100), ("10.0.0.4", 24107))


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ann")).file.read_text()


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("bob"), "other").file.read_text()


def test_the_same_authorities_are_the_same_text_however_it_is_written(pem, other):
    assert certificates.normal(f"Subject: x\r\n{pem}\n{pem}{other}") == pem + other
    assert Access(kind="certificate", subject="n", authority=f"x\n{pem}") == Access(
        kind="certificate", subject="n", authority=pem
    )
    shown = subprocess.run(
        ["openssl", "x509", "-noout", "-fingerprint", "-sha256"], input=pem, capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    assert certificates.fingerprint(pem) == shown.partition("=")[2].replace(":", "").lower()[:16]


def test_what_is_no_authority_is_refused_with_the_reason(pem, tmp_path):
    signed, key = Authority(tmp_path).signs("client")
    block = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n"
    for text, said in (
        ("", "has no certificate: give a file as PEM"),
        (block.format("AAAA"), "has what is no certificate"),
        (block.format("%"), "has what is no certificate"),
        (pem + key.read_text(), "has a private key"),
        (pem + signed.read_text(), "may sign no others"),
        (pem * 40, "more than 16384 bytes"),
    ):
        with pytest.raises(ValidationError, match=said):
            Access(kind="certificate", subject="n", authority=text)
    with pytest.raises(ValidationError, match="a rule by ip has no authority"):
        Access(kind="ip", subject="10.0.0.7", authority=pem)


def test_rules_that_bricks_cannot_hold_together_are_refused(pem, other):
    named = Access(kind="certificate", subject="n", authority=pem)
    changes.see_possible(request(access=[named]))
    for wrong, said in (
        ([named, ip("10.0.0.7")], "rules by ip or by certificate, not both in one space"),
        ([named.model_copy(update={"authority": None})], "certificate n does not say which authority signs it"),
        ([named, Access(kind="certificate", subject="m", authority=other)], "trusts all authorities of a space for all of its names"),
        ([named.model_copy(update={"level": "ro"})], "rules for rw, not for ro"),
    ):  # fmt: skip
        with pytest.raises(Refused, match=said):
            changes.see_possible(request(access=wrong))


@pytest.mark.parametrize("stripe", [None, 4 * MIB])
def test_a_volume_with_tls_is_the_same_after_its_line(pem, stripe):
    volume = Volume("sp-1f", BRICKS, stripe, pem)
    assert Volume.of(volume.export()) == volume
    assert re.fullmatch(r"glusterfs:[A-Za-z0-9.:,/?&=_-]*", volume.export())
    short = shown(volume.export())
    assert short.endswith("...") and len(short) < 110
    identity = Identity("/c.pem", "/c.key", "/a.pem")
    for text in (volume.client_file(identity=identity), volume.mover_file(identity)):
        for said in (
            "ssl-enabled on",
            "ssl-own-cert /c.pem",
            "ssl-private-key /c.key",
            "ssl-ca-list /a.pem",
        ):
            assert text.count(f"  option transport.socket.{said}\n") == len(BRICKS)
    plain = Volume("sp-1f", BRICKS, stripe)
    assert "ssl" not in plain.client_file(identity=identity) + plain.mover_file(identity)


KEYS = bricks.Keys(
    "bricks' -----BEGIN CERTIFICATE-----b", "mover's -----BEGIN CERTIFICATE-----m", "mover-7f"
)


def brick(*access, keys=KEYS):
    image = SimpleNamespace(
        space="sp-1f", rules=bricks.Rules(24100, frozenset(access), keys=keys).text()
    )
    return bricks.brick_text(SimpleNamespace(address="10.0.0.3"), image)


def test_a_brick_lets_in_by_names_or_by_addresses_and_has_no_key_that_opens_it(pem, other):
    by_name = [Access(kind="certificate", subject=name, authority=pem + other) for name in ("two", "one")]  # fmt: skip
    text = brick(*by_name)
    assert "  option auth.login.sp-1f.ssl-allow mover-7f,one,two\n" in text
    assert "auth.addr" not in text
    assert "  option transport.socket.ssl-enabled on\n" in text
    lines = text.splitlines()
    trusted = "\n".join(
        line.removeprefix("#authority ") for line in lines if line.startswith("#authority ")
    )
    assert (
        pem.strip() in trusted
        and other.strip() in trusted
        and "-----BEGIN CERTIFICATE-----m" in trusted
    )
    assert [line for line in lines if line.startswith("#identity ")] == [
        "#identity bricks' -----BEGIN CERTIFICATE-----b"
    ]
    assert "mover's" not in text
    for text in (brick(ip("10.0.0.7")), brick(ip("10.0.0.7"), keys=None)):
        assert "  option auth.addr.sp-1f.allow 10.0.0.7\n" in text
        assert "ssl" not in text and "#" not in text
    assert f"  option auth.addr.sp-1f.allow {bricks.NOWHERE}\n" in brick()


def test_a_client_shows_its_certificate_and_asks_servers_nothing_else(pem):
    volume = Volume("sp-1f", BRICKS, None, pem)
    asked = []

    class Client:
        def run(self, argv, stdin):
            asked.append((argv, stdin))

    mounter = MOUNTERS["glusterfs"]
    with pytest.raises(ServiceError, match="rules are by certificate, and this client has none"):
        mounter.mount(Client(), volume.export(), "/at", {})
    own = {"certificate": "/c.pem", "key": "/c.key"}
    mounter.mount(Client(), volume.export(), "/at", {**own, "acl": True, "entry-timeout": 5})
    ((argv, stdin),) = asked
    name, text = tls_files(volume, "/c.pem", "/c.key")
    assert argv[4:] == [name, "sp-1f", "/at", "--acl", "--entry-timeout=5"]
    assert stdin == text
    assert tls_files(volume, "/d.pem", "/d.key")[0] != name
    # As it is in /proc/self/mountinfo then.
    assert mounter.is_of(Mount("/at", "glusterfs:/sp-1f", ("0:1", "/"), False), volume.export())
    script = how_to_mount_by_tls(volume, "/at", own)
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    assert text in script


def test_clients_of_a_space_with_tls_may_be_anywhere_while_it_grows(pem):
    class Connected:
        name = "io0"

        def __init__(self, told):
            self.told = told

        def run(self, argv, **others):
            return SimpleNamespace(stdout=self.told)

    servers = [(Connected("0700000A 1\n"), 24100), (Connected(""), 24100)]
    named = Access(kind="certificate", subject="n", authority=pem)
    with pytest.raises(moving.UnfinishedError, match=r"^10\.0\.0\.7 has not taken"), pytest.MonkeyPatch.context() as patch:  # fmt: skip
        patch.setattr(moving, "LONGEST_WAIT_S", 0.0)
        moving.wait_for_clients(servers, [named], 0.0)


def test_a_name_in_a_certificate_ends_where_it_ends(pem):
    for wrong in ("node7\n", "node7\noption x", "*", "node7,node8", ""):
        with pytest.raises(ValidationError, match="is no name of a certificate"):
            Access(kind="certificate", subject=wrong, authority=pem)
