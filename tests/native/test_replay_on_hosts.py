"""A kernel on hosts that start their ranks themselves: Open MPI's launcher on the first of them, a daemon on each."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "cluster"))
from hosts_of_this_machine import make_cluster, make_ssh
from replay_run import need

from waiting import HANG_S
from wavetank.cluster.remote.launching import launcher_prefix, remote_shell
from wavetank.cluster.state import ClusterDirectory
from wavetank.job import Placement
from wavetank.kernel.construction.objects import object_kernel
from wavetank.kernel.execution.replay import ReplayOptions, run_replay
from wavetank.kernel.execution.session import Order, ReplaySession
from wavetank.launchers.registry import launcher

SIZE, OBJECTS = 4096, 8


@pytest.fixture
def placement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Placement:
    """A rank on each of two hosts, which are this machine behind a stand-in for ssh."""
    need("openmpi")
    make_ssh(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    home = tmp_path / "home"
    directory = ClusterDirectory(make_cluster(tmp_path / "lab", home, ["c1", "c2"]))
    return Placement(
        hosts=(("c1", 1), ("c2", 1)),
        # mpirun puts its own directory before the path
        remote_shell=(str(tmp_path / "bin" / "ssh"), *remote_shell(str(home), sudo=False)[1:]),
        launcher_prefix=launcher_prefix(directory),
        network="127.0.0.0/8",
    )


def test_a_kernel_and_a_session_run_on_hosts_without_anything_of_this_machines(
    tmp_path: Path, placement: Placement
) -> None:
    kernel = object_kernel("objects", "write", SIZE, 2, SIZE * OBJECTS)
    root, scratch = tmp_path / "root", tmp_path / "scratch"
    root.mkdir()
    scratch.mkdir()
    starter = launcher("openmpi")
    options = ReplayOptions(timeout_s=HANG_S)
    result = run_replay(kernel, root, starter, scratch, placement, options)
    assert result.status == "ok", result.failure
    assert sum(phase.bytes for phase in result.phases) == 2 * OBJECTS * SIZE
    asked = (tmp_path / "bin" / "called-for").read_text().split()
    assert {"c1", "c2"} == set(asked)
    brought = list((tmp_path / "home" / "programs").glob("*/wavetank-replay-openmpi"))
    assert len(brought) == 1
    with ReplaySession(kernel, str(root), starter, scratch, placement) as session:
        session.wait_until_ready()
        session.order(Order(0, None, 1, 0.0))
        moved = session.result(HANG_S).result.phases
    assert sum(phase.bytes for phase in moved) == 2 * OBJECTS * SIZE
    assert list((tmp_path / "home" / "launch").iterdir()) == []
