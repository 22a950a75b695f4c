"""MPI_THREAD_MULTIPLE: threads of a rank in MPI-IO at once lose nothing, mix up nothing and do not wait for ever."""

from pathlib import Path

import pytest
from tracer_run import FAMILIES, Call, calls, compile_c, need, run_traced

from wavetank.trace.schema import Level

N, THREADS, CALLS, BLOCK = 2, 4, 50, 100


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_thread_s_calls_are_recorded_in_its_order(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0])
    program = compile_c("mpi_threads.c", tmp_path / "mpi_threads", "-fopenmp", compiler=compiler)
    trace = run_traced([*launcher, "-np", str(N), str(program)], tmp_path, monkeypatch)
    for rank in range(N):
        found = calls(trace, rank, Level.MPIIO)
        for thread in range(THREADS):
            f = f"r{rank}t{thread}"
            places = [thread * 10 + i * 2 * BLOCK for i in range(CALLS)]
            assert [c for c in found if c.file == f][1:] == [
                *(
                    call
                    for place in places
                    for call in (
                        Call("MPI_File_set_view", f, thread * 10),
                        Call("MPI_File_write_at", f, place, BLOCK, BLOCK),
                        Call("MPI_File_iread_at", f, place, BLOCK, BLOCK),
                        Call("MPI_Wait", f),
                    )
                ),
                Call("MPI_File_close", f),
            ]
