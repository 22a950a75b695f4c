"""Brings clusters up, finds them, takes them down: nodes by a provider, then a file system on them.

Leaves a directory per cluster (see state.py) as long as it is up, and nothing afterwards.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import operator
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from wavetank.cluster import interrupts, mpi, registry
from wavetank.cluster.components import SCRATCH_PATH
from wavetank.cluster.counters import Counters, RecordsCounters
from wavetank.cluster.devices import device_paths, unmade_devices
from wavetank.cluster.filesystems.base import (
    FileSystemDriver,
    HasServerCaches,
    KnowsOptions,
    OutlivesNodes,
    Site,
)
from wavetank.cluster.host import Host, LooksAgain, MarksPrograms, NamesLauncher, SharesMachine
from wavetank.cluster.needs import Needs, needs_by_node
from wavetank.cluster.providers.base import ExaminesHosts, MakesHosts, Nodes, TakesHosts
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import (
    ClusterDirectory,
    ClusterState,
    directories,
    directory_of,
    is_alive,
    this_process,
)
from wavetank.document import provenance
from wavetank.errors import ClusterError, ProviderError, SpecError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DeployedCluster:
    """A cluster that is up, with its file system mounted. Fulfils host.RunningCluster."""

    spec: ClusterSpec
    nodes: Nodes

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
        """See host.HasDevices."""
        return device_paths(self.spec.storage, self.nodes.storage_path)

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
        return self.file_system.is_global

    @cached_property
    def site(self) -> Site:
        """Where the file system is deployed."""
        metadata = tuple(self.nodes.hosts[name] for name in self.spec.metadata_names())
        gateways = tuple(self.nodes.hosts[name] for name in self.spec.gateway_names())
        return Site(
            _as_hosts(self.spec), self.io_hosts, self.compute_hosts, self.nodes.storage_path, metadata, gateways
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
        return {**self.file_system.settings(self.site), **own}

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
        remounts = self.file_system.is_global
        if remounts:
            self.file_system.unmount(self.site)
        try:
            how = self.nodes.drop_caches()
            if isinstance(self.file_system, HasServerCaches):
                how += f"; {self.file_system.drop_server_caches(self.site)}"
        finally:
            if remounts:
                self.file_system.mount(self.site)
        return f"{how}; clients mounted again" if remounts else how

    def place_files(self, sizes: Mapping[str, int]) -> dict[str, str]:
        """Create input files by the layout; see the protocol."""
        for path in sizes:
            if path.startswith("/") or ".." in path.split("/") or not path:
                raise ClusterError(
                    f"input file {path!r} must be a path relative to the mount, without '..'"
                )
        return self.file_system.place_files(self.site, sizes)

    def health(self) -> list[str]:
        """Nodes, daemons and mounts that are gone."""
        findings = self.nodes.health()
        try:
            findings += self.file_system.health(self.site)
        except ClusterError as error:
            findings.append(str(error))
        return findings


def check(spec: ClusterSpec) -> list[str]:
    """Everything that keeps this cluster from coming up here. Changes nothing; hosts over ssh are asked."""
    findings = []
    provider = driver = None
    try:
        provider = registry.provider(spec.provider)
        findings += provider.check(spec)
    except SpecError as error:
        findings.append(str(error))
    try:
        driver = registry.file_system(spec.file_system.kind)
        findings += driver.check(_as_hosts(spec))
    except SpecError as error:
        findings.append(str(error))
    findings += unmade_devices(spec.storage, spec.provider, driver)
    needs = needs_by_node(driver, _as_hosts(spec))
    if isinstance(provider, ExaminesHosts):
        return findings + provider.examine(spec, needs)
    everything = functools.reduce(operator.or_, needs.values(), Needs())
    findings += [
        f"file_system {spec.file_system.kind}: {finding}" for finding in everything.missing_here()
    ]
    if isinstance(driver, KnowsOptions) and not findings:
        findings += driver.unknown_options(spec)
    return findings


def _as_hosts(spec: ClusterSpec) -> ClusterSpec:
    """The specification as file systems see it: with the key ssh also where the hosts are made by a cloud."""
    with contextlib.suppress(
        SpecError
    ):  # of a provider that does not exist, which is a finding of its own
        provider = registry.provider(spec.provider)
        if isinstance(provider, MakesHosts):
            return provider.as_hosts(spec)
    return spec


def bring_up(spec: ClusterSpec) -> DeployedCluster:
    """Bring a cluster up. What had been made is taken down again when anything fails or interrupts.

    Raises:
        SpecError: it cannot come up here, all reasons at once; nothing was started.
        ClusterError: it did not come up.
    """
    with coming_up(spec) as cluster:
        return cluster


@contextlib.contextmanager
def coming_up(spec: ClusterSpec) -> Iterator[DeployedCluster]:
    """A cluster that stays up when the ``with`` block ends, and is taken down when that fails or is interrupted.

    Raises:
        As bring_up.
    """
    directory = directory_of(spec.name)
    directory.see_free()
    findings = check(spec)
    if findings:
        raise SpecError(f"cluster {spec.name} cannot come up here:\n  " + "\n  ".join(findings))
    with interrupts.once(f"taking down what was made of {spec.name}") as check_interrupted:
        is_ours = False
        try:
            with interrupts.held_back(f"beginning with {spec.name}"):
                directory.claim()
                is_ours = True
            yield _bring_up(spec, directory)
            check_interrupted()
        except BaseException:
            if is_ours:
                try:
                    _clear(directory, spec)
                except ClusterError as left:  # what went wrong first is what is raised
                    log.error("%s is not cleaned up: %s", spec.name, left)
            raise


def _bring_up(spec: ClusterSpec, directory: ClusterDirectory) -> DeployedCluster:
    began = time.monotonic()
    directory.note(do="provider", name=spec.provider)
    _write_state(directory, spec, "starting")
    nodes = registry.provider(spec.provider).create(spec)
    log.info("%s: %d nodes after %.2f s", spec.name, len(nodes.hosts), time.monotonic() - began)
    cluster = DeployedCluster(spec, nodes)
    directory.note(do="install", kind=spec.file_system.kind)
    cluster.file_system.install(cluster.site)
    log.info(
        "%s: %s serves after %.2f s", spec.name, spec.file_system.kind, time.monotonic() - began
    )
    cluster.file_system.mount(cluster.site)
    mpi.write_hints(spec, cluster.compute_hosts, cluster.storage_path)
    _write_state(directory, spec, "up", time.monotonic() - began)
    return cluster


def find(name: str) -> DeployedCluster:
    """Attach to a cluster that is up, also when another process brought it up.

    Raises:
        ClusterError: there is none of this name, or it is not up.
    """
    state = directory_of(name).read_state()
    if state is None:
        names = ", ".join(directory.name for directory in directories()) or "none"
        raise ClusterError(
            f"no cluster is called {name!r}; there are: {names}. 'wavetank cluster up FILE' brings one up"
        )
    if state.status != "up":
        raise ClusterError(
            f"cluster {name} is not up but {state.status}. 'wavetank cluster down {name}' cleans up"
        )
    return DeployedCluster(state.spec, registry.provider(state.spec.provider).find(state.spec))


def take_down(name: str) -> None:
    """Take a cluster down, whatever state it is in; nothing of it is left.

    Raises:
        ClusterError: there is none, another process is bringing it up, or something cannot be removed (try again).
    """
    directory = directory_of(name)
    with directory.locked():
        _take_down(directory)


def _take_down(directory: ClusterDirectory) -> None:
    spec = None
    try:
        state = directory.read_state()
    except ClusterError as error:
        log.warning("%s; going by its journal", error)
        state = None
    if state is not None:
        spec = state.spec
        if state.status == "starting" and is_alive(state.owner) and state.owner != this_process():
            raise ClusterError(
                f"cluster {directory.name} is being brought up by process {state.owner.pid}. Wait for it, or end that process first"
            )
        _write_state(directory, spec, "stopping")
    _clear(directory, spec)


def _clear(directory: ClusterDirectory, spec: ClusterSpec | None) -> None:
    """Destroy the nodes and delete the directory. The journal says whose they are, should the state be damaged."""
    with interrupts.held_back(f"taking {directory.name} down"):
        if spec is not None:
            _remove_what_outlives(spec)
        journal = directory.journal()
        named = [str(entry["name"]) for entry in journal if entry["do"] == "provider"]
        if journal:
            fallback = spec.provider if spec is not None else "local"
            registry.provider(named[0] if named else fallback).destroy(directory.name)
        directory.erase()


def _remove_what_outlives(spec: ClusterSpec) -> None:
    driver = registry.file_system(spec.file_system.kind)
    provider = registry.provider(spec.provider)
    # hosts that were not made ready may be another cluster's
    was_begun = any(entry["do"] == "install" for entry in directory_of(spec.name).journal())
    on_hosts = isinstance(provider, TakesHosts) and was_begun
    if not isinstance(driver, OutlivesNodes) and not on_hosts:
        return
    try:
        cluster = DeployedCluster(spec, provider.find(spec))
    except ProviderError as error:
        log.info("no nodes of %s, so nothing was made through them: %s", spec.name, error)
        return
    try:
        driver.remove(cluster.site)
    except ClusterError as error:
        if isinstance(driver, OutlivesNodes):
            raise
        # the provider ends every process on its hosts, and says which of them do not answer
        log.warning("cannot remove %s by its own means: %s", spec.file_system.kind, error)


def _write_state(
    directory: ClusterDirectory, spec: ClusterSpec, status: str, bring_up_s: float | None = None
) -> None:
    ClusterState.model_validate(
        {
            "provenance": provenance(),
            "spec": spec,
            "spec_sha256": spec.sha256(),
            "status": status,
            "owner": this_process(),
            "bring_up_s": bring_up_s,
        }
    ).write(directory.state_file)


@contextlib.contextmanager
def deployed(spec: ClusterSpec) -> Iterator[DeployedCluster]:
    """A cluster for the time of a ``with`` block."""
    with coming_up(spec) as cluster:
        yield cluster
        take_down(spec.name)
