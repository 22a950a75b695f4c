"""One measurement: a kernel performed once on a cluster with a mapping.

``set_up`` places the input files for one repetition; what the kernel writes is removed before each run. Leaves a Measurement
with everything that it takes to judge it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal, Protocol, runtime_checkable

from wavetank.cluster.counters import Counters
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import Host
from wavetank.document import provenance
from wavetank.errors import MeasurementError, WavetankError
from wavetank.job import Placement
from wavetank.kernel.document.kernel import Kernel, KernelFile, folders_beforehand
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.kernel.results.result import ReplayResult
from wavetank.measure.attribution import EVERY_S, measured_use
from wavetank.measure.cold import doubts_of_caches, doubts_of_cold_reads, doubts_of_writes
from wavetank.measure.conditions import (
    as_it_was,
    doubts_of_opens,
    ills,
    look_after,
    look_before,
)
from wavetank.measure.disturbance import MachineWatch
from wavetank.measure.guests import doubts_of_guests, doubts_of_memory, incomparable_phases
from wavetank.measure.mapping import as_placement_hosts, place_ranks
from wavetank.measure.result import CacheState, Measurement
from wavetank.measure.use import MeasuredUse
from wavetank.measure.views import file_hosts
from wavetank.notes import carried, notes_of, of_kinds

PREPARE_TIMEOUT_S = 300.0
COMMAND_LINE_BYTES = 64 * 1024
"""bytes of names; Linux allows 128 KiB for one word (sh -c), and 2 MiB for all."""


class Performer(Protocol):
    """Performs a kernel, and knows the versions of what it uses."""

    def perform(self, kernel: Kernel, root: str, placement: Placement) -> ReplayResult:
        """Run the kernel below ``root``, a directory of the ranks' hosts."""

    def versions(self) -> dict[str, str]:
        """Of the MPI library, the kernel program, ..."""


@runtime_checkable
class HasFilesOfItsOwn(Protocol):
    """A performer that works on other files than the kernel's, and may do other I/O than the kernel says."""

    doubts: tuple[str, ...]  # of the last run, a sentence each

    def renew_files(self) -> None:
        """Remove what the last run made, and place again what it changed."""


@dataclass(frozen=True)
class Bench:
    """A kernel with its input files on a cluster."""

    kernel: Kernel
    kernel_sha256: str
    cluster: DeployedCluster
    folder: str  # below the cluster's mount
    file_placement: dict[str, str]

    @property
    def root(self) -> str:
        """The kernel's root directory on the compute hosts."""
        return f"{self.cluster.mount_path}/{self.folder}"


def kernel_folder(kernel_sha256: str) -> str:
    """The folder of a kernel's files, below a cluster's mount."""
    return f"kernel-{kernel_sha256[:12]}"


def set_up(kernel: Kernel, cluster: DeployedCluster, folder: str | None = None) -> Bench:
    """Put a kernel's input files on a cluster anew, by the cluster's layout: where they lie is drawn again.

    Args:
        kernel: whose files they are.
        cluster: where they go.
        folder: below the mount; the kernel's own by default.

    Raises:
        ClusterError: a node or the file system failed.
    """
    folder = folder or kernel_folder(kernel_hash(kernel))
    tear_down(Bench(kernel, "", cluster, folder, {}))
    bench = lay_out(kernel, cluster, folder)
    placement = cluster.place_files(input_sizes(bench))
    make_names(bench)
    return replace(bench, file_placement=dict(placement))


def lay_out(kernel: Kernel, cluster: DeployedCluster, folder: str) -> Bench:
    """Make the directories of a kernel's files in a folder below the mount; no file yet.

    Raises:
        ClusterError: a node or the file system failed.
    """
    bench = Bench(kernel, kernel_hash(kernel), cluster, folder, {})
    _by_file_hosts(bench, ["mkdir", "-p", bench.root])
    _make_folders(bench)
    return bench


def input_sizes(bench: Bench) -> dict[str, int]:
    """What is to be there before a kernel runs: path below the mount -> bytes."""
    return _sizes(bench, "input") | _sizes(bench, "both")


