"""Running commands on a node and copying files, for every way to reach one: a wrapped argv, started on this machine."""

from __future__ import annotations

import abc
import contextlib
import logging
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from wavetank.cluster.host import Finished, Host
from wavetank.errors import ProviderError, RemoteCommandError

log = logging.getLogger(__name__)

END_TIMEOUT_S = 5.0
COPY_TIMEOUT_S = 3600.0
# timeout (coreutils) ends with this status when a command ran out of time
TIMED_OUT = 124


class CommandHost(Host, abc.ABC):
    """A node whose commands are programs of this machine that reach it (wavetank-node, ssh)."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address

    @abc.abstractmethod
    def _reaching(
        self, argv: Sequence[str], env: Mapping[str, str], timeout_s: float | None
    ) -> list[str]:
        """The argv on this machine that runs ``argv`` on the node."""

    def _environment(self, env: Mapping[str, str]) -> dict[str, str] | None:
        """Environment of that argv; None for this process's own."""
        del env
        return None

    def reaching(
        self, argv: Sequence[str], env: Mapping[str, str]
    ) -> tuple[list[str], Mapping[str, str]]:
        """The argv on this machine, and its environment: this process's."""
        return self._reaching(argv, env, None), dict(os.environ)

    # How long past a command's own time limit its end may take to arrive here.
    grace_s = 0.0

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 60.0,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
    ) -> Finished:
        """Run a command to its end; see the protocol."""
        began = time.monotonic()
        process = subprocess.Popen(
            self._reaching(argv, env or {}, timeout_s), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", env=self._environment(env or {}),
            start_new_session=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(stdin, timeout=timeout_s + self.grace_s)
        except subprocess.TimeoutExpired:
            end(process)
            raise self._too_long(argv, timeout_s) from None
        except BaseException:
            end(process)
            raise
        if process.returncode == TIMED_OUT and self.grace_s > 0:
            raise self._too_long(argv, timeout_s)
        if process.returncode != 0:
            raise RemoteCommandError(self.name, argv, process.returncode, err or out)
        return Finished(out, err, time.monotonic() - began)

    def _too_long(self, argv: Sequence[str], timeout_s: float) -> RemoteCommandError:
        return RemoteCommandError(self.name, argv, None, f"no end within {timeout_s:g} s")

    def put(self, source: Path, destination: str) -> None:
        """Copy a file to the node; see the protocol."""
        with source.open("rb") as stream:
            self._copy(
                ["dd", f"of={destination}", "bs=1M", "status=none"], stream, subprocess.DEVNULL
            )
        if os.access(source, os.X_OK):
            self.run(["chmod", "+x", "--", destination])

    def get(self, source: str, destination: Path) -> None:
        """Copy a file from the node; see the protocol."""
        with destination.open("wb") as stream:
            self._copy(["cat", "--", source], subprocess.DEVNULL, stream)

    def _copy(self, argv: list[str], stdin: IO[bytes] | int, stdout: IO[bytes] | int) -> None:
        try:
            done = subprocess.run(
                self._reaching(argv, {}, None), stdin=stdin, stdout=stdout, stderr=subprocess.PIPE,
                env=self._environment({}), check=False, start_new_session=True, timeout=COPY_TIMEOUT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise self._too_long(argv, COPY_TIMEOUT_S) from None
        if done.returncode != 0:
            raise RemoteCommandError(
                self.name, argv, done.returncode, done.stderr.decode(errors="replace")
            )


def check_log_name(name: str) -> None:
    """A daemon's log becomes part of a path.

    Raises:
        ProviderError: it holds something else than letters, digits, '.', '_' and '-'.
    """
    if re.fullmatch(r"[A-Za-z0-9._-]+", name) is None or name.startswith("."):
        raise ProviderError(
            f"{name!r} is no name of a log: use letters, digits, '.', '_' and '-', no '.' first"
        )


def last_lines(text: str, n: int) -> str:
    """What a daemon wrote last."""
    return "\n".join(text.strip().splitlines()[-n:]) or "it wrote nothing"


def end_read(process: subprocess.Popen[str], timeout_s: float = END_TIMEOUT_S) -> None:
    """End a program and all of its session while another thread reads what it says; that thread closes the stream.

    Raises:
        subprocess.TimeoutExpired: it does not end.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout_s)


def end(process: subprocess.Popen[str]) -> None:
    """End a program and all of its session, and wait for it a while.

    One that waits for a file server that is gone does not even die of SIGKILL (state D); nobody waits for it then.
    It goes with its node.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.communicate(timeout=END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        log.warning("process %d does not end; it waits for a file server that is gone", process.pid)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
