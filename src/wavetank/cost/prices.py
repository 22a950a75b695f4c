"""Price tables: an instance's price an hour, a gigabyte's a month; date, source and billing rule.

Reads YAML files; the shipped ones lie in cost/data/prices. Money is Decimal, with a currency.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date as Date  # noqa: N812
from decimal import Decimal
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal, Self, TypeAlias, TypeVar

from pydantic import Field, model_validator

from wavetank.document import Record
from wavetank.errors import CostError
from wavetank.nearest import did_you_mean
from wavetank.specification import read_yaml
from wavetank.units import GB, Duration


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


P = TypeVar("P")
R = TypeVar("R", bound=Record)
Purchase: TypeAlias = Literal["on-demand", "spot", "reserved", "other"]


class Billing(Record):
    """How use becomes a bill."""

    rule: Literal["started-hour", "per-second"]
    minimum_s: Duration = Field(
        default=0, description="shortest time that is billed; per-second only"
    )

    def billed_s(self, used_s: float) -> int:
        """Seconds on the bill for seconds of use of one instance; nothing for no use."""
        if used_s <= 0:
            return 0
        if self.rule == "started-hour":
            return math.ceil(used_s / SECONDS_PER_HOUR) * SECONDS_PER_HOUR
        return max(math.ceil(used_s), math.ceil(self.minimum_s))

    def __str__(self) -> str:
        """As the report prints it."""
        if self.rule == "started-hour":
            return "per started hour"
        return f"per second, at least {self.minimum_s:.0f} s" if self.minimum_s else "per second"


class StoragePrice(Record):
    """Persistent storage."""

    per_gb_month: Decimal = Field(ge=0)
    minimum_gb: int = Field(default=0, ge=0, description="smallest capacity that can be had, GB")
    step_gb: int = Field(
        default=1, ge=1, description="above the smallest, capacity comes in multiples of this, GB"
    )
    included_iops: int = Field(default=0, ge=0, description="of each volume, without a price")
    per_iops_month: Decimal | None = Field(
        default=None, ge=0, description="of IOPS provisioned beyond those included"
    )
    most_iops: int | None = Field(
        default=None, gt=0, description="of a volume, up to which per_iops_month holds"
    )
    included_mib_per_s: int = Field(default=0, ge=0, description="of each volume, without a price")
    per_mib_per_s_month: Decimal | None = Field(
        default=None, ge=0, description="of throughput provisioned beyond that included, MiB/s"
    )
    per_gb_read: Decimal | None = Field(default=None, ge=0, description="with elastic throughput")
    per_gb_written: Decimal | None = Field(
        default=None, ge=0, description="with elastic throughput"
    )
    per_1000_reads: Decimal | None = Field(
        default=None, ge=0, description="requests of an object store that read"
    )
    per_1000_writes: Decimal | None = Field(
        default=None, ge=0, description="requests of an object store that write or list"
    )
    note: str | None = None
    date: Date | None = Field(default=None, description="where it differs from the table's")
    source: str | None = Field(default=None, description="where it differs from the table's")

    def capacity_gb(self, needed_gb: int) -> int:
        """The least that can be had: the smallest capacity, or whole steps above it."""
        if needed_gb <= self.minimum_gb:
            return self.minimum_gb
        return -(-needed_gb // self.step_gb) * self.step_gb


class TransferTier(Record):
    """A price of transferred data up to an amount in a month."""

    to_gb: int | None = Field(default=None, gt=0, description="from nothing on; None: no end")
    per_gb: Decimal = Field(ge=0)


class TransferPrice(Record):
    """Data that crosses a border: of a zone, a region, the provider."""

    tiers: tuple[TransferTier, ...] = Field(
        min_length=1, description="ascending; the last has no end"
    )
    note: str | None = None
    date: Date | None = Field(default=None, description="where it differs from the table's")
    source: str | None = Field(default=None, description="where it differs from the table's")

    @model_validator(mode="after")
    def _tiers_ascend(self) -> Self:
        ends = [tier.to_gb for tier in self.tiers]
        bounded = [end for end in ends[:-1] if end is not None]
        if ends[-1] is not None or len(bounded) != len(ends) - 1 or sorted(set(bounded)) != bounded:
            raise ValueError("tiers must ascend by to_gb, and the last one has none")
        return self

    def cost(self, moved_bytes: int) -> Decimal:
        """Of an amount that is all of its month, in the table's currency."""
        left, begin, total = Decimal(moved_bytes) / GB, 0, Decimal(0)
        for tier in self.tiers:
            within = left if tier.to_gb is None else min(left, Decimal(tier.to_gb - begin))
            total += within * tier.per_gb
            left -= within
            begin = tier.to_gb or begin
        return total


