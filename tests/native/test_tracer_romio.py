"""What ROMIO makes of a collective write on one node: rank 0 alone writes, by cb_buffer_size at most."""

from pathlib import Path

import pytest
from tracer_run import FAMILIES, calls, compile_c, need, run_traced

from wavetank.trace.schema import Level

N = 2  # ranks
MIB = 1 << 20
OF_A_RANK = 12 * MIB
CB_BUFFER_SIZE = 16 * MIB  # ROMIO's default


def test_rank_0_writes_for_all_split_at_the_collective_buffer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES["mpich"]
    need("libwavetank-trace-mpich.so", compiler, launcher[0])
    program = compile_c("collective_buffer.c", tmp_path / "collective_buffer", compiler=compiler)
    argv = [*launcher, "-np", str(N), str(program), "out.bin", str(OF_A_RANK // MIB)]
    trace = run_traced(argv, tmp_path, monkeypatch)
    by_rank = [
        [c for c in calls(trace, rank, Level.POSIX) if c.op in {"write", "pwrite"}]
        for rank in range(N)
    ]
    # 24 MiB in all: one full buffer, and what is left.
    assert [(c.offset, c.moved) for c in by_rank[0]] == [
        (0, CB_BUFFER_SIZE),
        (CB_BUFFER_SIZE, N * OF_A_RANK - CB_BUFFER_SIZE),
    ]
    assert by_rank[1] == []
    for rank in range(N):
        (write,) = [c for c in calls(trace, rank, Level.MPIIO) if c.op == "MPI_File_write_all"]
        assert (write.offset, write.size) == (rank * MIB, OF_A_RANK)
    (file,) = trace.files
    assert dict(file.hints_in_force)["cb_buffer_size"] == str(CB_BUFFER_SIZE)
