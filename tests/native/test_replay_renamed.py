"""Files that are written under another name and renamed, from the traced program to the replay of its kernel and back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from names_run import go_round
from tracer_run import need

PROGRAM = """
import os, random, sys
n, chance = int(sys.argv[1]), random.Random(3)
os.mkdir("set")
for i in range(n):
    fd = os.open(f"set/ckpt{i}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    for _ in range(chance.randrange(1, 3)):
        os.write(fd, b"x" * chance.randrange(1, 900))
    os.close(fd)
    os.rename(f"set/ckpt{i}.tmp", f"set/ckpt{i}.bin")
for i in range(n):
    name = f"set/.state.{chance.randrange(10 ** 9):x}"
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, b"y" * 50)
    os.close(fd)
    os.replace(name, "set/state.json")
for i in range(n):
    name = f"set/obj_{chance.randrange(10 ** 9):x}"
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, b"z" * chance.randrange(1, 300))
    os.close(fd)
    os.link(name, f"set/{i:03d}")
    os.unlink(name)
order = list(range(n))
chance.shuffle(order)
for i in order:
    fd = os.open(f"set/ckpt{i}.bin", os.O_RDONLY)
    while os.read(fd, 400):
        pass
    os.close(fd)
"""


def sizes(folder: Path) -> list[int]:
    return sorted(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".wavetank-files.json"
    )


@pytest.mark.parametrize("n", [10, 130])
def test_the_replay_makes_the_same_calls_and_leaves_the_same_files(n: int, tmp_path: Path) -> None:
    need("libwavetank-trace.so")
    work = tmp_path / "work"
    work.mkdir()
    done = go_round([sys.executable, "-c", PROGRAM, str(n)], work, tmp_path)
    several = [file.n_files for file in done.model.files if file.members is not None]
    assert several == ([130, 130, 130] if n == 130 else [])
    assert done.difference.startswith("The models stand for the same I/O.")
    assert sizes(tmp_path / "root") == sizes(work)
