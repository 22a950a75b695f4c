"""``wavetank cluster bill``: what clusters in a cloud cost, computed from measured seconds, beside the estimate from before."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import format_option, print_tables
from wavetank.errors import CostError
from wavetank.tables.table import Table, Value, plain_table

if TYPE_CHECKING:
    from decimal import Decimal

    from wavetank.cluster.clouds.bill import ClusterBill
    from wavetank.cluster.clouds.cloud import Key

COLUMNS = ["what", "number", "hours", "usd_per_h", "usd", "estimated_usd", "difference_usd"]


@click.command(short_help="Show what a cluster in a cloud cost, computed, beside the estimate.")
@click.argument("name", required=False)
@format_option
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

    rows: list[list[Value]] = []
    for each in beside(bill.estimate, bill.computed):
        line = each.computed
        priced = line or each.estimated
        rows.append(
            [
                each.resource,
                0 if line is None else line.number,
                0.0 if line is None else _hours(line.seconds),
                None if priced is None or priced.per_h is None else f"{priced.per_h:.4f}",
                _usd(None if line is None else line.amount, absent=line is None),
                _usd(
                    None if each.estimated is None else each.estimated.amount,
                    absent=each.estimated is None,
                ),
                _usd(each.difference),
            ]
        )
    computed, estimate = bill.computed, bill.estimate
    rows.append(
        ["all", None, None, None, _usd(computed.total), _usd(estimate.total), _usd(computed.total - estimate.total)]
    )  # fmt: skip
    return plain_table(f"Computed bill of {bill.cluster}", COLUMNS, rows, note=_note(bill))


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
    columns = ["cluster", "region", "token", "begin_utc", "end_utc", "usd", "estimated_usd"]
    rows: list[list[Value]] = [
        [each.cluster, each.region, each.token, each.begin_utc, each.end_utc, _usd(each.computed.total), _usd(each.estimate.total)]
        for each in bills
    ]  # fmt: skip
    if rows:
        total = sum(each.computed.total for each in bills)
        note = f"Computed, {total:.2f} USD together. 'wavetank cluster bill NAME' shows the last one of a cluster."
    else:
        note = "No bill is kept: 'wavetank cluster down' keeps one of each cluster in a cloud."
    return plain_table("Bills of clusters that are down", columns, rows, note=note)


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds / 3600, 4)


def _usd(amount: Decimal | None, *, absent: bool = False) -> str | None:
    if absent:
        return "0.0000"
    return None if amount is None else f"{amount:.4f}"
