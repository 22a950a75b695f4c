"""Several devices of a node with provider local: disks, mounts, bricks."""

from __future__ import annotations

from typing import Any, cast

import pytest

from fake_host import FakeHost
from wavetank.cluster.devices import unmade_devices
from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.filesystems.cephfs.daemons import Daemons
from wavetank.cluster.filesystems.cephfs.driver import CephFS
from wavetank.cluster.filesystems.cephfs.options import osds_per_device
from wavetank.cluster.filesystems.glusterfs.driver import GlusterFS
from wavetank.cluster.filesystems.glusterfs.placement import Placer
from wavetank.cluster.filesystems.glusterfs.volume import brick_paths, bricks_of
from wavetank.cluster.filesystems.nfs.driver import NFS
from wavetank.cluster.namespaces.nodes import node_disks
from wavetank.cluster.spec import ClusterSpec
from wavetank.measure.characterisation import Characterisation, StorageRate


def cluster(**more: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "lab",
            "instance": {"name": "our-node"},
            "nodes": {"compute": 2, "io": 2},
            "file_system": {"kind": "glusterfs"},
            "storage": {"devices": 2},
            **more,
        }
    )


def site(spec: ClusterSpec) -> Site:
    servers, clients = (
        tuple(
            FakeHost(name, f"10.77.0.{name[-1]}", lambda host, _: f"{host.name}\n")
            for name in names
        )
        for names in (spec.server_names(), spec.compute_names())
    )
    return Site(spec, servers, clients, "/storage")


def test_a_node_has_a_disk_for_each_device_and_scratch_of_its_own() -> None:
    spec = cluster(temporary={"size": "320 MiB"}, file_system={"kind": "glusterfs", "placement": "compute"})  # fmt: skip
    assert [(disk.at, disk.suffix) for disk in node_disks(spec, "c1")] == [
        ("/storage", ""),
        ("/storage2", "-2"),
        ("/scratch", "-scratch"),
    ]
    assert [disk.at for disk in node_disks(cluster(storage={}), "io1")] == ["/storage"]


def test_bricks_come_by_device_so_that_neighbours_are_on_different_servers() -> None:
    bricks = bricks_of(site(cluster()))
    assert [(brick.name, brick.path) for brick in bricks] == [
        ("io1", "/storage/brick"),
        ("io2", "/storage/brick"),
        ("io1:/storage2", "/storage2/brick"),
        ("io2:/storage2", "/storage2/brick"),
    ]
    assert brick_paths(site(cluster())) == ("/storage/brick", "/storage2/brick")


def test_where_a_file_lies_is_told_by_server_and_device() -> None:
    placer = Placer(site(cluster()), "/wavetank")
    # glusterfs 10.3
    info = "(<DISTRIBUTE:wavetank-dht> <POSIX(/storage2/brick):io1:/storage2/brick/a>)"
    assert placer._servers_in(info) == ["io1:/storage2"]
    assert placer._servers_in(info.replace("/storage2", "/storage")) == ["io1"]


@pytest.mark.parametrize("stripe", ["replicated", "disperse"])
def test_copies_over_devices_of_one_server_are_refused(stripe: str) -> None:
    spec = cluster(nodes={"compute": 1, "io": 3}, file_system={"kind": "glusterfs", "stripe": {"kind": stripe}})  # fmt: skip
    assert any("one device a server" in finding for finding in GlusterFS().check(spec))


def test_the_peak_of_a_node_is_the_sum_of_its_devices() -> None:
    rates = [
        StorageRate(
            node="io1", where="local", path=path, test="read", rs=rs, bytes=1, bytes_per_s=rate, iops=1.0
        )
        for path, rs, rate in (
            ("/storage", 4096, 10.0), ("/storage", 8192, 40.0), ("/storage2", 4096, 30.0), ("/storage2", 8192, 20.0)
        )
    ]  # fmt: skip
    found = cast("Any", Characterisation).model_construct(storage=tuple(rates))
    assert found.best_rate("io1", "read") == 70.0
    assert found.peak("read") == 70.0
    assert found.best_rate("io1", "write") is None


def ceph(**options: int) -> ClusterSpec:
    fs = {"kind": "cephfs", "options": options}
    return cluster(file_system=fs, instance={"name": "our-node", "memory": "8 GiB"})


def test_cephfs_has_an_object_store_on_each_device() -> None:
    osds = [(number, host.name) for number, host in Daemons(site(ceph())).osds]
    assert osds == [(0, "io1"), (1, "io1"), (2, "io2"), (3, "io2")]
    assert osds_per_device(ceph()) == 1
    assert osds_per_device(ceph(osds_per_server=4)) == 2
    assert not any("osds_per_server" in finding for finding in CephFS().check(ceph()))


def test_instances_have_a_server_on_each_device_where_the_file_system_can() -> None:
    asked = cluster().storage
    assert list(unmade_devices(asked, "aws", GlusterFS())) == []
    (said,) = unmade_devices(asked, "aws", NFS())
    assert "nfs has one server with one device on a node here" in said
