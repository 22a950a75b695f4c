"""Collective communication as synchronisation: every kind, with a communicator that all its ranks name alike."""

from collections import defaultdict
from pathlib import Path

import pytest
from tracer_run import FAMILIES, compile_c, need, run_traced

from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS
from wavetank.trace.schema import Level, Trace

N = 4  # ranks
ALL = tuple(range(N))


def expected(rank: int) -> list[tuple[str, tuple[int, ...]]]:
    half = (1, 0) if rank < 2 else (3, 2)  # by falling rank
    return [
        ("MPI_Init", ALL),
        ("MPI_Ibarrier", ALL),
        ("MPI_Iallreduce", ALL),
        ("MPI_Comm_dup", ALL),
        ("MPI_Barrier", ALL),  # of the copy: the same ranks
        ("MPI_Comm_split", ALL),
        ("MPI_Barrier", half),
        ("MPI_Cart_create", ALL),
        ("MPI_Neighbor_allgather", ALL),
        ("MPI_Intercomm_create", ALL),  # the ranks of both groups, in order
        ("MPI_Barrier", ALL),
        ("MPI_Intercomm_merge", (3, 2, 1, 0)),  # the high group, of ranks 0 and 1, comes last
        ("MPI_Barrier", (3, 2, 1, 0)),
        *([("MPI_Comm_create_group", (0, 3)), ("MPI_Barrier", (0, 3))] if rank in (0, 3) else []),
        ("MPI_Win_create", ALL),
        ("MPI_Win_fence", ALL),
        ("MPI_Win_free", ALL),
        ("MPI_Finalize", ALL),
    ]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    compiler, _, launcher = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, launcher[0])
    where = tmp_path_factory.mktemp("collectives")
    program = compile_c("mpi_collectives.c", where / "mpi_collectives", compiler=compiler)
    with pytest.MonkeyPatch.context() as monkeypatch:
        return run_traced([*launcher, "-np", str(N), str(program)], where, monkeypatch)


def communicators(traced: Trace) -> list[int]:
    """Of each operation."""
    folds = traced.folds
    return folds.details.communicator[unfold(folds).given].tolist()


@pytest.mark.parametrize("rank", range(N))
def test_every_collective_is_a_row_with_its_communicator(traced: Trace, rank: int) -> None:
    events = unfold(traced.folds)
    found = [
        (OPS[op].name, traced.communicators[on])
        for of, op, on in zip(
            events.rank.tolist(), events.op.tolist(), communicators(traced), strict=True
        )
        if of == rank and OPS[op].level == Level.MPI
    ]
    assert found == expected(rank)


def test_the_ranks_of_a_communicator_have_the_same_sequence_on_it(traced: Trace) -> None:
    events = unfold(traced.folds)
    by_communicator: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for rank, op, on in zip(
        events.rank.tolist(), events.op.tolist(), communicators(traced), strict=True
    ):
        if OPS[op].level == Level.MPI:
            by_communicator[on][rank].append(op)
    for communicator, sequences in by_communicator.items():
        assert set(sequences) == set(traced.communicators[communicator])
        first, *others = sequences.values()
        assert all(other == first for other in others)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_mpi_librarys_own_calls_are_none_of_the_applications(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a script starts the program, so that the libraries of both families are preloaded."""
    compiler, _, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0])
    program = compile_c("mpi_collectives.c", tmp_path / "mpi_collectives", compiler=compiler)
    command = " ".join([*launcher, "-np", str(N), str(program)])
    trace = run_traced(["sh", "-c", f"{command}; true"], tmp_path, monkeypatch)
    events = unfold(trace.folds)
    for rank in range(N):
        ops = [
            OPS[op].name
            for of, op in zip(events.rank.tolist(), events.op.tolist(), strict=True)
            if of == rank and OPS[op].level == Level.MPI
        ]
        assert ops == [name for name, _ in expected(rank)]


def test_a_run_of_one_rank_has_its_collectives_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They separate the phases of that run as they do in larger ones."""
    compiler, _, launcher = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, launcher[0])
    program = compile_c("bt_io.c", tmp_path / "bt_io", "-lm", compiler=compiler)
    steps = 3
    trace = run_traced(
        [*launcher, "-np", "1", str(program), "bt.out", "6", str(steps)], tmp_path, monkeypatch
    )
    ops = [OPS[int(op)].name for op in unfold(trace.folds).op if OPS[int(op)].level == Level.MPI]
    assert ops == ["MPI_Init", *["MPI_Allreduce"] * steps, "MPI_Finalize"]
    assert trace.communicators == ((0,),)
