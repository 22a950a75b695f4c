"""Bills: the seconds and bytes of each resource at the dated prices of a table, before as an estimate and afterwards as measured.

Pure: reads what was used, or is planned to be, and a price table; asks no provider. It is no provider's bill: free tiers, discounts
and taxes of an account are not known here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from pydantic import Field

from wavetank.cost.prices import SECONDS_PER_HOUR, PriceTable, per_hour
from wavetank.cost.storage import StorageUse, storage_per_month, storage_words
from wavetank.document import Record
from wavetank.errors import CostError
from wavetank.units import GB

# Since 2024-02-01 for every public IPv4 address, in every region (aws.amazon.com/vpc/pricing, read 2024).
PUBLIC_ADDRESS_PER_H = Decimal("0.005")
PUBLIC_ADDRESS = "public IPv4 address"
CENT = Decimal("0.01")


@dataclass(frozen=True)
class InstanceTime:
    """Instances of one type that ran for the same time.

    Attributes:
        kind: the type's name in the price table.
        number: of them.
        seconds: that each ran.
    """

    kind: str
    number: int
    seconds: float


@dataclass(frozen=True)
class StorageTime:
    """Storage that existed for a time.

    Attributes:
        use: what it was.
        seconds: that it existed.
        read_bytes, written_bytes: moved by it, where that is billed (EFS with elastic throughput).
    """

    use: StorageUse
    seconds: float
    read_bytes: int = 0
    written_bytes: int = 0


@dataclass(frozen=True)
class AddressTime:
    """Public IPv4 addresses that instances had for a time.

    Attributes:
        number: of them.
        seconds: that each was had.
    """

    number: int
    seconds: float


@dataclass(frozen=True)
class Transfer:
    """Data that crossed a border that is billed.

    Attributes:
        name: of the border in the price table: "internet-out", "between-zones", "between-regions".
        moved_bytes: that crossed it, both directions counted where both are billed.
    """

    name: str
    moved_bytes: int


Used = InstanceTime | StorageTime | AddressTime | Transfer


class BillLine(Record):
    """One resource on a bill."""

    resource: str = Field(
        description="its name in the price table, and of storage its size and what else is bought"
    )
    number: int = Field(description="of them; 1 for transfers")
    seconds: float | None = Field(
        description="of all of them together: three that ran 100 s each have 300; None of transfers"
    )
    per_h: Decimal | None = Field(
        description="price of one for an hour; None of transfers, and where the table has no price"
    )
    amount: Decimal | None = Field(description="None where the table has no price")
    missing: str | None = Field(default=None, description="why there is no amount")


class Bill(Record):
    """What resources cost by a price table: those that are planned (an estimate), or those that were used (a computed bill)."""

    lines: tuple[BillLine, ...]
    currency: str
    table: str = Field(description="name of the price table, its region and its date")

    @property
    def total(self) -> Decimal:
        """All lines that have an amount."""
        return sum((line.amount for line in self.lines if line.amount is not None), Decimal(0))

    @property
    def at_most(self) -> Decimal:
        """The total, rounded up to cents."""
        return self.total.quantize(CENT, rounding=ROUND_UP)

    @property
    def per_h(self) -> Decimal:
        """All that is paid by time, for an hour, at the same time."""
        return sum((line.number * line.per_h for line in self.lines if line.per_h), Decimal(0))

    @property
    def missing(self) -> tuple[str, ...]:
        """Why the total is too small, each reason once; empty when every line has an amount."""
        return tuple(dict.fromkeys(line.missing for line in self.lines if line.missing is not None))


@dataclass(frozen=True)
class Beside:
    """A resource as it was estimated and as it was computed from what was measured; None: it was not in one of them."""

    resource: str
    estimated: BillLine | None
    computed: BillLine | None

    @property
    def difference(self) -> Decimal | None:
        """Computed less estimated; None where an amount is missing."""
        amounts = [
            Decimal(0) if line is None else line.amount for line in (self.computed, self.estimated)
        ]
        first, second = amounts
        return None if first is None or second is None else first - second


def bill_of(used: Iterable[Used], table: PriceTable) -> Bill:
    """Price what was used. What has the same name and price is one line; each item is billed by the table's rule."""
    return Bill(
        lines=tuple(_by_resource(_line(each, table) for each in used).values()),
        currency=table.currency,
        table=f"{table.name} ({table.region}, {table.date}{'' if table.exchange is None else f', {table.exchange}'})",
    )


