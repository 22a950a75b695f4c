"""Models out of counters alone against the models of the same operations: what is counted agrees, and places nearly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from counted_records import Call, counted, counted_trace
from fold_builder import PROVENANCE, Event, fold_table, trace_of

from wavetank.errors import ModelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.execution.replay import require_agreement
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.comparison.comparability import notes_of, sight_of
from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, FileStep
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.model.tables.approximation_tables import approximation_tables
from wavetank.notes import carried, texts
from wavetank.trace.counters import DirectionCounters, FileCounters
from wavetank.trace.schema import Level, TracedFile

KIB = 1024


def segmented(n_ranks: int, n: int, size: int) -> list[Call]:
    """Each rank writes its own block of a shared file, and reads it again."""
    return [
        Call(rank, write, (rank * n + i) * size, size)
        for rank in range(n_ranks)
        for write in (True, False)
        for i in range(n)
    ]


def strided(n_ranks: int, n: int, size: int) -> list[Call]:
    """Ranks take turns in a shared file."""
    return [
        Call(rank, True, (i * n_ranks + rank) * size, size)
        for rank in range(n_ranks)
        for i in range(n)
    ]


def strided_blocks(n_ranks: int, n: int, size: int) -> list[Call]:
    """Ranks take turns with blocks of four consecutive operations each."""
    return [
        Call(rank, True, ((i // 4 * n_ranks + rank) * 4 + i % 4) * size, size)
        for rank in range(n_ranks)
        for i in range(n)
    ]


def all_read_all(n_ranks: int, n: int, size: int) -> list[Call]:
    """Every rank reads the whole file."""
    return [Call(rank, False, i * size, size) for rank in range(n_ranks) for i in range(n)]


def twice(n_ranks: int, n: int, size: int) -> list[Call]:
    """Each rank reads its own block twice."""
    return [
        Call(rank, False, (rank * n + i) * size, size)
        for rank in range(n_ranks)
        for _ in range(2)
        for i in range(n)
    ]


def with_holes(n_ranks: int, n: int, size: int) -> list[Call]:
    """One rank writes every third block of a file."""
    return [Call(0, True, 3 * i * size, size) for i in range(n)]


def random(n_ranks: int, n: int, size: int) -> list[Call]:
    """Each rank reads all over the file."""
    order = np.random.default_rng(3).permutation(n_ranks * n)
    return [
        Call(rank, False, int(place) * size, size)
        for rank in range(n_ranks)
        for place in order[rank * n : (rank + 1) * n]
    ]


def modified(n_ranks: int, n: int, size: int) -> list[Call]:
    """Each rank reads a block and writes it back, one after another."""
    return [
        Call(rank, write, (rank * n + i) * size, size)
        for rank in range(n_ranks)
        for i in range(n)
        for write in (False, True)
    ]


def with_header(n_ranks: int, n: int, size: int) -> list[Call]:
    """Rank 0 writes a header, then all write behind it in turns."""
    return [
        Call(0, True, 0, 96),
        *(replace(call, offset=96 + call.offset) for call in strided(n_ranks, n, size)),
    ]


PROGRAMS = [
    segmented, strided, strided_blocks, all_read_all, twice, with_holes, random, modified, with_header,
]  # fmt: skip


def exact_model(calls: Sequence[Call], n_ranks: int) -> Model:
    events = [
        Event(call.rank, "write" if call.write else "read", offset=call.offset, size=call.size)
        for call in calls
    ]
    return extract_model(trace_of(fold_table(events), n_ranks=n_ranks), PROVENANCE)


def approximate_model(calls: Sequence[Call], n_ranks: int, n_opens: int = 0) -> Model:
    shared = n_ranks if len({call.rank for call in calls}) > 1 else None
    record = counted(calls, n_ranks=shared, n_opens=n_opens)
    return extract_model(counted_trace([record], n_ranks, ["/f"]), PROVENANCE)


def requests(model: Model) -> Counter[tuple[str, int]]:
    """How many operations of each call and size a model has."""
    found: Counter[tuple[str, int]] = Counter()
    for phase in model.phases:
        for member, offsets in zip(phase.pattern, phase.offset, strict=True):
            if offsets.function == "list":
                sizes = np.broadcast_to(offsets.rs, offsets.offset.shape)
                counts = np.broadcast_to(offsets.count, offsets.offset.shape)
                for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
                    found[member.iop_type, size] += count
            else:
                found[member.iop_type, member.rs] += phase.ph_np * phase.ph_nrep
    return found


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("n_ranks", [2, 5])
def test_what_is_counted_is_the_same_as_in_the_model_of_the_operations(
    program: type, n_ranks: int
) -> None:
    calls = program(n_ranks, 200, 4 * KIB)
    n_ranks = len({call.rank for call in calls})
    exact, made = exact_model(calls, n_ranks), approximate_model(calls, n_ranks)
    assert (made.app_st, made.app_np, made.app_nfiles) == (exact.app_st, n_ranks, 1)
    assert requests(made) == requests(exact)
    (theirs,), (ours,) = exact.files, made.files
    assert (ours.file_size, ours.n_operations, ours.file_fileaccesstype) == (
        theirs.file_size, theirs.n_operations, theirs.file_fileaccesstype,
    )  # fmt: skip
    n = theirs.n_operations
    for name in ("n_sequential", "n_consecutive"):
        # To 2 in 100 operations: random places may lie behind each other by chance.
        assert abs(getattr(ours, name) - getattr(theirs, name)) <= max(n_ranks, n // 50), name


@pytest.mark.parametrize("program", [segmented, strided, strided_blocks, all_read_all, twice])
def test_regular_places_are_those_of_the_run(program: type) -> None:
    calls = program(4, 64, 8 * KIB)

    def places(model: Model) -> list[tuple[object, ...]]:
        return sorted(
            (member.iop_type, member.rs, member.disp, phase.ph_nrep, phase.ph_processid, offset.a, offset.b, offset.c)
            for phase in model.phases
            for member, offset in zip(phase.pattern, phase.offset, strict=True)
            if offset.function == "linear"
        )  # fmt: skip

    made = approximate_model(calls, 4)
    assert places(made) == places(exact_model(calls, 4))
    assert places(made)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_kernel_does_all_that_the_model_says_and_is_not_called_exact(
    program: type, tmp_path: Path
) -> None:
    model = approximate_model(program(4, 50, 4 * KIB), 4, n_opens=8)
    path = tmp_path / "m.json"
    model.write(path)
    kernel = make_kernel(Model.read(path), path)
    require_agreement(kernel)
    assert all(row.exact for row in replay_fidelity(kernel, model))
    assert any(
        doubt.startswith("the model is approximate") for doubt in texts(carried(kernel.notes))
    )
    assert texts(kernel.notes)


def test_the_model_says_what_was_counted_and_what_is_assumed() -> None:
    model = approximate_model(strided(4, 100, KIB), 4)
    assert model.approximation is not None
    quantities = {one.what: one for one in model.approximation.quantities}
    assert (quantities["writes"].counted, quantities["writes"].model) == (400, 400)
    assert quantities["bytes written"].bounds == "exact"
    # The variance is 0: each rank moved a quarter.
    assert quantities["bytes of the rank that moved most"].bounds == "exact"
    assert model.approximation.sentence().startswith("approximate, made from Darshan's counters")
    assert [table.title for table in approximation_tables(model.approximation)] == [
        "APPROXIMATE", "What is exact, what is assumed",
    ]  # fmt: skip


def test_a_few_ranks_that_do_all_are_told_by_the_variance() -> None:
    """Ranks 0, 4, 8 and 12 of 16 write; all 16 opened the file."""
    calls = [replace(call, rank=4 * call.rank) for call in strided(4, 10, KIB)]
    model = extract_model(counted_trace([counted(calls, n_ranks=16)], 16, ["/f"]), PROVENANCE)
    assert {rank for phase in model.phases for rank in phase.ph_processid} == {0, 4, 8, 12}


def test_unequal_parts_of_a_shared_record_have_bounds() -> None:
    """Rank 0 writes 100 KiB, the others 10 KiB each: 130 KiB of 4 ranks, standard deviation 38.97 KiB."""
    calls = [
        Call(0, True, 0, 100 * KIB),
        *(Call(r, True, 100 * KIB + r, 10 * KIB) for r in (1, 2, 3)),
    ]
    model = extract_model(counted_trace([counted(calls, n_ranks=4)], 4, ["/f"]), PROVENANCE)
    assert model.approximation is not None
    most = next(q for q in model.approximation.quantities if q.what.startswith("bytes of the rank"))
    assert most.counted is None
    assert most.least is not None
    assert most.most is not None
    assert most.least <= 100 * KIB <= most.most <= 130 * KIB


def test_each_open_of_a_file_has_its_part_of_the_operations() -> None:
    """40 appends of 3 writes, each with an open and a close of its own."""
    calls = [Call(0, True, i * KIB, KIB) for i in range(120)]
    model = approximate_model(calls, 1, n_opens=40)
    (phase,) = model.phases
    assert phase.metadata_ops["open"] == 40
    assert (phase.ph_nrep * len(phase.pattern), phase.ph_weight) == (120, 120 * KIB)


def test_files_of_a_rank_each_are_as_many_as_records() -> None:
    records = [
        counted([Call(rank, True, i * KIB, KIB) for i in range(5)], file=rank, n_opens=1)
        for rank in range(50)
    ]
    trace = counted_trace(records, 50, [f"/f.{rank}" for rank in range(50)])
    model = extract_model(trace, PROVENANCE)
    assert (model.app_nfiles, model.app_np, model.app_st) == (50, 50, 50 * 5 * KIB)
    assert {file.file_accesstype for file in model.files} == {"unique"}


def _mpi(**counters: object) -> FileCounters:
    return replace(
        FileCounters(
            0, Level.MPIIO, None, n_opens=4, n_collective_opens=4, variance_bytes=0.0, slowest_rank=0,
            slowest_bytes=16 * KIB, opened_s=0.1, closed_s=3.0,
        ),
        **counters,
    )  # fmt: skip


def _writes(n: int, size: int, n_collective: int) -> DirectionCounters:
    bins = [0] * 10
    bins[2] = n
    return DirectionCounters(
        n, n * size, n_collective, by_size=tuple(bins), first_s=0.5, last_s=1.0
    )


def test_collective_operations_are_made_by_all_ranks() -> None:
    record = _mpi(writes=_writes(16, 4 * KIB, 16), common_sizes=((4 * KIB, 16),))
    model = extract_model(counted_trace([record], 4, ["/f"]), PROVENANCE)
    (phase,) = model.phases
    assert (phase.pattern[0].iop_type, phase.ph_np, phase.ph_nrep) == (
        "MPI_File_write_at_all",
        4,
        4,
    )
    assert phase.metadata_ops == {"MPI_File_open": 4, "MPI_File_close": 4}


def test_the_smallest_requests_are_independent_where_both_kinds_are_there() -> None:
    """16 collective writes of 4 KiB and an independent one of 2 KiB."""
    writes = replace(_writes(17, 0, 16), moved=16 * 4 * KIB + 2 * KIB)
    record = _mpi(writes=writes, common_sizes=((4 * KIB, 16), (2 * KIB, 1)), variance_bytes=1.0)
    model = extract_model(counted_trace([record], 4, ["/f"]), PROVENANCE)
    assert requests(model) == {
        ("MPI_File_write_at", 2 * KIB): 1, ("MPI_File_write_at_all", 4 * KIB): 16,
    }  # fmt: skip


def test_a_file_of_mpi_io_is_not_counted_twice() -> None:
    """POSIX counters of a file that MPI-IO is used on are what the MPI library did: they tell how far it reaches."""
    posix = counted([Call(0, True, i * 16 * KIB, 16 * KIB) for i in range(4)], n_opens=1)
    record = _mpi(writes=_writes(16, 4 * KIB, 16), common_sizes=((4 * KIB, 16),))
    trace = counted_trace([posix, record], 4, ["/f"])
    model = extract_model(trace, PROVENANCE)
    assert (model.app_st, {phase.level for phase in model.phases}) == (64 * KIB, {"mpiio"})
    assert model.files[0].file_size == 64 * KIB
    below = extract_model(trace, PROVENANCE, Rules(levels=(Level.POSIX,)))
    assert {(phase.level, phase.ph_processid) for phase in below.phases} == {("posix", (0,))}


def test_mpi_files_of_some_ranks_are_opened_by_these_together(tmp_path: Path) -> None:
    """Ranks 1 and 2 of 4 share a file that the others do not open: a record of each."""
    records = [
        replace(
            _mpi(writes=_writes(4, 4 * KIB, 4), common_sizes=((4 * KIB, 4),), opened_s=0.1 * rank),
            rank=rank, n_opens=1, n_collective_opens=1,
        )
        for rank in (1, 2)
    ]  # fmt: skip
    model = extract_model(counted_trace(records, 4, ["/f"]), PROVENANCE)
    assert (1, 2) in model.communicators
    path = tmp_path / "m.json"
    model.write(path)
    require_agreement(make_kernel(model, path))


def test_reads_beyond_what_was_written_are_of_a_file_that_was_there(tmp_path: Path) -> None:
    """100 KiB are written and 400 KiB read afterwards: the kernel makes the file beforehand."""
    calls = [Call(0, True, i * KIB, KIB) for i in range(100)]
    calls += [Call(0, False, i * KIB, KIB) for i in range(400)]
    model = approximate_model(calls, 1, n_opens=1)
    path = tmp_path / "m.json"
    model.write(path)
    (file,) = make_kernel(model, path).files
    assert (file.role, file.prepare_bytes) == ("both", 400 * KIB)


def test_files_come_in_the_order_of_their_times() -> None:
    early, late = (
        replace(
            counted([Call(0, True, i * KIB, KIB) for i in range(3)], file=number, n_opens=1),
            opened_s=at, closed_s=at + 1,
        )
        for number, at in ((1, 1.0), (0, 5.0))
    )  # fmt: skip
    late = replace(late, writes=replace(late.writes, first_s=5.5, last_s=5.6))
    model = extract_model(counted_trace([late, early], 1, ["/late", "/early"]), PROVENANCE)
    (program,) = model.programs
    names = {file.file_id: file.file_name for file in model.files}
    order = [names[step.file_id] for step in program.steps if isinstance(step, FileStep)]
    assert order == ["/early", "/early", "/late", "/late"]
    assert sum(isinstance(step, DataStep) for step in program.steps) == 2


def test_a_model_of_counters_is_told_in_a_comparison() -> None:
    calls = strided(2, 10, KIB)
    a, b = approximate_model(calls, 2), exact_model(calls, 2)
    assert any(
        note.startswith("a is approximate") for note in notes_of(a, b, sight_of(a, b), 0, False)
    )


def test_counters_of_nothing_are_no_model() -> None:
    record = FileCounters(0, Level.POSIX, 0)
    with pytest.raises(ModelError, match="nothing to model"):
        extract_model(counted_trace([record], 1, ["/f"]), PROVENANCE)


def test_opens_without_data_are_made_too() -> None:
    moved = counted([Call(0, True, 0, KIB)], n_opens=1)
    looked_at = FileCounters(1, Level.POSIX, 0, n_opens=1, n_stats=3, opened_s=0.1, closed_s=0.2)
    trace = replace(
        counted_trace([moved, looked_at], 1, ["/f", "/g"]),
        files=(TracedFile("/f"), TracedFile("/g")),
    )
    model = extract_model(trace, PROVENANCE)
    steps = [step for step in model.programs[0].steps if isinstance(step, FileStep)]
    assert [(step.iop_type, step.count) for step in steps if step.file_id != model.phases[0].file_id] == [
        ("stat", 3), ("open", 1), ("close", 1),
    ]  # fmt: skip