class PriceTable(Record):
    """Prices of one provider, region and day."""

    name: str
    date: Date = Field(description="day of the prices")
    source: str
    region: str
    currency: str = Field(pattern=r"^[A-Z]{3}$", description="ISO 4217")
    purchase: Purchase = "on-demand"
    exchange: ExchangeRate | None = Field(
        default=None, description="by which the prices came into this currency"
    )
    billing: Billing
    instances: dict[str, Decimal] = Field(description="instance type -> price per hour")
    storage: dict[str, StoragePrice] = Field(default_factory=dict)
    address_per_h: Decimal | None = Field(
        default=None, ge=0, description="of a public IPv4 address; the default is that of AWS"
    )
    transfer: dict[str, TransferPrice] = Field(
        default_factory=dict, description="of data: internet-out, between-zones, between-regions"
    )

    def converted(self, rate: ExchangeRate | None) -> Self:
        """The table in the currency of a rate; as it is without one, or where it is in that currency.

        Raises:
            CostError: the rate is of another currency than the table's.
        """
        if rate is None or self.currency == rate.to:
            return self
        if self.currency != rate.of:
            raise CostError(
                f"price table {self.name} is in {self.currency}, and the rate of exchange is of {rate.of} to {rate.to}. "
                f"Give one of {self.currency}"
            )
        return self.model_copy(
            update={
                "currency": rate.to,
                "exchange": rate,
                "instances": {name: each * rate.rate for name, each in self.instances.items()},
                "address_per_h": None
                if self.address_per_h is None
                else self.address_per_h * rate.rate,
                "storage": {name: _times(each, rate) for name, each in self.storage.items()},
                "transfer": {
                    name: each.model_copy(
                        update={"tiers": tuple(_times(tier, rate) for tier in each.tiers)}
                    )
                    for name, each in self.transfer.items()
                },
            }
        )

    def price_per_h(self, instance_type: str) -> Decimal:
        """Price of an instance per hour.

        Raises:
            CostError: the table does not have the type.
        """
        try:
            return self.instances[instance_type]
        except KeyError:
            raise CostError(
                f"price table {self.name} ({self.region}, {self.date}) has no instance type "
                f"{instance_type!r}. Choose another table, or copy it and add the type"
            ) from None

    def storage_price(self, storage: str) -> StoragePrice:
        """Price of persistent storage.

        Raises:
            CostError: the table does not have it.
        """
        return self._found(self.storage, storage, "storage")

    def transfer_price(self, border: str) -> TransferPrice:
        """Price of data that crosses a border.

        Raises:
            CostError: the table does not have it.
        """
        return self._found(self.transfer, border, "price of data transfer")

    def _found(self, prices: Mapping[str, P], name: str, what: str) -> P:
        if name in prices:
            return prices[name]
        known = ", ".join(sorted(prices)) or "none"
        raise CostError(
            f"price table {self.name} ({self.region}, {self.date}) has no {what} {name!r}; it has: {known}"
        )


def _times(price: R, rate: ExchangeRate) -> R:
    """A price with each of its amounts in another currency; whatever else it says are no decimals."""
    amounts = {name: value * rate.rate for name, value in price if isinstance(value, Decimal)}
    return price.model_copy(update=amounts)


def shipped_tables() -> list[str]:
    """Names of the price tables that come with wavetank."""
    folder = resources.files("wavetank.cost").joinpath("data", "prices")
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in folder.iterdir()
        if entry.name.endswith(".yaml")
    )


def load_prices(table: str | Path, relative_to: Path | None = None) -> PriceTable:
    """Read a price table.

    Args:
        table: name of a shipped table, or path of a YAML file.
        relative_to: folder that a relative path starts from; the working directory by default.

    Raises:
        CostError: no such table.
        SpecError: the file is not a price table.
    """
    if str(table) in shipped_tables():
        return _shipped(str(table))
    path = (relative_to or Path()) / table
    if not path.is_file():
        raise CostError(
            f"no price table {str(table)!r}: neither a file ({path}) nor one of those that "
            f"come with wavetank: {', '.join(shipped_tables())}.{did_you_mean(str(table), shipped_tables())}"
        )
    return read_yaml(path, PriceTable, "price table")


@cache
def _shipped(name: str) -> PriceTable:
    place = resources.files("wavetank.cost").joinpath("data", "prices", f"{name}.yaml")
    with resources.as_file(place) as path:
        return read_yaml(path, PriceTable, "price table")
