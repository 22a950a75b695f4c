"""Rates of exchange: a user gives them, with their date and source. wavetank has none of its own.

Reads YAML; a campaign file holds the same keys under ``currency``.
"""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - the field below is named date
from decimal import Decimal
from pathlib import Path

from pydantic import Field

from wavetank.document import Record
from wavetank.errors import CostError
from wavetank.specification import read_yaml


class ExchangeRate(Record):
    """What one unit of a currency is worth in another, on one day."""

    of: str = Field(pattern=r"^[A-Z]{3}$", description="currency of the price table, ISO 4217")
    to: str = Field(pattern=r"^[A-Z]{3}$", description="currency that is shown, ISO 4217")
    rate: Decimal = Field(gt=0, description="units of 'to' for one unit of 'of'")
    date: Date = Field(description="day of the rate")
    source: str = Field(min_length=1, description="who published it")

    def __str__(self) -> str:
        """As notes say it: "1 USD = 0.9 EUR (2026-11-20, the central bank)"."""
        return f"1 {self.of} = {self.rate} {self.to} ({self.date}, {self.source})"


def read_rate(path: Path) -> ExchangeRate:
    """Read a rate of exchange.

    Raises:
        CostError: there is no such file.
        SpecError: the file is none.
    """
    if not path.is_file():
        raise CostError(
            f"no rate of exchange: {path} is not there. Write one with the keys of, to, rate, date and source, "
            'e.g. {of: USD, to: EUR, rate: "0.9", date: 2026-11-20, source: your bank}'
        )
    return read_yaml(path, ExchangeRate, "rate of exchange")
