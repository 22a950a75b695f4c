"""Fortran programs under both MPIs: mpif.h, use mpi, use mpi_f08."""

import shlex
import subprocess
from pathlib import Path

import pytest
from tracer_run import FAMILIES, PROGRAMS, Call, calls, need, run_traced

from waiting import HANG_S
from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import Level

N = 2  # ranks


@pytest.mark.parametrize(
    ("family", "binding", "by_script"),
    [
        ("openmpi", "USE_MPIF", False),
        ("openmpi", "USE_MPI", True),
        ("openmpi", "USE_F08", False),
        ("mpich", "USE_MPIF", True),
        ("mpich", "USE_MPI", False),
        ("mpich", "USE_F08", False),
    ],
)
def test_fortran_calls_are_reproduced_in_order(
    family: str, binding: str, by_script: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, compiler, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0], "gfortran")
    program = tmp_path / "fortran_calls"
    built = subprocess.run(
        [compiler, f"-D{binding}", "-fallow-argument-mismatch", "-o", str(program), str(PROGRAMS / "fortran_calls.F90")],
        cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    if built.returncode != 0 and binding == "USE_F08":
        pytest.skip(f"{family} has no mpi_f08 for this compiler: {built.stderr.splitlines()[:1]}")
    assert built.returncode == 0, built.stderr
    command = [*launcher, "-np", str(N), str(program)]
    if by_script:  # what a script starts is not known: both families' libraries are preloaded
        command = ["sh", "-c", shlex.join(command) + "; true"]
    trace = run_traced(command, tmp_path, monkeypatch)
    f = "fortran.bin"
    events = unfold(trace.folds)
    for rank in range(N):
        # View: two blocks of 5 doubles, one for each rank in turn; a tile is 5 * N + 5 doubles.
        seen = [rank * 40 + (i // 2) * (5 * N + 5) * 8 + i % 2 * 5 * N * 8 for i in range(3)]
        assert calls(trace, rank, Level.MPIIO)[1:] == [
            *(Call("MPI_File_write_at", f, (i * N + rank) * 80, 80, 80) for i in range(4)),
            Call("MPI_File_set_view", f, rank * 40),
            *(Call("MPI_File_write_all", f, place, 40, 40) for place in seen),
            Call("MPI_File_close", f),
        ]
        barriers = (events.op == OPS_BY_NAME["MPI_Barrier"].code) & (events.rank == rank)
        # Between the barriers: the barrier itself, set_view, 3 writes, close, 20 probes.
        first, second = events.tick[barriers].tolist()
        assert (first, second - first) == (1 + 1 + 4, 1 + 1 + 3 + 1 + 20)
    unformatted = [c for c in calls(trace, 0) if c.file == "unformatted.bin" and c.op == "write"]
    # 1000 records of 80 bytes with two 4-byte markers each
    assert sum(c.moved for c in unformatted) >= 1000 * 88
    assert max(c.offset + c.moved for c in unformatted) == 1000 * 88
