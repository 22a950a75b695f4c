"""Where the trace's disk fills, what is missing is counted, and every later stage says so."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tracer_run import compile_c, need

from commands_here import COMMANDS, run_here
from waiting import HANG_S
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import Model
from wavetank.notes import texts
from wavetank.trace import capture
from wavetank.trace.index import INDEX_NAME, TraceIndex
from wavetank.trace.program_run import Interrupts
from wavetank.trace.reader import read_trace

WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]
N = 400_000  # writes; some 2.2 MB of trace
ALL = N + 2  # with open and close


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder whose size is set by a mount, and the program beside it."""
    need("libwavetank-trace-openmpi.so", "gcc", "mount")
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk of a given size")
    compile_c("random_writes.c", tmp_path / "random_writes")
    folder = tmp_path / "disk"
    folder.mkdir()
    yield folder
    subprocess.run(["umount", str(folder)], check=False)


def mount(folder: Path, kib: int) -> None:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(folder)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs: {done.stderr.strip()}")


def run(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    if words[0] in COMMANDS:
        return run_here(where, *words)
    return subprocess.run(
        [*WAVETANK, *words], cwd=where, capture_output=True, text=True, timeout=HANG_S, check=False
    )


@pytest.mark.parametrize("kib", [1300, 4000], ids=["no room for a tail", "room for a tail"])
def test_operations_that_are_missing_are_counted_and_said_everywhere(
    disk: Path, tmp_path: Path, kib: int
) -> None:
    mount(disk, kib)
    trace = str(disk / "t")
    done = run(tmp_path, "trace", "-o", trace, "--times", "event", "--", "./random_writes", str(N))
    assert done.returncode == 1
    recorded = read_trace(disk / "t")
    held = int(recorded.folds.count.sum())
    assert 0 < held < ALL
    missing = (
        "the trace of rank(s) 0 could not be written to its end (No space left on device): "
        f"{ALL - held:,} operation(s) after that are missing"
    )
    assert texts(recorded.notes, "lost") == (f"the trace is PARTIAL: {missing}",)
    assert missing in done.stderr
    assert f"PARTIAL trace of 1 rank(s), 1 file(s), {held:,} operations" in done.stderr
    assert "killed" not in done.stderr

    for command in (["model", trace], ["try", trace]):
        refused = run(tmp_path, *command)
        assert refused.returncode == 1
        assert f"the trace is PARTIAL: {missing}" in refused.stderr

    done = run(tmp_path, "model", trace, "--allow-damaged", "-o", "m.json")
    assert done.returncode == 0, done.stderr
    assert f"the trace is PARTIAL: {missing}" in done.stderr
    assert texts(Model.read(tmp_path / "m.json").notes, "lost") == (
        f"the trace is PARTIAL: {missing}",
    )
    done = run(tmp_path, "kernel", "m.json", "-o", "k.json")
    assert done.returncode == 0, done.stderr
    assert f"the trace is PARTIAL: {missing}" in done.stdout
    assert f"the trace is PARTIAL: {missing}" in texts(Kernel.read(tmp_path / "k.json").notes)


def test_a_disk_that_others_fill_has_room_for_the_index(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They fill it after the last part was written, and before the index is."""
    mount(disk, 2000)
    monkeypatch.chdir(tmp_path)
    run_to_its_end = capture.run_to_its_end

    def filled(argv: Sequence[str], env: dict[str, str], interrupts: Interrupts) -> int:
        status = run_to_its_end(argv, env, interrupts)
        others = os.open(disk / "others", os.O_CREAT | os.O_WRONLY)
        with contextlib.suppress(OSError):
            while os.write(others, bytes(512)):
                pass
        os.close(others)
        return status

    monkeypatch.setattr(capture, "run_to_its_end", filled)
    captured = capture.trace([str(tmp_path / "random_writes"), "1"], disk / "t")
    assert captured.n_operations == 3
    assert TraceIndex.read(disk / "t" / INDEX_NAME) == captured.index
    kinds = {path.name.partition("-")[0] for path in (disk / "t").iterdir()}
    assert kinds == {INDEX_NAME, "part"}


def test_names_that_do_not_fit_any_more_end_the_trace_and_not_the_program(
    disk: Path, tmp_path: Path
) -> None:
    """The buffer of names is written when it is full, from where a record of the stop is put into it."""
    mount(disk, 1100)
    n_files = 20_000  # of 100 bytes and more each
    done = run(tmp_path, "trace", "-o", str(disk / "t"), "--", "./random_writes", "1", str(n_files))
    assert done.returncode == 1, done.stderr
    (lost,) = texts(read_trace(disk / "t").notes, "lost")
    held = int(read_trace(disk / "t").folds.count.sum())
    assert f"{3 + 4 * n_files - held:,} operation(s) after that are missing" in lost


def test_a_killed_program_whose_last_operations_had_no_room_is_no_whole_trace(
    disk: Path, tmp_path: Path
) -> None:
    mount(disk, 1300)
    done = run(
        tmp_path,
        "trace",
        "-o",
        str(disk / "t"),
        "--",
        "sh",
        "-c",
        "exec 5>out; echo word >&5; kill -9 $$",
    )
    assert done.returncode == 128 + signal.SIGKILL
    assert any(
        "had no room to keep their last operations" in s
        for s in texts(read_trace(disk / "t").notes, "lost")
    )
