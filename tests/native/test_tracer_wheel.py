"""MPICH and mpi4py as they come from PyPI: the tracer finds the MPI library that Python has loaded."""

import importlib.util
import sys
from pathlib import Path

import pytest
from tracer_run import PROGRAMS, Call, calls, need, run_traced

from wavetank.trace.schema import Level

N = 2  # ranks
BLOCK = 1000


def test_mpi4py_on_the_mpich_wheel_is_reproduced_call_for_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace-mpich.so")
    mpiexec = Path(sys.executable).parent / "mpiexec.hydra"
    if importlib.util.find_spec("mpi4py") is None or not mpiexec.exists():
        pytest.skip("mpi4py and mpich are not installed from PyPI (pip install -e '.[dev]')")
    program = [sys.executable, str(PROGRAMS / "wheel_calls.py")]
    trace = run_traced([str(mpiexec), "-n", str(N), *program], tmp_path, monkeypatch)
    assert trace.n_ranks == N
    assert trace.mpi_library is not None
    assert "MPICH" in trace.mpi_library
    f = "wheel.bin"
    for rank in range(N):
        assert calls(trace, rank, Level.MPIIO)[1:] == [
            *(Call("MPI_File_write_at", f, (i * N + rank) * BLOCK, BLOCK, BLOCK) for i in range(4)),
            Call("MPI_File_read_at_all", f, rank * BLOCK, BLOCK, BLOCK),
            Call("MPI_File_iwrite_at", f, rank * BLOCK, BLOCK, BLOCK),
            Call("MPI_Wait", f),
            Call("MPI_File_close", f),
        ]
    assert trace.infos == ((("cb_buffer_size", "1048576"),),)
