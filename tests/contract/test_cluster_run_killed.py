"""``wavetank cluster run`` that is killed in the middle: ``cluster down`` leaves nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from leftovers import Traces, sleepers

from waiting import until
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec

pytestmark = [pytest.mark.cluster]


@pytest.mark.parametrize("spec", ["local-none", "local-nfs", "null-none"], indirect=True)
@pytest.mark.parametrize("name", ["openmpi", "none"])
def test_after_a_kill_down_leaves_no_process_of_the_program(
    spec: ClusterSpec, traces: Traces, name: str, tmp_path: Path
) -> None:
    if name != "none" and shutil.which(f"mpirun.{name}") is None:
        pytest.skip(f"mpirun.{name} is not installed")
    deploy.bring_up(spec)
    seconds = f"94{os.getpid()}"
    words = ["--launcher", name, "--trace", str(tmp_path / "t"), "--"]
    script = f"setsid sleep {seconds} & trap '' TERM; sleep {seconds}; sleep {seconds}"
    with subprocess.Popen(
        [sys.executable, "-m", "wavetank", "cluster", "run", spec.name, *words, "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        n = 2 if name == "none" else 4
        until(lambda: sleepers(seconds) == n)
        traces.note_processes()
        process.send_signal(signal.SIGKILL)
    deploy.take_down(spec.name)
    assert sleepers(seconds) == 0
    assert traces.left() == []
