"""What the rest of wavetank knows of a cluster that is up: hosts, a mount, and optional abilities.

Providers make these; file systems, measurements and the command line use them. Optional abilities
are small protocols of their own (``isinstance`` asks for them).
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
class WatchesDaemons(Protocol):
    """A node that knows whether a daemon it started still runs."""

    def death_of(self, log: str) -> str | None:
        """The last lines of a daemon that is dead; None while it runs."""

    def log_text(self, log: str) -> str:
        """All that a daemon wrote so far; empty when it wrote nothing."""


@runtime_checkable
class BringsPrograms(Protocol):
    """A node that does not see this machine's files: programs of ours are copied to it."""

    def bring(self, program: Path) -> str:
        """Copy a program there, once; says where it is."""


@runtime_checkable
class RunsPrograms(Protocol):
    """A node in which a program can have this process's standard streams."""

    def reaching(
        self, argv: Sequence[str], env: Mapping[str, str]
    ) -> tuple[list[str], Mapping[str, str]]:
        """The argv on this machine that runs ``argv`` on the node with ``env`` added, and its whole environment."""


@runtime_checkable
class EndsMarked(Protocol):
    """A node with processes that this machine does not see: what has a mark in its environment can be ended from here."""

    def end_marked(self, name: str, value: str) -> None:
        """End every process with NAME=VALUE in its environment: asked to first, and killed after two seconds.

        Raises:
            RemoteCommandError: some do not end.
        """


@runtime_checkable
class PassesThrough(Protocol):
    """Nodes that may be guests which see what is mounted around them, or have disks there; else nothing is done."""

    @property
    def outside(self) -> Mapping[str, Host]:
        """By node: the host around it, which mounts in its place; empty where nodes mount themselves."""

    def show(self, path: str) -> None:
        """Have guests see what is mounted around them, or mount their disks that are files there.

        Raises:
            RemoteCommandError: one does not.
        """

    def hide(self, path: str) -> None:
        """Have them see it no more.

        Raises:
            RemoteCommandError: one still does.
        """

    def see(self, path: str) -> None:
        """See that they see it.

        Raises:
            RemoteCommandError: one does not.
        """


@runtime_checkable
class SharesMachine(Protocol):
    """Nodes, or a cluster, that may be on this machine: what they do there is told from what others do."""

    @property
    def on_this_machine(self) -> bool:
        """Whether they are."""

    def nodes_cpu_s(self) -> float | None:
        """Processor time of this machine that all of them used so far, seconds; None where it is not counted."""


@runtime_checkable
class MarksPrograms(Protocol):
    """Nodes whose programs are found by their environment when the cluster goes down."""

    @property
    def mark(self) -> Mapping[str, str]:
        """What every program of this cluster must have in its environment."""


@runtime_checkable
class NamesLauncher(Protocol):
    """Nodes whose launcher runs on a host that they do not know by its name."""

    @property
    def launcher_address(self) -> str | None:
        """Where nodes reach it; None: by its name after all."""


@runtime_checkable
class LooksAgain(Protocol):
    """Nodes that see this machine's files as they were when they looked first."""

    def look_again(self) -> None:
        """Have them see the files as they are now."""


@runtime_checkable
class HasScratch(Protocol):
    """A cluster whose compute nodes may have temporary storage of their own."""

    @property
    def scratch_path(self) -> str | None:
        """Where each compute node has it mounted; None without."""


@runtime_checkable
class HasLocalStorage(Protocol):
    """A cluster with local file systems under its global one, which can be measured on their own."""

    @property
    def storage_hosts(self) -> tuple[Host, ...]:
        """The nodes that hold data: data servers, or the compute nodes when there are none."""

    @property
    def storage_path(self) -> str:
        """Where each of them has its local file system mounted."""


@runtime_checkable
class HasDevices(HasLocalStorage, Protocol):
    """One whose nodes may have several devices, with a local file system each."""

    @property
    def storage_paths(self) -> tuple[str, ...]:
        """Where each device of a node is mounted; the first is ``storage_path``."""


@runtime_checkable
class SetsEnvironment(Protocol):
    """A cluster whose specification says how ranks do their MPI-IO, and how many there are on a node."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Of every rank."""

    @property
    def mapping(self) -> str:
        """The process mapping when none is named: "1PxCN", ..."""


@runtime_checkable
class SharesFiles(Protocol):
    """A cluster that knows whether all of its compute nodes see the same files."""

    @property
    def is_global(self) -> bool:
        """Whether they do."""


@runtime_checkable
class LosesNodes(Protocol):
    """A cluster, or its nodes, of which some may end by themselves: instances that a cloud takes back."""

    def lost(self) -> list[str]:
        """Findings: nodes that are gone and do not come back; empty where that cannot be asked."""


def lost_nodes(cluster: object) -> list[str]:
    """Findings: nodes of a cluster that are gone and do not come back."""
    return cluster.lost() if isinstance(cluster, LosesNodes) else []


class RunningCluster(Protocol):
    """A cluster that is up, with its file system mounted."""

    @property
    def name(self) -> str:
        """The cluster's name."""

    @property
    def spec_sha256(self) -> str:
        """Hash of its specification."""

    @property
    def instance_type(self) -> str:
        """Of the compute nodes."""

    @property
    def n_instances(self) -> int:
        """All of them: compute, I/O and head nodes."""

    @property
    def compute_hosts(self) -> tuple[Host, ...]:
        """The nodes that run ranks."""

    @property
    def io_hosts(self) -> tuple[Host, ...]:
        """The nodes with data servers; empty when there are none."""

    @property
    def mount_path(self) -> str:
        """Of the global file system, the same on every compute host."""

    @property
    def remote_shell(self) -> tuple[str, ...]:
        """For MPI launchers, see job.Placement."""

    @property
    def launcher_prefix(self) -> tuple[str, ...]:
        """For MPI launchers, see job.Placement."""

    @property
    def network(self) -> str | None:
        """The cluster's own network, CIDR."""

    def settings(self) -> dict[str, str]:
        """File system, mount options and limits as really in force, read back from the system."""

    def limits(self) -> dict[str, str]:
        """Emulated limits per node (network, disk, memory, CPU) and how they are enforced."""

    def drop_caches(self) -> str:
        """Empty the page caches of all nodes; says how it was done."""

    def place_files(self, sizes: Mapping[str, int]) -> dict[str, str]:
        """Create input files (path relative to the mount -> bytes) by the cluster's layout.

        With ``layout: one-server-per-file`` (1DFx1F) each file goes onto a data server of its own.
        Content is written, not sparse, and on disk when this returns. Says where each file is, as
        read back from the file system.
        """

    def health(self) -> list[str]:
        """Findings: daemons that died, mounts that are gone. Empty when all is well."""
