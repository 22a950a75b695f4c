"""Process mappings: which rank runs on which compute node.

A mapping kPxCN puts k I/O processes on each compute node (P16: 1PxCN, 2PxCN). The ranks without
I/O of weight have a place too: on the nodes with the fewest ranks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wavetank.errors import MeasurementError
from wavetank.kernel.document.kernel import Kernel

IO_RANK_SHARE = 0.1
"""A rank counts as an I/O process when it moves at least this share of the busiest rank's bytes.

ABySS: two ranks read gigabytes, and every rank writes a few kilobytes at the end; the papers count
the two (P18 table 3).
"""

_MAPPING = re.compile(r"^([1-9][0-9]*)PxCN$")


def parse_mapping(mapping: str) -> int:
    """I/O processes per compute node of "1PxCN", "2PxCN", ...

    Raises:
        MeasurementError: not a mapping.
    """
    match = _MAPPING.match(mapping)
    if match is None:
        raise MeasurementError(
            f"{mapping!r} is not a process mapping. Write kPxCN: k I/O processes per compute node, "
            "e.g. 1PxCN or 2PxCN"
        )
    return int(match[1])


def rank_bytes(kernel: Kernel) -> dict[int, int]:
    """Bytes that each rank moves; a phase's weight is shared evenly unless its runs are listed.

    Of a variant those of the kernel as it is: its ranks stay where they were.
    """
    if kernel.variant is not None:
        return dict(enumerate(kernel.variant.rank_bytes))
    moved = dict.fromkeys(range(kernel.n_ranks), 0)
    for phase in kernel.phases:
        for rank in phase.ph_processid:
            moved[rank] += phase.ph_weight // max(phase.ph_np, 1)
    return moved


def io_ranks(kernel: Kernel) -> tuple[int, ...]:
    """The ranks that a mapping places: those that carry the application's I/O, ascending."""
    moved = rank_bytes(kernel)
    busiest = max(moved.values(), default=0)
    if busiest == 0:
        return ()
    return tuple(rank for rank, size in moved.items() if size >= IO_RANK_SHARE * busiest)


def place_ranks(kernel: Kernel, nodes: Sequence[str], mapping: str) -> tuple[str, ...]:
    """The node of each rank, in rank order.

    Args:
        kernel: whose ranks.
        nodes: names of the compute nodes.
        mapping: "1PxCN", ...

    Raises:
        MeasurementError: not a mapping, or too few compute nodes.
    """
    per_node = parse_mapping(mapping)
    carriers = io_ranks(kernel)
    needed = -(-len(carriers) // per_node)
    if needed > len(nodes) or not nodes:
        raise MeasurementError(
            f"{mapping} of {len(carriers)} I/O processes needs {needed} compute nodes and the "
            f"cluster has {len(nodes)}. Choose a cluster with more compute nodes, or a mapping "
            "with more processes per node"
        )
    place = {rank: nodes[position // per_node] for position, rank in enumerate(carriers)}
    load = {node: sum(1 for at in place.values() if at == node) for node in nodes}
    for rank in range(kernel.n_ranks):
        if rank not in place:
            emptiest = min(nodes, key=lambda node: load[node])  # the first of equals
            place[rank] = emptiest
            load[emptiest] += 1
    return tuple(place[rank] for rank in range(kernel.n_ranks))


def most_ranks_on_a_node(placed: Sequence[str]) -> int:
    """Ranks on the fullest node, to be compared with its cores."""
    return max((list(placed).count(node) for node in set(placed)), default=0)


def as_placement_hosts(placed: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Rank-ordered (node, number of consecutive ranks), as ``job.Placement.hosts`` wants it."""
    runs: list[tuple[str, int]] = []
    for node in placed:
        if runs and runs[-1][0] == node:
            runs[-1] = (node, runs[-1][1] + 1)
        else:
            runs.append((node, 1))
    return tuple(runs)
