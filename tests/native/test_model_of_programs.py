"""Models of small programs that perform the papers' applications' I/O calls, traced for real."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tracer_run import FAMILIES, compile_c, need, run_traced

from wavetank.document import provenance
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document import model as models
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.notes import texts
from wavetank.trace.reader import read_trace

ModelOf = Callable[..., Model]


@pytest.fixture
def model_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelOf:
    """Compile a program, run it under the tracer, extract the model."""
    compiler, _, launcher = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, launcher[0])

    def run(source: str, n_ranks: int, *arguments: str) -> Model:
        program = compile_c(
            source, tmp_path / Path(source).stem, "-Wall", "-Werror", compiler=compiler
        )
        trace = run_traced(
            [*launcher, "-n", str(n_ranks), str(program), *arguments], tmp_path, monkeypatch
        )
        return extract_model(trace, provenance())

    return run


def own_phases(model: Model) -> list[object]:
    """Calls, ranks, repetitions and request sizes of the phases at the application's own level."""
    return [
        ([m.iop_type for m in p.pattern], p.ph_processid, p.ph_nrep, [m.rs for m in p.pattern])
        for p in models.own_phases(model)
    ]


def test_bt_io_class_w_is_40_writes_and_one_read_of_40(model_of: ModelOf) -> None:
    model = model_of("bt_io.c", 4, "bt.out", "24", "40")
    # Class W at np 4: 24^3 points x 40 bytes, a quarter each: 138,240 bytes (the log in tests/data/darshan agrees).
    ranks = (0, 1, 2, 3)
    assert own_phases(model) == [
        *[(["MPI_File_write_at_all"], ranks, 1, [138_240])] * 40,
        (["MPI_File_read_at_all"], ranks, 40, [138_240]),
    ]
    read = model.phases[40]
    assert (read.pattern[0].disp, read.pattern[0].disp_view) == (552_960, 138_240)
    (offset,) = read.offset
    assert offset.function == "list"
    assert [runs[0].offset for runs in offset.runs] == [0, 480, 11_520, 12_000]
    assert read.collective
    series = next(one for one in model.series if one.ph_ids[0] == 1)
    assert (series.ph_ids, series.offset_step) == (tuple(range(1, 41)), 552_960)
    assert model.app_st == 2 * 40 * 552_960
    assert model.requirements.storage_capacity_bytes == 40 * 552_960
    assert model.requirements.needs_global_file_system


def test_bt_io_at_a_size_that_does_not_divide_is_still_one_phase_of_all_ranks(
    model_of: ModelOf,
) -> None:
    model = model_of("bt_io.c", 9, "bt.out", "10", "3")
    assert [shape[1:3] for shape in own_phases(model)] == [  # type: ignore[index]
        *[(tuple(range(9)), 1)] * 3,
        (tuple(range(9)), 3),
    ]
    assert model.app_st == 2 * 3 * 10**3 * 40


def test_madbench2_is_five_phases(model_of: ModelOf) -> None:
    model = model_of("madbench2.c", 4, "mad.out", "8", "10000")
    write, read = "MPI_File_write_at", "MPI_File_read_at"
    ranks = (0, 1, 2, 3)
    assert own_phases(model) == [
        ([write], ranks, 8, [10_000]),
        ([read], ranks, 2, [10_000]),
        ([write, read], ranks, 6, [10_000, 10_000]),  # 2 * (NO_BIN - 2) = 12 operations
        ([write], ranks, 2, [10_000]),
        ([read], ranks, 8, [10_000]),
    ]
    assert all(phase.exact for phase in model.phases[:5])
    assert model.app_st == 4 * 32 * 10_000


def test_s3d_io_is_five_shared_files_of_one_collective_write_each(model_of: ModelOf) -> None:
    model = model_of("s3d_io.c", 4, "s3d", "8", "5")
    rs = 16 * 8**3 * 8 // 4
    assert own_phases(model) == [(["MPI_File_write_all"], (0, 1, 2, 3), 1, [rs])] * 5
    assert [file.file_size for file in model.files if file.n_operations] == [4 * rs] * 5
    assert {file.file_accesstype for file in model.files} == {"shared"}


def test_the_files_that_were_written_are_as_big_as_the_model_says(
    model_of: ModelOf, tmp_path: Path
) -> None:
    model = model_of("bt_io.c", 4, "bt.out", "12", "5")
    assert (tmp_path / "bt.out").stat().st_size == model.files[0].file_size


def test_what_collective_calls_became_below_the_mpi_library_is_all_of_their_bytes(
    model_of: ModelOf,
) -> None:
    model = model_of("bt_io.c", 4, "bt.out", "24", "10")
    written = {
        phase.ph_id
        for phase in model.phases
        if phase.pattern[0].iop_type == "MPI_File_write_at_all"
    }
    made = [relation for relation in model.relations if relation.ph_id in written]
    # One node: the library collects the ranks' pieces, so that every byte is written once.
    assert sum(relation.moved for relation in made) == 10 * 552_960
    assert {relation.ph_id for relation in made} == written
    assert all(model.phases[relation.below - 1].level == "posix" for relation in made)


def test_one_posix_program_without_mpi_is_one_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so", "dd")
    subprocess.run(
        ["dd", "if=/dev/zero", "of=in", "bs=1000", "count=10"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    trace = run_traced(["dd", "if=in", "of=out", "bs=3000"], tmp_path, monkeypatch)
    model = extract_model(trace, provenance())
    # dd reads 3000 bytes until there are none, and writes what it got: the last write asks for 1000.
    assert own_phases(model) == [
        (["read"], (0,), 4, [3000]),
        (["write"], (0,), 3, [3000]),
        (["write"], (0,), 1, [1000]),
    ]
    assert model.phases[0].moved_last == (1000,)
    assert model.app_st == 20_000


def test_loops_as_recorded_give_the_model_of_their_operations(
    model_of: ModelOf, tmp_path: Path
) -> None:
    # Collective writes with an Allreduce between them, and what the MPI library makes of them: loops of both levels.
    taken_apart = model_of("bt_io.c", 4, "bt.out", "24", "10")
    recorded = read_trace(tmp_path / "run.trace", loops=True)
    model = extract_model(recorded, provenance())
    assert compare_models(model, taken_apart).differences == ()
    assert model.relations == taken_apart.relations
    assert texts(model.notes) == texts(taken_apart.notes)


def test_loops_of_a_posix_program_give_the_model_of_their_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so", "gcc")
    program = compile_c("loop_calls.c", tmp_path / "loop_calls")
    taken_apart = extract_model(
        run_traced([str(program), "40"], tmp_path, monkeypatch), provenance()
    )
    recorded = read_trace(tmp_path / "run.trace", loops=True)
    assert (recorded.folds.loop > 0).any()
    model = extract_model(recorded, provenance())
    assert compare_models(model, taken_apart).differences == ()
