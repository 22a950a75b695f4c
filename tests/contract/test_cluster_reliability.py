"""Fifty rounds, rivals for one name, missing programs, and everybody else's things: clusters come and go without a trace."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_clusters import spec_of
from leftovers import Traces

from wavetank import programs
from wavetank.cluster import deploy
from wavetank.cluster.namespaces import provider
from wavetank.cluster.namespaces.cgroups import Hierarchies, hierarchies
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, SpecError

pytestmark = [pytest.mark.cluster]

WAVETANK = str(Path(sys.executable).parent / "wavetank")
ROUNDS = 50


def wavetank(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [WAVETANK, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def open_files() -> set[str]:
    return {os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}


def test_fifty_times_up_and_down_leaves_nothing(spec: ClusterSpec, traces: Traces) -> None:
    disks_only = spec_of("local-none", "reliable")
    with deploy.deployed(spec):  # what is loaded and opened once
        pass
    before, threads = len(open_files()), len(os.listdir("/proc/self/task"))
    for number in range(ROUNDS):
        with deploy.deployed(spec if number % 5 == 0 else disks_only):
            traces.note_processes()
        assert not any(traces.state.glob("clusters/*"))
    assert traces.left() == []
    assert len(open_files()) <= before + 1  # listing them opens one
    assert len(os.listdir("/proc/self/task")) <= threads


def test_of_two_that_bring_up_one_name_at_once_one_wins(spec: ClusterSpec, traces: Traces) -> None:
    rivals = [wavetank("cluster", "up", "lab.yaml") for _ in range(2)]
    ends = [(rival.communicate()[1], rival.returncode) for rival in rivals]
    assert sorted(status for _, status in ends) == [0, 1], ends
    assert "exists already" in next(said for said, status in ends if status == 1)
    status = wavetank("cluster", "status", spec.name)
    out, err = status.communicate()
    assert status.returncode == 0, err
    assert "all is well" in out
    deploy.take_down(spec.name)
    assert traces.left() == []


def test_of_two_that_take_one_down_at_once_nothing_is_left(
    spec: ClusterSpec, traces: Traces
) -> None:
    deploy.bring_up(spec)
    traces.note_processes()
    rivals = [wavetank("cluster", "down", spec.name) for _ in range(2)]
    ends = [(rival.communicate()[1], rival.returncode) for rival in rivals]
    assert any(status == 0 for _, status in ends), ends
    assert all("Traceback" not in said for said, _ in ends), ends
    assert traces.left() == []


def hide(names: set[str], folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A search path that has every program of this machine but these."""
    folder.mkdir()
    for directory in reversed(programs.search_path().split(":")):
        if Path(directory).is_dir():
            for program in Path(directory).iterdir():
                if program.name not in names and not (folder / program.name).is_symlink():
                    (folder / program.name).symlink_to(program)
    patch.setattr(programs, "SYSTEM_PATH", str(folder))
    patch.setenv("PATH", str(folder))


