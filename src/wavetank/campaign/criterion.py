"""What a search selects by: time, cost or ratio of a configuration, from the median of its I/O time."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from wavetank.campaign.plan import Application, Plan
from wavetank.campaign.spec import CampaignSpec
from wavetank.compare.comparison import Criterion
from wavetank.cost.estimate import cluster_per_h, storage_cost
from wavetank.cost.prices import SECONDS_PER_HOUR, PriceTable
from wavetank.errors import CostError

Score = Callable[[str, str, float], float]
"""Application, cluster, and median I/O time in seconds -> a number; the smallest is best, infinity is no value."""


def criterion_of(spec: CampaignSpec, prices: PriceTable | None) -> Criterion:
    """What the campaign ranks by; time without prices."""
    return spec.rank_by if prices is not None else "time"


def cost_fix(spec: CampaignSpec, application: Application, prices: PriceTable | None) -> Decimal:
    """Of storage that is kept, in the price table's currency (P15 eq. 5)."""
    if spec.keep is None or prices is None:
        return Decimal(0)
    return storage_cost(
        application.kernel.capacity_bytes,
        prices.storage_price(spec.keep.storage),
        Decimal(repr(spec.keep.months)),
    )


def score_of(spec: CampaignSpec, plan: Plan, prices: PriceTable | None) -> Score:
    """The number that a search ranks by.

    A ratio is bytes over time and cost (P15 eq. 8); all configurations of an application move the same bytes, so the
    smallest product of time and cost is the best ratio.
    """
    by = criterion_of(spec, prices)
    if prices is None or by == "time":
        return lambda application, cluster, time_s: time_s
    per_s: dict[str, float] = {}
    for cluster in plan.clusters:
        try:
            per_h = cluster_per_h(cluster.instances, prices, cluster.storage)
            per_s[cluster.name] = float(per_h / SECONDS_PER_HOUR)
        except CostError:  # it has no place in this ranking
            per_s[cluster.name] = float("inf")
    fixed = {each.name: float(cost_fix(spec, each, prices)) for each in plan.applications}

    def score(application: str, cluster: str, time_s: float) -> float:
        cost = per_s[cluster] * time_s + fixed[application]
        return cost if by == "cost" else cost * time_s

    return score
