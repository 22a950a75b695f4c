"""Prices of a site's own cloud, as its operator or a user writes them down: there is no public table of OpenStack clouds.

Reads a YAML file, leaves a price table, which all that reckons goes by. Money is Decimal; the table is in US dollars.
"""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - the field below is named date
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from wavetank.cost.prices import Billing, ExchangeRate, PriceTable, StoragePrice
from wavetank.document import Record
from wavetank.errors import CostError
from wavetank.specification import read_yaml

DOLLARS = "USD"
Price = Annotated[Decimal, Field(ge=0)]


class SitePrices(Record):
    """What flavors, volumes, shares and addresses cost at a site; 0 where nothing is charged."""

    site: str = Field(min_length=1, description="name of the site, in bills")
    date: Date = Field(description="day of the prices")
    source: str = Field(min_length=1, description="where they are from")
    region: str = Field(min_length=1, description="that they are of, as cloud.region")
    currency: str = Field(
        pattern=r"^[A-Z]{3}$", description="ISO 4217; another one than USD needs the key exchange"
    )
    exchange: ExchangeRate | None = Field(
        default=None,
        description="rate by which the prices become US dollars, in which budgets and bills of clusters are",
    )
    billing: Billing = Field(
        default=Billing(rule="per-second"), description="how use becomes a bill"
    )
    flavors: dict[str, Price] = Field(description="flavor -> price per hour")
    volumes: dict[str, Price] = Field(
        default_factory=dict,
        description="volume type -> price of a GB for a month; default: the cloud's own type",
    )
    shares: dict[str, Price] = Field(
        default_factory=dict,
        description="share type of Manila -> price of a GB for a month; default: the cloud's own type",
    )
    address_per_h: Price = Field(
        default=Decimal(0), description="price of a floating address per hour"
    )

    @model_validator(mode="after")
    def _is_in_dollars(self) -> SitePrices:
        rate = self.exchange
        if self.currency == DOLLARS:
            if rate is not None:
                raise ValueError("exchange: prices in USD need no rate: remove it")
        elif rate is None or (rate.of, rate.to) != (self.currency, DOLLARS):
            raise ValueError(
                f"currency {self.currency}: budgets and bills of clusters are in USD. Give the rate as exchange, e.g. "
                f'{{of: {self.currency}, to: USD, rate: "1.1", date: 2026-11-20, source: your bank}}'
            )
        return self

    def table(self) -> PriceTable:
        """The same as a price table in US dollars."""
        return PriceTable(
            name=self.site,
            date=self.date,
            source=self.source,
            region=self.region,
            currency=self.currency,
            billing=self.billing,
            instances=dict(self.flavors),
            storage={
                f"{family}-{name}": StoragePrice(per_gb_month=price)
                for family, prices in (("cinder", self.volumes), ("manila", self.shares))
                for name, price in prices.items()
            },
            address_per_h=self.address_per_h,
        ).converted(self.exchange)


def site_prices(path: Path, region: str) -> PriceTable:
    """Read the prices of a site.

    Args:
        path: of the file.
        region: that they have to be of.

    Raises:
        CostError: there is no such file, or it is of another region.
        SpecError: the file is none.
    """
    if not path.is_file():
        raise CostError(
            f"cloud.prices {path}: there is no such file. Write the site's prices into it (docs/how-to/a-university-cloud.md)"
        )
    found = read_yaml(path, SitePrices, "prices of a site")
    if found.region != region:
        raise CostError(f"cloud.prices {path} is of region {found.region}: take one of {region}")
    return found.table()
