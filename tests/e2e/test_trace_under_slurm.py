"""Programs that a real srun starts, traced: with and without MPI, under both MPI families."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from slurm_cluster import SlurmCluster, missing

from waiting import HANG_S
from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import Level

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.e2e,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

N = 2  # ranks
PROGRAMS = Path(__file__).parents[1] / "native" / "programs"
WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]


def trace_by_srun(slurm: SlurmCluster, where: Path, *argv: str) -> None:
    done = subprocess.run(
        slurm.argv([*WAVETANK, "trace", "-o", str(where / "t"), "--", "srun", *argv]),
        cwd=where, env=slurm.environment(), capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_ranks_without_mpi_are_numbered_by_slurm(slurm: SlurmCluster, tmp_path: Path) -> None:
    script = "exec dd if=/dev/zero of=out.$SLURM_PROCID bs=4096 count=5 2>/dev/null"
    trace_by_srun(slurm, tmp_path, "-N", "2", "-n", str(N), "sh", "-c", script)
    trace = read_trace(tmp_path / "t")
    written = {
        (int(rank), Path(trace.files[file].path).name): int(count)
        for rank, op, file, count in zip(
            trace.folds.rank, trace.folds.op, trace.folds.file, trace.folds.count, strict=True
        )
        if OPS[int(op)].name == "write"
    }
    assert written == {(0, "out.0"): 5, (1, "out.1"): 5}


@pytest.mark.parametrize(("family", "plugin"), [("mpich", "pmi2"), ("openmpi", "pmix")])
def test_mpi_ranks_are_traced_by_the_library_of_their_family(
    slurm: SlurmCluster, tmp_path: Path, family: str, plugin: str
) -> None:
    known = subprocess.run(
        slurm.argv(["srun", "--mpi=list"]),
        env=slurm.environment(), capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    if plugin not in known.stdout + known.stderr:
        pytest.skip(f"does not apply: this Slurm has no plugin {plugin}")
    program = tmp_path / "mpiio_calls"
    subprocess.run(
        [f"mpicc.{family}", "-o", str(program), str(PROGRAMS / "mpiio_calls.c")],
        check=True, timeout=HANG_S,
    )  # fmt: skip
    trace_by_srun(slurm, tmp_path, f"--mpi={plugin}", "-n", str(N), str(program))
    trace = read_trace(tmp_path / "t")
    assert trace.n_ranks == N
    assert trace.mpi_library is not None
    assert trace.mpi_library.startswith("MPICH" if family == "mpich" else "Open MPI")
    assert {Path(file.path).name for file in trace.files} == {"shared.bin", "after.txt"}
    events = unfold(trace.folds)
    for rank in range(N):
        names = [
            OPS[op].name
            for of, op in zip(events.rank.tolist(), events.op.tolist(), strict=True)
            if of == rank and OPS[op].level == Level.MPIIO
        ]
        assert names.count("MPI_File_write_at") == 5
        assert names.count("MPI_File_write_all") == 4
