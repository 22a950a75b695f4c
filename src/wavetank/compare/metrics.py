"""Metrics of one configuration: from its measurements to rates, times, cost and ratio.

Method, sections 6 and 7. Pure functions of measurements, kernel and price table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from wavetank.cluster.host import NOT_EMPTIED
from wavetank.compare.comparison import Price
from wavetank.compare.configuration import CallEstimate, Configuration, PhaseEstimate
from wavetank.compare.run_cost import CostedRuns, StandingTime, cost_or_reason, other_cost
from wavetank.compare.use import configuration_use, phase_use
from wavetank.cost.prices import PriceTable
from wavetank.cost.storage import StorageUse
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.results.io_time import phases_time_s
from wavetank.kernel.results.result import IoTime, ReplayResult
from wavetank.kernel.results.totals import moved_bytes, n_operations
from wavetank.measure.direction import Direction, direction
from wavetank.measure.guests import are_calls_comparable, incomparable_phases
from wavetank.measure.result import Measurement
from wavetank.measure.statistics import CONFIDENCE, Estimate, estimate
from wavetank.model.document.phase import Phase
from wavetank.notes import of_kinds


@dataclass(frozen=True)
class Averager:
    """Makes estimates out of repetitions, always with the same confidence."""

    confidence: float = CONFIDENCE

    def __call__(self, values: Iterable[float]) -> Estimate:
        """The estimate of some repetitions."""
        return estimate(list(values), self.confidence)


def phase_time_s(weight_bytes: int, rate_bytes_per_s: float) -> float | None:
    """time(i) = weight(i) / BW_CH(i) (method, section 6); None without a rate."""
    return weight_bytes / rate_bytes_per_s if rate_bytes_per_s > 0 else None


def usage_percent(rate_bytes_per_s: float, peak_bytes_per_s: float) -> float:
    """Usage of the peak: 100 * BW_CH / BW_PK (method, section 6)."""
    return 100 * rate_bytes_per_s / peak_bytes_per_s


def describe(
    measurements: Sequence[Measurement],
    kernel: Kernel,
    *,
    title: str,
    instances: Mapping[str, int],
    prices: PriceTable | None,
    storage: Sequence[StorageUse] = (),
    staying: Mapping[str, int] | None = None,
    cost_fix: Decimal = Decimal(0),
    standing: StandingTime | None = None,
    other_prices: Sequence[PriceTable] = (),
    peaks: Mapping[str, float] | None = None,
    over_runs: Averager,
) -> Configuration:
    """All metrics of one application on one cluster with one mapping.

    Args:
        measurements: its repetitions, at least one, all of the same configuration.
        kernel: that was measured.
        title: of the cluster, for people.
        instances: of the cluster, instance type -> number.
        prices: None when no price table was given.
        storage: that is paid for while the instances are.
        staying: of the instances, those that hold the file system; None where that is not known.
        cost_fix: of persistent storage, in the table's currency.
        standing: time that is paid for while no phase is under way.
        other_prices: tables by which the cost is shown too.
        peaks: direction -> BW_PK, bytes/s, from a characterisation; None when there is none.
        over_runs: makes estimates of repetitions.
    """
    first = measurements[0]
    results = [each.result for each in measurements]

    peak = (peaks or {}).get(main_direction(kernel))
    weights = [moved_bytes(result) for result in results]
    times = [result.io.total_s for result in results]
    rates = [_per_second(weight, time) for weight, time in zip(weights, times, strict=True)]
    run = CostedRuns(instances, tuple(storage), times, rates, standing or StandingTime(), staying)
    cost, missing = None, "no price table was given"
    if prices is not None:
        cost, missing = cost_or_reason(run, prices, cost_fix, over_runs)
    return Configuration(
        id=configuration_id(first.application, first.cluster, first.mapping),
        application=first.application,
        cluster=first.cluster,
        cluster_title=title,
        mapping=first.mapping,
        instance_type=first.instance_type,
        n_instances=first.n_instances,
        origin=first.origin,
        cache=max(
            (each.cache.found for each in measurements), key=lambda found: found == NOT_EMPTIED
        ),
        n_repetitions=len(measurements),
        n_deployments=len({each.deployment for each in measurements} - {None}) or None,
        n_disturbed=sum(bool(each.load and each.load.disturbed) for each in measurements),
        weight_bytes=weights[0],
        phases=_phases(measurements, kernel, peaks or {}, over_runs),
        io_time_s=over_runs(times),
        data_time_s=_part(results, over_runs, lambda io: io.data_s),
        metadata_time_s=_part(results, over_runs, lambda io: io.metadata_s),
        flush_time_s=_part(results, over_runs, lambda io: io.flush_s),
        not_on_disk_bytes=max(result.io.not_on_disk_bytes for result in results),
        phase_time_sum_s=over_runs(_sum_of_times(result) for result in results),
        rate_bytes_per_s=over_runs(rates),
        read_bytes_per_s=_rate_of(results, kernel, "read", over_runs),
        write_bytes_per_s=_rate_of(results, kernel, "write", over_runs),
        iops=over_runs(
            _per_second(n_operations(result), time)
            for result, time in zip(results, times, strict=True)
        ),
        calls=_calls(results, over_runs, are_calls_comparable(first.limits)),
        calls_per_s=_calls_per_s(results, times, over_runs),
        usage_percent=None
        if peak is None
        else over_runs(usage_percent(rate, peak) for rate in rates),
        use=configuration_use(measurements),
        cost=cost,
        cost_missing=None if cost is not None else missing,
        other_costs=tuple(other_cost(run, table, over_runs) for table in other_prices),
        settings=first.fs_settings,
        limits=first.limits,
        # Doubts about the kernel are the same on every cluster: the comparison's notes say them once.
        notes=of_kinds(
            each for one in measurements for each in one.notes if each not in kernel.notes
        ),
    )


def _calls(
    results: Sequence[ReplayResult], over_runs: Averager, comparable: bool
) -> tuple[CallEstimate, ...]:
    """Calls that move no data by kind; none where a repetition does not tell them."""
    by_run = [{one.call: one for one in result.calls} for result in results]
    found = []
    for name, first in by_run[0].items():
        runs = [calls[name] for calls in by_run if name in calls]
        if len(runs) < len(by_run):
            continue
        rates = [one.per_s for one in runs if one.per_s is not None]
        found.append(
            CallEstimate(
                call=name,
                n=first.n,
                time_s=over_runs(one.time_s for one in runs),
                per_s=over_runs(rates) if len(rates) == len(runs) else None,
                comparable=comparable,
            )
        )
    return tuple(found)


def _calls_per_s(
    results: Sequence[ReplayResult], times: Sequence[float], over_runs: Averager
) -> Estimate | None:
    counts = [sum(one.n for one in result.calls) for result in results]
    if not all(counts) or not all(time > 0 for time in times):
        return None
    return over_runs(count / time for count, time in zip(counts, times, strict=True))


def _part(
    results: Sequence[ReplayResult],
    over_runs: Averager,
    part: Callable[[IoTime], float | None],
) -> Estimate | None:
    """A part of the I/O time over repetitions; None where one of them does not tell it."""
    told = [part(result.io) for result in results]
    known = [value for value in told if value is not None]
    return over_runs(known) if len(known) == len(told) else None


def configuration_id(application: str, cluster: str, mapping: str) -> str:
    """Name of a configuration, unique in a campaign."""
    return f"{application} / {cluster} / {mapping}"


def price_of(table: PriceTable) -> Price:
    """Where a table's prices come from, for the comparison."""
    return Price(
        table=table.name,
        date=table.date,
        source=table.source,
        region=table.region,
        currency=table.currency,
        purchase=table.purchase,
        billing=str(table.billing),
        exchange=table.exchange,
    )


