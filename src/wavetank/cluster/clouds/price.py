"""What the instances of a cluster cost until they end themselves, and whether that is within the budget.

Reads the price tables of wavetank.cost. Money is Decimal, US dollars.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path

from wavetank.cluster.clouds.disks import ROOT_GB, Volume, data_volumes
from wavetank.cluster.clouds.terms import Terms
from wavetank.cluster.spec import ClusterSpec
from wavetank.cost.prices import PriceTable, load_prices, shipped_tables
from wavetank.cost.storage import StorageUse, storage_per_h
from wavetank.errors import CostError, ProviderError, SpecError
from wavetank.units import GIB

# An instance is billed from its start; its end is scheduled during its boot and takes a while (assumed, and added).
MARGIN_S = 600
# Since 2024-02-01 for every public IPv4 address (aws.amazon.com/vpc/pricing, read 2024).
PUBLIC_ADDRESS_PER_H = Decimal("0.005")
CENT = Decimal("0.01")


@dataclass(frozen=True)
class Line:
    """One line of an estimate: what, how many, USD an hour of one, USD until the end of all."""

    what: str
    number: int
    per_h: Decimal
    until_end: Decimal


@dataclass(frozen=True)
class Estimate:
    """What a cluster costs if nobody takes it down before its ttl.

    Attributes:
        lines: what is priced.
        missing: what has no price in the table: findings, as the budget cannot be kept without them.
        source: of the prices.
        left_out: what is never in it.
    """

    lines: tuple[Line, ...]
    missing: tuple[str, ...]
    source: str
    left_out: str = "data that leaves the zone"

    @property
    def per_h(self) -> Decimal:
        """USD an hour."""
        return sum((line.number * line.per_h for line in self.lines), Decimal(0))

    @property
    def until_end(self) -> Decimal:
        """USD until the ttl, rounded up to cents."""
        whole = sum((line.until_end for line in self.lines), Decimal(0))
        return whole.quantize(CENT, rounding=ROUND_UP)


def estimate(spec: ClusterSpec, table: PriceTable) -> Estimate:
    """Cost of a cluster for its whole ttl and a margin.

    Raises:
        ProviderError: the specification has no key ``cloud``.
    """
    terms = _terms(spec)
    used_s = terms.ttl + MARGIN_S
    hours = Decimal(table.billing.billed_s(used_s)) / 3600
    lines: list[Line] = []
    missing: list[str] = []
    for kind, number in Counter(spec.instance_of(node).name for node in spec.node_names()).items():
        try:
            per_h = table.price_per_h(kind)
        except CostError as error:
            missing.append(str(error))
            continue
        lines.append(Line(kind, number, per_h, number * per_h * hours))
    volumes = Counter(volume for node in spec.node_names() for volume in data_volumes(spec, node))
    volumes[Volume("gp3", ROOT_GB)] += len(spec.node_names())
    for volume, number in volumes.items():
        use = StorageUse(
            f"ebs-{volume.kind}",
            1,
            volume.size_gb * GIB,
            volume.iops,
            volume.throughput_bytes_per_s,
        )
        try:
            per_h = storage_per_h([use], table)
        except CostError as error:
            missing.append(str(error))
            continue
        cost = number * per_h * Decimal(str(used_s)) / 3600
        lines.append(Line(f"volume {volume.kind}, {volume.size_gb} GiB", number, per_h, cost))
    n = len(spec.node_names())
    lines.append(
        Line("public IPv4 address", n, PUBLIC_ADDRESS_PER_H, n * PUBLIC_ADDRESS_PER_H * hours)
    )
    source = f"price table {table.name} ({table.region}, {table.date})"
    return Estimate(tuple(lines), tuple(dict.fromkeys(missing)), source)


def price_table(terms: Terms) -> PriceTable:
    """The table that the specification names, or the newest shipped one of its region.

    Raises:
        CostError: there is none, or it is not of US dollars on demand in this region.
        SpecError: the file is no price table.
    """
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
            "('wavetank instances refresh' makes them), or choose us-east-1"
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
    if not findings and found.until_end > terms.budget:
        an_hour = found.per_h.quantize(CENT)
        findings.append(
            f"cloud.budget {terms.budget} USD: {len(spec.node_names())} instances may cost {found.until_end} USD until they "
            f"end themselves ({an_hour} USD an hour, {found.source}). Take fewer or smaller ones, a shorter ttl, or a larger budget"
        )
    return findings


def _terms(spec: ClusterSpec) -> Terms:
    if spec.cloud is None:
        raise ProviderError(f"cluster {spec.name} has no key cloud")
    return spec.cloud
