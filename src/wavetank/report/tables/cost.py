"""Tables of what runs cost: the parts of each cost, and the same by other price tables."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from wavetank.compare.comparison import Comparison, Configuration, Cost, Standing
from wavetank.report.tables.table import Cell, Column, ReportTable, estimated, number, text
from wavetank.report.text.words import money, origins_words


def cost_table(comparison: Comparison, configurations: Sequence[Configuration]) -> ReportTable:
    """The parts of the cost (P15 eq. 5 to 7)."""
    currency = comparison.price.currency if comparison.price is not None else ""
    rated = [c.cost for c in configurations if c.cost is not None]
    has_storage = any(cost.cost_storage is not None for cost in rated)
    rows = []
    for c in configurations:
        if c.cost is None:
            continue
        rows.append(
            (
                text(c.cluster_title),
                text(c.mapping),
                text(", ".join(f"{n} {kind}" for kind, n in c.cost.instances.items())),
                number(float(c.cost.price_inst_per_h), f"{c.cost.price_inst_per_h}"),
                estimated(c.cost.cost_var, lambda v: money(v, currency)),
                *_storage(c.cost, currency, shown=has_storage),
                number(float(c.cost.cost_fix), money(c.cost.cost_fix, currency)),
                estimated(c.cost.cost_tot, lambda v: money(v, currency)),
                number(float(c.cost.billed), money(c.cost.billed, currency)),
                _standing(c.cost.deployment, currency),
                _standing(c.cost.idle, currency),
            )
        )
    return ReportTable(
        name="cost",
        title="Parts of the cost",
        columns=(
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("instances", "Instances", help="compute, I/O and head nodes"),
            Column("price_inst_per_h", f"{currency}/h each", numeric=True),
            Column("cost_var", "Variable", numeric=True, help="P15 eq. 6"),
            *(_STORAGE if has_storage else ()),
            Column("cost_fix", "Fixed", numeric=True, help="persistent storage"),
            Column("cost_tot", "Total", numeric=True, help="P15 eq. 5"),
            Column("billed", "Billed", numeric=True, help="one run, by the billing rule"),
            Column("deployment", "Deployment", numeric=True, help=_in_total("deployment", rated)),
            Column("idle", "Idle", numeric=True, help=_in_total("idle", rated)),
        ),
        rows=tuple(rows),
        caption="Computed from the price table named below and I/O times that were "
        + f"{origins_words(configurations).lower()}.",
        filterable=len(rows) > 12,
    )


_STORAGE = (
    Column(
        "cost_storage", "Storage", numeric=True, help="volumes and managed file systems, by time"
    ),
)


def _storage(cost: Cost, currency: str, *, shown: bool) -> tuple[Cell, ...]:
    """A cell where the table has the column: one of its clusters has storage that is paid by time."""
    if not shown:
        return ()
    if cost.cost_storage is None:
        return (number(None),)
    return (estimated(cost.cost_storage, lambda v: money(v, currency)),)


def other_cost_table(configurations: Sequence[Configuration]) -> ReportTable:
    """The same runs by other price tables: spot instead of on demand, another region."""
    rows = tuple(
        (
            text(c.cluster_title),
            text(c.mapping),
            text(other.table),
            text(f"{other.date}"),
            text(other.purchase),
            number(None)
            if other.cost_tot is None
            else estimated(other.cost_tot, partial(money, currency=other.currency)),
            text(other.missing or "")
            if other.perf_cost is None
            else estimated(other.perf_cost, partial(ratio_words, currency=other.currency)),
        )
        for c in configurations
        for other in c.other_costs
    )
    return ReportTable(
        name="other-costs",
        title="The same by other price tables",
        columns=(
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("table", "Price table"),
            Column("date", "Date"),
            Column("purchase", "Purchase"),
            Column("cost_tot", "Total", numeric=True, help="P15 eq. 5, without storage"),
            Column("perf_cost", "Ratio", numeric=True, help="P15 eq. 8"),
        ),
        rows=rows,
        caption="Spot prices change by the hour, and a spot instance can be taken away.",
        filterable=len(rows) > 12,
    )


def ratio_words(value: float, currency: str) -> str:
    """A performance-cost ratio, P15 eq. 8."""
    return f"{value:,.0f} MB/s per {currency}"


def _standing(amount: Decimal | None, currency: str) -> Cell:
    return number(None) if amount is None else number(float(amount), money(amount, currency))


def _in_total(name: Standing, costs: Sequence[Cost]) -> str:
    return "in the total" if any(name in cost.counted for cost in costs) else "not in the total"
