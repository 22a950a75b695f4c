"""What runs cost: the parts of each cost, and the same by other price tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.compare.comparison import Comparison
from wavetank.compare.configuration import (
    Configuration,
    Cost,
    OtherCost,
    Standing,
    runs_per_unit,
)
from wavetank.compare.tables.where import currency_of, of_all, where
from wavetank.compare.words import origins_words, three_digits
from wavetank.tables.table import Amount, Cell, Column, Definition, Table, estimated


@dataclass(frozen=True)
class _Priced:
    c: Configuration
    cost: Cost
    currency: str

    def amount(self, name: str) -> Amount | None:
        """A part of the cost."""
        value = getattr(self.cost, name)
        return None if value is None else Amount(value, self.currency)


def _amount(name: str, title: str, help: str, key: str | None = None) -> Column[_Priced]:
    spread = name in ("cost_var", "cost_storage", "cost_tot")
    return Column(
        key or name, title, lambda i: i.amount(name), unit="currency", help=help, spread=spread
    )


COST: Definition[_Priced] = Definition(
    "cost",
    "Parts of the cost",
    (
        *where(lambda i: i.c),
        Column("instance_type", "Type", lambda i: i.c.instance_type, machine=True),
        Column("instances", "Instances", lambda i: dict(i.cost.instances), kind="object",
               show=lambda by: ", ".join(f"{n} {kind}" for kind, n in by.items()), help="compute, I/O and head nodes"),
        Column("n_instances", "Number of instances", lambda i: i.cost.n_instances, kind="integer", machine=True),
        Column("price_per_h", "Price per hour", lambda i: i.cost.price_inst_per_h, unit="currency", show=str,
               help="of each, the mean where types differ"),
        _amount("cost_var", "Variable", "P15 eq. 6"),
        _amount("cost_storage", "Storage", "volumes and managed file systems, by time"),
        _amount("cost_fix", "Fixed", "persistent storage"),
        _amount("cost_tot", "Total", "P15 eq. 5"),
        _amount("billed", "Billed", "one run, by the billing rule"),
        _amount("deployment", "Deployment", "once"),
        _amount("idle", "Idle", "while one measurement prepared"),
        Column("runs_per_unit", "Runs per unit", lambda i: i.cost.runs_per_unit, kind="number", spread=True, show=three_digits,
               help="that one unit of the currency pays for"),
        Column("perf_cost", "Ratio", lambda i: i.cost.perf_cost, kind="number", spread=True, machine=True,
               help="P15 eq. 8: MB/s per currency unit"),
        Column("counted", "In the total", lambda i: list(i.cost.counted), kind="list", machine=True,
               help="which of deployment and idle are in the total"),
    ),
)  # fmt: skip


def cost_table(comparison: Comparison, configurations: Sequence[Configuration]) -> Table:
    """The parts of the cost (P15 eq. 5 to 7)."""
    currency = currency_of(comparison)
    priced = [_Priced(each, each.cost, currency) for each in configurations if each.cost]

    def told(name: Standing) -> dict[str, object]:
        inside = any(name in item.cost.counted for item in priced)
        return {"help": "in the total" if inside else "not in the total"}

    return COST.table(
        priced,
        caption="Computed from the price table and I/O times that were "
        f"{origins_words(configurations).lower()}.",
        columns={
            **of_all(configurations),
            "price_per_h": {"title": f"{currency}/h each"},
            "runs_per_unit": {"title": f"Runs per {currency}"},
            "deployment": told("deployment"),
            "idle": told("idle"),
            "cost_storage": {"machine": all(item.cost.cost_storage is None for item in priced)},
        },
    )


_OtherPriced = tuple[Configuration, OtherCost]


def _total(item: _OtherPriced) -> Amount | None:
    other = item[1]
    return None if other.cost_tot is None else Amount(other.cost_tot, other.currency)


def _runs(item: _OtherPriced) -> Cell:
    other = item[1]
    if other.cost_tot is None:
        return Cell(other.missing or "", None)
    runs = runs_per_unit(other.cost_tot)
    return estimated(runs, lambda each: f"{three_digits(each)} per {other.currency}")


OTHER_COSTS: Definition[_OtherPriced] = Definition(
    "other-costs",
    "Cost by other price tables",
    (
        *where(lambda i: i[0]),
        Column("table", "Price table", lambda i: i[1].table),
        Column("date", "Date", lambda i: str(i[1].date)),
        Column("purchase", "Purchase", lambda i: i[1].purchase),
        Column("currency", "Currency", lambda i: i[1].currency, machine=True),
        Column("cost_tot", "Total", _total, unit="currency", spread=True, help="P15 eq. 5, without storage"),
        Column("runs_per_unit", "Runs", _runs, kind="number", spread=True, help="that one unit of the currency pays for"),
        Column("perf_cost", "Ratio", lambda i: i[1].perf_cost, kind="number", spread=True, machine=True,
               help="P15 eq. 8: MB/s per currency unit"),
        Column("missing", "Why not", lambda i: i[1].missing, machine=True),
    ),
    key="cost_by_other_price_tables",
)  # fmt: skip


def other_cost_table(configurations: Sequence[Configuration]) -> Table:
    """The same runs by other price tables: spot instead of on demand, another region."""
    return OTHER_COSTS.table(
        [(each, other) for each in configurations for other in each.other_costs],
        caption="Spot prices change by the hour, and a spot instance can be taken away.",
        columns=of_all(configurations),
    )
