"""What a launcher started is ended with it; a launcher that ends by itself is as if nothing stood above it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import until
from wavetank import native
from wavetank.errors import KernelError
from wavetank.kernel.execution.child_process import run_to_end
from wavetank.kernel.execution.guard import guarded

FOR_EVER_S = 1_000_000
# A launcher with two ranks in sessions of their own, of which one has a child; "$0" marks all of them.
STUBBORN = f"""
trap '' TERM
setsid sh -c 'sleep {FOR_EVER_S} & : > "$0/rank"; wait' "$0" &
setsid sleep {FOR_EVER_S} &
: > "$0/launcher"
wait; wait; wait
"""


@pytest.fixture
def grace(monkeypatch):
    """Seconds that a launcher has to end its ranks."""
    if not native.available("bin/wavetank-guard"):
        pytest.skip("wavetank-guard is not built (make setup)")
    monkeypatch.setattr("wavetank.kernel.execution.child_process._GRACE_S", 0.2)
    return 0.2


def marked(folder: Path) -> list[int]:
    """Processes that have ``folder`` in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
        except OSError:
            continue
        if f"MARK={folder}\0".encode() in environment:
            found.append(int(process.name))
    return found


def started(folder: Path) -> bool:
    return (folder / "launcher").exists() and (folder / "rank").exists()


def test_what_a_launcher_does_not_end_is_killed_when_it_is_asked_to_end(tmp_path, grace):
    argv = guarded(["sh", "-c", STUBBORN, str(tmp_path)], grace)
    with subprocess.Popen(argv, env={**os.environ, "MARK": str(tmp_path)}) as guard:
        until(lambda: started(tmp_path), "the ranks")
        assert len(marked(tmp_path)) >= 5
        guard.terminate()
    assert marked(tmp_path) == []
    assert guard.returncode == -signal.SIGKILL


def test_what_a_launcher_does_not_end_is_killed_when_the_tool_is(tmp_path, grace):
    code = (
        "import sys; from wavetank.kernel.execution import child_process; child_process._GRACE_S = 0.2; "
        "child_process.run_to_end(sys.argv[1:], None)"
    )
    argv = [sys.executable, "-c", code, "sh", "-c", STUBBORN, str(tmp_path)]
    with subprocess.Popen(argv, env={**os.environ, "MARK": str(tmp_path)}) as tool:
        until(lambda: started(tmp_path), "the ranks")
        tool.kill()
    until(lambda: not marked(tmp_path), "the end of all that the launcher started")


def test_a_launcher_that_is_killed_takes_its_ranks_with_it(tmp_path, grace):
    script = 'setsid sleep 1000000 & : > "$0/rank"; kill -KILL $$'
    env = {**os.environ, "MARK": str(tmp_path)}
    ended = subprocess.run(
        guarded(["sh", "-c", script, str(tmp_path)], grace), env=env, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert (tmp_path / "rank").exists() and marked(tmp_path) == []


@pytest.mark.parametrize(("script", "status"), [("exit 3", 3), ("kill -SEGV $$", -11), ("", 0)])
def test_the_status_of_a_launcher_is_its_own(grace, script, status):
    assert run_to_end(["sh", "-c", f"echo out; echo err >&2; {script}"], None) == (
        status, "out\n", "err\n",
    )  # fmt: skip


def test_a_launcher_that_ends_its_ranks_when_it_is_asked_to_gives_its_own_status(tmp_path, grace):
    script = 'trap "exit 7" TERM; : > "$0/launcher"; while :; do sleep 0.05; done'
    argv = guarded(["sh", "-c", script, str(tmp_path)], 1e4)
    with subprocess.Popen(argv) as guard:
        until((tmp_path / "launcher").exists, "the launcher")
        guard.terminate()
    assert guard.returncode == 7


def test_what_a_launcher_that_ended_left_on_purpose_stays(tmp_path, grace):
    """A daemon that serves several runs is its user's."""
    script = f'setsid sleep {FOR_EVER_S} >/dev/null 2>&1 & : > "$0/rank"'
    env = {**os.environ, "MARK": str(tmp_path)}
    subprocess.run(guarded(["sh", "-c", script, str(tmp_path)], grace), env=env, check=True)
    (left,) = until(lambda: marked(tmp_path), "what it left")
    os.kill(left, signal.SIGKILL)


def test_a_program_that_is_not_there_is_named(grace):
    with pytest.raises(KernelError, match="no-such-launcher: No such file or directory"):
        run_to_end(["no-such-launcher"], None)
