"""A node out of namespaces, as a host: runs commands in it, copies files, starts and watches daemons."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavetank.cluster.command_host import CommandHost, check_log_name, last_lines
from wavetank.cluster.host import NOT_EMPTIED
from wavetank.cluster.namespaces.cgroups import NodeGroup
from wavetank.cluster.state import daemons, start_ticks
from wavetank.programs import search_path

NODE_ENV = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}
END_TIMEOUT_S = 60.0
_journal_lock = threading.Lock()


class NamespaceHost(CommandHost):
    """A node. ``enter`` is the argv prefix that runs a command in it."""

    def __init__(
        self,
        name: str,
        address: str,
        enter: Sequence[str],
        directory: Path,
        group: NodeGroup | None,
    ) -> None:
        super().__init__(name, address)
        self._enter = tuple(enter)
        self._directory = directory
        self._group = group

    def _reaching(
        self, argv: Sequence[str], env: Mapping[str, str], timeout_s: float | None
    ) -> list[str]:
        del env, timeout_s  # both are kept on this machine
        return [*self._enter, *argv]

    def _environment(self, env: Mapping[str, str]) -> dict[str, str]:
        return {**node_env(), **env}

    def reaching(
        self, argv: Sequence[str], env: Mapping[str, str]
    ) -> tuple[list[str], Mapping[str, str]]:
        """See the protocol; the environment of this process goes along, as its files do."""
        return [*self._enter, *argv], {**os.environ, "PATH": search_path(), **env}

    def start(self, argv: Sequence[str], *, log: str, env: Mapping[str, str] | None = None) -> None:
        """Start a daemon in the foreground of its own session; see the protocol."""
        check_log_name(log)
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
        return last_lines(self.log_text(log), 4)

    def log_text(self, log: str) -> str:
        """All that a daemon wrote so far; see the protocol."""
        return _text(self.log_file(log))

    def log_file(self, log: str) -> Path:
        """Where a daemon's output goes, on this machine."""
        directory = self._directory / "nodes" / self.name / "log"
        directory.mkdir(parents=True, exist_ok=True)
        return directory / f"{log}.log"

    def drop_caches(self) -> str:
        """Empty this node's page cache, and see that it is empty."""
        how = self._group.empty_cache() if self._group is not None else None
        if how is None or self._group is None:
            return drop_all_caches()
        left = self._group.cached_bytes()
        return how if left is None else f"{how}, {left // 1024} KiB of page cache left"


def drop_all_caches() -> str:
    """Drop the caches of this machine, where that is allowed; says so."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError as error:
        return f"caches of this machine {NOT_EMPTIED}: {error.strerror}"
    return "drop_caches of the whole machine"


def node_env() -> dict[str, str]:
    """Environment of every command in a node."""
    return {"PATH": search_path(), **NODE_ENV}


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
            last = last_lines(_text(directory / "nodes" / node / "log" / f"{log}.log"), 1)
            findings.append(f"{node}: {entry['program']} ({log}) died: {last}")
    return findings


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
