"""What a file system needs on the nodes of one role: asked of this machine for nodes made of it, of each host over ssh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from wavetank.cluster.spec import ClusterSpec
from wavetank.programs import find_program


@dataclass(frozen=True)
class Needs:
    """What must be there.

    Attributes:
        programs: name, or absolute path -> how to get it, e.g. "apt-get install rpcbind".
        files: absolute path -> how to get it, e.g. /dev/fuse -> "modprobe fuse".
    """

    programs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, other: Needs) -> Needs:
        """Both."""
        return Needs({**self.programs, **other.programs}, {**self.files, **other.files})

    def missing_here(self) -> list[str]:
        """Findings: what this machine lacks."""
        missing = [(name, how) for name, how in self.programs.items() if find_program(name) is None]
        missing += [(path, how) for path, how in self.files.items() if not Path(path).exists()]
        return say_missing(missing)


def say_missing(missing: Iterable[tuple[str, str]]) -> list[str]:
    """Findings, one a remedy: "a is missing: get it", "a, b are missing: get them"."""
    by_remedy: dict[str, list[str]] = {}
    for name, how in missing:
        by_remedy.setdefault(how, []).append(name)
    return [
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} missing: {how}"
        for how, names in by_remedy.items()
    ]


@runtime_checkable
class NeedsPrograms(Protocol):
    """A driver that needs programs on nodes."""

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """On every node with a server."""

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """On every node that mounts it."""


@runtime_checkable
class NeedsOnGateways(Protocol):
    """A driver that needs programs on nodes with NFS servers in front of a parallel file system."""

    def needs_of_gateways(self, spec: ClusterSpec) -> Needs:
        """On every gateway."""


@runtime_checkable
class PrefersPrograms(Protocol):
    """A driver that takes the better of several ways where a node has it: hosts that are made for it are given that."""

    def prefers_on_servers(self, spec: ClusterSpec) -> Needs:
        """On every node with a server."""

    def prefers_on_clients(self, spec: ClusterSpec) -> Needs:
        """On every node that mounts it."""


def needs_by_node(driver: object, spec: ClusterSpec) -> dict[str, Needs]:
    """What each node must have for a driver."""
    needs = dict.fromkeys(spec.node_names(), Needs())
    if isinstance(driver, NeedsPrograms):
        for name in dict.fromkeys((*spec.server_names(), *spec.metadata_names())):
            needs[name] |= driver.needs_of_servers(spec)
        for name in spec.compute_names():
            needs[name] |= driver.needs_of_clients(spec)
    if isinstance(driver, NeedsOnGateways):
        for name in spec.gateway_names():
            needs[name] |= driver.needs_of_gateways(spec)
    return needs


def needs_of_made_hosts(driver: object, spec: ClusterSpec) -> dict[str, Needs]:
    """What each node is given where it is made for a driver: what it must have, and what it is better for."""
    needs = needs_by_node(driver, spec)
    if isinstance(driver, PrefersPrograms):
        for name in dict.fromkeys((*spec.server_names(), *spec.metadata_names())):
            needs[name] |= driver.prefers_on_servers(spec)
        for name in spec.compute_names():
            needs[name] |= driver.prefers_on_clients(spec)
    return needs
