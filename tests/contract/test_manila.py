"""Manila's driver in a real Manila 23 with PostgreSQL: shares become spaces on real servers, and nodes mount them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest
from manila_cloud import QUOTA_GIB, Cloud, cloud, lacks

from waiting import HANG_S, until
from wavetank.errors import WavetankError
from wavetank.service.csi.mounts import MOUNTERS

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.optional,  # no Debian package brings this Manila
    pytest.mark.skipif(lacks() is not None, reason=str(lacks())),
    pytest.mark.skipif(os.geteuid() != 0, reason="nodes need root"),
]

GIB = 2**30
ANYWHERE = "10.0.0.0/8"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with cloud(tmp_path_factory) as found:
        yield found
        assert found.spaces() == {}


@pytest.fixture(scope="module")
def plain(here: Cloud) -> str:
    """A share type of shared spaces."""
    return here.manila.type("plain", dedicated=False)


@pytest.fixture(scope="module")
def network(here: Cloud) -> str:
    """A share network, which shares with servers of their own must have."""
    asked = {"share_network": {"name": "tenants"}}
    return here.manila.ask("POST", "/share-networks", asked)["share_network"]["id"]


def is_let_in(here: Cloud, export: str) -> bool:
    """Whether the client may mount an NFS share now."""
    try:
        MOUNTERS["nfs"].mount(here.client, export, "/probe", {})
    except WavetankError:
        with contextlib.suppress(WavetankError):
            here.client.run(["umount", "/probe"])
        return False
    here.client.run(["umount", "/probe"])
    return True


def wide_mount(here: Cloud, path: str) -> None:
    """Mount a GlusterFS share as the documentation says."""
    script = 'mkdir -p /wide; mount -t glusterfs -o server-port=24099 "$1" /wide; stat -f /wide'
    here.client.run(["sh", "-ec", script, "sh", path], timeout_s=HANG_S)


def test_the_scheduler_is_told_what_the_disks_have(here: Cloud) -> None:
    pools = here.manila.pools()
    assert sorted(pools) == ["dedicated", "shared"]
    has = sum(held.free_bytes for held in here.servers().values()) // GIB
    for name, pool in pools.items():
        assert pool["driver_handles_share_servers"] == (name == "dedicated")
        assert (
            (pool["total_capacity_gb"], pool["free_capacity_gb"]) == (has, has) != (QUOTA_GIB,) * 2
        )
        assert pool["storage_protocol"] == "NFS_GLUSTERFS"
        assert not pool["snapshot_support"]
        assert not pool["thin_provisioning"]


def test_a_share_is_made_mounted_extended_closed_and_deleted(here: Cloud, plain: str) -> None:
    manila, client = here.manila, here.client
    share = manila.create("NFS", plain)
    export = manila.available(share)
    space = here.space(share)
    assert (space.mode, space.size, space.access, space.export) == ("shared", GIB, (), export)
    assert not is_let_in(here, export)

    writes = manila.allow(share, client.address)
    assert manila.rules_settled(share) == {writes: "active"}
    MOUNTERS["nfs"].mount(client, export, "/share", {})
    client.run(["sh", "-c", "echo kept > /share/file"])

    manila.do(share, "extend", new_size=2)
    assert manila.settled(share)["size"] == 2
    assert here.space(share).size == 2 * GIB
    assert client.run(["cat", "/share/file"]).stdout == "kept\n"
    blocks = client.run(["stat", "-f", "-c", "%b %S", "/share"]).stdout.split()
    assert int(blocks[0]) * int(blocks[1]) > 1.8 * GIB

    manila.do(share, "shrink", new_size=1)  # NFS does not: the share stays as it is
    until(lambda: manila.messages(share), "the refusal is told")
    is_now = manila.settled(share)
    assert (is_now["status"], is_now["size"]) == ("available", 2)

    manila.do(share, "deny_access", access_id=writes)
    reads = manila.allow(share, ANYWHERE, "ro")
    until(lambda: manila.rules_settled(share) == {reads: "active"})
    assert client.run(["cat", "/share/file"]).stdout == "kept\n"
    with pytest.raises(WavetankError):
        client.run(["sh", "-c", "echo more > /share/more"])
    client.run(["umount", "/share"])
    manila.do(share, "deny_access", access_id=reads)
    until(lambda: manila.rules_settled(share) == {})
    assert not is_let_in(here, export)
    manila.delete(share)
    assert here.spaces() == {}


def test_shares_with_servers_of_their_own_are_as_wide_as_their_type_says(
    here: Cloud, network: str
) -> None:
    manila, client = here.manila, here.client
    wide = manila.type("wide", dedicated=True, servers="2", devices="2", stripe_size="4 MiB")
    share = manila.create("GLUSTERFS", wide, network, gib=2)
    path = manila.available(share)
    space = here.space(share)
    assert (space.mode, space.servers, space.devices_per_server) == ("dedicated", 2, 2)
    assert (space.stripe_size, space.size) == (4 * 2**20, 2 * GIB)
    told = {node: held.dedicated_to for node, held in here.servers().items()}
    assert told == dict(zip(here.nodes, (None, space.id, space.id), strict=True))

    rules = [manila.allow(share, client.address), manila.allow(share, ANYWHERE, "ro")]
    rules.append(manila.allow(share, "joseph", kind="user"))
    # GlusterFS keeps rules for writing alone, and no space knows users. The one that can be kept is.
    until(
        lambda: manila.rules_settled(share) == dict(zip(rules, ("active", "error", "error"), strict=True))
    )  # fmt: skip
    assert [rule.subject for rule in here.space(share).access] == [client.address]
    wide_mount(here, path)
    writes = ["dd", "if=/dev/zero", "of=/wide/file", "bs=1M", "count=16", "conv=fsync"]
    client.run(writes, timeout_s=HANG_S)
    assert client.run(["stat", "-c", "%s", "/wide/file"]).stdout == f"{16 * 2**20}\n"
    client.run(["umount", "/wide"])

    # There are no further servers: the next share says so, and is deleted like any other.
    second = manila.create("GLUSTERFS", wide, network, gib=2)
    assert manila.settled(second)["status"] == "error"
    for each in (second, share):
        manila.delete(each)
    until(lambda: manila.ask("GET", "/share-servers")["share_servers"] == [], "no share servers")
    assert {held.dedicated_to for held in here.servers().values()} == {None}


@pytest.mark.parametrize(
    ("protocol", "specs"),
    [
        ("NFS", {"severs": "1"}),  # no such spec
        ("NFS", {"servers": "2"}),  # NFS has one
        ("GLUSTERFS", {"servers": "1", "devices": "3"}),  # the servers have two
    ],
)
def test_what_no_space_can_be_is_refused(here: Cloud, protocol: str, specs: dict[str, str]) -> None:
    wrong = here.manila.type(f"wrong-{'-'.join(specs)}", dedicated=False, **specs)
    share = here.manila.create(protocol, wrong)
    assert here.manila.settled(share)["status"] == "error"
    assert here.spaces() == {}
    here.manila.delete(share)


def test_what_is_there_already_becomes_no_share(here: Cloud, plain: str) -> None:
    body = {
        "protocol": "NFS",
        "export_path": "10.77.0.1:/sp-1",
        "service_host": "here@shared#shared",
        "share_type": plain,
    }
    share = here.manila.ask("POST", "/shares/manage", {"share": body})["share"]["id"]
    until(lambda: here.manila.share(share)["status"] == "manage_error")
    here.manila.ask("POST", f"/shares/{share}/action", {"unmanage": None})
    here.manila.gone(share)


def test_share_networks_with_security_services_are_refused(here: Cloud) -> None:
    manila = here.manila
    asked = {"security_service": {"type": "ldap", "name": "users", "domain": "example.org"}}
    security = manila.ask("POST", "/security-services", asked)["security_service"]["id"]
    network = manila.ask("POST", "/share-networks", {"share_network": {"name": "secure"}})
    secure = network["share_network"]["id"]
    manila.ask(
        "POST",
        f"/share-networks/{secure}/action",
        {"add_security_service": {"security_service_id": security}},
    )
    share = manila.create("NFS", manila.type("own", dedicated=True), secure)
    assert manila.settled(share)["status"] == "error"
    assert here.spaces() == {}
    manila.delete(share)


def test_what_is_killed_amid_a_change_goes_on_after_a_start(here: Cloud, plain: str) -> None:
    manila, client = here.manila, here.client
    # The service is away while Manila makes a share.
    here.service.end()
    share = manila.create("NFS", plain)
    until(lambda: manila.share(share)["status"] == "creating")
    here.service.start()
    export = manila.available(share)

    # Manila is killed amid a change of rules, which waits for the service. Meanwhile the space loses those that it had.
    reads = manila.allow(share, ANYWHERE, "ro")
    assert manila.rules_settled(share) == {reads: "active"}
    here.service.end()
    writes = manila.allow(share, client.address)
    until(lambda: manila.rules(share)[writes] == "applying")
    manila.process.end()
    here.service.start()
    here.service.told("tenants ask at ")
    here.close(share_space := here.only_space())
    assert not is_let_in(here, export)
    manila.start()
    until(lambda: manila.rules_settled(share) == {reads: "active", writes: "active"})
    found = {(rule.subject, rule.level) for rule in here.space(share).access}
    assert found == {(ANYWHERE, "ro"), (client.address, "rw")}
    assert here.space(share).id == share_space.id
    assert manila.available(share) == export
    MOUNTERS["nfs"].mount(client, export, "/share", {})
    client.run(["sh", "-c", "echo kept > /share/file"])
    client.run(["umount", "/share"])
    manila.delete(share)
    assert here.spaces() == {}


def test_a_share_whose_making_manila_forgot_is_deleted_with_its_space(
    here: Cloud, plain: str
) -> None:
    manila = here.manila
    share = manila.create("NFS", plain)
    until(here.spaces, "the service was asked")
    manila.process.end()
    manila.start()
    until(lambda: all(space.state == "ready" for space in here.spaces().values()))
    if manila.share(share)["status"] == "creating":  # Manila never looks at it again
        manila.do(share, "reset_status", status="error")
    manila.delete(share)
    assert here.spaces() == {}
