"""MooseFS for real: where chunks lie as its own programs and the disks say, copies, options in force, faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from contract_clusters import spec_of
from leftovers import up

from waiting import HANG_S, until
from wavetank.cluster import deploy
from wavetank.cluster.filesystems.moosefs.options import STATE
from wavetank.cluster.host import Host
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError

pytestmark = [pytest.mark.cluster]

Cluster = deploy.DeployedCluster
MIB = 2**20
FEW_TRIES = {"mfsioretries": 5}
"""Of a client at a chunk that it was promised and that no server takes; its 30 take minutes."""


def moosefs_spec(suffix: str, **more: Any) -> ClusterSpec:
    said = spec_of("local-moosefs", suffix).model_dump(mode="json")
    said["file_system"] |= more.pop("file_system", {})
    return ClusterSpec.model_validate(said | more)


def chunk_bytes(host: Host, folder: str) -> int:
    """Bytes of all chunks in a folder of a chunk server, with a header of 8 KiB for each."""
    script = "find $1 -name 'chunk_*.mfs' -printf '%s\\n'"
    return sum(int(line) for line in host.run(["sh", "-c", script, "sh", folder]).stdout.split())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Input files whole on a server each, two devices a server, the master on a head node."""
    options = {"chunkserver.HDD_FSYNC_BEFORE_CLOSE": True, "master.ATIME_MODE": 4}
    spec = moosefs_spec(
        "mfs-whole", nodes={"compute": 2, "io": 2, "head": 1}, layout="one-server-per-file",
        storage={"size": 320 * MIB, "devices": 2},
        instance={**spec_of("local-moosefs", "x").instance.model_dump(), "memory": "768 MiB"},
        file_system={"metadata_placement": "head", "options": options, "mount_options": {"mfsattrcacheto": 0.5}},
    )  # fmt: skip
    with up(tmp_path_factory.mktemp("whole"), spec) as cluster:
        yield cluster


def test_each_file_lies_whole_on_a_server_in_turn_also_beyond_a_chunk(whole: Cluster) -> None:
    sizes = {"in/0": 70 * MIB, "in/1": 3 * MIB + 1, "in/2": 5}  # 70 MiB are two chunks
    assert whole.place_files(sizes) == {"in/0": "whole on io1", "in/1": "whole on io2", "in/2": "whole on io1"}  # fmt: skip
    one, other = (
        sum(chunk_bytes(host, f"/storage{device}/moosefs") for device in ("", "2"))
        for host in whole.io_hosts
    )
    assert one >= 70 * MIB + 5 and 3 * MIB < other < 4 * MIB


def test_options_servers_and_parameters_in_force_are_read_back(whole: Cluster) -> None:
    settings = whole.settings()
    assert settings["master"] == "h1"
    assert settings["mfschunkserver HDD_FSYNC_BEFORE_CLOSE"] == "1"
    assert settings["mfsmaster ATIME_MODE"] == "4"
    assert settings["client mfsattrcacheto"] == "0.500"
    assert settings["client mfswritecachesize"] == "96"  # an eighth of 768 MiB
    assert settings["chunk server io2"].endswith("labels A,J")
    assert "fuse.moosefs" in settings["mount on c2"]


def test_servers_listen_on_the_clusters_network_only(whole: Cluster) -> None:
    for host in whole.io_hosts:
        lines = host.run(["ss", "-Hltn"]).stdout.splitlines()
        assert {line.split()[3] for line in lines} == {f"{host.address}:9422"}


def test_a_chunk_server_that_died_is_a_finding(whole: Cluster) -> None:
    host = whole.io_hosts[1]
    host.run(["sh", "-c", f"kill -9 $(cat {STATE}/mfschunkserver.pid)"])
    assert until(lambda: [found for found in whole.health() if "master has no connection" in found])
    assert any("mfschunkserver on io2 died" in finding for finding in whole.health())


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A copy of each chunk on each of two small servers."""
    asked = {"stripe": {"kind": "replicated"}, "mount_options": FEW_TRIES}
    spec = moosefs_spec("mfs-copied", storage={"size": 320 * MIB}, file_system=asked)
    with up(tmp_path_factory.mktemp("copied"), spec) as cluster:
        yield cluster


def test_copies_are_on_all_servers(copied: Cluster) -> None:
    size = 2 * MIB
    assert copied.place_files({"in": size}) == {"in": "chunks of 64.0 MiB: io1 2.0 MiB, io2 2.0 MiB"}  # fmt: skip
    assert [chunk_bytes(host, "/storage/moosefs") >= size for host in copied.io_hosts] == [True, True]  # fmt: skip
    assert copied.settings()["chunks"] == "64.0 MiB, 2 of each"


def test_files_that_do_not_fit_are_refused_and_a_full_disk_is_an_error(
    copied: Cluster,
) -> None:
    with pytest.raises(FileSystemError, match="do not fit on the data servers"):
        copied.place_files({"large": 400 * MIB})
    client = copied.compute_hosts[0]
    argv = ["dd", "if=/dev/zero", f"of={copied.mount_path}/large", "bs=1M", "count=400"]
    # "Input/output error" where the client's tries at a chunk that was promised end first
    with pytest.raises(RemoteCommandError, match=r"No space left on device|Input/output error"):
        client.run(argv, timeout_s=HANG_S)
    # with 30 tries a write took minutes, and the removal after it more than 60 s, on a machine with little else to do
    client.run(["rm", f"{copied.mount_path}/large"], timeout_s=HANG_S)
    assert copied.health() == []


def test_what_outlives_a_cluster_is_removed(copied: Cluster) -> None:
    copied.file_system.remove(copied.site)
    look = "ls -d /storage/moosefs* {} 2>/dev/null; ps -eo stat=,comm= | grep '^[^Z].* mfs'; true"
    for host in (*copied.io_hosts, *copied.compute_hosts):
        assert host.run(["sh", "-c", look.format(STATE)]).stdout == ""
        assert copied.mount_path not in host.run(["cat", "/proc/mounts"]).stdout
