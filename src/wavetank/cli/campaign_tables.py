"""Tables of ``wavetank campaign``: the plan, what cannot be turned, the store's measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wavetank.tables.table import Cell, Column, Definition

if TYPE_CHECKING:
    from wavetank.campaign.facts import ClusterFacts
    from wavetank.campaign.plan import Plan
    from wavetank.campaign.store import Entry
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
        if at_most != bool(self.plan.search):
            return None
        if self.cannot:
            return 0
        return self.plan.most_repetitions if at_most else self.plan.repetitions


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


def _hash(key: str, title: str) -> Column[Entry]:
    def cell(entry: Entry) -> Cell:
        value: str = getattr(entry.measurement, key)
        return Cell(value[:12], value)

    return Column(key, title, cell)


def _io_time_s(entry: Entry) -> float | None:
    from wavetank.kernel.results.io_time import io_time_s

    return io_time_s(entry.measurement.result)


MEASUREMENTS: Definition[Entry] = Definition(
    "stored-measurements",
    "Measurements",
    (
        Column("number", "Number", lambda i: i.number, kind="integer"),
        Column("application", "Application", lambda i: i.measurement.application),
        Column("cluster", "Cluster", lambda i: i.measurement.cluster),
        Column("mapping", "Mapping", lambda i: i.measurement.mapping),
        Column("repetition", "Repetition", lambda i: i.measurement.repetition, kind="integer"),
        Column("order", "Order", lambda i: i.measurement.order, kind="integer", machine=True),
        Column("cache", "Caches", lambda i: i.measurement.cache.found),
        Column("io_time_s", "I/O time", _io_time_s, unit="s"),
        Column("spent_s", "Spent", lambda i: i.spent_s, unit="s", machine=True),
        Column("finished_utc", "Finished", lambda i: Cell(i.finished_utc[:19], i.finished_utc)),
        Column("origin", "Origin", lambda i: i.measurement.origin, machine=True),
        _hash("kernel_sha256", "Kernel"),
        _hash("cluster_spec_sha256", "Cluster spec."),
        Column("version", "Version", lambda i: i.measurement.provenance.tool_version, machine=True),
        Column("commit", "Commit", lambda i: i.measurement.provenance.tool_commit, machine=True),
        Column("host", "Host", lambda i: i.measurement.provenance.host.hostname, machine=True),
        Column("raw_output", "Raw output", lambda i: i.has_raw_output, kind="boolean"),
        Column("doubts", "Doubts", lambda i: list(i.measurement.findings), kind="list"),
    ),
    key="measurements",
)
DEFINITIONS = (PLAN, REFUSED, MEASUREMENTS)
