"""Which clusters ``wavetank try`` compares: a few, chosen by how an application's bytes lie on its files.

Reads a kernel; leaves cluster specifications. Why no more than seven: each further one adds pairs, and pairs cost repetitions.
Why one mapping: a second one doubles the configurations. A stripe that does not reach every server of the largest file is left out,
because the further servers could not help.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from wavetank.cluster.filesystems.facts import Facts, TriedLayout
from wavetank.cluster.registry import facts, file_system_kinds
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import SpecError
from wavetank.findings.finding import CARRIER_SHARE, percent
from wavetank.findings.requests import io_of
from wavetank.kernel.document.kernel import Kernel
from wavetank.measure.mapping import io_ranks
from wavetank.units import MIB, format_size

MOST_COMPUTE_NODES = 4
"""Nodes of this machine share its cores; more would measure the machine."""
MOST_SERVERS = 3
MOST_CLUSTERS = 7
"""7 configurations are 21 pairs, which six repetitions of each can tell apart; 12 are 66, which need seven."""
SMALLEST_STORAGE_BYTES = 512 * MIB
"""Of a server: the most that a file system needs for itself."""
HEADROOM = 1.5
"""Space for the file systems' own data, and for files that grow."""


@dataclass(frozen=True)
class Placement:
    """How an application's bytes lie on its files.

    Attributes:
        kind: shared: files that several ranks use; few: up to three files of one rank each; inputs: two or three
            input files; many: more files than servers.
        largest_bytes: of the file that moves most.
        sentence: why, with the numbers.
    """

    kind: Literal["shared", "few", "inputs", "many"]
    largest_bytes: int
    sentence: str


def placement_of(kernel: Kernel) -> Placement:
    """How a kernel's bytes lie on its files; files of less than a tenth of the busiest one do not count."""
    io = io_of(kernel)
    moved: dict[int, int] = defaultdict(int)
    ranks: dict[int, set[int]] = defaultdict(set)
    reach: dict[int, int] = defaultdict(int)
    for one in io.requests:
        file_id = one.phase.file_id
        moved[file_id] += one.moved_bytes
        ranks[file_id].update(one.phase.ph_processid)
        reach[file_id] = max(reach[file_id], one.reach_bytes)
    most = max(moved.values(), default=0)
    busy = [file_id for file_id, size in moved.items() if size and size >= CARRIER_SHARE * most]
    largest = max(
        (max(reach[file_id] or moved[file_id], _prepared(kernel, file_id)) for file_id in busy),
        default=0,
    )
    shared = [file_id for file_id in busy if len(ranks[file_id]) > 1]
    of_shared = io.share_of_bytes(sum(moved[file_id] for file_id in shared))
    if not busy:
        return Placement(
            "many", 0, "No bytes are moved: file systems are compared by calls on files alone."
        )
    count = "One file" if len(busy) == 1 else f"{len(busy)} files"
    carry = "carries" if len(busy) == 1 else "carry"
    share = percent(io.share_of_bytes(sum(moved[file_id] for file_id in busy)))
    if of_shared >= 0.5:
        files = "one file" if len(shared) == 1 else f"{len(shared)} files"
        return Placement(
            "shared", largest,
            f"Several ranks use {files} with {percent(of_shared)} of the bytes: layouts that spread a file over servers are compared.",
        )  # fmt: skip
    if len(busy) > MOST_SERVERS:
        return Placement(
            "many", largest,
            f"{count} {carry} {share} of the bytes, each used by one rank: whole files on one, two and three servers are compared.",
        )  # fmt: skip
    if len(busy) > 1 and all(_prepared(kernel, file_id) for file_id in busy):
        return Placement(
            "inputs", largest,
            f"{len(busy)} input files carry {share} of the bytes: a server for each, and files spread over servers, are compared.",
        )  # fmt: skip
    return Placement(
        "few", largest,
        f"{count} {carry} {share} of the bytes: layouts that spread a file over servers are compared.",
    )  # fmt: skip


def _prepared(kernel: Kernel, file_id: int) -> int:
    return next((file.prepare_bytes for file in kernel.files if file.file_id == file_id), 0)


def mappings_for(kernel: Kernel) -> tuple[str, ...]:
    """I/O processes spread over the compute nodes as evenly as can be: one on each where there are enough nodes."""
    return (f"{-(-io_processes(kernel) // MOST_COMPUTE_NODES)}PxCN",)


def io_processes(kernel: Kernel) -> int:
    """Ranks that do I/O; at least one process is started."""
    return max(len(io_ranks(kernel)), 1)


