"""The cost of running an application's I/O on a cluster: P15 equations 5 to 8, and bills.

The printed formulas are lost; they are restored from the text around them (method, section 7).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal

from wavetank.cost.prices import SECONDS_PER_HOUR, PriceTable, StoragePrice
from wavetank.cost.storage import StorageUse, storage_per_h
from wavetank.errors import CostError
from wavetank.units import GB

MEGABYTE = 10**6
"""P15 gives rates in MB/s, decimal."""


def phase_cost(time_s: float, cost_inst_per_h: Decimal) -> Decimal:
    """Cost of one phase on one instance: time * cost_inst / 3600 (P15 eq. 7).

    Raises:
        CostError: the time is negative or not finite.
    """
    if not math.isfinite(time_s) or time_s < 0:
        raise CostError(f"a phase cannot cost anything for a time of {time_s} s")
    return Decimal(repr(time_s)) * cost_inst_per_h / SECONDS_PER_HOUR


def variable_cost(num_inst: int, phase_costs: Iterable[Decimal]) -> Decimal:
    """Cost of all phases on all instances: num_inst * sum of phase costs (P15 eq. 6).

    ``num_inst`` counts every instance of the cluster: compute, I/O and head nodes.
    """
    return num_inst * sum(phase_costs, Decimal(0))


def standing_cost(num_inst: int, time_s: float, cost_inst_per_h: Decimal) -> Decimal:
    """Cost of all instances while no phase is under way: P15 eq. 6 and 7 for deployment or idle time.

    Method, section 7: rows of their own, added to the total where that is asked for.

    Raises:
        CostError: the time is negative or not finite.
    """
    return variable_cost(num_inst, [phase_cost(time_s, cost_inst_per_h)])


def total_cost(cost_var: Decimal, cost_fix: Decimal) -> Decimal:
    """Variable and fixed cost: cost_var + cost_fix (P15 eq. 5)."""
    return cost_var + cost_fix


def performance_cost(bandwidth_bytes_per_s: float, cost_tot: Decimal) -> float | None:
    """Performance-cost ratio, MB/s per currency unit: BW_CH / cost_tot (P15 eq. 8).

    None when the cost is zero: then there is no ratio.
    """
    if cost_tot == 0:
        return None
    return bandwidth_bytes_per_s / MEGABYTE / float(cost_tot)


def storage_cost(capacity_bytes: int, price: StoragePrice, kept_months: Decimal) -> Decimal:
    """Fixed cost: persistent storage for the time that it is kept (cost_fix in P15 eq. 5).

    What is billed is the smallest capacity that can be had, or whole steps above it (FSx for
    Lustre: 1200 GB, 2400 GB, and multiples of 2400 GB).
    """
    return price.capacity_gb(-(-capacity_bytes // GB)) * price.per_gb_month * kept_months


def cluster_per_h(
    instances: Mapping[str, int], table: PriceTable, storage: Iterable[StorageUse] = ()
) -> Decimal:
    """Price of all instances of a cluster per hour: instance type -> number of them; and of its storage.

    With one type it is num_inst * cost_inst of P15 eq. 6 and 7.

    Raises:
        CostError: the table does not have an instance type, or a storage.
    """
    of_instances = sum((n * table.price_per_h(kind) for kind, n in instances.items()), Decimal(0))
    return of_instances + storage_per_h(storage, table)


def bill(
    instances: Mapping[str, int], used_s: float, table: PriceTable, storage: Iterable[StorageUse] = ()
) -> Decimal:  # fmt: skip
    """What the provider would charge for instances and storage used once for a time, by its billing rule.

    Raises:
        CostError: the table does not have an instance type, or a storage.
    """
    per_h = cluster_per_h(instances, table, storage)
    return table.billing.billed_s(used_s) * per_h / SECONDS_PER_HOUR
