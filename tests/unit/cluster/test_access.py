"""Access methods: what can be, what is refused with its reason, and what runs where."""

from typing import Any

import pytest

from fake_host import FakeHost
from wavetank.cluster.access import (
    AROUND_BYTES,
    Processes,
    client_memory,
    processes,
)
from wavetank.cluster.capacity import volume_bytes
from wavetank.cluster.components import Hypervisor
from wavetank.cluster.filesystems.cephfs.driver import CephFS
from wavetank.cluster.filesystems.moosefs import options as moosefs_options
from wavetank.cluster.filesystems.nfs.driver import NFS, version_of
from wavetank.cluster.guests import hypervisors
from wavetank.cluster.guests.guest import node_links
from wavetank.cluster.guests.nodes import GuestNodes
from wavetank.cluster.namespaces.nodes import LocalNodes
from wavetank.cluster.providers.vm import VmProvider
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import SpecError


def spec(**changes: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "lab",
            "provider": "vm",
            "instance": {"name": "t.small", "vcpus": 1, "memory": "384 MiB"},
            "nodes": {"compute": 1, "io": 1},
            "file_system": {"kind": "nfs"},
            "storage": {"size": "512 MiB"},
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"access": "native"}, "native has no virtual machines"),
        ({"access": "client", "provider": "local"}, "nodes of provider local are none"),
        ({"access": "virtual", "provider": "null"}, "takes guests that wavetank makes"),
        (
            {"access": "client", "nodes": {"compute": 2}, "file_system": {"kind": "nfs", "placement": "compute", "servers": 1}},
            "c1 would be guests with servers",
        ),
        (
            {"access": "client", "nodes": {"compute": 1}, "file_system": {"kind": "none"}},
            "the file system is local disks",
        ),
        ({"access": "volume", "nodes": {"compute": 2, "io": 1}}, "2 guests would have disks of 230"),
        (
            {"access": "volume", "file_system": {"kind": "glusterfs", "stripe": {"kind": "distributed"}}, "layout": "one-server-per-file"},
            "disks of guests, which have no layout",
        ),
        ({"access": "magic"}, "Input should be 'native', 'client'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_reason(changes: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, SpecError), match=said):
        spec(**changes)


HYPERVISOR = ("hypervisor",)


@pytest.mark.parametrize(
    ("access", "rows"),
    [
        (
            "virtual",
            [
                ("c1", "guest", ("ranks", "client")), ("c1", "host", HYPERVISOR),
                ("io1", "guest", ("data server",)), ("io1", "host", HYPERVISOR),
            ],
        ),
        (
            "client",
            [
                ("c1", "guest", ("ranks", "client")), ("c1", "host", HYPERVISOR),
                ("io1", "node", ("data server",)),
            ],
        ),
        (
            "passthrough",
            [
                ("c1", "guest", ("ranks", "view of the host's mount")),
                ("c1", "host", ("client", "hypervisor")),
                ("io1", "node", ("data server",)),
            ],
        ),
        (
            "volume",
            [
                ("c1", "guest", ("ranks", "xfs on a disk")),
                ("c1", "host", ("client, with the disk's file", "hypervisor")),
                ("io1", "node", ("data server",)),
            ],
        ),
    ],
)  # fmt: skip
def test_what_runs_where(access: str, rows: list[tuple[str, str, tuple[str, ...]]]) -> None:
    assert processes(spec(access=access)) == [Processes(*row) for row in rows]


def test_servers_on_host_nodes_share_this_machines_kernel_so_ganesha_serves_clients_in_guests() -> (
    None
):
    client = spec(access="client")
    assert client.guest_names() == ("c1",) and not client.servers_own_kernels
    assert version_of(client) == "3"
    assert version_of(spec()) == "4.1"
    wrong = spec(access="client", file_system={"kind": "nfs", "options": {"server": "kernel"}})
    assert any("nodes out of namespaces would share" in finding for finding in NFS().check(wrong))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"access": "passthrough"}, None),
        (
            {
                "access": "passthrough",
                "nodes": {"compute": 64, "io": 64},
                "file_system": {"kind": "nfs", "servers": 1},
            },
            "has room for 127 nodes",
        ),
        ({"access": "volume"}, None),
        ({"access": "volume", "hypervisor": "tcg"}, "Use hypervisor: uml, or access: passthrough"),
        ({"access": "client", "file_system": {"kind": "cephfs"}}, None),
        ({"access": "passthrough", "file_system": {"kind": "moosefs"}}, None),
        ({"access": "client", "file_system": {"kind": "lustre"}}, "which has one LNet"),
        (
            {"access": "client", "file_system": {"kind": "of-a-plugin"}},
            "of-a-plugin was never served",
        ),
        ({"access": "client"}, None),
        ({}, None),
    ],
)
def test_what_is_not_brought_up_yet_is_said_before_anything_starts(
    changes: dict[str, Any], said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    here = {"kvm": "no /dev/kvm", "uml": None, "tcg": None}
    monkeypatch.setattr(hypervisors, "reasons_against", lambda *_: here)
    monkeypatch.setattr(
        "wavetank.cluster.namespaces.provider.NamespaceProvider.check", lambda _self, _spec: []
    )
    findings = [found for found in VmProvider().check(spec(**changes)) if "access" in found]
    assert findings == [] if said is None else said in findings[0]


def _new_once(host: FakeHost, argv: list[str]) -> str:
    return "new\n" if len(host.ran) == 1 else ""


class _Around(LocalNodes):
    def __init__(self, access: str) -> None:
        object.__setattr__(self, "spec", spec(access=access))
        hosts = {"c1": FakeHost(answer=_new_once), "io1": FakeHost("io1", "10.77.0.2")}
        object.__setattr__(self, "hosts", hosts)


def nodes(access: str, hypervisor: Hypervisor = "uml") -> tuple[GuestNodes, FakeHost]:
    guest, around = FakeHost(), _Around(access)
    hosts: Any = {**around.hosts, "c1": guest}
    return GuestNodes(around, hosts, hypervisors.Choice(hypervisor, "asked for"), 0), guest


@pytest.mark.parametrize(
    ("hypervisor", "how"),
    [("uml", "mount -t hostfs"), ("tcg", "mount -t 9p"), ("kvm", "mount -t 9p")],
)
def test_passed_through_the_node_around_a_guest_mounts_by_an_address_of_its_own(
    hypervisor: Hypervisor, how: str
) -> None:
    found, guest = nodes("passthrough", hypervisor)
    assert {name: host.address for name, host in found.outside.items()} == {"c1": "10.77.0.128"}
    assert guest.address == "10.77.0.1"
    found.show("/wavetank")
    found.see("/wavetank")
    found.hide("/wavetank")
    assert how in guest.ran[0][2]
    assert "umount" not in guest.ran[1][2] and "umount" in guest.ran[2][2]
    assert "address add 10.77.0.128/24 dev guest" in node_links("10.77.0.128")
    assert "/24 dev guest" not in node_links()


def test_a_volume_is_a_file_of_the_file_system_and_gets_a_file_system_of_its_own_once() -> None:
    found, guest = nodes("volume")
    found.show("/wavetank")
    found.hide("/wavetank")
    found.show("/wavetank")
    (around,) = (host for host in found.outside.values() if isinstance(host, FakeHost))
    size = str(460 * 2**20)  # nine tenths of the server's storage, in whole MiB
    asked = ["/wavetank/.wavetank-volume-c1", size]
    assert [argv[4:] for argv in around.ran] == [asked, asked]
    made, mounted, hidden, again = guest.ran
    assert made[0] == "mkfs.xfs" and made[-1] == "/run/wavetank-volume"
    assert mounted == again and mounted[4:] == ["/wavetank", "xfs"]
    assert "umount" in hidden[2]
    assert not found.around.spec.shares_files and spec(access="client").shares_files


@pytest.mark.parametrize("access", ["virtual", "client"])
def test_guests_that_mount_themselves_see_nothing_of_the_nodes_around_them(access: str) -> None:
    found, guest = nodes(access)
    found.show("/wavetank")
    found.hide("/wavetank")
    assert found.outside == {} and guest.ran == []


def test_caches_of_a_client_around_a_guest_fit_into_what_the_node_has_beside_it() -> None:
    large = {"name": "t.large", "vcpus": 1, "memory": "8 GiB"}
    around = spec(access="passthrough", instance=large)
    assert client_memory(around, "c1") == AROUND_BYTES
    assert client_memory(spec(access="client", instance=large), "c1") == 8 * 2**30
    assert client_memory(spec(provider="local", access="native", instance=large), "c1") == 8 * 2**30
    assert (
        moosefs_options.mount_words(around, client_memory(around, "c1"))[0]
        == "mfswritecachesize=16"
    )


def test_volumes_leave_free_what_file_systems_need_free() -> None:
    sizes = {
        kind: volume_bytes(
            spec(access="volume", file_system={"kind": kind}, storage={"size": "1 GiB"})
        )
        for kind in ("nfs", "cephfs", "moosefs")
    }
    # nine tenths, half and seven tenths of 1,024 MiB, in whole MiB
    assert sizes == {"nfs": 921 * 2**20, "cephfs": 512 * 2**20, "moosefs": 716 * 2**20}
    in_memory = {"kind": "cephfs", "options": {"objectstore": "memstore"}}
    wrong = spec(access="volume", file_system=in_memory, storage={"size": "1 GiB"})
    assert any("take objectstore bluestore" in found for found in CephFS().check(wrong))
