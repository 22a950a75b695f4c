"""Brings clusters up, finds them, takes them down: nodes by a provider, then a file system on them.

Leaves a directory per cluster (see state.py) as long as it is up, and nothing afterwards.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator

from wavetank.cluster import interrupts, mpi, registry
from wavetank.cluster.deployed import DeployedCluster, as_hosts
from wavetank.cluster.devices import unmade_devices
from wavetank.cluster.filesystems.base import needs_by_node
from wavetank.cluster.needs import TOOLS, Examined, Needs
from wavetank.cluster.registry import CLOUDS
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import (
    ClusterDirectory,
    ClusterState,
    directory_of,
    is_alive,
    names,
    this_process,
)
from wavetank.document import provenance
from wavetank.errors import ClusterError, ProviderError, SpecError
from wavetank.nearest import did_you_mean
from wavetank.steps import steps

log = logging.getLogger(__name__)


def check(spec: ClusterSpec) -> list[str]:
    """Everything that keeps this cluster from coming up here. Changes nothing; hosts over ssh are asked."""
    return examine(spec).findings


def examine(spec: ClusterSpec) -> Examined:
    """The same, and what decides whether a cluster that can come up does, and is not known before."""
    unknown: list[str] = []
    findings = _findings(spec, unknown)
    return Examined(findings, unknown)


def _findings(spec: ClusterSpec, unknown: list[str]) -> list[str]:
    """What keeps a cluster from coming up; what is not known is added."""
    findings = []
    provider = driver = None
    try:
        provider = registry.provider(spec.provider)
        asked = provider.ask(spec)
        findings += asked.findings
        unknown += asked.unknown
    except SpecError as error:
        findings.append(str(error))
    try:
        driver = registry.file_system(spec.file_system.kind)
        findings += driver.check(as_hosts(spec))
    except SpecError as error:
        findings.append(str(error))
    findings += unmade_devices(spec.storage, spec.provider, spec.file_system)
    if provider is None or driver is None:
        return findings
    findings += provider.examine(spec, needs_by_node(driver, as_hosts(spec)))
    if provider.uses_this_machine and not findings:
        findings += driver.unknown_options(spec)
    return findings


def tools_lacking(spec: ClusterSpec, tools: Needs = TOOLS) -> list[str]:
    """What measures besides the replay, and nodes of a cluster that can come up lack: sentences. Hosts over ssh are asked."""
    return registry.provider(spec.provider).tools_lacking(spec, tools)


def tools_unknown(spec: ClusterSpec) -> list[str]:
    """Why it is not known what measures besides the replay before the cluster is up: sentences."""
    return registry.provider(spec.provider).tools_unknown(spec)


_STEPS = 3  # of bringing a cluster up: nodes, file system, mounts


def bring_up(spec: ClusterSpec) -> DeployedCluster:
    """Bring a cluster up. What had been made is taken down again when anything fails or interrupts.

    Raises:
        SpecError: it cannot come up here, all reasons at once; nothing was started.
        ClusterError: it did not come up.
    """
    with coming_up(spec) as cluster:
        return cluster


@contextlib.contextmanager
def coming_up(
    spec: ClusterSpec,
    on_failure: Callable[[], None] | None = None,
    on_step: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[DeployedCluster]:
    """A cluster that stays up when the ``with`` block ends, and is taken down when that fails or is interrupted.

    Args:
        spec: of the cluster.
        on_failure: called in place of taking it down, where it fails: what was made stays, to be looked at. An interrupt
            takes it down also then.
        on_step: is given how many steps are done, and of how many: nodes, file system, mounts.

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
            yield _bring_up(spec, directory, on_step, leave=on_failure is not None)
            check_interrupted()
        except BaseException as error:
            if is_ours and on_failure is not None and isinstance(error, Exception):
                directory.note(do="failed", why=str(error))
                _write_state(directory, spec, "failed")
                on_failure()
            elif is_ours:
                try:
                    _clear(directory, spec)
                except ClusterError as left:  # what went wrong first is what is raised
                    log.error("%s is not cleaned up: %s", spec.name, left)
            raise


def _bring_up(
    spec: ClusterSpec,
    directory: ClusterDirectory,
    on_step: Callable[[int, int], None],
    *,
    leave: bool,
) -> DeployedCluster:
    began = time.monotonic()
    on_step(0, _STEPS)
    tell = steps.info if spec.provider in CLOUDS else log.info
    directory.note(do="provider", name=spec.provider)
    _write_state(directory, spec, "starting")
    nodes = registry.provider(spec.provider).create(spec, leave=leave)
    tell("%s: %d nodes after %.2f s", spec.name, len(nodes.hosts), time.monotonic() - began)
    on_step(1, _STEPS)
    cluster = DeployedCluster(spec, nodes)
    directory.note(do="install", kind=spec.file_system.kind)
    kind = spec.file_system.kind
    tell("%s: starting file system %s", spec.name, kind)
    cluster.file_system.install(cluster.site)
    tell("%s: %s serves after %.2f s; mounting it", spec.name, kind, time.monotonic() - began)
    on_step(2, _STEPS)
    cluster.mount()
    tell("%s: mounted after %.2f s", spec.name, time.monotonic() - began)
    mpi.write_hints(spec, cluster.compute_hosts, cluster.storage_path)
    _write_state(directory, spec, "up", time.monotonic() - began)
    return cluster


def find(name: str, *, also_failed: bool = False) -> DeployedCluster:
    """Attach to a cluster that is up, also when another process brought it up.

    Args:
        name: of the cluster.
        also_failed: also one that failed to come up, and was kept: its nodes, as far as they were made.

    Raises:
        ClusterError: there is none of this name, or it is not up.
    """
    state = directory_of(name).read_state()
    if state is None:
        known = names()
        raise ClusterError(
            f"no cluster is called {name!r}; there are: {', '.join(known) or 'none'}.{did_you_mean(name, known)} "
            "'wavetank cluster up FILE' brings one up"
        )
    if state.status == "failed" and also_failed:
        why = why_failed(directory_of(name))
        return DeployedCluster(
            state.spec, registry.provider(state.spec.provider).find(state.spec), why
        )
    if state.status != "up":
        raise ClusterError(
            f"cluster {name} is not up but {state.status}. 'wavetank cluster down {name}' cleans up"
        )
    return DeployedCluster(state.spec, registry.provider(state.spec.provider).find(state.spec))


def why_failed(directory: ClusterDirectory) -> str | None:
    """What kept a cluster from coming up that was kept since; None of others."""
    return next((str(each["why"]) for each in directory.journal() if each["do"] == "failed"), None)


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
    on_hosts = provider.hosts_outlive and was_begun
    if not driver.facts.outlives_nodes and not on_hosts:
        return
    try:
        cluster = DeployedCluster(spec, provider.find(spec))
    except ProviderError as error:
        log.info("no nodes of %s, so nothing was made through them: %s", spec.name, error)
        return
    try:
        driver.remove(cluster.site)
    except ClusterError as error:
        if driver.facts.outlives_nodes:
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
