"""Characterising a cluster: IOzone's four tests by fio, network, metadata, and the limits in force.

Leaves nothing on the cluster. Local file systems of different nodes are measured one after another:
on one machine they would share its disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import Host
from wavetank.document import provenance
from wavetank.kernel.document.kernel import Kernel
from wavetank.measure.characterisation import (
    TESTS,
    Characterisation,
    LimitCheck,
    MetadataRate,
    NetworkRate,
    StorageRate,
    Test,
    Where,
)
from wavetank.measure.cold import TOLERANCE, rates_of
from wavetank.measure.conditions import origin_of
from wavetank.measure.fio import fio_version, run_fio
from wavetank.measure.guests import notes_of_guests
from wavetank.measure.iperf import has_iperf, stream_rate
from wavetank.measure.requirement import Requirement
from wavetank.model.document.model import Model
from wavetank.units import format_size, parse_size

KIB, MIB, GIB = 2**10, 2**20, 2**30
DEFAULT_SIZES = tuple(4 * KIB * 4**step for step in range(10))  # 4 KiB to 1 GiB
NETWORK_PORT = 8765
N_CREATED = 500
PEAK_FILE_BYTES = 32 * MIB
SMALLEST_SHARE = 0.01
BURST_S = (
    0.5  # throttles count in slices of 0.1 s: a file that passes in less says nothing of a limit
)
ROOM_SHARE = 0.7  # of the free space: a nearly full file system is another one


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        sizes: request sizes, bytes.
        file_bytes: size of the test file; it is as large as the request where that is larger.
        runtime_s: of one test at most.
        tests: of IOzone's four.
        local_only: neither the global mount nor the network nor metadata.
    """

    sizes: tuple[int, ...] = DEFAULT_SIZES
    file_bytes: int = 64 * MIB
    runtime_s: int = 20
    tests: tuple[Test, ...] = TESTS
    local_only: bool = False


def request_sizes(of: Model | Kernel) -> tuple[int, ...]:
    """The request sizes of an application, ascending: what is worth measuring (P18 section 3.1).

    Phases with less than 1 % of the bytes do not count.
    """
    total = sum(phase.ph_weight for phase in of.phases)
    heavy = [phase for phase in of.phases if phase.ph_weight >= SMALLEST_SHARE * total]
    return tuple(
        sorted({member.rs for phase in heavy for member in phase.pattern if member.rs > 0})
    )


def characterise(
    cluster: DeployedCluster,
    effort: Effort,
    progress: Callable[[str], None] = lambda _: None,
) -> Characterisation:
    """Measure what a cluster's storage and network can do.

    Raises:
        MeasurementError: fio is not there.
        ClusterError: a node failed.
    """
    first = cluster.compute_hosts[0]
    version = fio_version(first)
    storage: list[StorageRate] = []
    metadata: list[MetadataRate] = []
    network: list[NetworkRate] = []
    notes: list[str] = []
    for host in cluster.storage_hosts:
        progress(f"local file system of {host.name}")
        for path in cluster.storage_paths:
            sizes = _possible(cluster, host, path, effort, notes)
            storage += _storage(cluster, host, "local", path, sizes, effort)
        if not effort.local_only:
            metadata.append(_metadata(host, "local", cluster.storage_path))
    if cluster.scratch_path and not effort.local_only:
        for host in cluster.compute_hosts:
            progress(f"temporary storage of {host.name}")
            sizes = _possible(cluster, host, cluster.scratch_path, effort, notes)
            storage += _storage(cluster, host, "scratch", cluster.scratch_path, sizes, effort)
            metadata.append(_metadata(host, "scratch", cluster.scratch_path))
    if cluster.io_hosts and not effort.local_only:
        progress(f"global file system through {first.name}")
        sizes = _possible(cluster, first, cluster.mount_path, effort, notes)
        storage += _storage(cluster, first, "global", cluster.mount_path, sizes, effort)
        metadata.append(_metadata(first, "global", cluster.mount_path))
    if not effort.local_only and has_iperf(first):
        progress("network")
        network = _network(cluster)
    elif not effort.local_only:
        notes.append("the network was not measured: iperf3 is not installed")
    limits = cluster.limits()
    notes += notes_of_guests(first, limits)
    return Characterisation(
        provenance=provenance(),
        cluster=cluster.name,
        cluster_spec_sha256=cluster.spec_sha256,
        instance_type=cluster.instance_type,
        origin=origin_of(limits),
        fio_version=version,
        storage=tuple(storage),
        network=tuple(network),
        metadata=tuple(metadata),
        limits=tuple(_checks(cluster, storage, network)),
        notes=tuple(notes),
    )


