"""Tables of ``wavetank cluster list``, ``status`` and ``prune``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wavetank.tables.table import Column, Definition, Value, facts, sentences

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from wavetank.cluster.namespaces.orphans import Orphan
    from wavetank.cluster.state import ClusterState


def usd(
    key: str, title: str, of: Callable[[Any], Decimal | None], digits: int, *, help: str = ""
) -> Column[Any]:
    """A column of US dollars; people see so many digits after the point."""
    return Column(
        key, title, of, unit="currency", show=lambda value: f"{value:.{digits}f}", help=help
    )


@dataclass(frozen=True)
class ListedCluster:
    """A cluster that was brought up here: its state, None where it is half made; what it cost so far, USD."""

    name: str
    state: ClusterState | None
    spent_usd: Decimal | None


def _of_state(of: Callable[[ClusterState], Value]) -> Callable[[ListedCluster], Value]:
    return lambda item: None if item.state is None else of(item.state)


CLUSTERS: Definition[ListedCluster] = Definition(
    "clusters",
    "Clusters",
    (
        Column("name", "Name", lambda i: i.state.spec.name if i.state else i.name),
        Column("status", "Status", lambda i: i.state.status if i.state else "half made"),
        Column("provider", "Provider", _of_state(lambda state: state.spec.provider)),
        Column("file_system", "File system", _of_state(lambda state: state.spec.file_system.kind)),
        Column("nodes", "Nodes", _of_state(lambda state: len(state.spec.node_names())), kind="integer"),
        Column("since_utc", "Since (UTC)", _of_state(lambda state: state.provenance.created_utc)),
        usd("usd_so_far", "USD so far", lambda i: i.spent_usd, 2),
    ),
    command="cluster list",
)  # fmt: skip

LEFT: Definition[tuple[Orphan, str]] = Definition(
    "left-of-clusters",
    "Left of clusters",
    (
        Column("cluster", "Cluster", lambda i: i[0].cluster),
        Column("kind", "Kind", lambda i: i[0].kind),
        Column("which", "Which", lambda i: i[0].which, wide=True),
        Column("processes", "Processes", lambda i: len(i[0].pids), kind="integer"),
        Column("state", "State", lambda i: i[1]),
    ),
    command="cluster prune",
)

NODES: Definition[tuple[str, str, str]] = Definition(
    "status-nodes",
    "Nodes",
    (
        Column("node", "Node", lambda i: i[0]),
        Column("address", "Address", lambda i: i[1]),
        Column("role", "Role", lambda i: i[2]),
    ),
    key="nodes",
    command="cluster status",
)

IN_FORCE = facts("settings-in-force", "Settings in force", "setting", command="cluster status")
LIMITS = facts(
    "limits-in-force", "Limits (emulated)", "limit", "in_force", key="limits", command="cluster status"
)  # fmt: skip
HEALTH = sentences("health", "Health", "finding", command="cluster status")
DEFINITIONS = (CLUSTERS, LEFT, NODES, IN_FORCE, LIMITS, HEALTH)
