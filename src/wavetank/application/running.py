"""A program of the user's that runs: this process's standard streams are its own, signals reach it, nothing of it stays.

Reads nothing; leaves the program's exit status, and no process of it on any node.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from wavetank.cluster.host import EndsMarked, Host, on_all
from wavetank.cluster.processes import end_all, marked
from wavetank.errors import ClusterError

log = logging.getLogger(__name__)

MARK = "WAVETANK_RUN"  # in the environment of everything that a run starts
GRACE_S = 10.0  # between asking a program to end and killing it
_LOOK_S = 0.1
_END_S = 20.0
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_LIBC = ctypes.CDLL(None)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Attributes:
        status: exit status; of one that a signal ended 128 + its number, as shells have it.
        why: whether it ended by itself, was interrupted (by ``interrupt``), or ran out of time.
    """

    status: int
    why: Literal["itself", "interrupted", "time"]
    elapsed_s: float
    interrupt: int | None = None


@dataclass(frozen=True)
class Streams:
    """Files that a program writes to in place of this process's standard streams; it reads nothing then."""

    stdout: Path
    stderr: Path


@dataclass
class _Asked:
    """Signals that this process was sent; the first goes on to the program, the second kills it."""

    process: subprocess.Popen[bytes] | None = None
    came: list[int] = field(default_factory=list)
    kill_at: float | None = None

    def take(self, number: int, _: object) -> None:
        self.came.append(number)
        if self.process is None:
            return
        if len(self.came) > 1:
            kill_group(self.process)
        else:
            self.ask(number if number == signal.SIGINT else signal.SIGTERM)

    def ask(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)
        self.kill_at = time.monotonic() + GRACE_S


def new_mark() -> str:
    """A mark's value, of one run only."""
    return secrets.token_hex(8)


def run(
    argv: Sequence[str],
    env: Mapping[str, str],
    mark: str,
    hosts: Sequence[Host],
    timeout_s: float | None = None,
    streams: Streams | None = None,
) -> Ended:
    """Run to the end, with this process's standard streams or others. Whatever ends it, nothing of it stays on any node.

    Args:
        argv: on this machine: the launcher, or what reaches the node.
        env: whole environment of that.
        mark: its value; ranks must have it in their environment (MARK).
        hosts: that ranks run on.
        timeout_s: seconds after which it is ended; None: never.
        streams: of the program; None: this process's own.

    Raises:
        ClusterError: it cannot be started, or something of it does not end.
    """
    began = time.monotonic()
    ends = None if timeout_s is None else began + timeout_s
    late = False
    with _handled() as asked, _opened(streams) as (stdin, stdout, stderr):
        try:
            process = subprocess.Popen(
                argv, cwd="/", env={**env, MARK: mark}, start_new_session=True,
                stdin=stdin, stdout=stdout, stderr=stderr,
                preexec_fn=_end_with_us,  # noqa: PLW1509 - one system call, which takes no lock
            )  # fmt: skip
        except OSError as error:
            raise ClusterError(f"cannot start {argv[0]}: {error.strerror}") from error
        asked.process = process
        if asked.came:
            asked.ask(signal.SIGTERM)
        try:
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_S)
                now = time.monotonic()
                if ends is not None and now >= ends and not late and not asked.came:
                    late = True
                    asked.ask(signal.SIGTERM)
                if asked.kill_at is not None and now >= asked.kill_at:
                    kill_group(process)
        finally:
            kill_group(process)
            process.wait()
            end_strays(mark, hosts)
    code = process.returncode
    interrupt = asked.came[0] if asked.came else None
    return Ended(
        status=code if code >= 0 else 128 - code,
        why="interrupted" if asked.came else "time" if late else "itself",
        elapsed_s=time.monotonic() - began,
        interrupt=interrupt,
    )


_OpenStream = IO[bytes] | int | None


@contextlib.contextmanager
def _opened(
    streams: Streams | None,
) -> Iterator[tuple[_OpenStream, _OpenStream, _OpenStream]]:
    """Standard input, output and error of a program; None: as this process has it."""
    if streams is None:
        yield None, None, None
        return
    with streams.stdout.open("wb") as stdout, streams.stderr.open("wb") as stderr:
        yield subprocess.DEVNULL, stdout, stderr


def _end_with_us() -> None:
    """A launcher that is asked to end, when this process is killed, ends its ranks."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def _handled() -> Iterator[_Asked]:
    asked = _Asked()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    # What is ignored stays so, for the program too: a shell ignores Ctrl-C for what runs in its background.
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, asked.take) for number in heard}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and what it started in its own process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def end_strays(mark: str, hosts: Sequence[Host]) -> None:
    """End what has the mark, here and on nodes that are other machines; nodes of this machine are seen from here.

    Raises:
        ClusterError: something does not end.
    """
    if left := end_all(lambda: marked(f"{MARK}={mark}"), _END_S):
        raise ClusterError(
            f"processes {left} do not end; they may wait for a file server that is gone. Take the cluster down"
        )

    def end(host: Host) -> None:
        if isinstance(host, EndsMarked):
            host.end_marked(MARK, mark)

    on_all(hosts, end)