def storage_bytes(kernel: Kernel) -> int:
    """Storage of a server: one may have to hold all that the application writes."""
    return max(SMALLEST_STORAGE_BYTES, round(kernel.capacity_bytes * HEADROOM))


@dataclass(frozen=True)
class Choice:
    """What is compared, and sentences on what is not."""

    clusters: tuple[ClusterSpec, ...]
    left_out: tuple[str, ...]


def clusters_for(
    kernel: Kernel,
    instance: Mapping[str, Any],
    *,
    problems: Callable[[ClusterSpec], Sequence[str]] = lambda spec: (),
    free_memory_bytes: int | None = None,
    prefix: str = "try",
) -> Choice:
    """The file systems that layouts are known of which can do something for an application.

    Args:
        kernel: of the application.
        instance: of all nodes, as in a cluster file.
        problems: why a cluster cannot come up on this machine.
        free_memory_bytes: of this machine; None: not known, and taken to be enough.
        prefix: of the clusters' names.

    Raises:
        SpecError: none can come up here.
    """
    placement = placement_of(kernel)
    compute = min(max(io_processes(kernel), 2), MOST_COMPUTE_NODES)
    size = storage_bytes(kernel)
    clusters: list[ClusterSpec] = []
    left_out: dict[str, str] = {}
    small = None
    for kind, layout in _layouts(placement):
        servers = layout.servers or min(
            sum(file.prepare_bytes > 0 for file in kernel.files), MOST_SERVERS
        )
        if layout.stripe is not None and layout.stripe * servers > placement.largest_bytes:
            small = min(layout.stripe, small or layout.stripe)
            continue
        stripe = {} if layout.stripe is None else {"kind": "sharded", "size": layout.stripe}
        spec = ClusterSpec.model_validate(
            {
                "name": f"{prefix}-{_name(kind, layout)}",
                "instance": dict(instance),
                "nodes": {"compute": compute, "io": servers},
                "file_system": {"kind": kind, **facts(kind).required, "stripe": stripe},
                "storage": {"size": size},
                "layout": "one-server-per-file" if layout.servers is None else "striped",
            }
        )
        if kind not in left_out:
            against = [*problems(spec), *_memory_problems(facts(kind), free_memory_bytes)]
            if against:
                left_out[kind] = f"{spec.file_system.title} is not compared: {'; '.join(against)}."
        if kind not in left_out:
            clusters.append(spec)
    if not clusters:
        raise SpecError(
            f"no file system can be compared on this machine. {' '.join(left_out.values())} 'wavetank doctor' shows what is missing"
        )
    told = list(left_out.values())
    if small is not None:
        told.append(
            f"The largest file has {format_size(placement.largest_bytes)}: stripes of {format_size(small)} and more "
            "would not reach all servers, so such layouts are not compared."
        )
    return Choice(tuple(clusters[:MOST_CLUSTERS]), tuple(told))


def _memory_problems(its: Facts, free_memory_bytes: int | None) -> Iterator[str]:
    if free_memory_bytes is not None and free_memory_bytes < its.free_memory_bytes:
        yield (
            f"it needs {format_size(its.free_memory_bytes)} of free memory, and this machine has "
            f"{format_size(free_memory_bytes)}"
        )


def _layouts(placement: Placement) -> Iterator[tuple[str, TriedLayout]]:
    """Layouts that can do something for an application: the first one of each file system, then the second ones, ..."""
    kinds = file_system_kinds(lambda facts: bool(facts.tried))
    suited = {
        kind: [each for each in facts(kind).tried if _suits(each, placement)] for kind in kinds
    }
    for turn in zip_longest(*suited.values()):
        for kind, layout in zip(kinds, turn, strict=True):
            if layout is not None:
                yield kind, layout


def _suits(layout: TriedLayout, placement: Placement) -> bool:
    """Whole files on several servers are for many files, a server for each input file is for inputs, stripes are for few files."""
    if layout.stripe is not None:
        return placement.kind != "many"
    if layout.servers is None:
        return placement.kind == "inputs"
    return layout.servers == 1 or placement.kind == "many"


def _name(kind: str, layout: TriedLayout) -> str:
    """Of a cluster: "nfs", "glusterfs-3", "glusterfs-3-4m", "glusterfs-1dfx1f"."""
    if facts(kind).most_servers == 1:
        return kind
    if layout.stripe is None:
        return f"{kind}-{layout.servers or '1dfx1f'}"
    unit = f"{layout.stripe // MIB}m" if layout.stripe >= MIB else f"{layout.stripe // 1024}k"
    return f"{kind}-{layout.servers}-{unit}"
