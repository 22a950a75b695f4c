"""Runs that are odd, torn or damaged, from the command line: a defined result or a clear error."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tracer_run import FAMILIES, compile_c, need

from wavetank.model.document.model import Model

Run = Callable[..., subprocess.CompletedProcess[str]]
OddRun = Callable[..., Path]


@pytest.fixture
def odd(tmp_path: Path, wavetank: Run) -> OddRun:
    """Trace odd_calls; gives the folder of the trace."""
    need("libwavetank-trace.so", "gcc")
    program = compile_c("odd_calls.c", tmp_path / "odd_calls")

    def run(what: str, file: str = "odd.out", *options: str) -> Path:
        wavetank("trace", "-o", "odd.trace", *options, "--", program, what, file, cwd=tmp_path)
        return tmp_path

    return run


def test_clocks_of_processes_that_differ_by_an_hour_change_no_phase(
    tmp_path: Path, wavetank: Run
) -> None:
    def log(name: str, behind: int) -> None:
        lines = []
        for number in range(5):
            for pid, base in ((100, 1_700_003_600), (200, 1_700_003_600 - behind)):
                at = f"{base}.{number:06d}"
                if number == 0:
                    lines.append(f'{pid} {at} openat(AT_FDCWD</data>, "f{pid}", O_RDONLY) = 3</data/f{pid}> <0.000010>')  # fmt: skip
                lines.append(f'{pid} {at} read(3</data/f{pid}>, "x"..., 100) = 100 <0.000010>')
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    log("right.strace", 0)
    log("skewed.strace", 3600)
    for name in ("right", "skewed"):
        wavetank("model", f"{name}.strace", "-o", f"{name}.json", cwd=tmp_path)
    same = wavetank("diff", "right.json", "skewed.json", cwd=tmp_path)
    assert "stand for the same I/O" in same.stdout


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rank_that_died_leaves_a_model_of_what_was_done_until_then(
    family: str, tmp_path: Path, wavetank: Run
) -> None:
    compiler, _, launcher = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, launcher[0])
    program = compile_c("rank_dies.c", tmp_path / "rank_dies", compiler=compiler)
    status = 9 if family == "mpich" else 137
    wavetank(
        "trace", "-o", "died.trace", "--", *launcher, "-n", "4", program, "died.out", cwd=tmp_path, status=status
    )  # fmt: skip
    told = wavetank("model", "died.trace", "-o", "died.json", cwd=tmp_path).stderr
    assert "cut short (killed, or damaged): the model holds what was recorded" in told
    own = [p for p in Model.read(tmp_path / "died.json").phases if p.level == "mpiio"]
    assert [(p.ph_processid, p.ph_nrep) for p in own] == [((0, 1, 3), 20), ((2,), 10)]


def test_a_rank_whose_part_is_missing_is_refused_unless_asked_for(
    tmp_path: Path, wavetank: Run
) -> None:
    compiler, _, launcher = FAMILIES["mpich"]
    need("libwavetank-trace-mpich.so", compiler, launcher[0])
    program = compile_c("madbench2.c", tmp_path / "madbench2", compiler=compiler)
    wavetank(
        "trace", "-o", "run.trace", "--", *launcher, "-n", "3", program, "mad.out", "8", "1000", cwd=tmp_path
    )  # fmt: skip
    whole = wavetank("model", "run.trace", "-o", "whole.json", cwd=tmp_path)
    assert "missing" not in whole.stderr
    index = json.loads((tmp_path / "run.trace" / "index.json").read_text())
    (name,) = next(one["parts"] for one in index["ranks"] if one["rank"] == 1)
    part = tmp_path / "run.trace" / name
    part.unlink()
    refused = wavetank("model", "run.trace", "-o", "rest.json", cwd=tmp_path, status=1)
    assert f"parts of the trace are missing: {part.name}" in refused.stderr
    assert not (tmp_path / "rest.json").exists()
    told = wavetank("model", "run.trace", "--allow-damaged", "-o", "rest.json", cwd=tmp_path)
    assert "the trace has no part for rank 1" in told.stderr
    assert {p.ph_processid for p in Model.read(tmp_path / "rest.json").phases} == {(0, 2)}
    different = wavetank("diff", "whole.json", "rest.json", cwd=tmp_path, status=3)
    assert "app_np" in different.stdout


def test_models_of_other_process_counts_and_files_are_compared_sensibly(
    tmp_path: Path, wavetank: Run
) -> None:
    compiler, _, launcher = FAMILIES["mpich"]
    need("libwavetank-trace-mpich.so", compiler, launcher[0])
    program = compile_c("ior_blocks.c", tmp_path / "ior_blocks", compiler=compiler)
    for name, n, file in (("two", 2, "a.out"), ("four", 4, "a.out"), ("renamed", 2, "b.out")):
        argv = [*launcher, "-n", str(n), program, "posix", file, "1000", "100", "1"]
        wavetank("trace", "-o", f"{name}.trace", "--", *argv, cwd=tmp_path)
        wavetank("model", f"{name}.trace", "-o", f"{name}.json", cwd=tmp_path)
    # A file under another name is the same I/O; another process count is not.
    assert wavetank("diff", "two.json", "renamed.json", cwd=tmp_path).stdout.startswith(
        "The models"
    )
    found = json.loads(
        wavetank("diff", "two.json", "four.json", "--format", "json", cwd=tmp_path, status=3).stdout
    )
    assert (found["same"], found["n_equal_phases"]) == (False, 0)
    ratios = {d["field"]: d["ratio"] for d in found["differences"] if d["where"] == "application"}
    assert ratios == {"n_ranks": 2.0, "app_np": 2.0, "app_st": 2.0}
    ranks = [(d["a"], d["b"]) for d in found["differences"] if d["field"] == "ph_processid"]
    assert ranks == [("0-1", "0-3")] * 2
    gone = wavetank("diff", "two.json", "nothing.json", cwd=tmp_path, status=1)
    assert "nothing.json: No such file" in gone.stderr
    trace = wavetank("diff", "two.json", "two.trace", cwd=tmp_path, status=2)
    assert "wavetank model two.trace" in trace.stderr
