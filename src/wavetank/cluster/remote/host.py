"""A host over ssh: runs commands, copies files, starts and watches daemons. It needs a shell and POSIX tools."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from wavetank.cluster.host import Finished
from wavetank.cluster.state import daemons
from wavetank.errors import ProviderError, RemoteCommandError

# ssh's own failure; then the command was not run, or its end is not known
SSH_FAILED = 255
# env and timeout (coreutils): ends the command and what it started when its time is over
TIMED_OUT = 124
GRACE_S = 15.0
_journal_lock = threading.Lock()

# $1: log; the rest: the daemon. Prints its number and start (field 22 of /proc/PID/stat; "sh" holds no blank).
START = """log=$1; shift; nohup setsid "$@" </dev/null >>"$log" 2>&1 & echo $! $(cut -d' ' -f22 /proc/$!/stat)"""
# pairs of number and start: prints those that run; ends them when $1 is "end"
LOOK = """what=$1; shift; while [ $# -gt 0 ]; do
if [ "$(sed 's/.*) //' /proc/$1/stat 2>/dev/null | cut -d' ' -f1 | tr -d ZX)" ] &&
   [ "$(sed 's/.*) //' /proc/$1/stat 2>/dev/null | cut -d' ' -f20)" = "$2" ]; then
  if [ "$what" = end ]; then kill -KILL -- -$1 2>/dev/null || kill -KILL $1; else echo $1; fi
fi; shift 2; done"""


class SshHost:
    """A host. Every argument is quoted before the remote shell sees it."""

    def __init__(self, name: str, address: str, config: Path, directory: Path, sudo: bool) -> None:
        self.name = name
        self.address = address
        self._ssh = ("ssh", "-F", str(config), name, "--")
        self._directory = directory
        self._sudo = ("sudo", "-n") if sudo else ()

    def _command(self, argv: Sequence[str], env: Mapping[str, str] | None) -> list[str]:
        words = [
            *self._sudo,
            "env",
            *(f"{key}={value}" for key, value in (env or {}).items()),
            *argv,
        ]
        return [*self._ssh, shlex.join(words)]

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
            self._command(["timeout", "-k", "1", f"{timeout_s:g}", *argv], env), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(stdin, timeout=timeout_s + GRACE_S)
        except subprocess.TimeoutExpired:
            _end(process)
            raise RemoteCommandError(
                self.name, argv, None, f"no end within {timeout_s:g} s"
            ) from None
        except BaseException:
            _end(process)
            raise
        if process.returncode == TIMED_OUT:
            raise RemoteCommandError(self.name, argv, None, f"no end within {timeout_s:g} s")
        if process.returncode != 0:
            raise RemoteCommandError(self.name, argv, process.returncode, err or out)
        return Finished(out, err, time.monotonic() - began)

    def start(self, argv: Sequence[str], *, log: str, env: Mapping[str, str] | None = None) -> None:
        """Start a daemon; see the protocol."""
        if re.fullmatch(r"[A-Za-z0-9._-]+", log) is None:
            raise ProviderError(
                f"{log!r} is no name of a log: use letters, digits, '.', '_' and '-'"
            )
        settings = [f"{key}={value}" for key, value in (env or {}).items()]
        out = self.run(
            ["sh", "-c", START, "sh", self._log_path(log), "env", *settings, *argv]
        ).stdout
        pid, start = (int(word) for word in out.split())
        entry = {"node": self.name, "log": log, "program": argv[0], "pid": pid, "start": start}
        with _journal_lock, (self._directory / "daemons.jsonl").open("a") as journal:
            journal.write(json.dumps(entry) + "\n")

    def _log_path(self, log: str) -> str:
        return f"/tmp/wavetank-{self._directory.name}-{self.name}-{log}.log"  # noqa: S108

    def log_text(self, log: str) -> str:
        """All that a daemon wrote so far; see the protocol."""
        return self.run(
            ["sh", "-c", 'cat -- "$1" 2>/dev/null || true', "sh", self._log_path(log)]
        ).stdout

    def death_of(self, log: str) -> str | None:
        """The last lines of a daemon that is dead; see the protocol."""
        known = [
            entry
            for entry in daemons(self._directory)
            if entry["node"] == self.name and entry["log"] == log
        ]
        if known and str(known[-1]["pid"]) in self.look("show", known[-1:]):
            return None
        return "\n".join(self.log_text(log).strip().splitlines()[-4:]) or "it wrote nothing"

    def look(self, what: str, entries: Sequence[Mapping[str, Any]]) -> list[str]:
        """Numbers of the daemons that run ("show"), or end them ("end")."""
        pairs = [str(word) for entry in entries for word in (entry["pid"], entry["start"])]
        return self.run(["sh", "-c", LOOK, "sh", what, *pairs]).stdout.split()

    def put(self, source: Path, destination: str) -> None:
        """Copy a file to the host; see the protocol."""
        with source.open("rb") as stream:
            self._copy(
                ["dd", f"of={destination}", "bs=1M", "status=none"], stream, subprocess.DEVNULL
            )
        if os.access(source, os.X_OK):
            self.run(["chmod", "+x", "--", destination])

    def get(self, source: str, destination: Path) -> None:
        """Copy a file from the host; see the protocol."""
        with destination.open("wb") as stream:
            self._copy(["cat", "--", source], subprocess.DEVNULL, stream)

    def _copy(self, argv: list[str], stdin: IO[bytes] | int, stdout: IO[bytes] | int) -> None:
        done = subprocess.run(
            self._command(argv, None),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode != 0:
            raise RemoteCommandError(
                self.name, argv, done.returncode, done.stderr.decode(errors="replace")
            )


def alive_daemons(host: SshHost, directory: Path) -> list[str]:
    """Findings: daemons of this host that died, by their last start under each log."""
    latest = {entry["log"]: entry for entry in daemons(directory) if entry["node"] == host.name}
    running = host.look("show", list(latest.values()))
    return [
        f"{host.name}: {entry['program']} ({log}) died: {host.death_of(log)}"
        for log, entry in latest.items()
        if str(entry["pid"]) not in running
    ]


def end_daemons(host: SshHost, directory: Path) -> None:
    """End what was started on this host (verified by its start), and delete its logs."""
    entries = [entry for entry in daemons(directory) if entry["node"] == host.name]
    if entries:
        host.look("end", entries)
        host.run(["rm", "-f", "--", *{host._log_path(entry["log"]) for entry in entries}])


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
