"""What a provider of nodes must be able to do.

What only some providers and nodes can do has a default, which the others inherit.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from wavetank.cluster.counters import Counters
from wavetank.cluster.host import Host
from wavetank.cluster.managed import Service
from wavetank.cluster.needs import Examined, Needs
from wavetank.cluster.spec import ClusterSpec


class PlainNodes(Protocol):
    """What some nodes can do, and some are. The defaults are those of hosts of which nothing more is known."""

    @property
    def launcher_address(self) -> str | None:
        """Where nodes reach the host that a launcher runs on; None: by its name."""
        return None

    @property
    def mark(self) -> Mapping[str, str]:
        """What every program must have in its environment, by which it is found when the cluster goes down."""
        return {}

    @property
    def service(self) -> Service | None:
        """The file system that a cloud made together with the nodes; None where there is none, or not yet."""
        return None

    @property
    def outside(self) -> Mapping[str, Host]:
        """By guest: the host around it, which mounts in its place; empty where nodes mount themselves."""
        return {}

    def show(self, path: str) -> None:
        """Have guests see what is mounted around them, or mount their disks that are files there.

        Raises:
            RemoteCommandError: one does not.
        """
        del path

    def hide(self, path: str) -> None:
        """Have guests see it no more.

        Raises:
            RemoteCommandError: one still does.
        """
        del path

    def see(self, path: str) -> None:
        """See that guests see it.

        Raises:
            RemoteCommandError: one does not.
        """
        del path

    @property
    def on_this_machine(self) -> bool:
        """Whether nodes are, so that what they do is told from what others do on it."""
        return False

    def nodes_cpu_s(self) -> float | None:
        """Processor time of this machine that all nodes used so far, seconds; None where it is not counted."""
        return None

    def record_counters(self, every_s: float) -> AbstractContextManager[Counters] | None:
        """Record what nodes use during a ``with`` block; nothing of it runs on. None where it cannot be read from outside."""
        del every_s
        return None

    def look_again(self) -> None:
        """Have nodes that see this machine's files as they were when they looked first see them as they are now."""
        return

    def lost(self) -> list[str]:
        """Findings: nodes that ended by themselves and do not come back; empty where that cannot be asked."""
        return []


class Nodes(PlainNodes, Protocol):
    """Nodes that are up, before and below any file system."""

    @property
    def hosts(self) -> Mapping[str, Host]:
        """By node name, in the order of the specification."""

    @property
    def storage_path(self) -> str:
        """Where the local file system of a node with storage is mounted."""

    @property
    def remote_shell(self) -> tuple[str, ...]:
        """See job.Placement."""

    @property
    def launcher_prefix(self) -> tuple[str, ...]:
        """See job.Placement."""

    @property
    def network(self) -> str | None:
        """See job.Placement."""

    def limits(self) -> dict[str, str]:
        """Limits per kind of node, as in force, and what enforces them."""

    def drop_caches(self) -> str:
        """Empty the page caches of all nodes; says how it was done."""

    def health(self) -> list[str]:
        """Nodes and daemons that died."""


class Provider(Protocol):
    """Makes nodes, finds them again, and destroys them.

    Attributes:
        hosts_outlive: whether hosts exist before and after a cluster: file systems are removed from them.
        uses_this_machine: whether nodes are made of this machine, and have its programs.
    """

    name: str
    hosts_outlive: bool = False
    uses_this_machine: bool = True

    def check(self, spec: ClusterSpec) -> list[str]:
        """Why these nodes cannot be made here; empty when they can."""

    def ask(self, spec: ClusterSpec) -> Examined:
        """The findings of ``check``, and what an account does not tell before nodes are made, by one look."""
        return Examined(self.check(spec), [])

    def kernel_modules(self, spec: ClusterSpec) -> Path | None:
        """Directory with the modules of the nodes' kernel; None: of this machine's, or of one that is not there, as ``check`` says."""
        del spec
        return None

    def examine(self, spec: ClusterSpec, needs: Mapping[str, Needs]) -> list[str]:
        """What nodes lack of what a file system needs, by node name: of this machine, or asked of the hosts that are there."""
        everything = functools.reduce(operator.or_, needs.values(), Needs())
        missing = everything.missing_here(self.kernel_modules(spec))
        return [f"file_system {spec.file_system.kind}: {finding}" for finding in missing]

    def tools_lacking(self, spec: ClusterSpec, tools: Needs) -> list[str]:
        """Sentences on which programs that measure besides the replay (needs.TOOLS) nodes with programs of their own lack.

        Of a cluster that can come up, which it does without them.
        """
        del spec, tools
        return []

    def tools_unknown(self, spec: ClusterSpec) -> list[str]:
        """Sentences on why that is not known before the cluster is up; none where it is."""
        del spec
        return []

    def as_hosts(self, spec: ClusterSpec) -> ClusterSpec:
        """The specification as file systems see it: of hosts that are made with the key ssh, before and after."""
        return spec

    def create(self, spec: ClusterSpec, *, leave: bool = False) -> Nodes:
        """Make the nodes.

        Args:
            spec: of the cluster.
            leave: whether what had been made stays when this fails, until ``destroy``.

        Raises:
            ProviderError: they cannot be made; what had been made is destroyed, unless it is left.
        """

    def find(self, spec: ClusterSpec) -> Nodes:
        """Attach to nodes that another process made.

        Raises:
            ProviderError: they are gone.
        """

    def destroy(self, name: str) -> None:
        """Remove everything that was made under this name, also half-made; nothing else. Idempotent.

        Raises:
            ProviderError: something cannot be removed; calling again goes on.
        """
