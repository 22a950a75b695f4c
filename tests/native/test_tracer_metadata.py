"""What the tracer records of directories and attributes, and programs that move no data, round to their replay."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from names_run import go_round
from tracer_run import compile_c, need, run_traced

from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS
from wavetank.trace.schema import Trace

Seen = tuple[str, str, int]
"""Call, file's base name, argument."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("libwavetank-trace.so", "gcc")
    return compile_c("metadata.c", tmp_path_factory.mktemp("metadata") / "metadata")


def seen(trace: Trace) -> list[Seen]:
    events = unfold(trace.folds)
    return [
        (
            OPS[int(events.op[i])].name,
            Path(trace.files[events.file[i]].path).name,
            int(trace.folds.details.number[events.given[i]]),
        )
        for i in range(len(events))
        if not events.error[i]
    ]


def test_calls_on_directories_and_attributes_are_recorded(program, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    trace = run_traced([str(program), str(tmp_path / "here")], tmp_path, monkeypatch)
    create, folder = os.O_CREAT | os.O_WRONLY, os.O_RDONLY | os.O_DIRECTORY
    # node, file, soft, inner, "." and ".."; then the end
    listing = [("readdir", "made", 0)] * 6 + [("readdir", "made", 1)]
    assert seen(trace) == [
        ("mkdir", "made", 0o750), ("mkdir", "inner", 0o700), ("mknod", "node", 0o600), ("open", "file", create),
        ("fchmod", "file", 0o640), ("fchown", "file", 0), ("futime", "file", 0), ("close", "file", 0),
        ("chmod", "file", 0o600), ("chown", "file", 0), ("utime", "file", 1), ("symlink", "file", 0),
        ("symlink", "soft", 1), ("readlink", "soft", 0),
        ("open", "made", folder), *listing, ("close", "made", 0), ("stat", "inner", 0),
        ("open", "made", folder), ("stat", "inner", 0), ("fsync", "made", 0), ("close", "made", 0),
        ("rename", "inner", 0), ("rename", "moved", 1), ("rmdir", "moved", 0), ("unlink", "soft", 0),
        ("unlink", "node", 0), ("unlink", "file", 0), ("rmdir", "made", 0),
    ]  # fmt: skip
    folders = {Path(file.path).name for file in trace.files if file.directory}
    assert folders == {"made", "inner", "moved"}


def test_looks_at_where_a_program_is_are_left_out_unless_asked_for(program, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    trace = run_traced([str(program), str(here)], tmp_path, monkeypatch, include=(str(here),))
    assert ("stat", "here", 0) in seen(trace)


@pytest.mark.parametrize("variable", ["PWD", "OLDPWD", "TMPDIR"])
def test_looks_at_what_the_environment_names_are_left_out(program, variable, tmp_path, monkeypatch):
    """As of shells, which look at $PWD when they start, and of PMIx in MPI_Init."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv(variable, str(elsewhere))
    look = ["stat", "-c", "%n", str(elsewhere)]
    assert not run_traced(look, tmp_path, monkeypatch).files
    shutil.rmtree(tmp_path / "run.trace")
    look[-1] = str(elsewhere / "inner")
    (elsewhere / "inner").mkdir()
    assert [name for _, name, _ in seen(run_traced(look, tmp_path, monkeypatch))] == ["inner"]


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_shell_in_another_directory_than_pwd_names_moves_nothing(shell, tmp_path, monkeypatch):
    need("libwavetank-trace.so", shell)
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    monkeypatch.setenv("PWD", str(elsewhere))
    monkeypatch.setenv("OLDPWD", str(elsewhere))
    trace = run_traced([shell, "-c", "echo text > file; :"], here, monkeypatch)
    assert [Path(file.path).name for file in trace.files] == ["file"]


def test_the_replay_of_such_a_program_makes_the_same_calls(program, tmp_path):
    (tmp_path / "work").mkdir()
    found = go_round([str(program), str(tmp_path / "work")], tmp_path / "work", tmp_path)
    assert "The models stand for the same I/O" in found.difference
    assert not found.left_by_replay
    calls = {call.call: call.n for phase in found.model.metadata for call in phase.calls}
    assert (calls["mkdir"], calls["readdir"], calls["opendir"], calls["rmdir"]) == (2, 7, 2, 2)


@pytest.mark.parametrize(
    "argv",
    [["find", "tree", "-newer", "/etc/passwd"], ["ls", "-lR", "tree"], ["rm", "-rf", "tree"]],
    ids=lambda argv: argv[0],
)
def test_programs_that_only_walk_through_directories_are_replayed(argv, tmp_path):
    need("libwavetank-trace.so", argv[0])
    work = tmp_path / "work"
    for name in ("a/b", "c"):
        (work / "tree" / name).mkdir(parents=True)
    for name in ("a/f1", "a/f2", "c/g"):
        (work / "tree" / name).touch()
    found = go_round([str(shutil.which(argv[0])), *argv[1:]], work, tmp_path)
    assert "The models stand for the same I/O" in found.difference
    assert found.model.metadata[0].n_directories >= 4  # tree, a, b, c; find opens where it is
    assert not found.model.phases
