"""Where the time of a configuration went: the use of resources over its repetitions, and the bottleneck by it.

Every share is the median over the repetitions in which it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from pydantic import Field

from wavetank.document import Record
from wavetank.measure.bottleneck import Bottleneck, bottleneck
from wavetank.measure.result import Measurement
from wavetank.measure.use import (
    KINDS,
    RESOURCES,
    FullTime,
    Kind,
    MeasuredUse,
    Resource,
    ResourceUse,
    Use,
)


class UseOf(Record):
    """Use in one part of a configuration's time, and what took the time by it."""

    use: Use | None = Field(description="medians over repetitions; None where it is too short")
    bottleneck: Bottleneck


class ConfigurationUse(Record):
    """Use on one configuration."""

    whole: UseOf
    outside: UseOf = Field(description="outside of phases: opens, closes, flushes")
    n_repetitions: int = Field(description="in which it was recorded")


def configuration_use(measurements: Sequence[Measurement]) -> ConfigurationUse | None:
    """Of a configuration's repetitions; None where none was recorded."""
    known = _known(measurements)
    if not known:
        return None
    return ConfigurationUse(
        whole=use_of([each.whole for each in known]),
        outside=use_of([each.outside for each in known]),
        n_repetitions=len(known),
    )


def phase_use(measurements: Sequence[Measurement], ph_id: int) -> UseOf | None:
    """Of one phase; None where nothing was recorded."""
    known = _known(measurements)
    if not known:
        return None
    by_id = [{phase.ph_id: phase.use for phase in each.phases} for each in known]
    return use_of([phases.get(ph_id) for phases in by_id])


def use_of(repetitions: Sequence[Use | None]) -> UseOf:
    """Medians over repetitions; too short to tell where it is so in most of them."""
    told = [use for use in repetitions if use is not None]
    middle = median_use(told) if 2 * len(told) > len(repetitions) else None
    return UseOf(use=middle, bottleneck=bottleneck(middle))


def median_use(repetitions: Sequence[Use]) -> Use:
    """The median of each number, over the repetitions that have it.

    Args:
        repetitions: at least one.
    """
    by_resource = [
        {(each.resource, each.kind): each for each in use.resources} for use in repetitions
    ]
    resources = tuple(
        _median_resource(found)
        for kind in KINDS
        for resource in RESOURCES
        if (found := [each[resource, kind] for each in by_resource if (resource, kind) in each])
    )
    return Use(
        span_s=median(use.span_s for use in repetitions),
        n_readings=min(use.n_readings for use in repetitions),
        resources=resources,
        waiting=median(use.waiting for use in repetitions),
        full=_median_full(repetitions),
        full_share=median(use.full_share for use in repetitions),
        n_ranks=repetitions[0].n_ranks,
        in_flight=_median([use.in_flight for use in repetitions]),
        call_s=_median([use.call_s for use in repetitions]),
        held_back=_median([use.held_back for use in repetitions]),
        cpu_wait=_median([use.cpu_wait for use in repetitions]),
        other_cores=_median([use.other_cores for use in repetitions]),
    )


def _median_resource(found: Sequence[ResourceUse]) -> ResourceUse:
    """Medians; the busiest node is the one that was it most often."""
    node = Counter(each.busiest_node for each in found).most_common(1)[0][0]
    return found[0].model_copy(
        update={
            "busiest": median(each.busiest for each in found),
            "mean": median(each.mean for each in found),
            "amount": median(each.amount for each in found),
            "busiest_node": node,
        }
    )


def _median_full(repetitions: Sequence[Use]) -> tuple[FullTime, ...]:
    """Shares of the time in which resources were full; 0 where a repetition does not name one."""
    found: dict[tuple[Resource, Kind], list[FullTime]] = {}
    for use in repetitions:
        for each in use.full:
            found.setdefault((each.resource, each.kind), []).append(each)
    middles = [
        each[0].model_copy(
            update={
                "share": median(
                    [time.share for time in each] + [0.0] * (len(repetitions) - len(each))
                )
            }
        )
        for each in found.values()
    ]
    return tuple(sorted((e for e in middles if e.share > 0), key=lambda each: -each.share))


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _known(measurements: Sequence[Measurement]) -> list[MeasuredUse]:
    return [each.use for each in measurements if each.use is not None]