def _phases(
    measurements: Sequence[Measurement],
    kernel: Kernel,
    peaks: Mapping[str, float],
    over_runs: Averager,
) -> tuple[PhaseEstimate, ...]:
    results = [each.result for each in measurements]
    names = {file.file_id: file.name for file in kernel.files}
    incomparable = incomparable_phases(kernel, measurements[0].limits)
    modelled = {phase.ph_id: phase for phase in kernel.phases}
    described = []
    by_id = [{phase.ph_id: phase for phase in result.phases} for result in results]
    for done in results[0].phases:
        if not all(done.ph_id in phases for phases in by_id):
            continue  # runs of the application itself may differ
        phase = modelled[done.ph_id]
        runs = [phases[done.ph_id] for phases in by_id]
        rates = [run.rate_bytes_per_s for run in runs]
        peak = peaks.get(direction(phase))
        described.append(
            PhaseEstimate(
                ph_id=done.ph_id,
                operation=_operation(phase),
                file_name=names[phase.file_id],
                rs=phase.pattern[0].rs,
                ranks=phase.ph_processid,
                weight_bytes=done.bytes,
                rate_bytes_per_s=over_runs(rates),
                iops=over_runs([run.iops for run in runs]),
                time_s=over_runs([run.time_s for run in runs]),
                comparable=done.ph_id not in incomparable,
                usage_percent=None
                if peak is None
                else over_runs([usage_percent(rate, peak) for rate in rates]),
                use=phase_use(measurements, done.ph_id),
            )
        )
    return tuple(described)


def main_direction(kernel: Kernel) -> Direction:
    """The direction in which a kernel moves most of its bytes."""
    moved: dict[Direction, int] = {}
    for phase in kernel.phases:
        moved[direction(phase)] = moved.get(direction(phase), 0) + phase.ph_weight
    return max(moved, key=lambda way: moved[way], default="mixed")


def _operation(phase: Phase) -> str:
    return " + ".join(dict.fromkeys(member.iop_type for member in phase.pattern))


def _sum_of_times(result: ReplayResult) -> float:
    return sum(
        phase_time_s(phase.bytes, phase.rate_bytes_per_s) or phase.time_s for phase in result.phases
    )


def _rate_of(
    results: Sequence[ReplayResult], kernel: Kernel, way: str, over_runs: Averager
) -> Estimate | None:
    """Bytes over the time in which a phase of this direction was under way; None without bytes.

    For phases in a row this is the harmonic mean of their rates, weighted by bytes.
    """
    wanted = {phase.ph_id for phase in kernel.phases if direction(phase) == way}
    rates = []
    for result in results:
        parts = [phase for phase in result.phases if phase.ph_id in wanted and phase.bytes > 0]
        time = phases_time_s(parts)
        if time == 0:
            return None
        rates.append(sum(part.bytes for part in parts) / time)
    return over_runs(rates)


def _per_second(amount: float, time_s: float) -> float:
    return amount / time_s if time_s > 0 else 0.0
