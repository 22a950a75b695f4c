"""Nonblocking, split collective, shared and ordered MPI-IO under both MPIs."""

from pathlib import Path

import pytest
from tracer_run import FAMILIES, Call, calls, compile_c, need, run_traced

from wavetank.trace.index import TraceIndex
from wavetank.trace.schema import Level, Trace

N = 2  # ranks
BLOCK = 100


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Trace, Path]:
    compiler, _, launcher = FAMILIES[request.param]
    need(f"libwavetank-trace-{request.param}.so", compiler, launcher[0])
    where = tmp_path_factory.mktemp(f"{request.param}_all")
    program = compile_c("mpiio_all.c", where / "mpiio_all", compiler=compiler)
    with pytest.MonkeyPatch.context() as monkeypatch:
        return run_traced([*launcher, "-np", str(N), str(program)], where, monkeypatch), where


def places_by_shared_pointer(trace: Trace) -> list[int]:
    """Of each rank's MPI_File_write_shared."""
    return [
        call.offset
        for rank in range(N)
        for call in calls(trace, rank, Level.MPIIO)
        if call.op == "MPI_File_write_shared"
    ]


def test_calls_by_the_shared_pointer_have_the_places_that_they_got(run: tuple[Trace, Path]) -> None:
    assert sorted(places_by_shared_pointer(run[0])) == [0, BLOCK]


@pytest.mark.parametrize("rank", range(N))
def test_every_call_is_reproduced_in_order(run: tuple[Trace, Path], rank: int) -> None:
    f = "all.bin"
    mine = rank * BLOCK
    behind = (N + rank) * BLOCK
    found = calls(run[0], rank, Level.MPIIO)
    shared = places_by_shared_pointer(run[0])
    expected = [
        Call("MPI_File_iwrite_at", f, mine, BLOCK, BLOCK),
        Call("MPI_Wait", f),
        Call("MPI_File_seek", f, behind),
        Call("MPI_File_iwrite", f, behind, BLOCK, BLOCK),
        Call("MPI_File_iread_at", f, mine, BLOCK, BLOCK),
        Call("MPI_Wait", f),
        Call("MPI_File_seek", f, mine),
        Call("MPI_File_iread", f, mine, BLOCK, BLOCK),
        Call("MPI_Wait", f),
        Call("MPI_File_iwrite_at_all", f, mine, BLOCK, BLOCK),
        Call("MPI_Wait", f),
        Call("MPI_File_write_at_all_begin", f, mine, BLOCK, BLOCK),
        Call("MPI_File_end", f),
        Call("MPI_File_seek", f, mine),
        Call("MPI_File_read_all_begin", f, mine, BLOCK, BLOCK),
        Call("MPI_File_end", f),
        Call("MPI_File_seek_shared", f, 0),
        # The first rank to come is the first in the file; see the next test.
        Call("MPI_File_write_shared", f, shared[rank], BLOCK, BLOCK),
        # Behind them, by rank.
        Call("MPI_File_write_ordered", f, (N + rank) * BLOCK, BLOCK, BLOCK),
        Call("MPI_File_preallocate", f),
        Call("MPI_File_set_atomicity", f),
        Call("MPI_File_close", f),
        *([Call("MPI_File_delete", f)] if rank == 0 else []),
    ]
    assert found[1:] == expected


def test_hints_are_kept(run: tuple[Trace, Path]) -> None:
    index = TraceIndex.read(run[1] / "run.trace" / "index.json")
    assert (str(run[1] / "all.bin"), "cb_buffer_size", "1048576") in index.hints