def _possible(
    cluster: DeployedCluster, host: Host, path: str, effort: Effort, notes: list[str]
) -> tuple[int, ...]:
    """Request sizes that a node has memory for, and a file system room; what is left out is noted.

    A request is one buffer in the memory of fio. A mount that does not know its room (CephFS without a manager)
    is taken to have as much as all local file systems.
    """
    kind = "io" if host in cluster.io_hosts else "compute"
    memory = memory_of(cluster.limits(), kind)
    room = room_bytes(host, path)
    if not room:
        room = sum(room_bytes(each, cluster.storage_path) for each in cluster.storage_hosts)
    fits = tuple(
        size
        for size in effort.sizes
        if (memory is None or size <= memory // 4) and max(size, effort.file_bytes) <= room * ROOM_SHARE
    )  # fmt: skip
    left = [format_size(size) for size in effort.sizes if size not in fits]
    if left:
        has = f"{format_size(room)} free" + (f", {format_size(memory)} of memory" if memory else "")
        notes.append(
            f"{host.name} {path}: requests of {', '.join(left)} were left out: it has {has}"
        )
    return fits


def room_bytes(host: Host, path: str) -> int:
    """Free space of a file system."""
    blocks, block_bytes = host.run(["stat", "-f", "-c", "%a %S", "--", path]).stdout.split()
    return int(blocks) * int(block_bytes)


def memory_of(limits: Mapping[str, str], kind: str) -> int | None:
    """Memory of a kind of node, of a running cluster's limits: ``"io memory": "384.0 MiB by cgroup"``."""
    text = limits.get(f"{kind} memory", "")
    size, by, how = text.partition(" by ")
    return None if not by or how.startswith("nothing") else parse_size(size)


def _storage(
    cluster: DeployedCluster,
    host: Host,
    where: Where,
    path: str,
    sizes: Sequence[int],
    effort: Effort,
) -> list[StorageRate]:
    file = f"{path}/wavetank-characterise"
    rates = []
    try:
        for size in sizes:
            host.run(["rm", "-f", "--", file])
            for test in effort.tests:
                if test == "read":
                    cluster.drop_caches()
                direction = "read" if test in ("read", "reread") else "write"
                done = run_fio(host, _options(file, test, size, effort), direction)
                rates.append(
                    StorageRate(
                        node=host.name,
                        where=where,
                        path=path,
                        test=test,
                        rs=size,
                        bytes=done.bytes,
                        bytes_per_s=done.bytes_per_s,
                        iops=done.iops,
                    )
                )
    finally:
        host.run(["rm", "-f", "--", file])
    return rates


def _options(file: str, test: Test, size: int, effort: Effort) -> list[str]:
    """Buffered calls of one process, as the applications make them; writes count until on disk."""
    writes = test in ("write", "rewrite")
    return [
        f"--filename={file}",
        f"--rw={'write' if writes else 'read'}",
        f"--bs={size}",
        f"--size={max(1, effort.file_bytes // size) * size}",
        f"--runtime={effort.runtime_s}",
        "--ioengine=psync",
        "--invalidate=0",  # the caches are ours to empty, also those of servers
        *(["--end_fsync=1"] if writes else []),
        *(["--overwrite=1"] if test == "rewrite" else []),
    ]


def _metadata(host: Host, where: Where, path: str) -> MetadataRate:
    folder = f"{path}/wavetank-characterise.d"
    try:
        host.run(["mkdir", "-p", "--", folder])
        done = run_fio(
            host,
            [
                f"--directory={folder}", "--ioengine=filecreate", f"--nrfiles={N_CREATED}",
                "--filesize=4k", "--openfiles=1", "--create_on_open=1",
            ],
            "read",  # where fio's filecreate counts
        )  # fmt: skip
    finally:
        host.run(["rm", "-rf", "--", folder])
    return MetadataRate(node=host.name, where=where, creates_per_s=done.iops)


def _network(cluster: DeployedCluster) -> list[NetworkRate]:
    """One stream from the first compute node to each I/O node, or to another compute node, and one back."""
    first = cluster.compute_hosts[0]
    others = cluster.io_hosts or cluster.compute_hosts[1:2]
    pairs = [pair for other in others for pair in ((other, first), (first, other))]
    return [
        stream_rate(sender, receiver, NETWORK_PORT + position)
        for position, (sender, receiver) in enumerate(pairs)
        if sender.name != receiver.name
    ]


def _checks(
    cluster: DeployedCluster, storage: Iterable[StorageRate], network: Iterable[NetworkRate]
) -> list[LimitCheck]:
    asked = rates_of(cluster.limits())
    servers = {host.name for host in cluster.io_hosts}
    measured, bursts = _reached(storage, asked, servers)
    for stream in network:
        key = (stream.sender, "network")
        measured[key] = max(measured.get(key, 0.0), stream.bytes_per_s)
    undecided = dict.fromkeys(bursts - measured.keys(), 0.0)
    checks = []
    for (node, what), reached in sorted({**undecided, **measured}.items()):
        limit = asked.get(f"{'io' if node in servers else 'compute'} {what}")
        if limit is not None:
            checks.append(
                LimitCheck(
                    node=node,
                    what=what,
                    asked_bytes_per_s=limit,
                    measured_bytes_per_s=None if (node, what) in undecided else reached,
                    within=None if (node, what) in undecided else reached <= TOLERANCE * limit,
                )
            )
    return checks


def _reached(
    storage: Iterable[StorageRate], asked: Mapping[str, int], servers: Collection[str]
) -> tuple[dict[tuple[str, str], float], set[tuple[str, str]]]:
    """Best rates of local file systems by node and limit, and where bursts decided instead.

    A limit is that of all devices of a node; they are measured one after another, and added up.
    """
    local = [each for each in storage if each.where != "global" and each.test in ("read", "write")]
    devices = Counter(
        (node, where) for node, where, _ in {(r.node, r.where, r.path) for r in local}
    )
    best: dict[tuple[str, str], dict[str, float]] = {}
    bursts: set[tuple[str, str]] = set()
    for rate in local:
        key = (rate.node, f"{'disk' if rate.where == 'local' else 'scratch'} {rate.test}")
        kind = "io" if rate.node in servers else "compute"
        limit = asked.get(f"{kind} {key[1]}", 0) / devices[rate.node, rate.where]
        if rate.bytes < BURST_S * limit:
            bursts.add(key)
        else:
            of_key = best.setdefault(key, {})
            of_key[rate.path] = max(of_key.get(rate.path, 0.0), rate.bytes_per_s)
    return {key: sum(paths.values()) for key, paths in best.items()}, bursts


def peaks_of(
    cluster: DeployedCluster, kernels: Iterable[Kernel], progress: Callable[[str], None]
) -> Characterisation:
    """The quick part, for the usage of the peak: local writes and cold reads only.

    With the request sizes of some kernels, and 1 MiB for what the devices reach at best.
    """
    sizes = {size for kernel in kernels for size in request_sizes(kernel)} | {MIB}
    effort = Effort(
        sizes=tuple(sorted(size for size in sizes if size <= PEAK_FILE_BYTES)),
        file_bytes=PEAK_FILE_BYTES,
        runtime_s=5,
        tests=("write", "read"),
        local_only=True,
    )
    return characterise(cluster, effort, progress)


def shortfalls(of: Characterisation, requirements: Iterable[Requirement]) -> list[str]:
    """Why the instance is discarded; empty when it gives what is required on every node.

    read, write: of the local file systems, best over request sizes. network: of every stream.
    """
    found = []
    for requirement in requirements:
        if requirement.quantity == "network":
            values = {f"{each.sender} to {each.receiver}": each.bytes_per_s for each in of.network}
        else:
            test: Test = "read" if requirement.quantity == "read" else "write"
            values = {node: of.best_rate(node, test) or 0.0 for node in of.storage_nodes()}
        for place, value in values.items():
            why = requirement.why_not(value)
            if why is not None:
                found.append(f"{of.instance_type} is discarded: {place}: {why}")
    return found
