"""What a provider of nodes must be able to do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from wavetank.cluster.examined import Examined
from wavetank.cluster.host import Host
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec


class Nodes(Protocol):
    """Nodes that are up, before and below any file system.

    Attributes:
        hosts: by node name, in the order of the specification.
        storage_path: where the local file system of a node with storage is mounted.
        remote_shell, launcher_prefix, network: see job.Placement.
    """

    hosts: Mapping[str, Host]
    storage_path: str
    remote_shell: tuple[str, ...]
    launcher_prefix: tuple[str, ...]
    network: str | None

    def limits(self) -> dict[str, str]:
        """Limits per kind of node, as in force, and what enforces them."""

    def drop_caches(self) -> str:
        """Empty the page caches of all nodes; says how it was done."""

    def health(self) -> list[str]:
        """Nodes and daemons that died."""


class Provider(Protocol):
    """Makes nodes, finds them again, and destroys them."""

    name: str

    def check(self, spec: ClusterSpec) -> list[str]:
        """Why these nodes cannot be made here; empty when they can."""

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


@runtime_checkable
class TakesHosts(Protocol):
    """A provider whose hosts exist before and after a cluster: file systems are removed from them."""

    hosts_outlive: bool


@runtime_checkable
class ExaminesHosts(Protocol):
    """A provider whose nodes are not made of this machine: what file systems need is asked of the hosts."""

    def examine(self, spec: ClusterSpec, needs: Mapping[str, Needs]) -> list[str]:
        """What hosts lack, by node name; empty when they have all, or when ``check`` found them unusable."""


@runtime_checkable
class KnowsTools(Protocol):
    """A provider whose nodes have programs of their own, which may lack what measures besides the replay (needs.TOOLS)."""

    def tools_lacking(self, spec: ClusterSpec, tools: Needs) -> list[str]:
        """Sentences on which of them nodes are known to lack; of a cluster that can come up. It keeps none from coming up."""

    def tools_unknown(self, spec: ClusterSpec) -> list[str]:
        """Sentences on why that is not known before the cluster is up; none where it is."""


@runtime_checkable
class AsksAccounts(Protocol):
    """A provider whose nodes are made by an account, which may not tell all that decides."""

    def ask(self, spec: ClusterSpec) -> Examined:
        """The findings of ``check``, and what is not known, by one look at the account."""


@runtime_checkable
class MakesHosts(Protocol):
    """A provider whose nodes are hosts over ssh that it makes: file systems are to know that before and after."""

    def as_hosts(self, spec: ClusterSpec) -> ClusterSpec:
        """The specification with the key ssh; with addresses that nobody has until hosts are made."""


@runtime_checkable
class BootsKernels(Protocol):
    """A provider whose nodes are made of this machine, but for the kernel: what file systems need of one is looked for there."""

    def kernel_modules(self, spec: ClusterSpec) -> Path | None:
        """Directory with the modules of the nodes' kernel; None where there is no such kernel, which ``check`` says."""
