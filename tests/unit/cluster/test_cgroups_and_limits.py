"""Control groups of version 1, of version 2, and side by side, on directories that look like them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from wavetank.cluster.namespaces import cgroups, network
from wavetank.cluster.namespaces.cgroups import (
    Hierarchies,
    NodeGroup,
    hierarchies,
    pids_below,
    remove_groups,
    throttle_files,
)
from wavetank.cluster.namespaces.disks import limit_disk
from wavetank.cluster.namespaces.orphans import find_orphans
from wavetank.errors import ProviderError

# /proc/mounts of Debian 12 with version 2, of Debian 10 with version 1, and of a hybrid
V2 = "cgroup2 {0} cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n"
V1 = (
    "cgroup {0}/memory cgroup rw,relatime,memory 0 0\n"
    "cgroup {0}/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n"
    "cgroup {0}/blkio cgroup rw,relatime,blkio 0 0\n"
)


def machine(tmp_path: Path, kind: str) -> Hierarchies:
    """A machine's hierarchies; files that the kernel makes in a new group are made by the tests."""
    if kind == "v2":
        (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        (tmp_path / "cgroup.subtree_control").write_text("")
        return hierarchies(V2.format(tmp_path))
    for name in ("memory", "cpu,cpuacct", "blkio"):
        (tmp_path / name).mkdir()
    return hierarchies("proc /proc proc rw 0 0\n" + V1.format(tmp_path))


def test_version_1_controllers_are_found_by_their_options(tmp_path: Path) -> None:
    where = machine(tmp_path, "v1")
    assert where.v1["cpu"] == tmp_path / "cpu,cpuacct"
    assert where.v2 is None
    assert where.roots() == [tmp_path / "memory", tmp_path / "cpu,cpuacct"]


def test_version_2_controllers_are_those_of_its_root(tmp_path: Path) -> None:
    where = machine(tmp_path, "v2")
    assert where.v1 == {}
    assert {"memory", "cpu", "io"} <= where.v2_controllers


def test_limits_of_version_2_are_set_and_read_back(tmp_path: Path) -> None:
    where = machine(tmp_path, "v2")
    group = NodeGroup("wavetank/lab-1/c1", where)
    (tmp_path / group.path).mkdir(parents=True)
    for part in (tmp_path / "wavetank", tmp_path / "wavetank" / "lab-1"):
        (part / "cgroup.subtree_control").write_text("")
    group.create()
    assert group.limit_memory(512 * 2**20) == "cgroup v2 memory"
    assert group.limit_cpus(1.5) == "cgroup v2 cpu"
    assert (tmp_path / group.path / "cpu.max").read_text() == "150000 100000"  # 1.5 of 100 ms
    assert cgroups.memory_bytes(group) == 512 * 2**20
    assert cgroups.cpus(group) == 1.5


def test_limits_of_version_1_are_set_and_read_back(tmp_path: Path) -> None:
    group = NodeGroup("wavetank/lab-1/c1", machine(tmp_path, "v1"))
    group.create()
    assert group.limit_memory(512 * 2**20) == "cgroup v1 memory"
    assert group.limit_cpus(0.5) == "cgroup v1 cpu"
    assert cgroups.memory_bytes(group) == 512 * 2**20
    assert cgroups.cpus(group) == 0.5


@pytest.mark.parametrize(
    ("kind", "file", "one", "most"),
    [("v1", "cpu.shares", 1024, 262_144), ("v2", "cpu.weight", 100, 10_000)],
)
def test_clusters_count_as_many_processes_as_they_have_nodes(
    tmp_path: Path, kind: str, file: str, one: int, most: int
) -> None:
    where = machine(tmp_path, kind)
    root = where.v1["cpu"] if kind == "v1" else tmp_path
    for name in ("a-1/c1", "a-1/c2", "b-2/c1"):
        group = root / "wavetank" / name
        group.mkdir(parents=True)
        (group / "cgroup.procs").touch()
        for above in (group.parent, group.parent.parent):
            (above / file).touch()
    NodeGroup("wavetank/a-1/c2", where).create()
    assert (root / "wavetank" / "a-1" / file).read_text() == str(2 * one)
    assert (root / "wavetank" / file).read_text() == str(3 * one)
    for number in range(300):
        group = root / "wavetank" / "b-2" / f"n{number}"
        group.mkdir()
        (group / "cgroup.procs").touch()
    NodeGroup("wavetank/b-2/c1", where).create()
    assert (root / "wavetank" / "b-2" / file).read_text() == str(most)


@pytest.mark.parametrize(
    ("kind", "file", "text"),
    [
        ("v1", "memory/wavetank/c1/memory.limit_in_bytes", "9223372036854771712\n"),
        ("v2", "wavetank/c1/memory.max", "max\n"),
    ],
)
def test_the_kernels_word_for_no_limit_is_none(
    tmp_path: Path, kind: str, file: str, text: str
) -> None:
    group = NodeGroup("wavetank/c1", machine(tmp_path, kind))
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    assert cgroups.memory_bytes(group) is None


def test_a_disks_limits_of_version_2_are_one_line(tmp_path: Path) -> None:
    where = machine(tmp_path, "v2")
    group = NodeGroup("c1", where)
    (tmp_path / "c1").mkdir()
    said = limit_disk(where, "c1", "7:3", {"read": 100_000_000, "write_iops": 0})
    assert said == "cgroup v2 io.max"
    assert (tmp_path / "c1" / "io.max").read_text() == "7:3 rbps=100000000 wiops=max"
    (tmp_path / "c1" / "io.max").write_text(
        "7:1 rbps=5 wbps=6 riops=max wiops=max\n7:3 rbps=100 wbps=max riops=9 wiops=max\n"
    )
    assert cgroups.disk(group, "7:3") == {"read": 100, "read_iops": 9}


def test_a_disks_limits_of_version_1_are_of_the_root_group(tmp_path: Path) -> None:
    where = machine(tmp_path, "v1")
    assert limit_disk(where, "c1", "7:3", {"read": 100, "write": 50}) == "cgroup v1 blkio.throttle"
    (tmp_path / "blkio" / "blkio.throttle.read_bps_device").write_text("7:1 5\n7:3 100\n")
    assert cgroups.disk(NodeGroup("c1", where), "7:3") == {"read": 100, "write": 50}
    assert cgroups.disk(NodeGroup("c1", where), "7:9") == {}


def test_without_a_controller_there_is_no_limit_and_nothing_says_there_is(tmp_path: Path) -> None:
    where = Hierarchies({}, tmp_path, frozenset())
    group = NodeGroup("c1", where)
    (tmp_path / "c1").mkdir()
    assert group.limit_memory(1) is None
    assert group.limit_cpus(1) is None
    assert throttle_files(where, "c1") == {}
    assert limit_disk(where, "c1", "7:0", {"read": 1}) is None
    assert cgroups.memory_bytes(group) is None


def test_groups_that_are_busy_for_good_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wavetank.cluster.namespaces.cgroups.KILL_TIMEOUT_S", 0.02)
    where = machine(tmp_path, "v1")
    NodeGroup("wavetank/lab-1/c1", where).create()
    (tmp_path / "memory" / "wavetank" / "lab-1" / "c1" / "busy").write_text("")
    with pytest.raises(ProviderError, match="cannot remove the control group"):
        remove_groups("wavetank/lab-1", where)
    (tmp_path / "memory" / "wavetank" / "lab-1" / "c1" / "busy").unlink()
    remove_groups("wavetank/lab-1", where)
    assert not (tmp_path / "memory" / "wavetank").exists()


def test_the_cache_of_a_node_is_its_files_pages(tmp_path: Path) -> None:
    group = NodeGroup("c1", machine(tmp_path, "v1"))
    (tmp_path / "memory" / "c1").mkdir()
    # memory.stat of version 1 counts the group alone, then with those below it
    (tmp_path / "memory" / "c1" / "memory.stat").write_text(
        "cache 9\nactive_file 1\ninactive_file 2\ntotal_active_file 4096\ntotal_inactive_file 8192\n"
    )
    assert group.cached_bytes() == 4096 + 8192


def test_rates_are_sent_to_tc_in_bits_with_a_burst_for_a_250_hz_kernel() -> None:
    # 125 MB/s = 1 Gbit/s; a 250th of a second of it is 500,000 bytes; 1 MB/s gets the least, 64 KiB
    lines = network.shape({"eth0": 125_000_000, "p1": 1_000_000}).splitlines()
    assert "dev eth0 root tbf rate 1000000000bit burst 500000" in lines[0]
    assert "dev p1 root tbf rate 8000000bit burst 65536" in lines[1]


def test_every_node_gets_a_link_and_an_address_of_its_own() -> None:
    lines = network.switch_links([41, 42])
    assert "peer name eth0 mtu 9000 netns 41" in lines
    assert "link set p1 master switch up" in lines
    assert len({network.address_of(i) for i in range(132)} | {network.SWITCH_ADDRESS}) == 133


class Listed(list[os.DirEntry[str]]):
    """A directory's entries, as os.scandir gives them."""

    def __enter__(self) -> Iterator[os.DirEntry[str]]:
        return iter(self)

    def __exit__(self, *_: object) -> None:
        pass

    def __next__(self) -> os.DirEntry[str]:
        if not self:
            raise StopIteration
        return self.pop(0)


@pytest.mark.parametrize("goes", ["wavetank", "wavetank/lab-0a1b2c3d", "wavetank/lab-0a1b2c3d/c1"])
def test_groups_of_other_clusters_may_go_while_they_are_looked_for(
    goes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each was in the list of the directory above it, and is gone when it is looked into."""
    for node in ("c1", "c2"):
        (tmp_path / "wavetank/lab-0a1b2c3d" / node).mkdir(parents=True)
        (tmp_path / "wavetank/lab-0a1b2c3d" / node / "cgroup.procs").write_text("4242\n")
    real, above = os.scandir, (tmp_path / goes).parent

    def scandir(path: str) -> Listed:
        with real(path) as entries:
            found = Listed(entries)
        if Path(path) == above:
            patch.undo()
            shutil.rmtree(tmp_path / goes)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", scandir)
        assert pids_below(tmp_path) == ({4242} if goes.endswith("c1") else set())
    found = find_orphans(Hierarchies({}, tmp_path, frozenset()))
    assert [orphan for orphan in found if orphan.cluster == "lab"] == []
