"""Tables of ``wavetank instances``: types that suit, one type, prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from wavetank.cost.prices import HOURS_PER_MONTH, per_month
from wavetank.tables.table import Amount, Cell, Column, Definition, facts
from wavetank.tables.words import DASH, plain_words
from wavetank.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from wavetank.cost.find import Candidate
    from wavetank.cost.prices import PriceTable, StoragePrice, TransferPrice, TransferTier

_Stored: TypeAlias = "tuple[PriceTable, str, StoragePrice]"
_Moved: TypeAlias = "tuple[PriceTable, str, TransferPrice, TransferTier]"


def _ruled_out(candidate: Candidate) -> Cell:
    reasons = [text for _, text in candidate.ruled_out]
    return Cell("; ".join(reasons) or DASH, reasons)


def _per_h(candidate: Candidate, currency: str) -> Cell:
    price = candidate.price_per_h
    return Cell(DASH, None) if price is None else Cell(f"{price:.4f} {currency}", float(price))


def _per_month(per_h: Decimal | None, currency: str) -> Amount | None:
    return None if per_h is None else Amount(per_month(per_h), currency)


_STAYS_UP = f"that stays up, {HOURS_PER_MONTH} h"


def _size(size_bytes: int) -> Cell:
    return Cell(format_size(size_bytes) if size_bytes else DASH, size_bytes)


_ORIGIN: tuple[Column[Any], ...] = (
    Column("date", "Date", lambda i: str(i[2].date or i[0].date)),
    Column("source", "Source", lambda i: i[2].source or i[0].source, wide=True),
    Column("note", "Note", lambda i: i[2].note, wide=True),
)

CANDIDATES: Definition[tuple[Candidate, str]] = Definition(
    "instances",
    "Instances",
    (
        Column("type", "Type", lambda i: i[0].kind.name),
        Column("compute", "Compute nodes", lambda i: i[0].n_compute, kind="integer"),
        Column("io", "I/O nodes", lambda i: i[0].n_io, kind="integer"),
        Column("cluster_per_h", "Cluster per hour", lambda i: _per_h(*i), unit="currency"),
        Column("cluster_per_month", "Cluster per month", lambda i: _per_month(i[0].price_per_h, i[1]), unit="currency",
               help=_STAYS_UP),
        Column("cores", "Cores", lambda i: i[0].kind.cores, kind="integer"),
        Column("memory", "Memory", lambda i: i[0].kind.memory_bytes, unit="B"),
        Column("network", "Network", lambda i: i[0].kind.network_baseline_bytes_per_s, unit="B/s"),
        Column("ebs", "EBS", lambda i: i[0].kind.ebs_baseline_bytes_per_s, unit="B/s"),
        Column("local_storage", "Local storage", lambda i: _size(i[0].kind.local_storage_bytes), unit="B"),
        Column("ruled_out", "Ruled out", lambda i: _ruled_out(i[0]), kind="list", wide=True),
    ),
    command="instances find",
)  # fmt: skip

# What hides types unless they are asked for -> how to ask.
_TO_SEE_THEM = {
    "architecture": "--architecture any",
    "burstable": "--burstable",
    "generation": "--generation any",
}

RULED_OUT: Definition[tuple[str, int]] = Definition(
    "ruled-out",
    "Ruled out",
    (
        Column("by", "By", lambda i: i[0], wide=True),
        Column("types", "Types", lambda i: i[1], kind="integer"),
        Column(
            "to_see_them",
            "To see them",
            lambda i: Cell(_TO_SEE_THEM.get(i[0], DASH), _TO_SEE_THEM.get(i[0])),
        ),
    ),
    command="instances find",
)

INSTANCE = facts("instance", "Instance", "quantity", command="instances show")

PRICES: Definition[tuple[str, PriceTable]] = Definition(
    "prices",
    "Prices",
    (
        Column("table", "Table", lambda i: i[1].name),
        Column("date", "Date", lambda i: str(i[1].date)),
        Column("region", "Region", lambda i: i[1].region),
        Column("purchase", "Purchase", lambda i: i[1].purchase),
        Column(
            "price_per_h",
            "Price per hour",
            lambda i: i[1].instances[i[0]],
            unit="currency",
            show=plain_words,
        ),
        Column(
            "price_per_month",
            "Price per month",
            lambda i: _per_month(i[1].instances[i[0]], i[1].currency),
            unit="currency",
            help=_STAYS_UP,
        ),
        Column("currency", "Currency", lambda i: i[1].currency),
        Column("billing", "Billing", lambda i: str(i[1].billing)),
    ),
    command="instances show",
)


def _price(key: str, title: str, of: Callable[[StoragePrice], Decimal | None]) -> Column[_Stored]:
    return Column(key, title, lambda i: of(i[2]), unit="currency", show=plain_words)


STORAGE: Definition[_Stored] = Definition(
    "storage-prices",
    "Storage",
    (
        Column("storage", "Storage", lambda i: i[1]),
        _price("per_gb_month", "Per GB and month", lambda price: price.per_gb_month),
        Column("minimum_gb", "Least GB", lambda i: i[2].minimum_gb or None, kind="number", show=plain_words),
        _price("per_iops_month", "Per IOPS and month", lambda price: price.per_iops_month),
        _price("per_mib_per_s_month", "Per MiB/s and month", lambda price: price.per_mib_per_s_month),
        _price("per_gb_read", "Per GB read", lambda price: price.per_gb_read),
        _price("per_gb_written", "Per GB written", lambda price: price.per_gb_written),
        _price("per_1000_reads", "Per 1,000 reads", lambda price: price.per_1000_reads),
        _price("per_1000_writes", "Per 1,000 writes", lambda price: price.per_1000_writes),
        *_ORIGIN,
    ),
    key="storage",
    command="instances storage",
)  # fmt: skip

TRANSFER: Definition[_Moved] = Definition(
    "data-transfer",
    "Data transfer",
    (
        Column("border", "Border", lambda i: i[1]),
        Column("to_gb", "To GB", lambda i: i[3].to_gb, kind="number", show=plain_words),
        Column("per_gb", "Per GB", lambda i: i[3].per_gb, unit="currency", show=plain_words),
        *_ORIGIN,
    ),
    command="instances storage",
)
DEFINITIONS = (CANDIDATES, RULED_OUT, INSTANCE, PRICES, STORAGE, TRANSFER)
