"""A program that runs: its status, its time limit, and that nothing of it stays."""

from __future__ import annotations

import os
import sys

import pytest

from wavetank.application import running
from wavetank.application.running import MARK, new_mark, run
from wavetank.cluster.processes import marked
from wavetank.errors import ClusterError

# Starts a process in a session of its own, which no group kill reaches, and ends or waits.
STRAY = """
import subprocess, sys
subprocess.Popen(["sleep", "1000"], start_new_session=True, stdout=subprocess.DEVNULL)
exec(sys.argv[1])
"""


def strays(mark: str) -> set[int]:
    return marked(f"{MARK}={mark}")


@pytest.mark.parametrize(("code", "status"), [("sys.exit(3)", 3), ("import os; os.abort()", 134)])
def test_the_status_is_the_program_s_and_what_it_left_running_is_ended(
    code: str, status: int
) -> None:
    mark = new_mark()
    ended = run([sys.executable, "-c", STRAY, code], os.environ, mark, [])
    assert (ended.status, ended.why) == (status, "itself")
    assert strays(mark) == set()


def test_a_program_past_its_time_is_ended_also_when_it_ignores_being_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "GRACE_S", 0.1)
    mark = new_mark()
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(100000)"
    ended = run([sys.executable, "-c", STRAY, code], os.environ, mark, [], timeout_s=1)
    assert ended.why == "time"
    assert strays(mark) == set()


def test_a_program_that_cannot_be_started_is_said() -> None:
    with pytest.raises(ClusterError, match="cannot start /no/such"):
        run(["/no/such"], os.environ, new_mark(), [])
