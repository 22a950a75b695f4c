"""The fixed point for what one process does: every way to move bytes, names, streams, and programs of every day."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fixed_point_run import Round, assert_equal, go_round
from tracer_run import compile_c, need

from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.comparison.difference import compare_models


def around(argv: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Round:
    found = go_round("none", argv, folder, monkeypatch)
    assert compare_models(found.model, found.again).differences == ()
    assert all(row.exact for row in replay_fidelity(found.kernel, found.model))
    assert_equal(found)
    return found


def given(folder: Path, name: str, size: int) -> Path:
    """A file in the folder where the program runs."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    (work / name).write_bytes(bytes(i % 251 for i in range(1000)) * (size // 1000))
    return work / name


def test_every_way_to_move_bytes_is_replayed_as_it_is(tmp_path, monkeypatch):
    need("libwavetank-trace.so", "gcc")
    program = compile_c("data_ways.c", tmp_path / "program")
    given(tmp_path, "input", 300_000)
    # The child that reads the socket's other end moves no byte of a file.
    found = around([str(program)], tmp_path, monkeypatch)
    moved: dict[str, int] = {}
    for phase in found.again.phases:
        for member in phase.pattern:
            moved[member.iop_type] = moved.get(member.iop_type, 0) + phase.ph_nrep
    # As many as data_ways.c makes; splice is a sendfile.
    assert moved == {
        "copy_file_range": 2, "copy_file_range_to": 2, "sendfile": 1 + 4, "sendfile_to": 1 + 1, "read": 20,
        "pread": 20, "preadv": 1, "readv": 1, "pwritev": 1, "writev": 1, "write": 4 + 5, "aio_write": 1,
    }  # fmt: skip


@pytest.mark.parametrize("there_before", [False, True])
def test_cp_copies_inside_of_the_kernel(tmp_path, monkeypatch, there_before):
    need("libwavetank-trace.so", "cp")
    given(tmp_path, "from", 500_000)
    if there_before:  # cp then opens the file without O_CREAT
        given(tmp_path, "to", 70_000)
    found = around(["cp", "from", "to"], tmp_path, monkeypatch)
    copies = {member.iop_type for phase in found.again.phases for member in phase.pattern}
    assert copies == {"copy_file_range", "copy_file_range_to"}
    assert (tmp_path / "root" / "to").stat().st_size == 500_000


def test_a_copy_to_a_file_that_is_not_recorded_is_still_a_copy(tmp_path, monkeypatch):
    need("libwavetank-trace.so", "cat")
    given(tmp_path, "from", 500_000)
    found = around(["sh", "-c", "exec cat from > ignored.so"], tmp_path, monkeypatch)
    assert found.again.app_st == 500_000


@pytest.mark.parametrize(
    "argv",
    [
        ["dd", "if=input", "of=output", "bs=10000"],
        ["dd", "if=input", "of=output", "bs=3000", "seek=7", "skip=5", "count=20", "conv=notrunc,fsync"],
        ["gzip", "-kf", "input"],
        ["tar", "cf", "archive.tar", "input", "folder"],
        ["split", "-b", "70000", "input", "part-"],
        ["tail", "-c", "5000", "input"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_programs_of_every_day(tmp_path, monkeypatch, argv):
    need("libwavetank-trace.so", argv[0])
    given(tmp_path, "input", 300_000)
    folder = tmp_path / "work" / "folder"
    folder.mkdir()
    shutil.copy(tmp_path / "work" / "input", folder / "input")
    shutil.copy(tmp_path / "work" / "input", folder / "other")
    around(argv, tmp_path, monkeypatch)
