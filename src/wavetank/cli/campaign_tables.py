"""Tables of ``wavetank run``: the plan, what cannot be turned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wavetank.tables.table import Column, Definition

if TYPE_CHECKING:
    from wavetank.campaign.facts import ClusterFacts
    from wavetank.campaign.plan import Plan
    from wavetank.compare.comparison import NotMeasured


@dataclass(frozen=True)
class Planned:
    """One configuration of a plan; ``cannot``: why it cannot run."""

    application: str
    cluster: ClusterFacts
    mapping: str
    plan: Plan
    cannot: NotMeasured | None

    def repetitions(self, *, at_most: bool) -> int | None:
        """How often it is measured: exactly, or where a search decides, at most; None: the other says it."""
        if at_most != bool(self.plan.schedule.selection):
            return None
        if self.cannot:
            return 0
        return self.plan.schedule.repetitions if at_most else self.plan.repetitions


PLAN: Definition[Planned] = Definition(
    "campaign-plan",
    "Plan",
    (
        Column("application", "Application", lambda i: i.application),
        Column("cluster", "Cluster", lambda i: i.cluster.name),
        Column("title", "Title", lambda i: i.cluster.title, wide=True),
        Column("mapping", "Mapping", lambda i: i.mapping),
        Column("instances", "Instances", lambda i: f"{i.cluster.n_instances} x {i.cluster.instance_type}"),
        Column("repetitions", "Repetitions", lambda i: i.repetitions(at_most=False), kind="integer", help="null: a search decides"),
        Column("repetitions_at_most", "Repetitions at most", lambda i: i.repetitions(at_most=True), kind="integer",
               help="of a search"),
        Column("cannot_run", "Cannot run", lambda i: i.cannot.reason if i.cannot else None, wide=True),
    ),
    key="plan",
)  # fmt: skip

REFUSED: Definition[tuple[str, str, str]] = Definition(
    "knobs-that-do-not-apply",
    "Knobs that do not apply",
    (
        Column("application", "Application", lambda i: i[0]),
        Column("setting", "Setting", lambda i: i[1]),
        Column("reason", "Reason", lambda i: i[2], wide=True),
    ),
)


DEFINITIONS = (PLAN, REFUSED)
