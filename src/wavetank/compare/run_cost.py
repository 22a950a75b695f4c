"""The cost of a configuration's repetitions: instances and storage by time, what is kept, and what is paid while nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from wavetank.compare.configuration import Cost, OtherCost, Standing
from wavetank.cost.estimate import (
    bill,
    cluster_per_h,
    performance_cost,
    phase_cost,
    standing_cost,
    total_cost,
    variable_cost,
)
from wavetank.cost.prices import PriceTable
from wavetank.cost.storage import StorageUse, storage_per_h
from wavetank.errors import CostError
from wavetank.measure.statistics import Estimate

OverRuns = Callable[[Iterable[float]], Estimate]
"""Makes an estimate of a number for each repetition."""


@dataclass(frozen=True)
class StandingTime:
    """Time for which a cluster's instances are paid while no phase is under way (method, section 7).

    Attributes:
        deployment_s: to bring the cluster up; None when not known.
        idle_s: of one measurement beside its I/O; None when not known.
        counted: which of them belong to the total cost.
    """

    deployment_s: float | None = None
    idle_s: float | None = None
    counted: tuple[Standing, ...] = ()

    def known(self) -> list[tuple[Standing, float]]:
        """Those that are known, seconds."""
        both: list[tuple[Standing, float | None]] = [
            ("deployment", self.deployment_s),
            ("idle", self.idle_s),
        ]
        return [(name, time_s) for name, time_s in both if time_s is not None]


@dataclass(frozen=True)
class CostedRuns:
    """What a run costs by: instances, and by repetition I/O times and rates.

    ``staying``: of the instances, those that hold the file system; None where that is not known.
    """

    instances: Mapping[str, int]
    storage: Sequence[StorageUse]
    times_s: Sequence[float]
    rates_bytes_per_s: Sequence[float]
    standing: StandingTime
    staying: Mapping[str, int] | None = None


def cost_or_reason(
    run: CostedRuns, prices: PriceTable, cost_fix: Decimal, over_runs: OverRuns
) -> tuple[Cost | None, str]:
    """The cost by a table, or why there is none."""
    try:
        return _cost(run, prices, cost_fix=cost_fix, over_runs=over_runs), ""
    except CostError as error:
        return None, str(error)


def other_cost(run: CostedRuns, prices: PriceTable, over_runs: OverRuns) -> OtherCost:
    """The cost by a further table, without storage: it is the same whatever is paid for instances."""
    without = replace(run, storage=())
    cost, missing = cost_or_reason(without, prices, Decimal(0), over_runs)
    return OtherCost(
        table=prices.name,
        date=prices.date,
        purchase=prices.purchase,
        currency=prices.currency,
        cost_tot=None if cost is None else cost.cost_tot,
        perf_cost=None if cost is None else cost.perf_cost,
        missing=missing or None,
    )


def _cost(run: CostedRuns, prices: PriceTable, *, cost_fix: Decimal, over_runs: OverRuns) -> Cost:
    n_instances = sum(run.instances.values())
    per_h = cluster_per_h(run.instances, prices) / n_instances
    variable = [variable_cost(n_instances, [phase_cost(time, per_h)]) for time in run.times_s]
    storage_h = storage_per_h(run.storage, prices)
    stored = [phase_cost(time, storage_h) for time in run.times_s]
    standing = {
        name: standing_cost(n_instances, time_s, per_h) + phase_cost(time_s, storage_h)
        for name, time_s in run.standing.known()
    }
    more = sum((standing[name] for name in run.standing.counted if name in standing), Decimal(0))
    totals = [
        total_cost(each, cost_fix) + of_storage + more
        for each, of_storage in zip(variable, stored, strict=True)
    ]
    ratios = [
        performance_cost(rate, total)
        for rate, total in zip(run.rates_bytes_per_s, totals, strict=True)
    ]
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios):
        raise CostError("it costs nothing by this price table, so there is no ratio")
    return Cost(
        price_inst_per_h=per_h,
        n_instances=n_instances,
        instances=dict(run.instances),
        cost_var=over_runs(float(each) for each in variable),
        cost_fix=cost_fix,
        storage_per_h=storage_h,
        staying_per_h=None if run.staying is None else cluster_per_h(run.staying, prices),
        cost_storage=over_runs(float(each) for each in stored) if run.storage else None,
        cost_tot=over_runs(float(each) for each in totals),
        billed=bill(run.instances, over_runs(run.times_s).median, prices, run.storage) + cost_fix,
        deployment=standing.get("deployment"),
        idle=standing.get("idle"),
        counted=tuple(run.standing.counted),
        perf_cost=over_runs(known),
    )
