"""A cluster that is up: its nodes, its file system, and what is asked of both."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from wavetank.cluster import mounting, mpi, registry
from wavetank.cluster.components import SCRATCH_PATH
from wavetank.cluster.counters import Counters, RecordsCounters
from wavetank.cluster.devices import device_paths
from wavetank.cluster.filesystems.base import (
    FileSystemDriver,
    HasServerCaches,
    Site,
    place_copies,
)
from wavetank.cluster.host import (
    Host,
    LooksAgain,
    MarksPrograms,
    NamesLauncher,
    PassesThrough,
    SharesMachine,
    lost_nodes,
)
from wavetank.cluster.managed import HasService
from wavetank.cluster.providers.base import MakesHosts, Nodes
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, SpecError
from wavetank.steps import going_on


def placing_words(cluster: str) -> str:
    """What is being done while input files are written, see ``steps.doing``."""
    return f"placing input files on {cluster}"


@dataclass(frozen=True)
class DeployedCluster:
    """A cluster that is up, with its file system mounted. Fulfils host.RunningCluster.

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
        """See host.HasDevices. Where no file system is over them, files lie on the first one alone."""
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
        """See host.NamesLauncher."""
        return self.nodes.launcher_address if isinstance(self.nodes, NamesLauncher) else None

    @property
    def environment(self) -> Mapping[str, str]:
        """Of every rank, see host.SetsEnvironment."""
        mark = self.nodes.mark if isinstance(self.nodes, MarksPrograms) else {}
        return {**mpi.environment(self.spec, self.storage_path), **mark}

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
        """Whether all compute nodes see the same files, see host.SharesFiles."""
        return self.spec.file_system.facts.is_global and not self.spec.has_volumes

    @cached_property
    def site(self) -> Site:
        """Where the file system is deployed."""
        outside = self.nodes.outside if isinstance(self.nodes, PassesThrough) else {}
        clients = tuple(outside.get(host.name, host) for host in self.compute_hosts)
        metadata = tuple(self.nodes.hosts[name] for name in self.spec.metadata_names())
        gateways = tuple(self.nodes.hosts[name] for name in self.spec.gateway_names())
        service = self.nodes.service if isinstance(self.nodes, HasService) else None
        return Site(
            as_hosts(self.spec), self.io_hosts, clients, self.nodes.storage_path, metadata, gateways, service
        )  # fmt: skip

    @property
    def mount_path(self) -> str:
        """Of the global file system, the same on every compute node."""
        return self.file_system.mount_path(self.site)

    def look_again(self) -> None:
        """Have nodes that see this machine's files see them as they are now."""
        if isinstance(self.nodes, LooksAgain):
            self.nodes.look_again()

    def settings(self) -> dict[str, str]:
        """As in force, read back from the system."""
        own = mpi.settings(self.spec, self.compute_hosts, self.storage_path)
        seen = mounting.views(self.mount_path, self.nodes)
        return {**self.file_system.settings(self.site), **seen, **own}

    def limits(self) -> dict[str, str]:
        """Limits per kind of node and how they are enforced."""
        return self.nodes.limits()

    @property
    def on_this_machine(self) -> bool:
        """Whether the nodes are, see host.SharesMachine."""
        return isinstance(self.nodes, SharesMachine) and self.nodes.on_this_machine

    def nodes_cpu_s(self) -> float | None:
        """See host.SharesMachine."""
        return self.nodes.nodes_cpu_s() if isinstance(self.nodes, SharesMachine) else None

    def record_counters(self, every_s: float) -> contextlib.AbstractContextManager[Counters] | None:
        """Record what the nodes use, where the provider can; see counters.RecordsCounters."""
        if not isinstance(self.nodes, RecordsCounters):
            return None
        return self.nodes.record_counters(every_s)

    def drop_caches(self) -> str:
        """Empty all caches: the client's own by mounting again, then the page caches of all nodes."""
        remounts = self.spec.file_system.facts.is_global
        if remounts:
            mounting.unmount(self.file_system, self.site, self.nodes)
        try:
            how = self.nodes.drop_caches()
            if isinstance(self.file_system, HasServerCaches):
                how += f"; {self.file_system.drop_server_caches(self.site)}"
        finally:
            if remounts:
                mounting.mount(self.file_system, self.site, self.nodes)
        return f"{how}; clients mounted again" if remounts else how

    def place_files(self, sizes: Mapping[str, int]) -> dict[str, str]:
        """Create input files by the layout; see the protocol."""
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
        """See host.LosesNodes."""
        return lost_nodes(self.nodes)

    def health(self) -> list[str]:
        """Nodes, daemons and mounts that are gone."""
        findings = [] if self.failed is None else [f"it did not come up: {self.failed}"]
        findings += self.nodes.health()
        try:
            findings += mounting.health(self.file_system, self.site, self.nodes)
        except ClusterError as error:
            findings.append(str(error))
        return findings


def as_hosts(spec: ClusterSpec) -> ClusterSpec:
    """The specification as file systems see it: with the key ssh also where the hosts are made by a cloud."""
    with contextlib.suppress(
        SpecError
    ):  # of a provider that does not exist, which is a finding of its own
        provider = registry.provider(spec.provider)
        if isinstance(provider, MakesHosts):
            return provider.as_hosts(spec)
    return spec
