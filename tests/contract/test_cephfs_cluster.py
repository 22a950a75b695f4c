"""CephFS for real: layouts, options, faults; and gateways in front of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leftovers import Traces, skip_unless_possible, up

from waiting import until
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError

pytestmark = [pytest.mark.cluster]

Cluster = deploy.DeployedCluster
MIB = 2**20


def ceph_spec(name: str, **more: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": f"t{os.getpid()}-{name}",
            "instance": {"name": "t.small", "memory": "512 MiB", "network": "8 Gbit/s"},
            "nodes": {"compute": 2, "io": 2},
            "storage": {"size": "512 MiB"},
            "layout": more.pop("layout", "striped"),
            "file_system": {"kind": "cephfs", **more},
        }
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Input files whole on a server each, a directory and a file with layouts of their own, the monitor on c2."""
    options = {
        "layout:wide/": "stripe_unit=64KiB stripe_count=2 object_size=1MiB",
        "layout:own": "stripe_unit=1MiB object_size=2MiB",
        "osd.osd_max_write_size": 80,
    }
    spec = ceph_spec("whole", layout="one-server-per-file", metadata_placement=["c2"], options=options)  # fmt: skip
    with up(tmp_path_factory.mktemp("whole"), spec) as cluster:
        yield cluster


def layout_of(cluster: Cluster, path: str) -> str:
    argv = ["getfattr", "--absolute-names", "--only-values", "-n", "ceph.file.layout", f"{cluster.mount_path}/{path}"]  # fmt: skip
    return cluster.compute_hosts[1].run(argv).stdout


def test_each_file_lies_whole_on_a_server_of_its_own_in_turn(whole: Cluster) -> None:
    places = whole.place_files({f"in/{i}": 5 * MIB + i for i in range(3)})
    assert [place.split(",")[0] for place in places.values()] == ["pool on-io1", "pool on-io2", "pool on-io1"]  # fmt: skip
    assert places["in/1"].endswith("io1 0 B, io2 5.0 MiB")


def test_directories_and_files_have_the_layouts_asked_for(whole: Cluster) -> None:
    whole.place_files({"own": 1000})
    assert layout_of(whole, "own").startswith("stripe_unit=1048576 stripe_count=1 object_size=2097152 ")  # fmt: skip
    path = f"{whole.mount_path}/wide/by-an-application"
    whole.compute_hosts[0].run(["dd", f"of={path}", "status=none"], stdin="x")
    assert layout_of(whole, "wide/by-an-application").startswith("stripe_unit=65536 stripe_count=2 object_size=1048576 ")  # fmt: skip


def test_options_and_servers_in_force_are_read_back(whole: Cluster) -> None:
    settings = whole.settings()
    assert settings["osd osd_max_write_size"] == "80"
    assert settings["monitor"] == settings["metadata servers"] == "c2"
    assert settings["OSDs"] == "osd.0 on io1, osd.1 on io2"
    assert settings["pool data"].startswith("1 copies")


def test_daemons_listen_on_the_clusters_network_only(whole: Cluster) -> None:
    for host in (*whole.io_hosts, *whole.compute_hosts):
        lines = host.run(["ss", "-Hltn"]).stdout.splitlines()
        assert {line.split()[3].rpartition(":")[0] for line in lines} <= {host.address}


def test_files_that_do_not_fit_are_refused_with_what_to_do(whole: Cluster) -> None:
    with pytest.raises(FileSystemError, match=r"do not fit on io1, .*larger storage\.size"):
        whole.place_files({"huge": 600 * MIB})
    assert whole.health() == []


def test_an_option_that_ceph_does_not_know_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ceph_spec("unknown", options={"osd.osd_warp_drive": True})
    skip_unless_possible(spec)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    with pytest.raises(FileSystemError, match="has no option osd_warp_drive"):
        deploy.bring_up(spec)
    assert Traces(tmp_path, spec.name).left() == []


def test_a_dead_object_store_is_noticed_and_the_cluster_goes_down_clean(whole: Cluster) -> None:
    # the last test of this cluster: files of the other store stay readable, this one's wait
    whole.io_hosts[1].run(["sh", "-c", "kill -9 $(cat /run/wavetank-ceph/osd.1.pid)"])
    until(lambda: any("io2: ceph-osd" in finding for finding in whole.health()))
    until(lambda: any("1 of 2 OSDs are down" in finding for finding in whole.health()))


def test_gateways_show_each_other_what_was_made_through_one(tmp_path: Path) -> None:
    spec = ceph_spec("gate", kind="gateway", behind="cephfs", options={"objectstore": "memstore"})
    with up(tmp_path, spec) as cluster:
        one, other = cluster.compute_hosts
        settings = cluster.settings()
        assert (settings["clients of gateway io1"], settings["clients of gateway io2"]) == ("c1", "c2")  # fmt: skip
        for text in ("first", "second, longer", "3"):
            one.run(["dd", f"of={cluster.mount_path}/seen", "status=none"], stdin=text)
            until(lambda text=text: other.run(["cat", f"{cluster.mount_path}/seen"]).stdout == text)  # type: ignore[misc]  # fmt: skip
        assert "io2" in cluster.place_files({"in": 8 * MIB})["in"]
        size = other.run(["stat", "-c", "%s", f"{cluster.mount_path}/in"]).stdout
        assert int(size) == 8 * MIB
        removes_everything_and_comes_again(cluster)


def removes_everything_and_comes_again(cluster: Cluster) -> None:
    """What a driver must do on hosts that outlive the cluster."""
    cluster.file_system.remove(cluster.site)
    cluster.file_system.remove(cluster.site)  # there may be nothing left to remove
    daemons = "pidof ceph-mon ceph-osd ceph-mds ceph-fuse ganesha.nfsd; ls -A /storage; true"
    for host in cluster.io_hosts:
        assert host.run(["sh", "-c", daemons]).stdout == ""
    cluster.file_system.install(cluster.site)
    cluster.file_system.mount(cluster.site)
    assert cluster.health() == []
    assert cluster.compute_hosts[0].run(["ls", "-A", cluster.mount_path]).stdout == ""
