"""Computed bills: the seconds and bytes of each resource at the dated prices of a table, and beside them the estimate from before.

Pure: reads what was used and a price table; asks no provider. It is no provider's bill: free tiers, discounts and taxes of an
account are not known here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from wavetank.cost.prices import SECONDS_PER_HOUR, PriceTable
from wavetank.cost.storage import HOURS_PER_MONTH, StorageUse, storage_per_month
from wavetank.errors import CostError
from wavetank.units import GB


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
class Transfer:
    """Data that crossed a border that is billed.

    Attributes:
        name: of the border in the price table: "internet-out", "between-zones", "between-regions".
        moved_bytes: that crossed it, both directions counted where both are billed.
    """

    name: str
    moved_bytes: int


Used = InstanceTime | StorageTime | Transfer


@dataclass(frozen=True)
class BillLine:
    """One resource on a computed bill.

    Attributes:
        resource: its name in the price table.
        number: of them; 1 for transfers.
        seconds: that each was paid for, as measured; None of transfers.
        amount: in the table's currency; None where the table has no price.
        missing: why there is no amount.
    """

    resource: str
    number: int
    seconds: float | None
    amount: Decimal | None
    missing: str | None = None


@dataclass(frozen=True)
class ComputedBill:
    """What resources cost by a price table."""

    lines: tuple[BillLine, ...]
    currency: str
    table: str

    @property
    def total(self) -> Decimal:
        """All lines that have an amount."""
        return sum((line.amount for line in self.lines if line.amount is not None), Decimal(0))

    @property
    def missing(self) -> tuple[str, ...]:
        """Why the total is too small; empty when every line has an amount."""
        return tuple(line.missing for line in self.lines if line.missing is not None)


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


def computed_bill(used: Iterable[Used], table: PriceTable) -> ComputedBill:
    """Price what was used. Each item is a line of its own, billed by the table's rule."""
    lines = tuple(_line(each, table) for each in used)
    return ComputedBill(lines, table.currency, table.name)


def beside(estimate: ComputedBill, computed: ComputedBill) -> tuple[Beside, ...]:
    """Each resource of both bills, in the order of the estimate; what was not estimated comes last.

    Raises:
        CostError: the bills are in different currencies.
    """
    if estimate.currency != computed.currency:
        raise CostError(
            f"an estimate in {estimate.currency} cannot be held against a bill in {computed.currency}"
        )
    before, after = _by_resource(estimate), _by_resource(computed)
    return tuple(
        Beside(name, before.get(name), after.get(name)) for name in dict.fromkeys([*before, *after])
    )


def _by_resource(bill: ComputedBill) -> dict[str, BillLine]:
    """One line for each resource: amounts added up, the longest time, all that were there."""
    found: dict[str, BillLine] = {}
    for line in bill.lines:
        have = found.get(line.resource)
        found[line.resource] = line if have is None else _together(have, line)
    return found


def _together(first: BillLine, second: BillLine) -> BillLine:
    times = [each.seconds for each in (first, second) if each.seconds is not None]
    amounts = [each.amount for each in (first, second) if each.amount is not None]
    return BillLine(
        first.resource,
        first.number + second.number,
        max(times, default=None),
        sum(amounts, Decimal(0)) if len(amounts) == 2 else None,
        first.missing or second.missing,
    )


def _line(used: Used, table: PriceTable) -> BillLine:
    if isinstance(used, InstanceTime):
        name, number, seconds = used.kind, used.number, used.seconds
    elif isinstance(used, StorageTime):
        name, number, seconds = used.use.name, used.use.number, used.seconds
    else:
        return _transfer_line(used, table)
    try:
        amount = (
            _instances(used, table) if isinstance(used, InstanceTime) else _storage(used, table)
        )
    except CostError as error:
        return BillLine(name, number, seconds, None, str(error))
    return BillLine(name, number, seconds, amount)


def _instances(used: InstanceTime, table: PriceTable) -> Decimal:
    billed_s = table.billing.billed_s(used.seconds)
    return used.number * table.price_per_h(used.kind) * billed_s / SECONDS_PER_HOUR


def _storage(used: StorageTime, table: PriceTable) -> Decimal:
    price = table.storage_price(used.use.name)
    per_s = storage_per_month(used.use, price) / HOURS_PER_MONTH / SECONDS_PER_HOUR
    amount = per_s * table.billing.billed_s(used.seconds)
    if used.use.throughput_bytes_per_s is None:  # elastic: by what moved
        amount += Decimal(used.read_bytes) / GB * (price.per_gb_read or 0)
        amount += Decimal(used.written_bytes) / GB * (price.per_gb_written or 0)
    return amount


def _transfer_line(used: Transfer, table: PriceTable) -> BillLine:
    try:
        amount = table.transfer_price(used.name).cost(used.moved_bytes)
    except CostError as error:
        return BillLine(used.name, 1, None, None, str(error))
    return BillLine(used.name, 1, None, amount)
