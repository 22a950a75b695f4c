"""fcntl(F_SETFL): recorded with its flags, and made again by the replay."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from replay_run import replay  # first: makes fold_builder importable
from tracer_run import compile_c, need, run_traced

from waiting import HANG_S
from wavetank.kernel.execution.replay import ReplayOptions
from wavetank.model.extract import extract_model
from wavetank.trace.events import unfold
from wavetank.trace.open import open_trace
from wavetank.trace.ops import OPS, OPS_BY_NAME
from wavetank.trace.schema import Trace

from fold_builder import PROVENANCE  # isort: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("libwavetank-trace.so", "gcc")
    return compile_c("set_flags.c", tmp_path_factory.mktemp("program") / "set_flags")


def flags(trace: Trace) -> list[int]:
    table = trace.folds
    some = table.op == OPS_BY_NAME["fcntl"].code
    return [
        int(one) & (os.O_APPEND | os.O_DIRECT) for one in table.details.flags[table.given[some]]
    ]


def places(trace: Trace) -> list[int]:
    events = unfold(trace.folds)
    return [int(at) for op, at in zip(events.op, events.offset, strict=True) if OPS[int(op)].name == "write"]  # fmt: skip


def performed(trace: Trace, where: Path) -> bytes:
    """The file that a replay leaves."""
    model = extract_model(trace, PROVENANCE)
    result, root = replay(model, where, "none", ReplayOptions(verify=True, timeout_s=HANG_S))
    assert result.status == "ok", result.failure
    (copy,) = root.rglob("file")
    return copy.read_bytes()


APPENDED = [os.O_APPEND, 0, os.O_APPEND]


def test_appending_begins_and_ends_while_a_file_is_open(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = run_traced([str(program), str(tmp_path / "file")], tmp_path, monkeypatch)
    assert flags(trace) == APPENDED
    assert places(trace) == [0, 100, 10, 150]
    assert len(performed(trace, tmp_path)) == (tmp_path / "file").stat().st_size == 157


def test_a_log_of_strace_has_them_too(program: Path, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    log = tmp_path / "log"
    command = ["strace", "-f", "-v", "-ttt", "-y", "-T", "-o", str(log), str(program), str(tmp_path / "file")]  # fmt: skip
    subprocess.run(command, check=True, timeout=HANG_S)
    trace = open_trace(log)
    assert flags(trace) == APPENDED
    assert places(trace) == [0, 100, 10, 150]


def test_o_direct_is_taken_away_for_the_tail(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "file"
    if subprocess.run([program, written, "direct"], check=False).returncode == 77:
        pytest.skip("no O_DIRECT on this file system")
    written.unlink()
    trace = run_traced([str(program), str(written), "direct"], tmp_path, monkeypatch)
    assert flags(trace) == [0]
    assert len(performed(trace, tmp_path)) == written.stat().st_size == 2 * 4096 + 1908
