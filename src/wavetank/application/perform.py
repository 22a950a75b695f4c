"""Runs the user's own program on a cluster that is up, and traces it when asked to.

Takes a cluster and what is wanted; leaves the program's exit status, and a trace folder on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from wavetank.application import running, traced
from wavetank.application.program import (
    Wanted,
    family_of,
    find_on,
    local_copy,
    refuse_other_mpi,
    starting,
)
from wavetank.cluster.components import MAKES_NODES
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import EndsMarked, Host
from wavetank.errors import ClusterError, UsageError
from wavetank.job import Job, Placement
from wavetank.kernel.execution.replay import require_installed
from wavetank.kernel.execution.scratch import scratch_folder
from wavetank.launchers.base import Launcher
from wavetank.launchers.registry import launcher, recognise
from wavetank.measure.mapping import as_placement_hosts, parse_mapping
from wavetank.trace.capture import CaptureOptions, EndedRun, prepare_folder
from wavetank.trace.inherited import inherited_environment


def place(
    nodes: Sequence[str], default: str, mapping: str | None = None, n_ranks: int | None = None
) -> tuple[str, ...]:
    """The node of each rank, in rank order; a node is filled before the next.

    Args:
        nodes: names of the compute nodes.
        default: the cluster's mapping, "1PxCN", ...: where none is named.
        mapping: ranks per node; None: the default, or as many as ``n_ranks`` takes.
        n_ranks: all ranks; None: as many as the mapping has places.

    Raises:
        UsageError: the mapping has fewer places than there are ranks.
        MeasurementError: not a mapping.
    """
    per_node = parse_mapping(mapping or default)
    if n_ranks is None:
        n_ranks = per_node * len(nodes)
    if mapping is None:
        per_node = max(per_node, -(-n_ranks // len(nodes)))
    needed = -(-n_ranks // per_node)
    if needed > len(nodes):
        fits = -(-n_ranks // len(nodes))
        raise UsageError(
            f"{n_ranks} ranks by {mapping} need {needed} compute nodes, and there {_are(len(nodes))} "
            f"({', '.join(nodes)}). Ask for {per_node * len(nodes)} ranks, or for --mapping {fits}PxCN"
        )
    return tuple(nodes[rank // per_node] for rank in range(n_ranks))


def _are(n: int) -> str:
    return "is 1" if n == 1 else f"are {n}"


@dataclass(frozen=True)
class Request:
    """What is to run, and how.

    Attributes:
        wanted: the program.
        launcher_name: "openmpi", "mpich", "none"; None: that of the program's MPI.
        nodes: names of the nodes that it may use; empty: all compute nodes, or the first one without a launcher.
        mapping: ranks per node, "2PxCN"; None: the cluster's, or as many as ``n_ranks`` takes.
        n_ranks: all ranks; None: as many as the mapping has places.
        timeout_s: seconds after which it is ended; None: never.
        trace: folder for a trace; None: it is not traced.
        options: of the trace.
        placed: the node of each rank, in rank order, where it is decided already; then ``nodes``, ``mapping`` and
            ``n_ranks`` say nothing.
        streams: of the program; None: this process's own.
        when_ended: is called as soon as the program has ended, before anything else is done.
    """

    wanted: Wanted
    launcher_name: str | None = None
    nodes: tuple[str, ...] = ()
    mapping: str | None = None
    n_ranks: int | None = None
    timeout_s: float | None = None
    trace: Path | None = None
    options: CaptureOptions = field(default_factory=CaptureOptions)
    placed: tuple[str, ...] = ()
    streams: running.Streams | None = None
    when_ended: Callable[[running.Ended], None] = lambda _: None


@dataclass(frozen=True)
class Done:
    """A program that has run.

    Attributes:
        n_ranks: that were started.
        collected: the trace; None where it was not traced.
        yields_by: how its ranks left the processors to others while they waited; empty: they polled.
    """

    ended: running.Ended
    n_ranks: int
    collected: traced.Collected | None
    yields_by: str = ""


def perform(
    cluster: DeployedCluster, request: Request, tell: Callable[[str], None] = lambda _: None
) -> Done:
    """Run the program to its end, with this process's standard streams unless others are asked for.

    Args:
        cluster: that is up.
        request: what is to run.
        tell: is given a sentence on where it runs.

    Raises:
        UsageError: ranks, nodes, launcher and program do not fit together.
        ClusterError: a node is gone, or has no such program or directory.
        TraceError: it cannot be traced.
    """
    _refuse_launcher(request)
    mount = cluster.mount_path
    placed = _placed(cluster, request)
    hosts = [cluster.nodes.hosts[name] for name in dict.fromkeys(placed)]
    outside = [host for host in hosts if host not in cluster.compute_hosts]
    wanted = request.wanted
    if outside and wanted.directory is None:  # only compute nodes have the mount
        wanted = Wanted(wanted.argv, "/", wanted.environment)
    wanted = wanted.at(mount)
    _require_health(cluster)
    if request.trace is not None:
        prepare_folder(request.trace.resolve(), request.options.force)
    cluster.look_again()
    program = find_on(hosts, wanted)
    with scratch_folder() as scratch:
        copy = local_copy(hosts[0], program, scratch)
        family = family_of(copy, program, wanted, hosts[0])
        starter = launcher(request.launcher_name or family or "openmpi")
        refuse_other_mpi(family, wanted.argv[0], starter)
        require_installed(starter)
        mark = running.new_mark()
        tracer = None
        # The mount may be where system files are (/run of a host), which the tracer leaves out.
        options = replace(request.options, include=(*request.options.include, mount))
        if request.trace is not None:
            tracer = traced.put_on_nodes(
                hosts, cluster.storage_path, mark, starter, program, scratch, options
            )
        try:
            environment = {running.MARK: mark, **(tracer.environment if tracer else {})}
            waits = starter.mpi_family is None and isinstance(hosts[0], EndsMarked)
            words = starting(wanted, program, environment, starter, waits=waits)
            files = (
                scratch / "launcher"
            )  # they may go to the nodes, and the program's copy is none of them
            files.mkdir()
            argv, env, yields_by = _command(cluster, starter, hosts[0], placed, words, files)
            tell(_where(cluster, placed, starter, wanted))
            if yields_by:
                tell(
                    f"ranks leave the processors to servers and clients while they wait ({yields_by}): all share this machine's"
                )
            _warn_of_cores(cluster, placed, tell)
            started = datetime.now(UTC)
            ended = running.run(argv, env, mark, hosts, request.timeout_s, request.streams)
            request.when_ended(ended)
            if tracer is None or request.trace is None:
                return Done(ended, len(placed), None, yields_by)
            run = EndedRun(
                argv=(program, *wanted.argv[1:]), launcher=starter, status=ended.status, started=started,
                elapsed_s=ended.elapsed_s, interrupted=ended.why == "interrupted", n_ranks=len(placed),
            )  # fmt: skip
            collected = traced.collect(tracer, run, request.trace, options)
            return Done(ended, len(placed), collected, yields_by)
        finally:
            if tracer is not None:
                traced.remove(tracer)


def _refuse_launcher(request: Request) -> None:
    """A launcher as the program would start all ranks on each node again."""
    argv = request.wanted.argv
    if request.launcher_name != "none" and recognise(argv).name != "none":
        raise UsageError(
            f"ranks are started by this command itself: leave {argv[0]} and its options out, and say their number, e.g. "
            "wavetank cluster run NAME -n 4 -- PROGRAM. --launcher none starts it as it is, on one node"
        )


def _placed(cluster: DeployedCluster, request: Request) -> tuple[str, ...]:
    """The node of each rank, in rank order."""
    if request.placed:
        return request.placed
    compute = [host.name for host in cluster.compute_hosts]
    alone = request.launcher_name == "none"
    known = list(cluster.nodes.hosts) if alone else compute
    unknown = [name for name in request.nodes if name not in known]
    if unknown:
        what = "nodes" if alone else "compute nodes"
        raise UsageError(
            f"cluster {cluster.name} has no {what[:-1]} {', '.join(unknown)}; its {what} are {', '.join(known)}"
        )
    nodes = list(dict.fromkeys(request.nodes)) or compute
    if not alone:
        return place(nodes, cluster.mapping, request.mapping, request.n_ranks)
    if request.mapping is not None or (request.n_ranks or 1) != 1 or len(request.nodes) > 1:
        raise UsageError(
            "without a launcher one process is started, on one node. Leave out --launcher none, or -n and --mapping"
        )
    return (nodes[0],)


def _require_health(cluster: DeployedCluster) -> None:
    findings = cluster.health()
    if findings:
        raise ClusterError(
            f"cluster {cluster.name} is not healthy, and nothing was started: {'; '.join(findings)}. Take it down and "
            "bring it up again"
        )


def _command(
    cluster: DeployedCluster,
    starter: Launcher,
    first: Host,
    placed: Sequence[str],
    words: tuple[str, ...],
    scratch: Path,
) -> tuple[list[str], dict[str, str], str]:
    """The argv on this machine that starts all ranks, its environment, and how ranks wait (see Done)."""
    if starter.mpi_family is None:
        argv = starter.command(Job(words, 1), scratch)
        reached, env = first.reaching(argv, cluster.environment)
        return reached, _as_inherited(env), ""
    placement = Placement(
        hosts=as_placement_hosts(placed),
        remote_shell=cluster.remote_shell,
        launcher_prefix=cluster.launcher_prefix,
        network=cluster.network,
        launcher_address=cluster.launcher_address,
        environment=cluster.environment,
        n_beside=cluster.n_beside,
    )
    _, env = first.reaching((), {})
    job = Job(words, len(placed), placement=placement)
    how = starter.yields_by if job.yields else ""
    return starter.command(job, scratch), _as_inherited(env), how


def _as_inherited(env: Mapping[str, str]) -> dict[str, str]:
    """Without what only this tool's own interpreter has put into its environment."""
    inherited = inherited_environment()
    return {key: value for key, value in env.items() if key in inherited or key not in os.environ}


def _warn_of_cores(
    cluster: DeployedCluster, placed: Sequence[str], tell: Callable[[str], None]
) -> None:
    """One rank per core is the rule of the method; more of them wait for each other."""
    if cluster.spec.provider not in MAKES_NODES:
        return
    for node in dict.fromkeys(placed):
        n, vcpus = list(placed).count(node), cluster.spec.instance_of(node).vcpus
        if n > vcpus:
            tell(f"warning: {n} ranks on {node}, which has {vcpus:g} vCPUs: they share them")
            return


def _where(
    cluster: DeployedCluster, placed: Sequence[str], starter: Launcher, wanted: Wanted
) -> str:
    """The sentence that is told before the program's own output."""
    counted = {name: list(placed).count(name) for name in dict.fromkeys(placed)}
    if starter.mpi_family is None:
        ranks = f"on {placed[0]}"
    else:
        many = "rank" if len(placed) == 1 else "ranks"
        ranks = f"{len(placed)} {many} by {starter.name}: {', '.join(f'{n} on {node}' for node, n in counted.items())}"
    directory = "" if wanted.directory == cluster.mount_path else f", in {wanted.directory}"
    return f"{cluster.name}, {ranks}; the cluster's files are at {cluster.mount_path}{directory}"