def test_all_missing_programs_are_said_at_once_before_anything_starts(
    spec: ClusterSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide({"ganesha.nfsd", "rpcbind", "losetup", "mkfs.xfs"}, tmp_path / "bin", monkeypatch)
    with pytest.raises(SpecError) as caught:
        deploy.bring_up(spec)
    said = str(caught.value)
    for words in (
        "ganesha.nfsd is missing: apt-get install nfs-ganesha",
        "rpcbind is missing: apt-get install rpcbind",
        "losetup is not installed: apt-get install util-linux",
        "mkfs.xfs is not installed: apt-get install xfsprogs",
    ):
        assert words in said
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("program", ["tc", "mkfs.xfs", "ganesha.nfsd", "mountpoint"])
def test_a_program_that_is_gone_when_it_is_needed_leaves_nothing(
    program: str, spec: ClusterSpec, traces: Traces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide({program}, tmp_path / "bin", monkeypatch)
    monkeypatch.setattr(deploy, "check", lambda spec: [])
    with pytest.raises(ClusterError, match=program.replace(".", r"\.")):
        deploy.bring_up(spec)
    assert traces.left() == []


@contextlib.contextmanager
def in_state_directory(path: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAVETANK_STATE_DIR", str(path))
        yield


def test_down_all_touches_nothing_that_it_did_not_make(
    spec: ClusterSpec, traces: Traces, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").write_text("mine")
    image = other / "disk.img"
    image.write_bytes(b"\0" * (1 << 20))
    group = hierarchies().roots()[0] / f"wavetank/someone-elses-{os.getpid()}"
    group.mkdir(parents=True)
    # a server with the name and in the kind of group of ours
    stranger = subprocess.Popen(["bash", "-c", "exec -a ganesha.nfsd sleep 100000"])
    (group / "cgroup.procs").write_text(str(stranger.pid))
    loop = subprocess.run(
        ["losetup", "-f", "--show", image], capture_output=True, text=True, check=True
    ).stdout.strip()
    elsewhere = spec.model_copy(update={"name": f"x{spec.name}"})
    try:
        with in_state_directory(other / "state"):
            stays = deploy.bring_up(elsewhere)
        deploy.bring_up(spec)
        down = wavetank("cluster", "down", "--all")
        err = down.communicate()[1]
        assert down.returncode == 0, err
        assert traces.left() == []
        assert stranger.poll() is None
        assert (other / "kept").read_text() == "mine"
        assert (
            str(image)
            in subprocess.run(["losetup", loop], capture_output=True, text=True, check=True).stdout
        )
        assert (group / "cgroup.procs").read_text().split() == [str(stranger.pid)]
        with in_state_directory(other / "state"):
            assert stays.health() == []
    finally:
        with in_state_directory(other / "state"), contextlib.suppress(ClusterError):
            deploy.take_down(elsewhere.name)
        stranger.kill()
        stranger.wait()
        subprocess.run(["losetup", "-d", loop], check=False)
        group.rmdir()
    assert Traces(other / "state", elsewhere.name).left() == []


@pytest.mark.parametrize("spec", ["local-none"], indirect=True)
def test_a_scratch_disk_has_limits_of_its_own_and_goes_with_its_node(
    spec: ClusterSpec, traces: Traces
) -> None:
    said = spec.model_dump(mode="json")
    said["temporary"] = {"size": "400 MiB", "local_file_system": "ext4", "read": "20 MB/s"}
    with deploy.deployed(ClusterSpec.model_validate(said)) as cluster:
        traces.note_processes()
        for host in cluster.compute_hosts:
            mounts = host.run(["cat", "/proc/mounts"]).stdout
            assert " /storage xfs " in mounts and " /scratch ext4 " in mounts
        limits = cluster.limits()
        assert limits["compute disk read"].startswith("100.0 MB/s by")  # the instance's
        assert limits["compute scratch read"].startswith("20.0 MB/s by")
    assert traces.left() == []


def test_on_control_groups_2_alone_all_is_found_and_ended_and_lost_limits_are_said(
    spec: ClusterSpec, traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = hierarchies()
    if here.v2 is None:
        pytest.skip("does not apply: no control groups 2 are mounted")
    only = Hierarchies({}, here.v2, here.v2_controllers)
    monkeypatch.setattr(provider, "hierarchies", lambda: only)
    with deploy.deployed(spec) as cluster:
        traces.note_processes()
        groups = list(only.v2.glob(f"wavetank/{spec.name}-*/c1")) if only.v2 else []
        inside = cluster.compute_hosts[0].run(["cat", "/proc/self/cgroup"]).stdout
        assert len(groups) == 1 and f"0::/wavetank/{groups[0].parent.name}/c1\n" in inside
        memory = cluster.limits()["compute memory"]
        assert memory.startswith("384.0 MiB")
        assert memory.endswith("v2 memory" if "memory" in only.v2_controllers else "by nothing")
        cluster.compute_hosts[0].start(
            ["setsid", "sh", "-c", "sleep 100000 & sleep 100000"], log="stray"
        )
    assert traces.left() == []
