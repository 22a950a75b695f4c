"""GlusterFS for real: layouts, options, faults, and what is left of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leftovers import Traces, skip_unless_possible, up

from waiting import HANG_S, until
from wavetank.cluster import deploy
from wavetank.cluster.filesystems.base import mount_line
from wavetank.cluster.filesystems.glusterfs.daemons import STATE, client_command_lines
from wavetank.cluster.host import Host
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError, SpecError

pytestmark = [pytest.mark.cluster]

Cluster = deploy.DeployedCluster
MIB = 2**20


def gluster_spec(name: str, servers: int, stripe: dict[str, Any], **more: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": f"t{os.getpid()}-{name}",
            "instance": {"name": "t.small", "memory": "512 MiB", "network": "8 Gbit/s"},
            "nodes": {"compute": 2, "io": servers},
            "storage": {"size": "320 MiB"},
            "layout": more.pop("layout", "striped"),
            "file_system": {"kind": "glusterfs", "stripe": stripe, **more},
        }
    )


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    options = {"performance.io-cache": True, "performance.cache-size": "8MB"}
    mount_options = {"attribute-timeout": 3, "use-readdirp": False, "acl": True}
    stripe = {"kind": "sharded", "size": "4 MiB"}
    spec = gluster_spec("sharded", 3, stripe, options=options, mount_options=mount_options)
    with up(tmp_path_factory.mktemp("sharded"), spec) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    spec = gluster_spec("whole", 2, {"kind": "distributed"}, layout="one-server-per-file")
    with up(tmp_path_factory.mktemp("whole"), spec) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def on_devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    spec = gluster_spec("devices", 2, {"kind": "distributed"}, layout="one-server-per-file")
    storage = spec.storage.model_copy(update={"devices": 2, "write": 40_000_000})
    with up(
        tmp_path_factory.mktemp("devices"), spec.model_copy(update={"storage": storage})
    ) as cluster:
        yield cluster


def on_brick(host: Host, name: str) -> list[tuple[int, str]]:
    """Sizes and permissions of a file on a server's brick; DHT's link files have mode 1000 and no content."""
    argv = ["find", "/storage/brick", "-path", "*/.glusterfs", "-prune", "-o", "-name", name, "-printf", "%s %m\n"]  # fmt: skip
    lines = host.run(argv).stdout.splitlines()
    return [(int(line.split()[0]), line.split()[1]) for line in lines]


# --- layouts


def test_each_file_lies_whole_on_a_server_of_its_own_in_turn(whole: Cluster) -> None:
    sizes = {f"in/reads_{i}.fastq": MIB + i for i in range(5)}
    places = whole.place_files(sizes)
    assert list(places.values()) == [f"whole on io{1 + i % 2}" for i in range(5)]
    for i, (path, size) in enumerate(sizes.items()):
        own, other = whole.io_hosts[i % 2], whole.io_hosts[(i + 1) % 2]
        assert (size, "644") in on_brick(own, path[3:])
        assert all(found == (0, "1000") for found in on_brick(other, path[3:]))


def test_each_device_of_a_server_is_a_brick_with_limits_of_its_own(on_devices: Cluster) -> None:
    bricks = [value for key, value in on_devices.settings().items() if key.startswith("brick ")]
    assert bricks == [
        "io1:/storage/brick", "io2:/storage/brick", "io1:/storage2/brick", "io2:/storage2/brick"
    ]  # fmt: skip
    first = on_devices.io_hosts[0]
    devices = {first.run(["stat", "-c", "%d", path]).stdout for path in ("/storage", "/storage2")}
    assert len(devices) == 2
    limits = on_devices.limits()
    assert limits["io disk"].startswith("2 x 320.0 MiB")
    if "by nothing" not in limits["io disk write"]:
        assert limits["io disk write"].startswith("80.0 MB/s")  # 40 MB/s each
    assert on_devices.health() == []


def test_files_are_placed_on_every_device_in_turn(on_devices: Cluster) -> None:
    sizes = {f"in/reads_{i}": MIB + i for i in range(4)}
    places = on_devices.place_files(sizes)
    assert list(places.values()) == [
        f"whole on {name}" for name in ("io1", "io2", "io1:/storage2", "io2:/storage2")
    ]
    found = on_devices.io_hosts[1].run(["stat", "-c", "%s", "/storage2/brick/in/reads_3"]).stdout
    assert int(found) == MIB + 3


def test_placing_files_again_replaces_them_and_leaves_no_candidates(whole: Cluster) -> None:
    whole.place_files({"again": 1000})
    assert whole.place_files({"first": 10, "again": 2000}) == {
        "first": "whole on io1",
        "again": "whole on io2",
    }
    names = whole.compute_hosts[1].run(["ls", "-A", whole.mount_path]).stdout.split()
    assert not [name for name in names if name.startswith("wavetank-")]


def test_where_shards_lie_is_read_back_from_the_bricks(sharded: Cluster) -> None:
    places = sharded.place_files({"a.fastq": 27_000_000, "b.fastq": 27_000_000})
    assert all(text.startswith("shards of 4.0 MiB: io1 ") for text in places.values())
    total = 0
    for host in sharded.io_hosts:
        argv = ["find", "/storage/brick", "-path", "*/.glusterfs", "-prune", "-o", "-type", "f", "-printf", "%s\n"]  # fmt: skip
        total += sum(int(line) for line in host.run(argv).stdout.split())
    assert total == 2 * 27_000_000


def test_a_small_file_on_a_sharded_volume_lies_on_one_server(sharded: Cluster) -> None:
    assert sharded.place_files({"small": 1000})["small"].count("1000 B") == 1


@pytest.mark.parametrize(
    ("servers", "stripe", "volume_type", "place"),
    [
        (2, {"kind": "replicated"}, "Replicate", "a copy on each of io1, io2"),
        (3, {"kind": "disperse", "redundancy": 1}, "Disperse", "erasure coded over io1, io2, io3"),
    ],
)
def test_files_are_on_all_servers(
    tmp_path: Path, servers: int, stripe: dict[str, Any], volume_type: str, place: str
) -> None:
    with up(tmp_path, gluster_spec(stripe["kind"], servers, stripe)) as cluster:
        assert cluster.settings()["volume type"] == volume_type
        assert cluster.place_files({"file": 100_000}) == {"file": place}


# --- options


def test_expert_options_are_in_force_as_gluster_says(sharded: Cluster) -> None:
    settings = sharded.settings()
    assert settings["performance.io-cache"] == "on"
    assert settings["performance.cache-size"] == "8MB"
    assert settings["features.shard-block-size"] == str(4 * MIB)
    for node in ("c1", "c2"):
        assert " fuse.glusterfs " in settings[f"{node} /wavetank"]
        assert "--attribute-timeout=3" in settings[f"{node} client"]
        assert "--use-readdirp=no" in settings[f"{node} client"]
        assert "--acl" in settings[f"{node} client"]


def test_an_option_that_gluster_does_not_have_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = gluster_spec("unknown", 1, {})
    skip_unless_possible(spec)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    spec = gluster_spec("unknown", 1, {}, options={"performance.io-cach": True, "user.note": "x"})
    message = (
        r"file_system.options.performance.io-cach: glusterfs .* \(near: performance.io-cache\b"
    )
    with pytest.raises(SpecError, match=message) as caught:
        deploy.bring_up(spec)
    assert "user.note" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_value_that_gluster_refuses_is_told_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = gluster_spec("refused", 1, {}, options={"performance.io-cache": "perhaps"})
    skip_unless_possible(spec)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    with pytest.raises(
        FileSystemError,
        match=r"io1 cannot set file_system.options performance.io-cache: perhaps: volume set: failed",
    ):
        deploy.bring_up(spec)
    assert Traces(tmp_path, spec.name).left() == []


def test_daemons_listen_on_the_clusters_network_only(sharded: Cluster) -> None:
    for host in (*sharded.io_hosts, *sharded.compute_hosts):
        lines = host.run(["ss", "-Hltn"]).stdout.splitlines()
        listening = {line.split()[3].rpartition(":")[0] for line in lines}
        assert listening <= {host.address}


# --- cold caches


def test_a_cold_read_comes_from_the_servers_disks(sharded: Cluster) -> None:
    size = 12_000_000
    sharded.place_files({"cold": size})
    client = sharded.compute_hosts[0]
    argv = ["dd", f"if={sharded.mount_path}/cold", "of=/dev/null", "bs=8191", "status=none"]

    def from_disks() -> int:
        before = sum(disk_read_bytes(host) for host in sharded.io_hosts)
        client.run(argv)
        return sum(disk_read_bytes(host) for host in sharded.io_hosts) - before

    old = client_pids(client)
    sharded.drop_caches()
    assert client_pids(client).isdisjoint(old), "the client's own caches went with its process"
    assert from_disks() >= size
    assert from_disks() < size // 10, "the second read is warm"


def disk_read_bytes(host: Host) -> int:
    device = (mount_line(host, "/storage") or "").split()[0].rpartition("/")[2]
    line = next(
        line.split()
        for line in host.run(["cat", "/proc/diskstats"]).stdout.splitlines()
        if line.split()[2] == device
    )
    return int(line[5]) * 512  # sectors read


def client_pids(host: Host) -> set[str]:
    return set(host.run(["pidof", "glusterfs"]).stdout.split())


# --- faults


def kill(host: Host, pid_files: str) -> None:
    host.run(["sh", "-c", f"kill -9 $(cat {pid_files})"])


def test_a_dead_brick_is_noticed_and_the_cluster_goes_down_clean(tmp_path: Path) -> None:
    with up(tmp_path, gluster_spec("brick", 2, {"kind": "distributed"})) as cluster:
        kill(cluster.io_hosts[1], "/run/gluster/vols/wavetank/*.pid")
        until(lambda: any("brick on io2 died" in finding for finding in cluster.health()))
        until(
            lambda: any(
                "c1 has no connection to the brick of io2" in finding
                for finding in cluster.health()
            )
        )


def test_a_dead_glusterd_is_noticed(tmp_path: Path) -> None:
    with up(tmp_path, gluster_spec("glusterd", 1, {"kind": "distributed"})) as cluster:
        kill(cluster.io_hosts[0], f"{STATE}/glusterd.pid")
        until(lambda: any("glusterd on io1 died" in finding for finding in cluster.health()))


def test_a_dead_client_is_noticed_and_mounted_again_by_an_emptied_cache(tmp_path: Path) -> None:
    with up(tmp_path, gluster_spec("client", 1, {"kind": "distributed"})) as cluster:
        cluster.compute_hosts[1].run(["sh", "-c", "kill -9 $(pidof glusterfs)"])
        until(lambda: any("client on c2 died" in finding for finding in cluster.health()))
        cluster.drop_caches()
        assert cluster.health() == []
        assert client_command_lines(cluster.compute_hosts[1], cluster.mount_path)


def test_a_file_too_large_for_its_brick_is_an_error_that_says_what_to_do_and_passes(
    whole: Cluster,
) -> None:
    with pytest.raises(FileSystemError, match=r"No space left.*storage\.size"):
        whole.place_files({"huge": 400 * MIB})  # two disks of 320 MiB, and it is to lie on one
    assert whole.health() == []
    until(lambda: not seen_by_any(whole, "huge"))
    until(lambda: can_place(whole))


def test_files_too_large_for_all_servers_are_refused_before_anything_is_written(
    sharded: Cluster,
) -> None:
    with pytest.raises(FileSystemError, match=r"1\.2 GiB on io1, io2, io3.*storage\.size"):
        sharded.place_files({"huge": 1200 * MIB})  # three disks of 320 MiB
    assert not seen_by_any(sharded, "huge")


def test_a_sharded_volume_that_an_application_filled_works_again_when_it_is_emptied(
    sharded: Cluster,
) -> None:
    client, huge = sharded.compute_hosts[0], f"{sharded.mount_path}/huge"
    argv = ["dd", "if=/dev/urandom", f"of={huge}", "bs=1M", "count=1200", "conv=fsync"]
    with pytest.raises(RemoteCommandError, match="No space left"):
        client.run(argv, timeout_s=HANG_S)
    assert sharded.health() == []
    assert sharded.place_files({"huge": 1000})["huge"].count("1000 B") == 1
    client.run(["rm", "--", huge])
    until(lambda: not seen_by_any(sharded, "huge"))
    until(lambda: can_place(sharded))


def seen_by_any(cluster: Cluster, name: str) -> bool:
    """Whether a compute node sees a file; after a deletion a client may answer from its cache for a while."""
    return any(
        name in host.run(["ls", cluster.mount_path]).stdout.split()
        for host in cluster.compute_hosts
    )


def can_place(cluster: Cluster) -> bool:
    """Whether there is room again: gluster deletes shards in the background."""
    try:
        return bool(cluster.place_files({"fits": 20 * MIB}))
    except FileSystemError:
        return False


def test_what_was_removed_can_be_installed_again(tmp_path: Path) -> None:
    with up(tmp_path, gluster_spec("remove", 2, {"kind": "distributed"})) as cluster:
        cluster.place_files({"file": 1000})
        cluster.file_system.unmount(cluster.site)
        cluster.file_system.remove(cluster.site)
        for host in cluster.io_hosts:
            assert host.run(["sh", "-c", "pidof glusterd glusterfsd; ls -A /storage"]).stdout == ""
        cluster.file_system.install(cluster.site)
        cluster.file_system.mount(cluster.site)
        assert cluster.health() == []
        assert cluster.compute_hosts[0].run(["ls", "-A", cluster.mount_path]).stdout == ""
