"""What is hard to replay: the traced replay makes the same calls, with the same results, at the same places."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest
from fixed_point_run import Round, assert_equal, go_round
from replay_run import replay
from tracer_run import FAMILIES, PROGRAMS, calls, compile_c, need

from waiting import HANG_S
from wavetank.kernel.execution.replay import ReplayOptions
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.program import FileStep
from wavetank.model.document.step_walks import flat
from wavetank.notes import texts
from wavetank.trace.reader import read_trace


def around(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Round:
    need("libwavetank-trace.so", "gcc")
    program = compile_c("hard_cases.c", folder / "program")
    found = go_round("none", [str(program), case], folder, monkeypatch)
    assert compare_models(found.model, found.again).differences == ()
    assert [
        row.differences for row in replay_fidelity(found.kernel, found.model) if not row.exact
    ] == []
    assert calls_of(found.again) == calls_of(found.model)
    return found


def calls_of(model) -> list[tuple[str, str, int]]:
    """Calls that move no data of rank 0: name, file's base name, errno."""
    names = {file.file_id: Path(file.file_name).name for file in model.files}
    (program,) = model.programs
    return [
        (step.iop_type, names[step.file_id], step.error)
        for step, times in flat(program.steps)
        if isinstance(step, FileStep)
        for _ in range(times * step.count)
    ]


def given(folder: Path, **sizes: int) -> None:
    """Files in the folder where the program runs."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    for name, size in sizes.items():
        (work / name.replace("_", "-")).write_bytes(b"x" * size)


def test_a_file_that_is_opened_and_then_emptied_is_there_before_in_its_size(tmp_path, monkeypatch):
    given(tmp_path, looked_at=700)
    (tmp_path / "work" / "old.h5").write_bytes(b"x" * 96)
    found = around("reopened", tmp_path, monkeypatch)
    assert {(f.name, f.role, f.prepare_bytes) for f in found.kernel.files} == {
        ("old.h5", "both", 96), ("looked-at", "both", 700),
    }  # fmt: skip
    # the last write ends at 3 * 4096 + 2048
    assert (tmp_path / "root" / "old.h5").stat().st_size == 14336


def test_calls_that_failed_fail_with_the_same_errors(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    found = around("failed", tmp_path, monkeypatch)
    roles = {file.name: file.role for file in found.kernel.files}
    assert roles["never"] == "none" and roles["later"] == "output"
    assert not (tmp_path / "root" / "never").exists()
    assert {error for _, _, error in calls_of(found.again)} >= {2, 6, 9, 17, 20, 22, 39}
    (sentence,) = texts(found.kernel.notes)
    # what the storage is asked for: files that are not there, and such as are
    assert "1 rmdir (ENOTEMPTY)" in sentence and "stat" not in sentence


def test_a_file_without_permission_is_refused_again(tmp_path, monkeypatch):
    given(tmp_path, secret=100)
    (tmp_path / "work" / "secret").chmod(0)
    found = around("denied", tmp_path, monkeypatch)
    assert ("open", "secret", errno.EACCES) in calls_of(found.again)
    assert "without asking the storage" in " ".join(texts(found.kernel.notes))


def test_seeks_from_the_end_lead_where_they_led(tmp_path, monkeypatch):
    given(tmp_path, input=300_000)
    around("ends", tmp_path, monkeypatch)


def test_files_that_are_only_mapped_or_measured_have_their_size(tmp_path, monkeypatch):
    given(tmp_path, input=300_000, part=5000)
    found = around("mapped", tmp_path, monkeypatch)
    assert {(f.name, f.prepare_bytes) for f in found.kernel.files} == {
        ("input", 300_000), ("part", 5000), ("copy", 0),
    }  # fmt: skip


def test_seeks_of_loops_lead_to_the_next_repetition(tmp_path, monkeypatch):
    given(tmp_path, input=300_000)
    found = around("loops", tmp_path, monkeypatch)
    assert_equal(found)


def test_loops_of_seeks_through_views_stay_loops(tmp_path, monkeypatch):
    """Segments of four transfers each: messages part the segments, and nothing parts the transfers of one."""
    compiler, _, starter = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, starter[0])
    program = compile_c("viewed_blocks.c", tmp_path / "program", compiler=compiler)
    found = go_round(
        "openmpi", [*starter, "-n", "2", str(program), "3", "4"], tmp_path, monkeypatch
    )
    assert_equal(found)
    assert compare_models(found.model, found.again).differences == ()


def test_records_of_a_fortran_program_are_sought_where_they_were(tmp_path, monkeypatch):
    _, compiler, starter = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, starter[0])
    program = tmp_path / "program"
    subprocess.run([compiler, "-o", str(program), str(PROGRAMS / "direct_records.f90")], check=True)
    argv = [*starter, "-n", "2", str(program), "12", "4"]
    found = go_round("openmpi", argv, tmp_path, monkeypatch)
    assert_equal(found)
    assert compare_models(found.model, found.again).differences == ()


def test_tiles_that_lie_over_each_other_are_replayed_where_they_lay(tmp_path, monkeypatch):
    """Columns of a matrix: a tile reaches over all behind it."""
    compiler, _, starter = FAMILIES["openmpi"]
    need("libwavetank-trace-openmpi.so", compiler, starter[0])
    program = compile_c("columns.c", tmp_path / "program", compiler=compiler)
    rows, columns, ranks, cell = 30, 12, 2, 48
    argv = [*starter, "-n", str(ranks), str(program), str(rows), str(columns)]
    found = go_round("openmpi", argv, tmp_path, monkeypatch)
    assert_equal(found)
    assert compare_models(found.model, found.again).differences == ()
    certificate = replay_fidelity(found.kernel, found.model)
    assert [one.differences for one in certificate if not (one.exact or one.left_to_mpi)] == []
    size = rows * columns * ranks * cell
    assert (tmp_path / "root" / "columns.dat").stat().st_size == size
    (tmp_path / "verified").mkdir()
    options = ReplayOptions(verify=True, timeout_s=HANG_S)
    verified, _ = replay(found.model, tmp_path / "verified", "openmpi", options)
    assert verified.failure is None
    # columns, a half and one that is sought, on each rank; those by the shared pointer are not
    moved = (2 * columns + 3) * ranks * rows * cell // 2
    assert verified.settings["verified_bytes"] == str(moved)
    # The trace has places of shared-pointer calls, which a model leaves out: half a column is 15 cells.
    row = columns * ranks * cell
    by_shared = [
        call.offset
        for call in calls(read_trace(tmp_path / "first.trace"))
        if call.op == "MPI_File_read_shared"
    ]
    assert by_shared == [
        half * rows // 2 * row + column * cell for column in range(columns) for half in range(2)
    ]
