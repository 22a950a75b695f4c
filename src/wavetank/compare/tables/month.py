"""The cost of a month, computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from wavetank.compare.comparison import Comparison
from wavetank.compare.configuration import Configuration
from wavetank.compare.month import Month, month_of
from wavetank.compare.tables.where import currency_of, of_all, where
from wavetank.cost.prices import HOURS_PER_MONTH
from wavetank.measure.statistics import Estimate
from wavetank.tables.table import Amount, Cell, Column, Definition, Table


@dataclass(frozen=True)
class _Costs:
    c: Configuration
    month: Month
    currency: str


def _amount(
    key: str, title: str, of: Callable[[Month], Estimate | Decimal | None], help: str
) -> Column[_Costs]:
    def cell(item: _Costs) -> Amount | Cell:
        value = of(item.month)
        return Cell("not known", None) if value is None else Amount(value, item.currency)

    return Column(key, title, cell, unit="currency", help=help, spread=key != "all_up")


MONTH: Definition[_Costs] = Definition(
    "month",
    "Cost of a month, computed",
    (
        *where(lambda i: i.c),
        Column("runs_per_month", "Runs", lambda i: i.month.runs, kind="integer", machine=True),
        Column("busy_percent", "Busy", lambda i: i.month.busy_percent, unit="%", spread=True, brief=True,
               help="of the month's hours, one run after another"),
        Column("fits", "Fits", lambda i: i.month.fits, kind="boolean", help="so many runs into a month"),
        _amount("io_of_runs", "I/O of the runs", lambda m: m.io, "all instances for the I/O time alone"),
        _amount("whole_runs", "Whole runs", lambda m: m.runs_alone, "all instances for each whole run alone"),
        _amount("servers_up", "Servers stay up", lambda m: m.servers_up, "servers and storage all month, the rest for each whole run"),
        _amount("all_up", "All stays up", lambda m: m.all_up, "everything all month"),
    ),
    key="cost_of_a_month",
)  # fmt: skip


def month_table(comparison: Comparison, configurations: Sequence[Configuration]) -> Table:
    """The cost of a month on each configuration; without rows where nobody said how many runs it has."""
    runs, currency = comparison.runs_per_month, currency_of(comparison)
    months = [] if runs is None else [(each, month_of(each, runs)) for each in configurations]
    return MONTH.table(
        [_Costs(each, month, currency) for each, month in months if month is not None],
        title="Cost of a month, computed"
        if runs is None
        else f"Cost of a month of {runs:,} runs, computed",
        caption=f"A month has {HOURS_PER_MONTH} hours. Storage that is kept is not in it, nor are hours for bringing instances up.",
        columns=of_all(configurations),
    )
