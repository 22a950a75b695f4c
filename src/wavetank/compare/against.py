"""Each configuration against the baseline: how many times as fast, how many instances more, what it costs more.

The baseline is one cluster. A configuration is compared with the same mapping there, so that the cluster is all
that differs; where the baseline was not measured with that mapping, with its fastest one.
"""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.configuration import Against, Configuration
from wavetank.compare.decisions import Decisions
from wavetank.measure.statistics import Estimate, change_percent


def against_baseline(
    configurations: Sequence[Configuration], baseline: str, decisions: Decisions
) -> tuple[Configuration, ...]:
    """The configurations, each with its comparison with the baseline.

    Args:
        configurations: of a report, of all applications.
        baseline: a cluster's name.
        decisions: for all pairs of the report.
    """
    return tuple(
        each
        if (base := baseline_of(each, configurations, baseline)) is None
        else each.model_copy(update={"against": _against(each, base, decisions)})
        for each in configurations
    )


def baseline_of(
    configuration: Configuration, configurations: Sequence[Configuration], baseline: str
) -> Configuration | None:
    """What a configuration is compared with; None for the baseline itself, and where it was not measured."""
    if configuration.cluster == baseline:
        return None
    there = [
        each
        for each in configurations
        if each.cluster == baseline and each.application == configuration.application
    ]
    same = [each for each in there if each.mapping == configuration.mapping]
    return min(same or there, key=lambda each: each.io_time_s.median, default=None)


def _against(each: Configuration, base: Configuration, decisions: Decisions) -> Against:
    return Against(
        configuration=base.id,
        same_mapping=each.mapping == base.mapping,
        times_as_fast=_ratio(each, base),
        told_apart=decisions.told_apart(each.id, base.id),
        more_instances=each.n_instances - base.n_instances,
        price_change_percent=_change(_per_h(base), _per_h(each)),
        cost_change_percent=_change(
            None if base.cost is None else base.cost.cost_tot.median,
            None if each.cost is None else each.cost.cost_tot.median,
        ),
        whole_run_change_percent=_change(_whole_s(base), _whole_s(each)),
    )


def _ratio(each: Configuration, base: Configuration) -> Estimate | None:
    """I/O time of the baseline over that of the configuration; None where one took no time."""
    if 0 in (each.io_time_s.median, base.io_time_s.median):
        return None
    change = change_percent(each.io_time_s.values, base.io_time_s.values)
    ends = [None if end is None else 1 + end / 100 for end in (change.low, change.high)]
    return change.model_copy(
        update={
            "median": 1 + change.median / 100,
            "low": ends[0],
            "high": ends[1],
            "values": tuple(1 + value / 100 for value in change.values),
        }
    )


def _per_h(each: Configuration) -> float | None:
    """Of all instances and their storage."""
    cost = each.cost
    if cost is None:
        return None
    return float(cost.price_inst_per_h * cost.n_instances + cost.storage_per_h)


def _whole_s(each: Configuration) -> float | None:
    return None if each.run is None or each.run.whole_s is None else each.run.whole_s.median


def _change(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else 100 * (after / before - 1)


def speed_words(against: Against) -> str:
    """How fast: "1.9 times as fast", "takes 2.3 times as long", "cannot be told apart"."""
    if not against.told_apart or against.times_as_fast is None:
        return "cannot be told apart"
    times = against.times_as_fast.median
    return f"{times:.2g} times as fast" if times >= 1 else f"takes {1 / times:.2g} times as long"


def price_words(against: Against) -> str:
    """What it needs: "one instance more, +33 % an hour"."""
    words = [_instances(against.more_instances)]
    if against.price_change_percent is not None:
        rounded = round(against.price_change_percent)
        words.append(f"{rounded:+d} % an hour" if rounded else "the same price an hour")
    return ", ".join(words)


def _instances(more: int) -> str:
    if more == 0:
        return "as many instances"
    number = "one" if abs(more) == 1 else str(abs(more))
    noun = "instance" if abs(more) == 1 else "instances"
    return f"{number} {noun} {'more' if more > 0 else 'fewer'}"
