"""``wavetank cluster bill``: what clusters in a cloud cost, computed from measured seconds, beside the estimate from before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from wavetank.cli.cluster_tables import usd
from wavetank.cli.output import print_tables, prints
from wavetank.errors import CostError
from wavetank.tables.table import Column, Definition, Table
from wavetank.tables.words import plain_words

if TYPE_CHECKING:
    from wavetank.cluster.clouds.bill import ClusterBill
    from wavetank.cluster.clouds.cloud import Key


@dataclass(frozen=True)
class _Row:
    """A resource of a bill, US dollars; without a number it is the sum. None: the table has no price."""

    what: str
    number: int | None
    hours: float | None
    per_h: Decimal | None
    amount: Decimal | None
    estimated: Decimal | None
    difference: Decimal | None


BILL: Definition[_Row] = Definition(
    "computed-bill",
    "Computed bill",
    (
        Column("what", "What", lambda i: i.what),
        Column("number", "Number", lambda i: i.number, kind="integer"),
        Column("hours", "Hours", lambda i: i.hours, kind="number", show=plain_words, help="of all of them together"),
        usd("usd_per_h", "USD per hour", lambda i: i.per_h, 4, help="of one"),
        usd("usd", "USD", lambda i: i.amount, 4, help="computed"),
        usd("estimated_usd", "Estimated USD", lambda i: i.estimated, 4),
        usd("difference_usd", "Difference in USD", lambda i: i.difference, 4),
    ),
    command="cluster bill",
)  # fmt: skip

BILLS: Definition[ClusterBill] = Definition(
    "bills-of-clusters-that-are-down",
    "Bills of clusters that are down",
    (
        Column("cluster", "Cluster", lambda i: i.cluster),
        Column("region", "Region", lambda i: i.region),
        Column("token", "Token", lambda i: i.token),
        Column("begin_utc", "Begin (UTC)", lambda i: i.begin_utc),
        Column("end_utc", "End (UTC)", lambda i: i.end_utc),
        usd("usd", "USD", lambda i: i.computed.total, 4),
        usd("estimated_usd", "Estimated USD", lambda i: i.estimate.total, 4),
    ),
    command="cluster bill",
)
DEFINITIONS = (BILL, BILLS)


@click.command(short_help="Show what a cluster in a cloud cost, computed, beside the estimate.")
@click.argument("name", required=False)
@prints(lambda: DEFINITIONS)
def command(name: str | None, output_format: str) -> None:
    """Show what the cluster NAME cost, resource by resource: until now while it is up, else the last time that it was.

    Computed from the time for which each resource was there, at the prices of the estimate from before. Without NAME:
    the bills of all clusters that are down. It is no bill of the provider's: free tiers, discounts and taxes are not known.

    Example: wavetank cluster bill lab
    """
    from wavetank.cluster.clouds.bill import kept_bills

    kept = kept_bills(name)
    if name is None:
        print_tables([_all_table(kept)], output_format)
        return
    found = so_far(name) or (kept[-1] if kept else None)
    if found is None:
        raise CostError(
            f"there is no bill of {name!r}: bills are of clusters in a cloud whose instances ran. "
            "'wavetank cluster bill' lists those that are kept"
        )
    print_tables([bill_table(found)], output_format)


def so_far(name: str) -> ClusterBill | None:
    """The bill until now of a cluster that is up, or was not taken down whole; None where there is none."""
    from wavetank.cluster.clouds.bill import bill_so_far
    from wavetank.cluster.state import directory_of

    return bill_so_far(directory_of(name), datetime.now(UTC))


def key_of(name: str) -> Key | None:
    """What tells this bringing up from others; to be asked before the cluster goes down."""
    from wavetank.cluster.clouds.engine import noted_lease
    from wavetank.cluster.state import directory_of

    found = noted_lease(directory_of(name))
    return None if found is None else found[1]


def print_kept(key: Key) -> None:
    """Print the bill of a cluster that went down just now, where it has one."""
    from wavetank.cluster.clouds.bill import ClusterBill, bill_file

    path = bill_file(key)
    if path.exists():
        print_tables([bill_table(ClusterBill.read(path))], "table")


def bill_table(bill: ClusterBill) -> Table:
    """One bill, and the estimate from before beside it."""
    from wavetank.cost.bills import beside

    nothing = Decimal(0)
    rows = []
    for each in beside(bill.estimate, bill.computed):
        line, before = each.computed, each.estimated
        priced = line or before
        rows.append(
            _Row(
                each.resource,
                0 if line is None else line.number,
                0.0 if line is None else _hours(line.seconds),
                None if priced is None else priced.per_h,
                nothing if line is None else line.amount,
                nothing if before is None else before.amount,
                each.difference,
            )
        )
    spent, estimated = bill.computed.total, bill.estimate.total
    rows.append(_Row("all", None, None, None, spent, estimated, spent - estimated))
    return BILL.table(rows, title=f"Computed bill of {bill.cluster}", caption=_note(bill))


def _note(bill: ClusterBill) -> str:
    ended = (
        f"to {bill.end_utc}"
        if bill.end_utc
        else f"until now, {bill.provenance.created_utc}; instances are taken to run still, up to their ttl"
    )
    said = [
        f"In {bill.region} from {bill.begin_utc} {ended}",
        f"price table {bill.computed.table}; without {bill.left_out}",
        "estimated: for the whole ttl and 10 min; instances by the account's times, volumes and addresses with their instance",
        *(f"not complete: {reason}" for reason in bill.computed.missing),
        *bill.assumed,
    ]
    return ". ".join(said) + "."


def _all_table(bills: list[ClusterBill]) -> Table:
    if bills:
        total = sum(each.computed.total for each in bills)
        note = f"Computed, {total:.2f} USD together. 'wavetank cluster bill NAME' shows the last one of a cluster."
    else:
        note = "No bill is kept: 'wavetank cluster down' keeps one of each cluster in a cloud."
    return BILLS.table(bills, caption=note)


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds / 3600, 4)
