"""The agent in guests, and how commands reach it: here on this machine's own loopback device."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from waiting import HANG_S, until
from wavetank import native
from wavetank.cluster.state import start_ticks

pytestmark = [
    pytest.mark.skipif(
        not native.available("bin/wavetank-node"), reason="wavetank-node is not built"
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="entering a network takes root"),
]
AGENT_LOOPBACK = "127.0.0.1"


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[list[str]]:
    """The words before a command that runs it by an agent."""
    program = str(native.find("bin/wavetank-node", "test it"))
    with socket.socket() as free:
        free.bind((AGENT_LOOPBACK, 0))
        address = f"{AGENT_LOOPBACK}:{free.getsockname()[1]}"
    ready = tmp_path / "ready"
    agent = subprocess.Popen([program, "agent", address, AGENT_LOOPBACK, str(ready)])
    until(ready.exists, "the agent")
    (tmp_path / "map").write_text(f"c1 {os.getpid()} {start_ticks(os.getpid())} guest:{address} \n")
    yield [program, "run", str(tmp_path / "map"), "c1"]
    agent.kill()
    agent.wait(HANG_S)


def run(
    argv: list[str], text: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv, input=text, env=env, capture_output=True, check=False, timeout=HANG_S
    )


def is_gone(seconds: str) -> bool:
    found = subprocess.run(["pgrep", "-f", f"^sleep {seconds}$"], capture_output=True, check=False)
    return found.stdout == b""


def test_words_environment_input_outputs_and_status_are_passed_on(guest: list[str]) -> None:
    nasty = "a b;'\"$(x)\n"
    script = 'printf "%s|%s|%s|" "$1" "$V" "$PWD"; cat; echo err >&2; exit 3'
    done = run([*guest, "sh", "-c", script, "sh", nasty], b"in", {**os.environ, "V": nasty})
    assert done.stdout.decode() == f"{nasty}|{nasty}|{Path.cwd()}|in"
    assert (done.stderr, done.returncode) == (b"err\n", 3)


def test_more_than_all_buffers_hold_goes_both_ways(guest: list[str]) -> None:
    content = os.urandom(5_000_001)
    assert run([*guest, "cat"], content).stdout == content
    assert run([*guest, "head", "-c", "10"], content).stdout == content[:10]


def test_a_missing_program_and_an_end_by_a_signal_have_a_shells_status(guest: list[str]) -> None:
    done = run([*guest, "no-such-program"])
    assert (done.returncode, b"no-such-program: " in done.stderr) == (127, True)
    assert run([*guest, "sh", "-c", "kill -9 $$"]).returncode == 128 + signal.SIGKILL


def test_signals_reach_the_command(guest: list[str]) -> None:
    script = 'trap "echo caught; exit 5" TERM; echo waits; while :; do sleep 0.1; done'
    process = subprocess.Popen([*guest, "sh", "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"waits\n"
    process.terminate()
    assert process.stdout.read() == b"caught\n"
    assert process.wait(HANG_S) == 5


def test_a_command_ends_with_whoever_runs_it(guest: list[str]) -> None:
    seconds = f"87{os.getpid()}"
    process = subprocess.Popen([*guest, "sh", "-c", f"sleep {seconds}; true"])
    until(lambda: not is_gone(seconds))
    process.kill()
    process.wait(HANG_S)
    until(lambda: is_gone(seconds), "the end of the command")


def test_what_a_command_leaves_running_does_not_hold_it_up(guest: list[str]) -> None:
    seconds = f"88{os.getpid()}"
    done = run([*guest, "sh", "-c", f"sleep {seconds} & echo started"])
    assert (done.stdout, done.returncode) == (b"started\n", 0)
    subprocess.run(["pkill", "-f", f"^sleep {seconds}$"], check=True)


def test_another_machine_may_not_call(guest: list[str], tmp_path: Path) -> None:
    other = tmp_path / "other"
    program, address = guest[0], "127.0.0.1:"
    with socket.socket() as free:
        free.bind((AGENT_LOOPBACK, 0))
        address += str(free.getsockname()[1])
    agent = subprocess.Popen([program, "agent", address, "10.99.99.99", str(tmp_path / "ready-2")])
    try:
        until((tmp_path / "ready-2").exists)
        other.write_text(f"c1 {os.getpid()} {start_ticks(os.getpid())} guest:{address} \n")
        done = run([program, "run", str(other), "c1", "true"])
        assert done.returncode == 125
        assert b"guest c1 does not answer" in done.stderr
    finally:
        agent.kill()
        agent.wait(HANG_S)


def test_a_guest_that_is_gone_is_said(guest: list[str], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.write_text(f"c1 {os.getpid()} {start_ticks(os.getpid())} guest:{AGENT_LOOPBACK}:1 \n")
    done = run([guest[0], "run", str(gone), "c1", "true"])
    assert done.returncode == 125
    assert b"guest c1 does not answer: Connection refused" in done.stderr
