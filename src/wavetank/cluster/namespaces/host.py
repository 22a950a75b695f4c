"""A node out of namespaces, as a host: runs commands in it, copies files, starts and watches daemons."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavetank.cluster.host import Finished
from wavetank.cluster.namespaces.cgroups import NodeGroup
from wavetank.cluster.state import daemons, start_ticks
from wavetank.errors import ProviderError, RemoteCommandError
from wavetank.programs import search_path

NODE_ENV = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}
END_TIMEOUT_S = 10.0
_journal_lock = threading.Lock()


class NamespaceHost:
    """A node. ``enter`` is the argv prefix that runs a command in it."""

    def __init__(
        self,
        name: str,
        address: str,
        enter: Sequence[str],
        directory: Path,
        group: NodeGroup | None,
    ) -> None:
        self.name = name
        self.address = address
        self._enter = tuple(enter)
        self._directory = directory
        self._group = group

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
            [*self._enter, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", env={**node_env(), **(env or {})}, start_new_session=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            raise RemoteCommandError(
                self.name, argv, None, f"no end within {timeout_s:g} s"
            ) from None
        except BaseException:
            _end(process)
            raise
        if process.returncode != 0:
            raise RemoteCommandError(self.name, argv, process.returncode, err or out)
        return Finished(out, err, time.monotonic() - began)

    def start(self, argv: Sequence[str], *, log: str, env: Mapping[str, str] | None = None) -> None:
        """Start a daemon in the foreground of its own session; see the protocol."""
        if re.fullmatch(r"[A-Za-z0-9._-]+", log) is None:
            raise ProviderError(
                f"{log!r} is no name of a log: use letters, digits, '.', '_' and '-'"
            )
        with self.log_file(log).open("ab") as output:
            process = subprocess.Popen(  # outlives this process: ended and reaped by end_daemons
                [*self._enter, *argv], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**node_env(), **(env or {})}, start_new_session=True,
            )  # fmt: skip
        entry = {
            "node": self.name,
            "log": log,
            "program": argv[0],
            "pid": process.pid,
            "start": start_ticks(process.pid) or 0,
        }
        process.returncode = 0  # it is no child that Python should wait for or warn about
        with _journal_lock, (self._directory / "daemons.jsonl").open("a") as journal:
            journal.write(json.dumps(entry) + "\n")

    def death_of(self, log: str) -> str | None:
        """The last lines of a daemon that is dead; see the protocol."""
        for entry in daemons(self._directory):
            if (
                entry["node"] == self.name
                and entry["log"] == log
                and start_ticks(entry["pid"]) == entry["start"]
            ):
                return None
        return _last_lines(self.log_file(log), 4)

    def log_text(self, log: str) -> str:
        """All that a daemon wrote so far; see the protocol."""
        file = self.log_file(log)
        return file.read_text(errors="replace") if file.exists() else ""

    def log_file(self, log: str) -> Path:
        """Where a daemon's output goes, on this machine."""
        directory = self._directory / "nodes" / self.name / "log"
        directory.mkdir(parents=True, exist_ok=True)
        return directory / f"{log}.log"

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

    def _copy(self, argv: list[str], stdin: object, stdout: object) -> None:
        done = subprocess.run(
            [*self._enter, *argv], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=node_env(), check=False,  # type: ignore[call-overload]
            start_new_session=True,
        )  # fmt: skip
        if done.returncode != 0:
            raise RemoteCommandError(
                self.name, argv, done.returncode, done.stderr.decode(errors="replace")
            )

    def drop_caches(self) -> str:
        """Empty this node's page cache, and see that it is empty."""
        how = self._group.empty_cache() if self._group is not None else None
        if how is None or self._group is None:
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3")
            return "drop_caches of the whole machine"
        left = self._group.cached_bytes()
        return how if left is None else f"{how}, {left // 1024} KiB of page cache left"


def node_env() -> dict[str, str]:
    """Environment of every command in a node."""
    return {"PATH": search_path(), **NODE_ENV}


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def end_daemons(directory: Path) -> None:
    """End the daemons that still run (verified by their start), and reap those that were started by this process."""
    for entry in daemons(directory):
        if start_ticks(entry["pid"]) == entry["start"]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(entry["pid"], signal.SIGKILL)  # each leads a session of its own
    deadline = time.monotonic() + END_TIMEOUT_S
    for entry in daemons(directory):
        while start_ticks(entry["pid"]) == entry["start"] and time.monotonic() < deadline:
            time.sleep(0.005)
        if start_ticks(entry["pid"]) is None:  # dead; a later process of the same number is not
            with contextlib.suppress(ChildProcessError):
                os.waitpid(entry["pid"], os.WNOHANG)


def dead_daemons(directory: Path) -> list[str]:
    """Daemons that were started on any node and do not run any more, with the last line they wrote.

    A daemon that was started again under the same log (a mount that was made again) counts by its last start.
    """
    latest = {(entry["node"], entry["log"]): entry for entry in daemons(directory)}
    findings = []
    for (node, log), entry in latest.items():
        if start_ticks(entry["pid"]) != entry["start"]:
            last = _last_lines(directory / "nodes" / node / "log" / f"{log}.log", 1)
            findings.append(f"{node}: {entry['program']} ({log}) died: {last}")
    return findings


def _last_lines(file: Path, n: int) -> str:
    try:
        lines = file.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return "\n".join(lines[-n:]) or "it wrote nothing"
