"""MPI programs with known calls, reproduced call for call under both MPIs."""

import pytest
from tracer_run import FAMILIES, Call, calls, compile_c, need, run_traced

from wavetank.notes import texts
from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import Level, Trace

N = 3  # ranks
BLOCK = 1000


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    compiler, _, launcher = FAMILIES[request.param]
    need(f"libwavetank-trace-{request.param}.so", compiler, launcher[0])
    where = tmp_path_factory.mktemp(request.param)
    program = compile_c("mpiio_calls.c", where / "mpiio_calls", compiler=compiler)
    with pytest.MonkeyPatch.context() as monkeypatch:
        return run_traced([*launcher, "-np", str(N), str(program)], where, monkeypatch)


def at_view(rank: int, element: int) -> int:
    """Place in the file of the view's element: vector of 3 blocks of 10 doubles, stride 10 * N."""
    tile, rest = divmod(element, 30)
    extent = (2 * 10 * N + 10) * 8
    return rank * 80 + tile * extent + (rest // 10) * 10 * N * 8 + rest % 10 * 8


@pytest.mark.parametrize("rank", range(N))
def test_every_mpi_io_call_is_reproduced_in_order(traced: Trace, rank: int) -> None:
    f = "shared.bin"
    size = 5 * N * BLOCK
    found = calls(traced, rank, Level.MPIIO)
    assert found[0].op == "MPI_File_open"
    assert found[1:] == [
        *(Call("MPI_File_write_at", f, (i * N + rank) * BLOCK, BLOCK, BLOCK) for i in range(5)),
        Call("MPI_File_set_size", f),
        Call("MPI_File_read_at_all", f, rank * BLOCK, BLOCK, BLOCK),
        Call("MPI_File_read_at", f, size - BLOCK, 2 * BLOCK, BLOCK),
        Call("MPI_File_seek", f, 300),
        Call("MPI_File_read", f, 300, 50, 50),
        Call("MPI_File_write", f, 350, 50, 50),
        Call("MPI_File_sync", f),
        Call("MPI_File_set_view", f, rank * 80),
        *(Call("MPI_File_write_all", f, at_view(rank, 10 * i), 80, 80) for i in range(4)),
        Call("MPI_File_write_at_all", f, at_view(rank, 5), 80, 80),
        Call("MPI_File_close", f),
    ]


def test_a_file_view_is_decoded_to_its_runs(traced: Trace) -> None:
    views = {view.displacement: view for view in traced.views}
    assert sorted(views) == [80 * rank for rank in range(N)]
    for view in views.values():
        assert view.etype_size == 8
        assert view.run_offsets == (0, 80 * N, 160 * N)
        assert view.run_lengths == (80, 80, 80)
        assert view.extent == (2 * 10 * N + 10) * 8


def test_positions_in_the_view_are_kept_beside_those_in_the_file(traced: Trace) -> None:
    events = unfold(traced.folds)
    writes = (events.op == OPS_BY_NAME["MPI_File_write_all"].code) & (events.rank == 1)
    assert events.view_offset[writes].tolist() == [0, 80, 160, 240]
    assert (events.view[writes] >= 0).all()


def test_every_communication_and_mpi_io_call_is_a_tick(traced: Trace) -> None:
    events = unfold(traced.folds)
    for rank in range(N):
        close = (events.op == OPS_BY_NAME["MPI_File_close"].code) & (events.rank == rank)
        barriers = (events.op == OPS_BY_NAME["MPI_Barrier"].code) & (events.rank == rank)
        first = int(events.tick[barriers][0])
        # open and five writes came before; the init too
        assert first == 1 + 1 + 5
        # the barrier itself, and thirteen calls between it and the close
        assert int(events.tick[close][0]) == first + 1 + 13
        assert int(events.tick[barriers][1]) == int(events.tick[close][0]) + 1 + 1000


def test_collectives_name_their_communicator(traced: Trace) -> None:
    folds = traced.folds
    rows = folds.op == OPS_BY_NAME["MPI_Barrier"].code
    rows |= folds.op == OPS_BY_NAME["MPI_File_open"].code
    on = folds.details.communicator[folds.given[rows]]
    assert {traced.communicators[index] for index in on} == {tuple(range(N))}


def test_the_posix_calls_inside_mpi_io_are_recorded_too(traced: Trace) -> None:
    written = [
        call
        for call in calls(traced, 0, Level.POSIX)
        if call.op in {"pwrite", "write"} and call.file == "shared.bin"
    ]
    assert Call(written[0].op, "shared.bin", 0, BLOCK, BLOCK) in written


def test_work_after_mpi_finalize_is_the_rank_s(traced: Trace) -> None:
    found = [call for call in calls(traced, 0) if call.file == "after.txt"]
    assert [call.op for call in found] == ["open", "write", "close"]
    assert found[1].size == len("work after MPI_Finalize\n")
    assert not [call for call in calls(traced, 1) if call.file == "after.txt"]


def test_the_run_is_described(traced: Trace) -> None:
    assert traced.n_ranks == N
    assert [facts.rank for facts in traced.ranks] == list(range(N))
    assert all(facts.complete for facts in traced.ranks)
    assert traced.mpi_library is not None
    assert traced.mpi_library.startswith(("Open MPI", "MPICH"))
    assert texts(traced.notes) == ()
