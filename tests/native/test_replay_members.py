"""Hundreds of small files, from the traced program to the replay of its kernel and back, by the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from names_run import Round, go_round, wavetank
from tracer_run import need

from commands_here import run_here
from model_events import unfold
from wavetank.kernel.document.calls import COPIES
from wavetank.kernel.document.kernel import Kernel

N = 130
PROGRAM = f"""
import os, random
chance = random.Random(3)
for i in range({N}):
    fd = os.open(f"set/new{{i}}.bin", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    for _ in range(chance.randrange(1, 3)):
        os.write(fd, b"x" * chance.randrange(1, 9000))
    os.close(fd)
order = list(range({N}))
for _ in range(2):
    chance.shuffle(order)
    for i in order:
        fd = os.open(f"set/old{{i}}.bin", os.O_RDONLY)
        while os.read(fd, 4096):
            pass
        os.close(fd)
for i in range({N}):
    os.stat(f"set/new{{i}}.bin")
    os.unlink(f"set/new{{i}}.bin")
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Round:
    need("libwavetank-trace.so")
    folder = tmp_path_factory.mktemp("members")
    work = folder / "work"
    (work / "set").mkdir(parents=True)
    for i in range(N):
        (work / "set" / f"old{i}.bin").write_bytes(b"y" * (i * i % 9973))
    return go_round([sys.executable, "-c", PROGRAM], work, folder)


def test_the_replay_makes_the_same_calls_on_as_many_files(found: Round) -> None:
    families = [file for file in found.model.files if file.members is not None]
    # Old files, of which two are empty: they are read in another way.
    assert sum(file.n_files for file in families) >= 2 * N - 2
    n = len(found.model.phases)
    assert found.difference.splitlines() == [
        f"The models stand for the same I/O. {n} phases are the same, of {n} and {n}."
    ]


def test_a_replay_that_turns_to_its_files_in_another_order_is_told(
    found: Round, tmp_path: Path
) -> None:
    found.model.write(tmp_path / "model.json")
    turned = json.loads((tmp_path / "model.json").read_text())
    for file in turned["files"]:
        if file["file_name"].endswith("old*.bin"):
            order = file["members"]["visits"]["order"]
            order[-1], order[-2] = order[-2], order[-1]  # the sizes differ, and so do the reads
            last = len(order) - 1
    (tmp_path / "turned.json").write_text(json.dumps(turned))
    done = run_here(tmp_path, "diff", "model.json", "turned.json")
    assert done.returncode == 3
    assert "order of visits" in done.stdout
    assert f"rank 0, visit {last}: old" in done.stdout


def test_what_the_replay_reads_is_what_was_made_for_it(found: Round, tmp_path: Path) -> None:
    found.model.write(tmp_path / "model.json")
    wavetank("kernel", "model.json", "-o", "kernel.json", cwd=tmp_path)
    made = Kernel.read(tmp_path / "kernel.json")
    (several,) = (file for file in made.files if file.members is not None and file.role == "input")
    (tmp_path / "root").mkdir()
    wavetank("replay", "kernel.json", "--root", "root", "--verify", cwd=tmp_path)
    assert several.members is not None
    sizes = [(tmp_path / "root" / name).stat().st_size for name, _ in several.stored()]
    assert sizes == several.members.prepare_bytes.tolist()
    assert sum(sizes) == several.prepare_bytes > 0
    assert "exact." in wavetank("fidelity", "kernel.json", "model.json", cwd=tmp_path).lower()


NO_DATA = f"""
import os, random
order = list(range({N}))
random.Random(4).shuffle(order)
for i in range({N}):
    os.mkdir(f"set/d{{i}}")
for i in range({N}):
    os.close(os.open(f"set/d{{i}}/f", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
for i in order:
    os.stat(f"set/d{{i}}/f")
    os.chmod(f"set/d{{i}}/f", 0o600)
    os.stat(f"set/old{{i}}")
for i in order:
    os.unlink(f"set/d{{i}}/f")
    os.rmdir(f"set/d{{i}}")
"""


def test_files_without_data_and_their_directories_are_replayed_in_their_order(
    tmp_path: Path,
) -> None:
    need("libwavetank-trace.so")
    work = tmp_path / "work"
    (work / "set").mkdir(parents=True)
    for i in range(N):
        (work / "set" / f"old{i}").touch()
    done = go_round([sys.executable, "-c", NO_DATA], work, tmp_path)
    assert sorted(file.n_files for file in done.model.files) == [N, N, N]
    assert [(call.call, call.n_objects) for call in done.model.metadata[0].calls] == [("mkdir", N)]
    assert done.difference.startswith("The models stand for the same I/O.")
    kept = {path.name for path in (tmp_path / "root").rglob("*")} - {".wavetank-files.json"}
    assert {f"old{i}" for i in range(N)} <= kept
    assert not any(name == "f" or name.startswith("d") for name in kept)


COPIED = f"""
import os
for i in range({N}):
    old = os.open(f"set/old{{i}}.bin", os.O_RDONLY)
    new = os.open(f"set/new{{i}}.bin", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    while os.copy_file_range(old, new, 1 << 30):
        pass
    os.close(old)
    os.close(new)
for i in range({N}):
    old = os.open(f"set/old{{i}}.bin", os.O_RDONLY)
    sent = os.open(f"set/sent{{i}}.bin", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    place = 0
    while moved := os.sendfile(sent, old, place, 1 << 30):
        place += moved
    os.close(old)
    os.close(sent)
"""


def test_a_tree_of_files_that_is_copied_inside_of_the_kernel_is_replayed_as_families(
    tmp_path: Path,
) -> None:
    need("libwavetank-trace.so")
    work = tmp_path / "work"
    (work / "set").mkdir(parents=True)
    for i in range(N):
        (work / "set" / f"old{i}.bin").write_bytes(b"y" * (1 + i * i % 9973))
    done = go_round([sys.executable, "-c", COPIED], work, tmp_path, verify=False)
    assert sorted(file.n_files for file in done.model.files if file.members is not None) == [N] * 3
    assert done.difference.startswith("The models stand for the same I/O.")
    made = {
        path.name: path.stat().st_size
        for path in (tmp_path / "root").rglob("sent*.bin")
        if path.is_file()
    }
    assert made == {f"sent{i}.bin": 1 + i * i % 9973 for i in range(N)}
    # The copy that finds the end is one step for all files, although each ends elsewhere.
    calls = [
        (event.iop_type, event.offset)
        for event in unfold(done.model.programs, done.model.phases, 0, done.model.files)
        if event.iop_type in COPIES and not event.moved
    ]
    assert calls.count(("copy_file_range", None)) == calls.count(("sendfile", None)) == N
    assert len(set(calls)) == 4
