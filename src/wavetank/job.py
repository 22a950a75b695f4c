"""What is to be started: program, ranks, environment, where. Pure data, no behaviour."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

SCRATCH = "{scratch}"
"""In a launcher's prefix: the folder with its files."""


@dataclass(frozen=True)
class Placement:
    """Which host runs how many ranks, in rank order (the process mapping; 1PxCN, 2PxCN, ...).

    Attributes:
        hosts: (host name, number of ranks on it), ranks counted up through the list.
        remote_shell: argv prefix of the remote-shell stand-in; called as ``*remote_shell HOST COMMAND...``.
        launcher_prefix: argv prefix that runs the launcher itself where it can reach the hosts; in it SCRATCH stands for the
            folder with the launcher's files and the job's.
        network: CIDR of the network that the ranks use to talk to each other.
        launcher_address: of the host of the launcher on that network, where its daemons call back; None: its name.
        environment: of every rank on these hosts (MPI-IO library and hints), besides the job's.
        n_beside: file system servers and clients that share this machine's processors with the ranks; None: each host has
            processors of its own.
    """

    hosts: tuple[tuple[str, int], ...]
    remote_shell: tuple[str, ...] = ()
    launcher_prefix: tuple[str, ...] = ()
    network: str | None = None
    launcher_address: str | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    n_beside: int | None = None

    def must_yield(self, n_ranks: int) -> bool:
        """Whether ranks, servers and clients outnumber the processors, so that a rank that polls takes one from them."""
        return self.n_beside is not None and n_ranks + self.n_beside > (os.cpu_count() or 1)


@dataclass(frozen=True)
class Job:
    """A program with its ranks."""

    argv: tuple[str, ...]
    n_ranks: int
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    placement: Placement | None = None  # None: this host

    @property
    def yields(self) -> bool:
        """Whether its ranks let others have the processor while they wait for each other."""
        if self.placement is None:
            return self.n_ranks > (os.cpu_count() or 1)
        return self.placement.must_yield(self.n_ranks)

    @property
    def whole_env(self) -> Mapping[str, str]:
        """The job's own environment, and that of where it runs."""
        return {**(self.placement.environment if self.placement else {}), **self.env}
