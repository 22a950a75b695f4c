"""The run around the I/O: how long the whole application would take on a configuration, and what it would cost.

Whole run = (elapsed - I/O of the traced run) + I/O time of the kernel there. It is computed, and labelled so: the
computation is as long as when the application was traced, and no I/O overlaps with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from wavetank.compare.configuration import Configuration, Run
from wavetank.compare.decisions import Decisions
from wavetank.compare.metrics import Averager
from wavetank.cost.estimate import phase_cost, standing_cost
from wavetank.model.document.run_times import RunTimes


def with_run(configuration: Configuration, times: RunTimes, over_runs: Averager) -> Configuration:
    """The configuration with the run around its I/O.

    Args:
        configuration: with its I/O times, and its cost where there is one.
        times: of the traced run.
        over_runs: makes estimates of repetitions.
    """
    compute_s = times.compute_s
    whole_s = (
        None
        if compute_s is None
        else over_runs(compute_s + io_s for io_s in configuration.io_time_s.values)
    )
    cost = None
    if whole_s is not None and configuration.cost is not None:
        rate, fixed = configuration.cost.price_inst_per_h, configuration.cost.cost_fix
        n, stored = configuration.cost.n_instances, configuration.cost.storage_per_h
        cost = over_runs(
            float(standing_cost(n, time_s, rate) + phase_cost(time_s, stored) + Decimal(fixed))
            for time_s in whole_s.values
        )
    run = Run(
        traced_elapsed_s=times.elapsed_s,
        traced_io_s=times.io_s,
        traced_io_percent=times.io_percent,
        with_metadata=times.with_metadata,
        whole_s=whole_s,
        io_percent=None
        if whole_s is None or whole_s.median == 0
        else 100 * configuration.io_time_s.median / whole_s.median,
        cost=cost,
    )
    return configuration.model_copy(update={"run": run})


def with_savings(
    configurations: Sequence[Configuration], baseline: str | None, decisions: Decisions
) -> tuple[Configuration, ...]:
    """The configurations, each with what it saves of the whole run.

    Args:
        configurations: of a report, of all applications, with their runs.
        baseline: a cluster's name; None without one.
        decisions: for all pairs of the report.
    """
    found = []
    for each in configurations:
        ours = [one for one in configurations if one.application == each.application]
        reference = reference_of(ours, baseline)
        if each.run is None or reference is None:
            found.append(each)
            continue
        saving = {
            "reference": reference.id,
            "saved_percent": _saved_percent(each, reference),
            "told_apart": decisions.told_apart(each.id, reference.id),
        }
        found.append(each.model_copy(update={"run": each.run.model_copy(update=saving)}))
    return tuple(found)


def _saved_percent(each: Configuration, reference: Configuration) -> float | None:
    if each.run is None or reference.run is None:
        return None
    here, there = each.run.whole_s, reference.run.whole_s
    if here is None or there is None or there.median == 0:
        return None
    return 100 * (1 - here.median / there.median)


def reference_of(
    configurations: Sequence[Configuration], baseline: str | None
) -> Configuration | None:
    """What savings of the whole run are against: the baseline's fastest configuration, or without one the slowest.

    The slowest shows the most that the choice can change.

    Args:
        configurations: of one application.
        baseline: a cluster's name; None without one, or where it was not measured.
    """
    there = [each for each in configurations if each.cluster == baseline]
    if there:
        return min(there, key=lambda each: each.io_time_s.median)
    return max(configurations, key=lambda each: each.io_time_s.median, default=None)
