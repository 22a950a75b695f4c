"""A host over ssh: runs commands, copies files, starts and watches daemons. It needs a POSIX shell and small tools.

What belongs to a cluster on a host is below one directory there, its home: ``daemons/LOG`` (a line for each start:
number, start, program), ``log/LOG.log``, ``programs``, ``data``.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.command_host import CommandHost, check_log_name, last_lines
from wavetank.cluster.host import Finished
from wavetank.cluster.processes import END, PATIENT_TRIES
from wavetank.errors import ClusterError, RemoteCommandError
from wavetank.programs import SYSTEM_PATH

# Users' paths lack the directories of system programs; the host's own order comes first.
PATH = f'PATH="$PATH:{SYSTEM_PATH}"'

# What is started on a host has this in its environment, so that all of it is found, however it forked.
# Not the name of nodes of this machine (namespaces.user.MARK): `cluster prune` on a host would end what has no journal there.
MARK = "WAVETANK_HOST"
# And each command, with what it starts: busybox's timeout ends the command alone (GNU's its whole process group).
COMMAND_MARK = "WAVETANK_COMMAND"
ENDED_BY_SIGNAL = (
    124,
    137,
    143,
)  # of timeout(1): GNU's own status, then those of a command that was ended

# $1: home, $2: log, $3: program; the rest: its argv. Notes number and start (field 22 of /proc/PID/stat) on the host.
# Without nohup: Debian's busybox has none.
START = """home=$1 log=$2 program=$3; shift 3
(trap '' HUP; exec setsid "$@") </dev/null >>"$home/log/$log.log" 2>&1 &
start=$(sed 's/.*) //' /proc/$!/stat 2>/dev/null | cut -d' ' -f20)
echo "$! ${start:-0} $program" >>"$home/daemons/$log"
"""

# $1: home. A line for each daemon: log, alive or dead, program; by its last start.
LOOK = """cd -- "$1/daemons" || exit 0
for log in *; do
  [ -f "$log" ] || continue
  state=dead
  while read -r pid start program; do
    case $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d' ' -f1,20) in
      Z*|X*) state=dead ;;
      *" $start") state=alive ;;
      *) state=dead ;;
    esac
  done <"$log"
  printf '%s %s %s\\n' "$log" "$state" "$program"
done
"""


@dataclass(frozen=True)
class Daemon:
    """A daemon on a host, as its last start was."""

    log: str
    alive: bool
    program: str


class SshHost(CommandHost):
    """A host. Every argument is quoted before the remote shell sees it."""

    # ssh needs time to reach the host; the command's own limit is kept there, by timeout(1)
    grace_s = 15.0

    def __init__(self, name: str, address: str, config: Path, home: str, sudo: bool) -> None:
        super().__init__(name, address)
        self.home = home
        self.config = config
        self._ssh = ("ssh", "-F", str(config), name, "--")
        self._sudo = ("sudo", "-n") if sudo else ()
        self._brought: set[Path] = set()
        self._bringing = threading.Lock()

    def _reaching(
        self, argv: Sequence[str], env: Mapping[str, str], timeout_s: float | None
    ) -> list[str]:
        limit = [] if timeout_s is None else ["timeout", "-k", "1", f"{timeout_s:g}"]
        settings = [f"{key}={value}" for key, value in {MARK: self.home, **env}.items()]
        words = [*self._sudo, *limit, "env", *settings, *argv]
        return [*self._ssh, f"{PATH} {shlex.join(words)}"]

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 60.0,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
    ) -> Finished:
        """Run a command to its end; when its time is over, what it started is ended too."""
        mark, began = secrets.token_hex(8), time.monotonic()
        try:
            return super().run(
                argv, timeout_s=timeout_s, env={COMMAND_MARK: mark, **(env or {})}, stdin=stdin
            )
        except RemoteCommandError as error:
            late = time.monotonic() - began >= timeout_s and error.status in ENDED_BY_SIGNAL
            if error.status is not None and not late:
                raise
            with contextlib.suppress(ClusterError):  # the host may not answer any more
                super().run(["sh", "-c", END, "sh", COMMAND_MARK, mark])
            raise self._too_long(argv, timeout_s) from error

    def script(self, text: str, *words: str, timeout_s: float = 60.0) -> str:
        """Run shell text of ours; values only reach it as arguments."""
        return self.run(["sh", "-c", text, "sh", *words], timeout_s=timeout_s).stdout

    def stream(self, text: str, *words: str) -> subprocess.Popen[str]:
        """Start shell text of ours whose output is read as it comes; whoever starts it ends it."""
        return subprocess.Popen(
            self._reaching(["sh", "-c", text, "sh", *words], {}, None), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip

    def start(self, argv: Sequence[str], *, log: str, env: Mapping[str, str] | None = None) -> None:
        """Start a daemon; see the protocol."""
        check_log_name(log)
        settings = [f"{key}={value}" for key, value in (env or {}).items()]
        words = ["env", *settings, *argv] if settings else argv
        self.script(START, self.home, log, argv[0], *words)

    def log_text(self, log: str) -> str:
        """All that a daemon wrote so far; see the protocol."""
        return self.script('cat -- "$1" 2>/dev/null || true', f"{self.home}/log/{log}.log")

    def death_of(self, log: str) -> str | None:
        """The last lines of a daemon that is dead; see the protocol."""
        if any(daemon.log == log and daemon.alive for daemon in self.daemons()):
            return None
        return last_lines(self.log_text(log), 4)

    def daemons(self) -> list[Daemon]:
        """All daemons that were started here."""
        lines = [line.split(" ", 2) for line in self.script(LOOK, self.home).splitlines()]
        return [Daemon(log, state == "alive", program) for log, state, program in lines]

    def dead_daemons(self) -> list[str]:
        """Findings: daemons that died, by their last start under each log."""
        return [
            f"{self.name}: {daemon.program} ({daemon.log}) died: {last_lines(self.log_text(daemon.log), 1)}"
            for daemon in self.daemons()
            if not daemon.alive
        ]

    def end_daemons(self) -> None:
        """End every process that was started here, and what those started."""
        self.run(["sh", "-c", END, "sh", MARK, self.home], env={MARK: "nothing"})

    def end_marked(self, name: str, value: str) -> None:
        """End what has a mark in its environment; see host.EndsMarked."""
        self.run(["sh", "-c", END, "sh", name, value, PATIENT_TRIES])

    def bring(self, program: Path) -> str:
        """Copy a program of ours below the home; see the protocol."""
        there = f"{self.home}/programs/{program.name}"
        with self._bringing:
            if program not in self._brought:
                self.put(program, there)
                self._brought.add(program)
        return there
