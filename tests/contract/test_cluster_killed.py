"""Whatever kills the tool, and whenever: ``down`` finds what it made and leaves nothing, and touches nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from killed_commands import INTERRUPTED, KILLED
from leftovers import Traces

from waiting import HANG_S, until
from wavetank.cluster import deploy
from wavetank.cluster.components import SMALLEST_STORAGE_BYTES
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of

pytestmark = [pytest.mark.cluster]

WAVETANK = str(Path(sys.executable).parent / "wavetank")


def down_all() -> None:
    done = subprocess.run(
        [WAVETANK, "cluster", "down", "--all"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# A bring-up of NFS on three nodes starts at least 30 programs: disks, nodes, links, rates, servers, mounts.
# GlusterFS starts more: servers from the 20th on, volume and mounts at the end.
@pytest.mark.parametrize(
    ("spec", "n_programs"),
    [
        *(("local-nfs", n) for n in (0, 2, 5, 8, 11, 14, 17, 20, 24, 28)),
        *(("local-glusterfs", n) for n in (22, 34)),
        ("local-moosefs", 34),
    ],
    indirect=["spec"],
)
def test_killed_while_bringing_up_leaves_nothing_after_down(
    n_programs: int, spec: ClusterSpec, traces: Traces
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(n_programs), "cluster", "up", "lab.yaml"],
        check=False, capture_output=True, text=True, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    traces.note_processes()
    down_all()
    assert traces.left() == []


@pytest.mark.parametrize("n_programs", [0, 1, 2])
def test_an_interrupted_down_is_finished_by_the_next(
    n_programs: int, spec: ClusterSpec, traces: Traces
) -> None:
    deploy.bring_up(spec)
    traces.note_processes()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(n_programs), "cluster", "down", spec.name],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    down_all()
    assert traces.left() == []


# NFS on three nodes starts about 45 programs until it is mounted, and its status 15 more; glusterfs some more.
@pytest.mark.parametrize(
    ("spec", "number", "moments"),
    [
        ("local-nfs", signal.SIGINT, (0, 8, 16, 24, 32, 40, 44, 48, 52)),
        ("local-nfs", signal.SIGTERM, (12, 46)),
        ("local-nfs", signal.SIGHUP, (20,)),
        ("local-glusterfs", signal.SIGINT, (10, 30, 50)),
    ],
    indirect=["spec"],
)
def test_an_interrupted_up_leaves_nothing_however_often_it_is_interrupted(
    number: signal.Signals, moments: tuple[int, ...], spec: ClusterSpec, traces: Traces
) -> None:
    for n_programs in moments:
        up = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, str(int(number)), str(n_programs), "cluster", "up", "lab.yaml"],
            check=False, capture_output=True, text=True, start_new_session=True,
        )  # fmt: skip
        if up.returncode == 0:  # a daemon answered sooner: everything was printed before
            assert n_programs > 40
            down_all()
            continue
        assert up.returncode == 128 + number, (n_programs, up.stderr)
        assert "taken down again" in up.stderr
        assert traces.left() == [], (n_programs, up.stderr)


def test_a_status_that_cannot_be_printed_takes_the_new_cluster_down(
    spec: ClusterSpec, traces: Traces
) -> None:
    with Path("/dev/full").open("w") as full:
        up = subprocess.run(
            [WAVETANK, "cluster", "up", "lab.yaml"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert up.returncode != 0
    assert traces.left() == [], up.stderr


@pytest.mark.parametrize("spec", ["local-nfs", "local-glusterfs", "local-none"], indirect=True)
def test_killed_in_the_middle_of_a_job_leaves_nothing_after_down(
    spec: ClusterSpec, traces: Traces
) -> None:
    cluster = deploy.bring_up(spec)
    path = f"{cluster.mount_path}/growing"
    job = subprocess.Popen(
        [*cluster.launcher_prefix, *cluster.remote_shell, "c1", f"dd if=/dev/zero of={path} bs=64k oflag=dsync"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: "growing" in cluster.compute_hosts[0].run(["ls", cluster.mount_path]).stdout)
    traces.note_processes()
    down_all()
    assert traces.left() == []
    assert job.wait(timeout=HANG_S) != 0


def test_up_fails_cleanly_when_a_server_cannot_start(
    spec: ClusterSpec, traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wavetank.cluster.filesystems.nfs.driver.NFS_PORT", "no-port")
    with pytest.raises(Exception, match=r"(?s)ganesha.nfsd on io1 (died|does not answer)"):
        deploy.bring_up(spec)
    assert traces.left() == []


def test_a_dead_server_is_said_by_status(spec: ClusterSpec) -> None:
    cluster = deploy.bring_up(spec)
    cluster.io_hosts[0].run(["pkill", "-9", "ganesha.nfsd"])  # in the node's own process space
    until(cluster.health, "a finding")
    status = subprocess.run(
        [WAVETANK, "cluster", "status", spec.name], check=False, capture_output=True, text=True
    )
    assert status.returncode == 1
    assert "ganesha" in status.stdout + status.stderr
    down_all()


def test_a_full_disk_is_said_with_what_to_do(spec: ClusterSpec) -> None:
    quick = spec.instance.model_copy(update={"network": None, "disk_write": None})
    small = spec.storage.model_copy(update={"size": SMALLEST_STORAGE_BYTES})
    spec = spec.model_copy(update={"instance": quick, "storage": small})
    with (
        deploy.deployed(spec) as cluster,
        pytest.raises(Exception, match=r"cannot write .* larger storage.size"),
    ):
        cluster.place_files({"too-large": spec.storage.size})


def test_down_leaves_a_cluster_of_another_name_alone(spec: ClusterSpec, traces: Traces) -> None:
    other = spec.model_copy(update={"name": spec.name + "x"})
    deploy.bring_up(spec)
    with deploy.deployed(other) as stays:
        deploy.take_down(spec.name)
        assert traces.left() == []
        assert stays.health() == []
        with deploy.deployed(spec) as again:  # its name is free again
            assert again.health() == []
    assert Traces(traces.state, other.name).left() == []


def test_a_node_that_is_killed_is_said_and_down_cleans(spec: ClusterSpec, traces: Traces) -> None:
    cluster = deploy.bring_up(spec)
    lines = (directory_of(spec.name).path / "nodes.map").read_text().splitlines()
    pid = next(int(line.split()[1]) for line in lines if line.startswith("c2 "))
    os.kill(pid, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{pid}/ns/net").exists(), "the end of the node")
    assert any("c2" in finding for finding in cluster.health())
    down_all()
    assert traces.left() == []


def test_a_state_file_that_is_damaged_does_not_stop_down(spec: ClusterSpec, traces: Traces) -> None:
    deploy.bring_up(spec)
    directory_of(spec.name).state_file.write_text("{")
    down_all()
    assert traces.left() == []
