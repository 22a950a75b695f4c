"""MPICH and mpi4py as they come from PyPI: the tracer finds the MPI library that Python has loaded."""

import ctypes.util
import importlib.util
import sys
from pathlib import Path

import pytest
from tracer_run import FAMILIES, PROGRAMS, Call, calls, need, run_traced

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


def test_messages_of_mpi4py_go_through_under_an_mpi_without_large_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open MPI 4 has no MPI_Send_c; the wheel asks by weak references for it."""
    need("libwavetank-trace-openmpi.so", "mpirun.openmpi")
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed from PyPI (pip install -e '.[dev]')")
    library = ctypes.util.find_library("mpi")
    if library is None:
        pytest.skip("no libmpi.so that the loader knows")
    monkeypatch.setenv("MPI4PY_LIBMPI", library)
    _, _, launcher = FAMILIES["openmpi"]
    program = [sys.executable, str(PROGRAMS / "wheel_messages.py")]
    trace = run_traced([*launcher, "-np", str(N), *program], tmp_path, monkeypatch)
    for rank in range(N):
        assert (tmp_path / f"rank{rank}.txt").read_text().startswith("Open MPI")
        assert "write" in [call.op for call in calls(trace, rank, Level.POSIX)]