def measure(
    bench: Bench,
    mapping: str,
    performer: Performer,
    *,
    repetition: int,
    order: int,
    deployment: int | None = None,
    cache: Literal["cold", "warm"] = "cold",
    seed: int | None = None,
    watch: MachineWatch | None = None,
) -> Measurement:
    """Perform the kernel once and record how it went.

    Args:
        bench: the kernel on its cluster.
        mapping: "1PxCN", ...
        performer: runs the kernel.
        repetition: number of this repetition, from 0.
        order: position in the campaign's order.
        deployment: number of the cluster's deployment, from 0; None where that is not known.
        cache: "cold" empties the page caches of all nodes before; "warm" runs the kernel once
            before, uncounted.
        seed: of the campaign's order.
        watch: of the machine's load, before and over the measurement; None: it is not recorded.

    Raises:
        MeasurementError: the mapping does not fit, or the kernel failed.
        ClusterError: a node or the file system failed.
    """
    cluster, kernel = bench.cluster, bench.kernel
    placement = placement_of(bench, mapping)
    _renew(bench, performer)
    state = _caches(bench, cache, performer, placement)
    whence = [] if kernel.extrapolation is None else [kernel.extrapolation.sentence()]
    notes = [
        *notes_of("inferred", "model", (f"the kernel's model is {each}" for each in whence)),
        *carried(kernel.notes),
        *notes_of("suspect", "cluster", cluster.health()),
        *notes_of("suspect", "caches", doubts_of_caches(state)),
    ]
    before = look_before(watch, cluster)
    try:
        with _counting(cluster) as counters:
            result = performer.perform(kernel, bench.root, placement)
    except WavetankError as error:
        ailments = ills(cluster)
        if not ailments:
            raise
        raise MeasurementError(f"{error}{ailments}") from error
    if result.status != "ok":
        raise MeasurementError(
            f"{kernel.application} failed on {cluster.name} with {mapping}: {result.failure}"
            + ills(cluster)
        )
    load, disturbance = look_after(watch, before)
    notes += notes_of("suspect", "other work", disturbance)
    if isinstance(performer, HasFilesOfItsOwn):
        notes += notes_of("replaced", "run", performer.doubts)
    notes += notes_of("suspect", "cluster", cluster.health())
    limits = cluster.limits()
    servers = [host.name for host in cluster.io_hosts]
    notes += notes_of("suspect", "guests", doubts_of_guests(kernel, limits))
    hosts = (*cluster.compute_hosts, *cluster.io_hosts)
    notes += notes_of("suspect", "memory", doubts_of_memory(hosts))
    notes += notes_of("suspect", "opens", doubts_of_opens(result))
    notes += notes_of("suspect", "writes", doubts_of_writes(kernel, result, limits, servers))
    if cache == "cold":
        doubts = doubts_of_cold_reads(kernel, result, limits, servers)
        notes += notes_of("suspect", "caches", doubts)
    return Measurement(
        provenance=provenance(seed=seed),
        application=kernel.application,
        kernel_sha256=bench.kernel_sha256,
        mapping=mapping,
        repetition=repetition,
        deployment=deployment,
        order=order,
        cache=state,
        file_placement=bench.file_placement,
        result=result,
        use=None if counters is None else _use_of(counters, result, cluster, placement),
        load=load,
        incomparable_phases=incomparable_phases(kernel, limits),
        notes=of_kinds(notes),
        **as_it_was(cluster, limits, performer.versions()),
    )


def _counting(cluster: DeployedCluster) -> AbstractContextManager[Counters | None]:
    """Record what the cluster's nodes use, where that is possible."""
    recording = cluster.record_counters(EVERY_S)
    return nullcontext() if recording is None else recording


def _use_of(
    counters: Counters, result: ReplayResult, cluster: DeployedCluster, placement: Placement
) -> MeasuredUse | None:
    compute = [host.name for host in cluster.compute_hosts]
    return measured_use(counters, result, compute, placement.hosts[0][0])


def placement_of(bench: Bench, mapping: str, nodes: Sequence[str] | None = None) -> Placement:
    """Where the kernel's ranks run, and how the launcher reaches them.

    Args:
        bench: the kernel on its cluster.
        mapping: "1PxCN", ...
        nodes: names of the compute nodes that it may use; None: all of the cluster.

    Raises:
        MeasurementError: the mapping does not fit the cluster.
    """
    cluster = bench.cluster
    names = [host.name for host in cluster.compute_hosts] if nodes is None else nodes
    placed = place_ranks(bench.kernel, names, mapping)
    return Placement(
        hosts=as_placement_hosts(placed),
        remote_shell=cluster.remote_shell,
        launcher_prefix=cluster.launcher_prefix,
        network=cluster.network,
        launcher_address=cluster.launcher_address,
        environment=cluster.environment,
        n_beside=cluster.n_beside,
    )


def _renew(bench: Bench, performer: Performer) -> None:
    if isinstance(performer, HasFilesOfItsOwn):
        performer.renew_files()
    else:
        renew_files(bench)


def renew_files(bench: Bench) -> None:
    """Remove what an earlier run wrote, and make files again that it read and wrote."""
    remove_written(bench)
    again = overwritten_sizes(bench)
    if again:
        bench.cluster.place_files(again)
    make_names(bench)


