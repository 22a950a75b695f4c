"""A cluster that is up: its nodes, its file system, and what is asked of both."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from wavetank.cluster import interrupts, mpi, registry
from wavetank.cluster.components import SCRATCH_PATH
from wavetank.cluster.counters import Counters
from wavetank.cluster.devices import device_paths
from wavetank.cluster.filesystems.base import (
    FileSystemDriver,
    Site,
    mount_line,
    place_copies,
)
from wavetank.cluster.host import Host
from wavetank.cluster.providers.base import Nodes
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, SpecError
from wavetank.steps import going_on


def placing_words(cluster: str) -> str:
    """What is being done while input files are written, see ``steps.doing``."""
    return f"placing input files on {cluster}"


@dataclass(frozen=True)
class DeployedCluster:
    """A cluster that is up, with its file system mounted.

    Attributes:
        spec: of the cluster.
        nodes: that it has.
        failed: why it did not come up, of one that failed and was kept.
    """

    spec: ClusterSpec
    nodes: Nodes
    failed: str | None = None

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.spec.name

    @property
    def spec_sha256(self) -> str:
        """Hash of the specification."""
        return self.spec.sha256()

    @property
    def instance_type(self) -> str:
        """Name of the compute nodes' instance type."""
        return self.spec.instance.name

    @property
    def n_instances(self) -> int:
        """All nodes."""
        return len(self.spec.node_names())

    @property
    def compute_hosts(self) -> tuple[Host, ...]:
        """The nodes that run ranks."""
        return tuple(self.nodes.hosts[name] for name in self.spec.compute_names())

    @property
    def io_hosts(self) -> tuple[Host, ...]:
        """The nodes with data servers."""
        return tuple(self.nodes.hosts[name] for name in self.spec.server_names())

    @property
    def storage_hosts(self) -> tuple[Host, ...]:
        """The nodes that hold data."""
        return tuple(self.nodes.hosts[name] for name in self.spec.storage_names())

    @property
    def storage_path(self) -> str:
        """Where each of them has its local file system mounted."""
        return self.nodes.storage_path

    @property
    def storage_paths(self) -> tuple[str, ...]:
        """Where each device of a node is mounted; of a node without a file system over them the first, where files lie, alone."""
        paths = device_paths(self.spec.storage, self.nodes.storage_path)
        return paths if self.spec.file_system.facts.is_global else paths[:1]

    @property
    def scratch_path(self) -> str | None:
        """Where each compute node has temporary storage mounted; None without."""
        return SCRATCH_PATH if self.spec.temporary is not None else None

    @property
    def remote_shell(self) -> tuple[str, ...]:
        """See job.Placement."""
        return self.nodes.remote_shell

    @property
    def launcher_prefix(self) -> tuple[str, ...]:
        """See job.Placement."""
        return self.nodes.launcher_prefix

    @property
    def network(self) -> str | None:
        """The cluster's own network."""
        return self.nodes.network

    @property
    def launcher_address(self) -> str | None:
        """Where nodes reach the host that a launcher runs on; None: by its name."""
        return self.nodes.launcher_address

    @property
    def environment(self) -> Mapping[str, str]:
        """Of every rank: how it does its MPI-IO, and by what it is found."""
        return {**mpi.environment(self.spec, self.storage_path), **self.nodes.mark}

    @property
    def n_beside(self) -> int | None:
        """Servers and clients that share this machine's processors with ranks, see job.Placement."""
        here = self.on_this_machine or self.spec.provider == "null"
        return len(self.io_hosts) + len(self.compute_hosts) if here else None

    @property
    def mapping(self) -> str:
        """The process mapping when none is named."""
        return self.spec.mapping

    @cached_property
    def file_system(self) -> FileSystemDriver:
        """The driver of the global file system."""
        return registry.file_system(self.spec.file_system.kind)

    @property
    def is_global(self) -> bool:
        """Whether all compute nodes see the same files."""
        return self.spec.file_system.facts.is_global and not self.spec.has_volumes

    @cached_property
    def site(self) -> Site:
        """Where the file system is deployed."""
        outside = self.nodes.outside
        clients = tuple(outside.get(host.name, host) for host in self.compute_hosts)
        metadata = tuple(self.nodes.hosts[name] for name in self.spec.metadata_names())
        gateways = tuple(self.nodes.hosts[name] for name in self.spec.gateway_names())
        return Site(
            as_hosts(self.spec), self.io_hosts, clients, self.nodes.storage_path, metadata, gateways, self.nodes.service
        )  # fmt: skip

    @property
    def mount_path(self) -> str:
        """Of the global file system, the same on every compute node."""
        return self.file_system.mount_path(self.site)

    def look_again(self) -> None:
        """Have nodes that see this machine's files see them as they are now."""
        self.nodes.look_again()

    def mount(self) -> None:
        """Mount the file system for ranks: on their nodes, or around them where guests see that or have disks there.

        Raises:
            ClusterError: it is not mounted, or guests do not see it.
        """
        self.file_system.mount(self.site)
        self.nodes.show(self.mount_path)

    def settings(self) -> dict[str, str]:
        """As in force, read back from the system."""
        own = mpi.settings(self.spec, self.compute_hosts, self.storage_path)
        at, hosts = self.mount_path, self.nodes.hosts
        seen = {
            f"view in guest {name}": mount_line(hosts[name], at) or "not mounted"
            for name in self.nodes.outside
        }
        return {**self.file_system.settings(self.site), **seen, **own}

    def limits(self) -> dict[str, str]:
        """Limits per kind of node and how they are enforced."""
        return self.nodes.limits()

    @property
    def on_this_machine(self) -> bool:
        """Whether the nodes are, so that what they do is told from what others do on it."""
        return self.nodes.on_this_machine

    def nodes_cpu_s(self) -> float | None:
        """Processor time of this machine that the nodes used so far; None where it is not counted."""
        return self.nodes.nodes_cpu_s()

    def record_counters(self, every_s: float) -> contextlib.AbstractContextManager[Counters] | None:
        """Record what the nodes use, where the provider can."""
        return self.nodes.record_counters(every_s)

    def drop_caches(self) -> str:
        """Empty all caches: the client's own by mounting again, then the page caches of all nodes."""
        remounts = self.spec.file_system.facts.is_global
        with interrupts.held_back(f"mounting {self.name} again"):
            if remounts:
                self.nodes.hide(self.mount_path)
                self.file_system.unmount(self.site)
            try:
                how = self.nodes.drop_caches()
                served = self.file_system.drop_server_caches(self.site)
                how = "; ".join(filter(None, (how, served)))
            finally:
                if remounts:
                    self.mount()
        return f"{how}; clients mounted again" if remounts else how

    def place_files(self, sizes: Mapping[str, int]) -> dict[str, str]:
        """Create input files (path relative to the mount -> bytes) by the layout.

        With ``layout: one-server-per-file`` (1DFx1F) each file goes onto a data server of its own. Content is written, not sparse, and
        on disk when this returns. Says where each file is, as read back from the file system.
        """
        for path in sizes:
            if path.startswith("/") or ".." in path.split("/") or not path:
                raise ClusterError(
                    f"input file {path!r} must be a path relative to the mount, without '..'"
                )
        n_copies = 1 if self.is_global else len(self.compute_hosts)
        total, done = n_copies * sum(sizes.values()), 0
        lock = threading.Lock()
        with going_on(placing_words(self.name), total, "B") as placing:

            def written(n_bytes: int) -> None:
                nonlocal done
                with lock:
                    done = min(done + n_bytes, total)  # what did not fit is written again
                    placing.at(done)

            if self.spec.has_volumes:
                return place_copies(self.compute_hosts, self.mount_path, sizes, written)
            return self.file_system.place_files(replace(self.site, on_written=written), sizes)

    def lost(self) -> list[str]:
        """Nodes that ended by themselves and do not come back."""
        return self.nodes.lost()

    def health(self) -> list[str]:
        """Nodes, daemons and mounts that are gone."""
        findings = [] if self.failed is None else [f"it did not come up: {self.failed}"]
        findings += self.nodes.health()
        try:
            found = self.file_system.health(self.site)
            if not found:
                self.nodes.see(self.mount_path)
            findings += found
        except ClusterError as error:
            findings.append(str(error))
        return findings


def as_hosts(spec: ClusterSpec) -> ClusterSpec:
    """The specification as file systems see it: with the key ssh also where the hosts are made by a cloud."""
    with contextlib.suppress(
        SpecError
    ):  # of a provider that does not exist, which is a finding of its own
        return registry.provider(spec.provider).as_hosts(spec)
    return spec
