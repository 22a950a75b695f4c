"""Two levels of one run: whose calls are whose, and what became of what."""

from __future__ import annotations

import numpy as np
import pytest
from fold_builder import Event, fold_table, model_of

from wavetank.model.rules import Rules
from wavetank.model.tables.model_tables import model_tables
from wavetank.notes import texts
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import FoldTable, Level


def collective_run(n_ranks: int = 4, steps: int = 5, rs: int = 1000) -> list[Event]:
    """Collective writes of all ranks that rank 0 performs, in two requests a step; lock files of the library's."""
    events = []
    for rank in range(n_ranks):
        clock = 0
        events += [
            Event(rank, "open", 1 + rank, start_ns=clock + 1, duration_ns=1),
            Event(rank, "close", 1 + rank, start_ns=clock + 3, duration_ns=1),
            Event(rank, "open", 0, start_ns=clock + 5, duration_ns=1),
            Event(rank, "MPI_File_open", 0, start_ns=clock, duration_ns=10),
        ]
        for step in range(steps):
            clock += 100
            at = step * n_ranks * rs
            if rank == 0:
                half = n_ranks * rs // 2
                events += [
                    Event(
                        0, "pwrite", 0, at + i * half, half, start_ns=clock + 1 + i, duration_ns=1
                    )
                    for i in range(2)
                ]
            events.append(
                Event(
                    rank,
                    "MPI_File_write_at_all",
                    0,
                    at + rank * rs,
                    rs,
                    start_ns=clock,
                    duration_ns=50,
                )
            )
    return events


def test_bytes_are_counted_once_at_the_applications_own_level() -> None:
    model = model_of(collective_run())
    assert model.app_st == 4 * 5 * 1000
    assert [(phase.level, phase.ph_processid) for phase in model.phases] == [
        ("mpiio", (0, 1, 2, 3)),
        ("posix", (0,)),
    ]
    assert model.files[0].n_operations == 20
    assert model.requirements.storage_capacity_bytes == 20_000


def test_a_collective_phase_names_its_aggregators_and_their_requests() -> None:
    model = model_of(collective_run())
    (relation,) = model.relations
    assert (relation.ph_id, relation.below, relation.ranks) == (1, 2, (0,))
    assert (relation.n_operations, relation.moved) == (10, 20_000)
    assert (relation.rs_min, relation.rs_max) == (2000, 2000)
    assert "What the phases became below MPI-IO" in {table.title for table in model_tables(model)}


def test_files_that_only_the_mpi_library_uses_are_left_out_and_named() -> None:
    model = model_of(collective_run())
    assert [file.file_name for file in model.files] == ["/scratch/file0"]
    assert any("file1" in warning and "left out" in warning for warning in texts(model.notes))


def test_programs_hold_no_calls_of_the_mpi_librarys() -> None:
    model = model_of(collective_run())
    (program,) = model.programs
    assert program.ranks == (0, 1, 2, 3)
    assert [step.step for step in program.steps] == ["file", "data"]


def test_one_level_can_be_modelled_alone() -> None:
    posix = model_of(collective_run(), Rules(levels=(Level.POSIX,)))
    assert {phase.level for phase in posix.phases} == {"posix"}
    assert (posix.app_np, posix.app_st) == (1, 20_000)
    assert posix.relations == ()


def test_posix_operations_beside_mpi_io_are_told() -> None:
    events = [*collective_run(1), Event(0, "pwrite", 0, 0, 64, start_ns=10_000)]
    assert any(
        "beside it: 1 POSIX operations" in warning for warning in texts(model_of(events).notes)
    )


def test_the_level_below_tells_how_far_a_file_reaches_where_the_view_is_not_known() -> None:
    # A strided view that a Darshan log does not hold: the last rank's piece seems to end early.
    events = [
        event
        for rank in range(2)
        for step in range(4)
        for event in (
            *(
                [Event(0, "pwrite", 0, step * 200, 200, start_ns=step * 100 + 1, duration_ns=1)]
                if rank == 0
                else []
            ),
            Event(
                rank,
                "MPI_File_write_at_all",
                0,
                step * 200 + rank * 10,
                100,
                start_ns=step * 100,
                duration_ns=50,
            ),
        )
    ]
    assert model_of(events).files[0].file_size == 800


def test_processes_without_mpi_are_ordered_by_time() -> None:
    # Rank 0, the child, reads what rank 1, the parent, wrote before; a file of the parent comes first of all.
    events = [
        *(Event(0, "pread", 0, i * 10, 10, start_ns=10**6 + i * 10) for i in range(5)),
        *(Event(1, "pwrite", 1, i * 10, 10, start_ns=i * 10) for i in range(5)),
        *(Event(1, "pwrite", 0, i * 10, 10, start_ns=1000 + i * 10) for i in range(5)),
    ]
    model = model_of(events)
    assert [(p.pattern[0].iop_type, p.ph_processid) for p in model.phases] == [
        ("pwrite", (1,)),
        ("pwrite", (1,)),
        ("pread", (0,)),
    ]
    assert [file.file_name[-1] for file in model.files] == ["1", "0"]