def remove_written(bench: Bench) -> None:
    """Remove what an earlier run wrote; directories that are to be there are."""
    written = [file for file in bench.kernel.files if file.role != "input"]
    if written:
        folders = [str(PurePosixPath(bench.root, file.name)) for file in written if file.own_folder]
        names = [name for file in written if not file.own_folder for name in file.stored_names()]
        recursive = ["-r"] if any(file.directory for file in written) else []
        for host in bench.cluster.compute_hosts:  # as in tear_down
            if names:
                _on_names(bench, host, ["rm", "-f", *recursive], names)
            if folders:
                host.run(
                    ["find", *folders, "-mindepth", "1", "-delete"], timeout_s=PREPARE_TIMEOUT_S
                )
        _make_folders(bench)


def make_names(bench: Bench) -> None:
    """Make what takes no room: files that are looked at only, entries of listed directories, further names of files."""
    _make_empty(bench)
    _link_names(bench)


def _make_empty(bench: Bench) -> None:
    files = bench.kernel.files
    empty = [
        name
        for file in files
        if file.is_prepared and not file.directory
        for name, size in file.stored()
        if size == 0
    ]
    empty += [name for file in files for name in file.entry_names]
    for host in file_hosts(bench.cluster) if empty else ():
        _on_names(bench, host, ["touch"], empty)


def _make_folders(bench: Bench) -> None:
    files = bench.kernel.files
    folders = folders_beforehand(files)
    folders += [file.name for file in files if file.own_folder]
    for host in file_hosts(bench.cluster) if folders else ():
        _on_names(bench, host, ["mkdir", "-p"], folders)


def _on_names(bench: Bench, host: Host, command: Sequence[str], names: Sequence[str]) -> None:
    """Run a command on names below the kernel's root, as many at once as a command line holds."""
    paths = [str(PurePosixPath(bench.root, name)) for name in names]
    if sum(map(len, paths)) < COMMAND_LINE_BYTES:
        host.run([*command, "--", *paths], timeout_s=PREPARE_TIMEOUT_S)
        return
    argv = ["xargs", "-0", "-r", *command, "--"]
    host.run(argv, timeout_s=PREPARE_TIMEOUT_S, stdin="".join(f"{path}\0" for path in paths))


def _link_names(bench: Bench) -> None:
    """Make the further names that files have before the kernel runs."""
    for file in bench.kernel.files:
        for other in file.other_names:
            link = PurePosixPath(bench.root, other.name)
            target = PurePosixPath(bench.root, file.name)
            if other.prepared == "link":
                _by_file_hosts(bench, ["ln", "-f", "--", str(target), str(link)])
            elif other.prepared == "symlink":
                relative = os.path.relpath(target, link.parent)
                _by_file_hosts(bench, ["ln", "-sfn", "--", relative, str(link)])


def overwritten_sizes(bench: Bench) -> dict[str, int]:
    """Inputs that the kernel writes too: path below the mount -> bytes."""
    return _sizes(bench, "both")


def tear_down(bench: Bench) -> None:
    """Remove all of a kernel's files from its cluster."""
    # Through every view: a client that still knows a name would open a file that is gone.
    for host in bench.cluster.compute_hosts:
        host.run(["rm", "-rf", "--", bench.root], timeout_s=PREPARE_TIMEOUT_S)


@contextmanager
def explained(cluster: DeployedCluster) -> Iterator[None]:
    """Say what is wrong with the cluster, where something fails in the block: a dead server shows as any command that failed.

    Raises:
        MeasurementError: something failed on a cluster that is not healthy.
        WavetankError: something failed on one that is.
    """
    try:
        yield
    except WavetankError as error:
        try:
            found = cluster.health()
        except WavetankError as unhealthy:
            found = [str(unhealthy)]
        if not found:
            raise
        raise MeasurementError(
            f"cluster {cluster.name} is not healthy: {'; '.join(found)}. So this failed: {error}"
        ) from error


def _caches(
    bench: Bench, cache: Literal["cold", "warm"], performer: Performer, placement: Placement
) -> CacheState:
    if cache == "cold":
        return CacheState(state="cold", how=bench.cluster.drop_caches())
    performer.perform(bench.kernel, bench.root, placement)
    _renew(bench, performer)
    return CacheState(state="warm", how="the kernel ran once before, with the same mapping")


def _sizes(bench: Bench, role: str) -> dict[str, int]:
    files: tuple[KernelFile, ...] = bench.kernel.files
    return {
        f"{bench.folder}/{name}": size
        for file in files
        if file.role == role
        for name, size in file.stored()
        if size > 0
    }


def _by_file_hosts(bench: Bench, argv: list[str]) -> None:
    """Run a command that makes or removes files, once for each set of files (see ``file_hosts``)."""
    for host in file_hosts(bench.cluster):
        host.run(argv, timeout_s=PREPARE_TIMEOUT_S)
