"""Replays whose ranks a real srun starts: one that dies or fails is named as under any other launcher."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import kernel_models as km
import pytest
from replay_faults import environment, writers
from replay_run import need
from slurm_cluster import SlurmCluster, missing

from waiting import HANG_S
from wavetank.kernel.construction.from_model import make_kernel

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.e2e,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (None, ""),
        ("s9", "rank 1 died (signal 9, Killed) in pwrite of out-1 at offset 12288 (4096 bytes)"),
        ("x3", "rank 1 died (it exited with status 3) in pwrite of out-1 at offset 12288 (4096 bytes)"),
        ("e28", "rank 1 pwrite of out-1 at offset 12288 (4096 bytes): No space left on device"),
    ],
)  # fmt: skip
def test_a_rank_that_srun_started_is_named(
    slurm: SlurmCluster, tmp_path: Path, fault: str | None, said: str
) -> None:
    need("openmpi")
    root = tmp_path / "root"
    root.mkdir()
    made = writers(2)
    make_kernel(made, km.written(made, tmp_path)).write(tmp_path / "kernel.json")
    more = {"SLURM_MPI_TYPE": "pmix"} | (environment(tmp_path, fault, 1, 3) if fault else {})
    done = subprocess.run(
        slurm.argv([*WAVETANK, "replay", str(tmp_path / "kernel.json"), "--root", str(root), "--launcher", "srun",
                    "--timeout", "100"]),
        env=slurm.environment(more), capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    if fault is None:
        assert done.returncode == 0, done.stderr
        assert (root / "out-1").stat().st_size == 8 * 4096
    else:
        assert done.returncode == 1
        assert f"wavetank: the replay failed: {said}\n" in done.stderr
