"""``--currency``: amounts in another currency than the price table's, by a rate that the user gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from wavetank.cost.prices import PriceTable

currency_option = click.option(
    "--currency", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Show amounts in another currency, by the rate of exchange in this file (YAML: of, to, rate, date, source).",
)  # fmt: skip


def prices_in(table: PriceTable, currency: Path | None) -> PriceTable:
    """The table in the currency of a file; as it is without one.

    Raises:
        CostError: there is no such file, or its rate is of another currency.
        SpecError: it is no rate of exchange.
    """
    from wavetank.cost.prices import read_rate

    return table if currency is None else table.converted(read_rate(currency))


def origin_words(table: PriceTable) -> str:
    """Name, region and date of a table, and by which rate it was converted."""
    said = f"price table {table.name} ({table.region}, {table.date})"
    return said if table.exchange is None else f"{said}, at {table.exchange}"