def beside(estimate: Bill, computed: Bill) -> tuple[Beside, ...]:
    """Each resource of both bills, in the order of the estimate; what was not estimated comes last.

    Raises:
        CostError: the bills are in different currencies.
    """
    if estimate.currency != computed.currency:
        raise CostError(
            f"an estimate in {estimate.currency} cannot be held against a bill in {computed.currency}"
        )
    before, after = _by_resource(estimate.lines), _by_resource(computed.lines)
    return tuple(
        Beside(name, before.get(name), after.get(name)) for name in dict.fromkeys([*before, *after])
    )


def _by_resource(lines: Iterable[BillLine]) -> dict[str, BillLine]:
    """One line for each resource: numbers, times and amounts added up."""
    found: dict[str, BillLine] = {}
    for line in lines:
        have = found.get(line.resource)
        found[line.resource] = line if have is None else _together(have, line)
    return found


def _together(first: BillLine, second: BillLine) -> BillLine:
    times = [each.seconds for each in (first, second) if each.seconds is not None]
    amounts = [each.amount for each in (first, second) if each.amount is not None]
    return BillLine(
        resource=first.resource,
        number=first.number + second.number,
        seconds=sum(times) if times else None,
        per_h=first.per_h,
        amount=sum(amounts, Decimal(0)) if len(amounts) == 2 else None,
        missing=first.missing or second.missing,
    )


def _line(used: Used, table: PriceTable) -> BillLine:
    """One line of one item, with the reason where it has no price."""
    if isinstance(used, Transfer):
        name, number, seconds = used.name, 1, None
    elif isinstance(used, StorageTime):
        name, number = storage_words(used.use), used.use.number
        seconds = number * used.seconds
    else:
        name = used.kind if isinstance(used, InstanceTime) else PUBLIC_ADDRESS
        number, seconds = used.number, used.number * used.seconds
    per_h, amount, missing = None, None, None
    try:
        per_h, amount = _price(used, table)
    except CostError as error:
        missing = str(error)
    return BillLine(
        resource=name, number=number, seconds=seconds, per_h=per_h, amount=amount, missing=missing
    )


def _price(used: Used, table: PriceTable) -> tuple[Decimal | None, Decimal]:
    """Of one for an hour, and of all for their time."""
    if isinstance(used, Transfer):
        return None, table.transfer_price(used.name).cost(used.moved_bytes)
    billed_s = table.billing.billed_s(used.seconds)
    if isinstance(used, InstanceTime):
        per_h = table.price_per_h(used.kind)
        return per_h, used.number * per_h * billed_s / SECONDS_PER_HOUR
    if isinstance(used, AddressTime):
        per_h = PUBLIC_ADDRESS_PER_H if table.address_per_h is None else table.address_per_h
        return per_h, used.number * per_h * billed_s / SECONDS_PER_HOUR
    price = table.storage_price(used.use.name)
    all_per_h = per_hour(storage_per_month(used.use, price))
    amount = all_per_h * billed_s / SECONDS_PER_HOUR
    if used.use.throughput_bytes_per_s is None:  # elastic: by what moved
        amount += Decimal(used.read_bytes) / GB * (price.per_gb_read or 0)
        amount += Decimal(used.written_bytes) / GB * (price.per_gb_written or 0)
    return all_per_h / used.use.number, amount
