"""Bytes that nonblocking and split MPI-IO calls really moved: said by the status that comes with their completion."""

from pathlib import Path

import pytest
from tracer_run import FAMILIES, Call, calls, compile_c, need, run_traced

from wavetank.trace.schema import Level

N = 2  # ranks
BLOCK, BLOCKS = 1000, 10
HALF = BLOCK // 2  # of the last block is there


def test_short_reads_are_known_by_their_completion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under MPICH: Open MPI 4.1 fails or hangs where a nonblocking or split read meets the end of the file."""
    compiler, _, launcher = FAMILIES["mpich"]
    need("libwavetank-trace-mpich.so", compiler, launcher[0])
    program = compile_c("mpi_later_short.c", tmp_path / "mpi_later_short", compiler=compiler)
    trace = run_traced([*launcher, "-np", str(N), str(program), "a", "b"], tmp_path, monkeypatch)
    last = (BLOCKS - 1) * BLOCK
    for rank, f in enumerate("ab"):
        found = [c for c in calls(trace, rank, Level.MPIIO) if "read" in c.op]
        assert found == [
            *(Call("MPI_File_iread_at", f, i * BLOCK, BLOCK, BLOCK) for i in range(BLOCKS - 1)),
            Call("MPI_File_iread_at", f, last, BLOCK, HALF),  # MPI_Waitall, no statuses
            Call("MPI_File_iread_at", f, last, BLOCK, HALF),  # MPI_Waitany, no status
            Call("MPI_File_iread_at", f, last + BLOCK, BLOCK, 0),  # MPI_Testsome, no statuses
            Call("MPI_File_iread_at", f, last, BLOCK, HALF),  # MPI_Test, a status of its own
            Call("MPI_File_read_at_all_begin", f, last, BLOCK, HALF),
        ]
