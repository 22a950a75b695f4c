"""From a program to ``wavetank diff`` of its model and its replay's, by the commands alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tracer_run import FAMILIES, compile_c, need

from commands_here import COMMANDS, run_here
from waiting import HANG_S

DATABASE = """
import sqlite3
with sqlite3.connect("a data base.db") as base:
    base.execute("create table t (a, b)")
    base.executemany("insert into t values (?, ?)", [(i, "word" * (i % 50)) for i in range(2000)])
    base.commit()
    base.execute("delete from t where a % 3 = 0")
"""
PROGRAMS = {
    "writes at random places": ["./random", "3000"],
    "sort of a file with blanks in its name": ["sort", "-r", "-S", "64k", "--parallel=1", "-T", ".", "-o", "my output (1)", "my input"],
    "tar": ["tar", "cf", "all in one.tar", "my input", "./random"],
    "sqlite3 in Python": [sys.executable, "-c", DATABASE],
}  # fmt: skip


def wavetank(*words: str, status: int = 0) -> str:
    done = run_here(Path.cwd(), *words) if words[0] in COMMANDS else subprocess.run(
        [sys.executable, "-m", "wavetank", *words], capture_output=True, text=True, check=False, timeout=HANG_S,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_traced_replay_is_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    need("libwavetank-trace-openmpi.so", "gcc", FAMILIES["openmpi"][2][0])
    work = tmp_path / "work"
    (tmp_path / "root").mkdir()
    work.mkdir()
    compile_c("random_writes.c", work / "random")
    (work / "my input").write_text("".join(f"{i * 7919 % 10007} words\n" for i in range(20000)))
    monkeypatch.chdir(work)
    wavetank("trace", "-o", "../a.trace", "--", *PROGRAMS[name])
    monkeypatch.chdir(tmp_path)
    wavetank("model", "a.trace", "-o", "a.json")
    wavetank("kernel", "a.json", "-o", "k.json")
    # What wavetank itself does under the tracer is no rank: it asks git for its version, among others.
    replay = [
        sys.executable,
        "-m",
        "wavetank",
        "replay",
        "k.json",
        "--root",
        "root",
        "-o",
        "r.json",
    ]
    wavetank("trace", "-o", "b.trace", "--", *replay)
    wavetank("model", "b.trace", "-o", "b.json")
    a, b = (json.loads((tmp_path / file).read_text()) for file in ("a.json", "b.json"))
    assert a["n_ranks"] == b["n_ranks"] == 1
    found = json.loads(wavetank("diff", "a.json", "b.json", "--format", "json"))
    assert found["same"]
    assert found["n_equal_phases"] == len(a["phases"])