def test_ticks_order_the_phases_of_ranks_that_use_mpi_whatever_the_time() -> None:
    events = [
        *(Event(0, "pread", 0, i * 10, 10, start_ns=10**6 + i * 10) for i in range(5)),
        Event(0, "MPI_Barrier", -1),
        Event(1, "MPI_Barrier", -1, start_ns=0),
        *(
            Event(1, "pwrite", 1, i * 10, 10, start_ns=i * 10, communication=i == 0)
            for i in range(5)
        ),
    ]
    assert [p.pattern[0].iop_type for p in model_of(events).phases] == ["pread", "pwrite"]


def looped_writes(rotated: bool) -> FoldTable:
    """Rank 0 of a collective write in 50 steps as the tracer folds it: the POSIX write ends before its MPI-IO call.

    A call counts as a tick when it begins, so that what it does inside has a later tick than itself.
    """
    n, rs = 50, 1000
    call, write = (OPS_BY_NAME[name].code for name in ("MPI_File_write_at_all", "pwrite"))
    rows = [(write, 1, 0), (call, 0, 1)]
    if rotated:  # the first write and the last call stand outside
        rows = [(write, 1, 0), (call, 0, 1), (write, 2, 2), (call, n - 1, 2 * n - 1)]
    table = fold_table(
        [
            Event(0, "pwrite" if op == write else "MPI_File_write_at_all", size=rs)
            for op, _, _ in rows
        ]
    )
    count = [1, n - 1, n - 1, 1] if rotated else [n, n]
    loop = [0, 3, 3, 0] if rotated else [3, 3]
    columns = dict(vars(table))
    columns |= {
        "tick": np.array([5 + tick for _, tick, _ in rows]), "seq": np.array([seq for _, _, seq in rows]),
        "count": np.array(count), "loop": np.array(loop), "moved": np.array(count) * rs,
        "offset": columns["seq"] * 0 + [0, 0, rs, (n - 1) * rs][: len(rows)], "disp": np.array([rs] * len(rows)),
        "tick_step": np.array([1] * len(rows)), "start_ns": np.full(len(rows), -1), "end_ns": np.full(len(rows), -1),
    }  # fmt: skip
    columns["view_offset"], columns["view_disp"] = columns["offset"], columns["disp"]
    return FoldTable(**columns)


@pytest.mark.parametrize("rotated", [False, True])
def test_calls_in_folded_loops_are_told_by_ticks(rotated: bool) -> None:
    model = model_of(looped_writes(rotated))
    (relation,) = model.relations
    assert (relation.ph_id, relation.below, relation.ranks) == (1, 2, (0,))
    assert (relation.n_operations, relation.moved) == (50, 50_000)
    assert not texts(model.notes)


def test_the_level_below_tells_how_far_a_file_reaches_where_offsets_are_not_known() -> None:
    # As Darshan on Open MPI leaves it: MPI-IO calls without offsets; the second round rewrites what the first one wrote.
    events = [
        event
        for step in range(8)
        for event in (
            Event(0, "pwrite", 0, step % 4 * 100, 100, start_ns=step * 100 + 1, duration_ns=1),
            Event(0, "MPI_File_write_at", 0, -1, 100, start_ns=step * 100, duration_ns=50),
        )
    ]
    (file,) = model_of(events).files
    assert (file.file_size, file.file_size_weights) == (400, 800)
    assert file.n_sequential is None  # Darshan's own counts are of known offsets


def test_calls_without_data_are_counted_with_the_phase_before_them() -> None:
    # Two files written in turn, with calls before, between and behind; one call fails.
    events = [Event(0, "open", file=f, handle=f, arg=0o101) for f in (0, 1)]
    for i in range(6):
        events.append(Event(0, "pwrite", file=i % 2, offset=i * 10, size=10, handle=i % 2))
        events.append(Event(0, "fsync", file=i % 2, handle=i % 2, offset=-1))
        events.append(Event(0, "fstat", file=1 - i % 2, handle=1 - i % 2, offset=-1, error=i == 3))
    events += [Event(0, "close", file=f, handle=f, offset=-1) for f in (1, 0)]
    together = model_of(events)
    assert together.phases[0].metadata_ops == {
        "open": 1, "close": 1, "fsync": 3, "fstat": 2, "fstat (failed)": 1,
    }  # fmt: skip
