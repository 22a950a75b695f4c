"""Gateways without a cluster: what is asked of the file system behind, and who has which gateway."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from wavetank import native
from wavetank.cluster.filesystems.base import FileSystemDriver, Site
from wavetank.cluster.filesystems.cephfs.driver import CephFS
from wavetank.cluster.filesystems.gateway import driver as gateway
from wavetank.cluster.filesystems.glusterfs.driver import GlusterFS
from wavetank.cluster.filesystems.nfs_export import ganesha, nfs_mount
from wavetank.cluster.spec import ClusterSpec


class Node:
    """A host that has a name and an address."""

    def __init__(self, name: str) -> None:
        self.name, self.address = name, f"{name}-address"


def spec(compute: int = 3, io: int = 2, **file_system: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "t",
            "instance": {"name": "t.small"},
            "nodes": {"compute": compute, "io": io, "head": 1},
            "file_system": {"kind": "gateway", "behind": "glusterfs", **file_system},
        }
    )


def site(of: ClusterSpec) -> Site:
    nodes: Any = {name: Node(name) for name in of.node_names()}
    servers = tuple(nodes[name] for name in of.server_names())
    clients = tuple(nodes[name] for name in of.compute_names())
    gateways = tuple(nodes[name] for name in of.gateway_names())
    return Site(of, servers, clients, "/storage", (), gateways)


@pytest.fixture(autouse=True)
def fuse_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nfs_mount, "has_kernel_client", lambda *_: False)
    monkeypatch.setattr(native, "available", lambda _: True)


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({}, ("io1", "io2")),  # with the data servers
        ({"gateways": 1}, ("io1",)),
        ({"gateway_placement": "head"}, ("h1",)),
        ({"gateway_placement": ["c3", "io2"]}, ("c3", "io2")),
    ],
)
def test_gateways_are_where_the_specification_says(
    more: dict[str, Any], names: tuple[str, ...]
) -> None:
    assert spec(**more).gateway_names() == names


@pytest.mark.parametrize(
    ("more", "finding"),
    [
        ({"behind": None}, "needs file_system.behind"),
        ({"behind": "gateway"}, "needs file_system.behind"),
        ({"gateways": 3}, "3 gateways are asked for, but 2 nodes"),
        ({"gateway_placement": ["c9"]}, "gateway_placement names c9"),
        ({"gateway_placement": ["c1", "c1"]}, "each once at most"),
        ({"kind": "glusterfs"}, "behind only has a meaning with kind: gateway"),
    ],
)
def test_gateways_that_cannot_be_are_refused(more: dict[str, Any], finding: str) -> None:
    with pytest.raises(ValidationError, match=finding):
        spec(**more)


def test_clients_take_the_gateways_in_turn() -> None:
    here = site(spec())
    assert [gateway.gateway_of(here, client).name for client in here.clients] == ["io1", "io2", "io1"]  # fmt: skip


def test_the_driver_behind_reads_a_specification_of_its_own() -> None:
    behind = gateway._spec_behind(spec(
        behind="cephfs", gateways=1, options={"gateway.threads": 8, "osds_per_server": 2}, mount_options={"rsize": 4096}
    )).file_system  # fmt: skip
    assert (behind.kind, behind.mount) == ("cephfs", "/wavetank-behind")
    assert behind.options == {"osds_per_server": 2}
    assert behind.mount_options == {}
    assert behind.behind is None
    assert behind.gateways is None


def test_options_are_checked_by_whom_they_are_for() -> None:
    said = "\n".join(gateway.Gateway().check(spec(options={"gateway.thread": 8, "no-option": 1}, mount_options={"acl": True})))  # fmt: skip
    assert "file_system.options.gateway.thread: nfs has no such option here" in said
    assert "file_system.options.no-option: glusterfs has no such option" in said
    assert "file_system.mount_options.acl: nfs has no such option here" in said


@pytest.mark.parametrize("name", ["nfs", "none", "lustre"])
def test_what_nfs_servers_cannot_reach_by_themselves_is_refused(name: str) -> None:
    (said,) = gateway.Gateway().check(spec(behind=name))
    assert name in said


@pytest.mark.parametrize(
    ("driver", "fsal"),
    [(GlusterFS(), {"Name": "GLUSTER", "Hostname": "io1-address"}), (CephFS(), {"Name": "CEPH"})],
)
def test_a_driver_behind_says_how_it_is_reached(
    driver: FileSystemDriver, fsal: dict[str, str]
) -> None:
    assert fsal.items() <= driver.native_export(site(spec())).fsal.items()


def test_a_gateway_keeps_no_attributes_unless_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(ganesha, "start", lambda _, text, __: written.append(text))
    here = site(spec())
    gateway._start(here, here.gateways[1])
    here = site(spec(options={"gateway.attr_expiration_s": 30}))
    gateway._start(here, here.gateways[1])
    assert "Attr_Expiration_Time = 0;" in written[0]
    assert "Attr_Expiration_Time = 30;" in written[1]
    assert "Bind_addr = io2-address;" in written[0]
