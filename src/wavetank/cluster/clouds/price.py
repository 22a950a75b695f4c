"""What a cluster in a cloud costs until it ends itself, and whether that is within the budget.

Reads the price tables of wavetank.cost. Money is Decimal, US dollars.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wavetank.cluster.clouds.cloud import terms_of
from wavetank.cluster.clouds.disks import Volume, data_volumes, has_address, root_volumes
from wavetank.cluster.clouds.terms import Terms
from wavetank.cluster.spec import ClusterSpec
from wavetank.cost.bills import CENT, AddressTime, Bill, InstanceTime, StorageTime, Used, bill_of
from wavetank.cost.prices import PriceTable, load_prices, shipped_tables
from wavetank.cost.site_prices import site_prices
from wavetank.cost.storage import StorageUse, storage_of
from wavetank.errors import CostError, SpecError
from wavetank.units import GIB

# An instance is billed from its start; its end is scheduled during its boot and takes a while (assumed, and added).
MARGIN_S = 600
# A schedule deletes a file system 15 min after the ttl, EFS 30 min (clouds/aws); deleting takes a while (assumed, and added).
SERVED_MARGIN_S = 3600
LEFT_OUT = "data that leaves the zone"  # of estimates and computed bills


def estimate(spec: ClusterSpec, table: PriceTable) -> Bill:
    """What a cluster costs if nobody takes it down before its ttl, and a margin.

    Raises:
        ProviderError: the specification has no key ``cloud``.
    """
    ttl = terms_of(spec).ttl
    return cost_of(spec, table, ttl + MARGIN_S, ttl + SERVED_MARGIN_S)


def cost_of(
    spec: ClusterSpec, table: PriceTable, seconds: float, served_s: float | None = None
) -> Bill:
    """What a cluster costs that is there for a time.

    Args:
        spec: of the cluster.
        table: the prices.
        seconds: that its instances are there.
        served_s: that a file system that the cloud runs is; the default is as long.
    """
    of_nodes = [each for node in spec.node_names() for each in use_of(spec, node, seconds)]
    return bill_of([*of_nodes, *served_use(spec, seconds if served_s is None else served_s)], table)


def served_use(spec: ClusterSpec, seconds: float) -> Iterator[StorageTime]:
    """What a file system that the cloud runs uses in a time: of EFS all that may be stored; if elastic, written and read once."""
    stored = spec.file_system.facts.priced(spec)
    if stored is not None:
        for use in storage_of(spec):
            moved = (use.size_bytes or 0) if stored.is_paid_by_moved else 0
            yield StorageTime(use, seconds, read_bytes=moved, written_bytes=moved)


def use_of(
    spec: ClusterSpec, node: str, seconds: float, *, has_public_address: bool = True
) -> Iterator[Used]:
    """What one node uses while its instance is there: the instance, its volumes, which go with it, and its address.

    Args:
        spec: of the cluster.
        node: its name.
        seconds: that the instance is there.
        has_public_address: whether it has one.
    """
    yield InstanceTime(spec.instance_of(node).name, 1, seconds)
    for volume in (*data_volumes(spec, node), *root_volumes(spec)):
        yield volume_time(volume, seconds)
    if has_public_address and has_address(spec, node):
        yield AddressTime(1, seconds)


def volume_time(volume: Volume, seconds: float) -> StorageTime:
    """What one volume uses in a time."""
    use = StorageUse(
        volume.price_name, 1, volume.size_gb * GIB, volume.iops, volume.throughput_bytes_per_s
    )
    return StorageTime(use, seconds)


def price_table(terms: Terms) -> PriceTable:
    """The table that the specification names, or the newest shipped one of its region.

    Raises:
        CostError: there is none, or it is not of US dollars on demand in this region.
        SpecError: the file is no price table.
    """
    if terms.openstack is not None and terms.prices is not None:
        return site_prices(Path(terms.prices), terms.region)
    if terms.prices is not None:
        if terms.prices not in shipped_tables() and not Path(terms.prices).is_absolute():
            raise CostError(
                f"cloud.prices {terms.prices} is neither a shipped price table ({', '.join(shipped_tables())}) nor an absolute path"
            )
        table = load_prices(terms.prices)
        if (table.region, table.currency, table.purchase) != (terms.region, "USD", "on-demand"):
            raise CostError(
                f"cloud.prices {terms.prices} is of {table.region} in {table.currency}, {table.purchase}: "
                f"take one of {terms.region} in USD, on-demand"
            )
        return table
    return newest_table(terms.region)


def newest_table(region: str) -> PriceTable:
    """The newest shipped table of a region, of prices on demand.

    Raises:
        CostError: there is none.
    """
    # tables of the papers are of other years and other billing
    tables = [
        table
        for table in map(load_prices, shipped_tables())
        if table.region == region
        and table.purchase == "on-demand"
        and table.billing.rule == "per-second"
    ]
    if not tables:
        raise CostError(
            f"no shipped price table is of region {region}, so the budget cannot be kept: name one by cloud.prices "
            "('wavetank instances refresh --on-demand' makes them), or choose us-east-1"
        )
    return max(tables, key=lambda table: table.date)


def over_budget(spec: ClusterSpec) -> list[str]:
    """Why a cluster may cost more than its budget, or why that is not known; empty when it cannot."""
    terms = spec.cloud
    if terms is None:
        return []
    try:
        found = estimate(spec, price_table(terms))
    except (CostError, SpecError) as error:
        return [str(error)]
    findings = [f"the budget cannot be kept: {reason}" for reason in found.missing]
    if not findings and found.at_most > terms.budget:
        an_hour = found.per_h.quantize(CENT)
        served = f" and {spec.file_system.kind}" if spec.file_system.facts.made_by else ""
        findings.append(
            f"cloud.budget {terms.budget} USD: {len(spec.node_names())} instances{served} may cost {found.at_most} USD until they "
            f"end themselves ({an_hour} USD an hour, price table {found.table}). "
            "Take fewer or smaller ones, a shorter ttl, or a larger budget"
        )
    return findings
