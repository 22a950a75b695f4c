"""How the memory of MPI-IO calls lies, and what the MPI library makes of gaps in it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fixed_point_run import assert_equal, go_round, model_of
from tracer_run import FAMILIES, compile_c, need, run_traced

from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.model import Model, View
from wavetank.notes import carried, texts
from wavetank.trace.arguments import Memory
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import UNKNOWN, FileView


@pytest.mark.parametrize("family", FAMILIES)
def test_each_call_says_how_its_memory_lies(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0])
    program = compile_c("memory_types.c", tmp_path / "memory_types", compiler=compiler)
    trace = run_traced([*launcher, "-np", "1", str(program)], tmp_path, monkeypatch)
    rows = np.flatnonzero(trace.folds.op == OPS_BY_NAME["MPI_File_write"].code)
    folds = trace.folds
    given = np.repeat(folds.given[rows], folds.count[rows])
    found = folds.details.memory[given].tolist()
    expected = [
        Memory.PLAIN, Memory.PLAIN, Memory.WHOLE, Memory.WHOLE, Memory.GAPS, Memory.GAPS, Memory.GAPS, Memory.PLAIN,
    ]  # fmt: skip
    assert found[:8] == expected
    assert found[8:] in ([], [Memory.WHOLE])  # MPI 4: a type that was made with a large count
    assert folds.size[rows].max() == 64
    views = folds.details.memory_view[given].tolist()
    assert [view for view, memory in zip(views, found, strict=True) if memory != Memory.GAPS] == [
        UNKNOWN
    ] * (len(found) - 3)
    assert [trace.views[view] for view in views[4:7]] == [
        FileView(
            0, 1, 3 * 32 + 16, (0, 32, 64, 96), (16,) * 4
        ),  # from the first piece to the end of the last
        FileView(0, 1, 128, (0,), (64,)),
        FileView(0, 1, 64, (64,), (64,)),
    ]


def reads_below(model: Model) -> int:
    """POSIX reads of a run that only writes."""
    return sum(
        phase.ph_nrep * phase.ph_np
        for phase in model.phases
        for member in phase.pattern
        if phase.level == "posix" and "read" in member.iop_type
    )


@pytest.mark.parametrize("memory", ["gaps", "plain"])
def test_romio_reads_below_a_replay_s_writes_where_it_did_so_below_the_application_s(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES["mpich"]
    need("libwavetank-trace-mpich.so", compiler, launcher[0])
    program = compile_c("memory_gaps.c", tmp_path / "memory_gaps", compiler=compiler)
    found = go_round(
        "mpich", [*launcher, "-n", "2", str(program), "out.bin", memory], tmp_path, monkeypatch
    )
    assert_equal(found)
    compared = compare_models(found.model, found.again)
    assert (texts(carried(found.kernel.notes)), texts(found.kernel.notes), compared.notes) == (
        (),
        (),
        (),
    )
    assert compared.same
    # 4 calls of 2 ranks, each with a read before it writes.
    assert reads_below(found.model) == reads_below(found.again) == (8 if memory == "gaps" else 0)


def test_a_replay_s_memory_has_the_gaps_of_the_application_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, launcher[0])
    program = compile_c("memory_subarray.c", tmp_path / "memory_subarray", compiler=compiler)
    found = go_round(
        "openmpi", [*launcher, "-np", "2", str(program), "out.bin"], tmp_path, monkeypatch
    )
    on_mpi = [phase for phase in found.model.phases if phase.level == "mpiio"]
    seen = {}
    for phase in on_mpi:
        for place, rank in enumerate(phase.ph_processid):
            view = found.model.views[phase.memory_at(place, 0)]
            seen[phase.pattern[0].iop_type, rank] = view
    # 6 doubles of each row of 8, behind a row and a double; 4 rows of rank 0, 5 of rank 1, and a row behind them.
    tiles = {
        rank: View(
            displacement=0,
            etype_size=1,
            extent=(rows + 2) * 64,
            run_offsets=tuple(64 * (row + 1) + 8 for row in range(rows)),
            run_lengths=(48,) * rows,
        )
        for rank, rows in enumerate((4, 5))
    }
    calls = {
        "MPI_File_write_at_all",
        "MPI_File_iwrite_at",
        "MPI_File_read_at_all",
        "MPI_File_write_all",
    }
    assert seen == {(call, rank): tile for call in calls for rank, tile in tiles.items()}
    assert (texts(carried(found.kernel.notes)), texts(found.kernel.notes)) == ((), ())
    assert_equal(found)
    compared = compare_models(found.model, found.again)
    assert (compared.same, compared.notes) == (True, ())
    assert (tmp_path / "root" / "out.bin").stat().st_size == Path("out.bin").stat().st_size
    (tmp_path / "verified").mkdir()
    verified = subprocess.run(
        [sys.executable, "-m", "wavetank", "replay", tmp_path / "kernel.json", "--root", tmp_path / "verified",
         "--launcher", "openmpi", "--verify"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert verified.returncode == 0, verified.stderr


def test_memory_without_its_gaps_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, _, launcher = FAMILIES["mpich"]
    need("libwavetank-trace-mpich.so", compiler, launcher[0])
    program = compile_c("memory_gaps.c", tmp_path / "memory_gaps", compiler=compiler)
    monkeypatch.chdir(tmp_path)
    gaps, plain = (
        model_of(
            [*launcher, "-n", "1", str(program), "out.bin", memory], tmp_path / f"{memory}.trace"
        )
        for memory in ("gaps", "plain")
    )
    rows = [row for row in compare_models(gaps, plain).differences if row.field == "memory"]
    assert {row.where for row in rows} == {"out.bin"}
    # 4 pieces of 1024 bytes, each 2048 behind the one before: from the first to the end of the last.
    assert all("4 pieces in 7,168 bytes" in str(row.a) for row in rows)
    assert all(row.b == "without gaps" for row in rows)
