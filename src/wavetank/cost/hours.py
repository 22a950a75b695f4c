"""Hours of a month: what is paid by the month as it is by the hour, and the other way round."""

from __future__ import annotations

from decimal import Decimal
from typing import TypeVar

Money = TypeVar("Money", Decimal, float)
SECONDS_PER_HOUR = 3600
HOURS_PER_MONTH = 730
"""As in the calculator of AWS; a bill goes by the days of its month."""


def per_month(per_h: Money) -> Money:
    """The price of a month of what costs so much an hour, and stays up."""
    return HOURS_PER_MONTH * per_h


def per_hour(a_month: Money) -> Money:
    """The price of an hour of what costs so much a month."""
    return a_month / HOURS_PER_MONTH
