"""A node of a cluster that is up: what file systems, measurements and the command line do on it. Providers make nodes.

What not every kind of node can do has a default here, which a kind inherits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")
On = TypeVar("On")
HOSTS_AT_ONCE = 16
NOT_EMPTIED: Final = "not emptied"  # in what is said of page caches, where they could not be
ON_THIS_MACHINE_AT_ONCE = 8  # nodes and guests of this machine share its processors and disks


@dataclass(frozen=True)
class Finished:
    """A command that ended with status 0."""

    stdout: str
    stderr: str
    elapsed_s: float


class Host(Protocol):
    """A node."""

    name: str
    address: str  # on the cluster's own network

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 60.0,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
    ) -> Finished:
        """Run a command to its end.

        Raises:
            RemoteCommandError: it failed or ran out of time.
        """

    def start(self, argv: Sequence[str], *, log: str, env: Mapping[str, str] | None = None) -> None:
        """Start a daemon that lives until the node goes; its output goes into the node's log ``log``."""

    def put(self, source: Path, destination: str) -> None:
        """Copy a file to the node."""

    def get(self, source: str, destination: Path) -> None:
        """Copy a file from the node."""

    def reaching(
        self, argv: Sequence[str], env: Mapping[str, str]
    ) -> tuple[list[str], Mapping[str, str]]:
        """The argv on this machine that runs ``argv`` on the node with ``env`` added, and its whole environment.

        By it a program on the node has this process's standard streams.
        """

    def death_of(self, log: str) -> str | None:
        """The last lines of a daemon that is dead; None while it runs, or where nobody watches it."""
        del log
        return None

    def log_text(self, log: str) -> str:
        """All that a daemon wrote so far; empty when it wrote nothing."""
        del log
        return ""

    def bring(self, program: Path) -> str:
        """Where a program of this machine is on the node; copied there, once, where the node does not see this machine's files."""
        return str(program)


def on_all(
    hosts: Collection[On], action: Callable[[On], T], at_once: int = HOSTS_AT_ONCE
) -> list[T]:
    """Do one thing on all hosts, or on all daemons of hosts, at once.

    After an error, or an interruption, what has not begun is left out; what has begun is waited for.

    Args:
        hosts: the hosts, or what is on them.
        action: called with each, in a thread.
        at_once: threads at most.

    Returns:
        What ``action`` gave, in the order of ``hosts``.

    Raises:
        The first host's error, in the order of ``hosts``.
    """
    if not hosts:
        return []
    with ThreadPoolExecutor(max_workers=min(at_once, len(hosts))) as pool:
        return list(pool.map(action, hosts))


@runtime_checkable
class EndsMarked(Protocol):
    """A node with processes that this machine does not see: what has a mark in its environment can be ended from here."""

    def end_marked(self, name: str, value: str) -> None:
        """End every process with NAME=VALUE in its environment: asked to first, and killed after two seconds.

        Raises:
            RemoteCommandError: some do not end.
        """
