"""Where the ranks of the user's own program run: by a mapping, a number of ranks, or both.

What they do is not known, so every rank counts, also those that a kernel's mapping would not place (measure/mapping.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.errors import UsageError
from wavetank.measure.mapping import parse_mapping


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
