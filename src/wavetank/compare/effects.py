"""What one knob does: pairs of configurations that differ in nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from wavetank.compare.comparison import Configuration, Effect
from wavetank.measure.mapping import parse_mapping
from wavetank.measure.statistics import CONFIDENCE, SMALLEST_DIFFERENCE, change_percent

Knobs = Mapping[str, str]
"""Dotted path in a cluster's specification -> value."""
ANY = "any"
"""A knob's value where the knob does nothing, such as the stripe size of one server."""


def effects(
    configurations: Sequence[Configuration],
    knobs: Mapping[str, Knobs],
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    smallest_difference: float = SMALLEST_DIFFERENCE,
) -> tuple[Effect, ...]:
    """The effect of each knob that was turned alone.

    Args:
        configurations: that were measured.
        knobs: cluster name -> its specification, flattened; names and titles left out.
        seed: of the bootstrap.
        confidence: of the intervals.
        smallest_difference: relative; a smaller effect is not clear.
    """
    found = []
    for first, second in combinations(configurations, 2):
        if first.application != second.application:
            continue
        turned = _turned(first, second, knobs)
        if turned is None:
            continue
        if _descending(*turned[1:]):
            first, second, turned = second, first, (turned[0], turned[2], turned[1])  # noqa: PLW2901
        change = change_percent(
            first.rate_bytes_per_s.values, second.rate_bytes_per_s.values, seed, confidence
        )
        found.append(
            Effect(
                application=first.application,
                knob=turned[0],
                before=turned[1],
                after=turned[2],
                first=first.id,
                second=second.id,
                rate_change_percent=change,
                clear=change.low is not None
                and change.high is not None
                and (change.low > 0 or change.high < 0)
                and abs(change.median) >= 100 * smallest_difference,
            )
        )
    return tuple(found)


def _turned(
    first: Configuration, second: Configuration, knobs: Mapping[str, Knobs]
) -> tuple[str, str, str] | None:
    """The one knob that differs and its two values; None when it is not exactly one.

    What has a meaning for one of the two only is told with its value: data servers "1" against
    "2, 1DFx1F" and against "2, sharded 4 MiB" are two different changes.
    """
    if first.cluster == second.cluster:
        if parse_mapping(first.mapping) == parse_mapping(second.mapping):
            return None
        return "mapping", first.mapping, second.mapping
    if first.mapping != second.mapping:
        return None
    before, after = knobs.get(first.cluster, {}), knobs.get(second.cluster, {})
    different = [
        key
        for key in {**before, **after}
        if ANY not in (before.get(key, ""), after.get(key, ""))
        and before.get(key) != after.get(key)
    ]
    if len(different) != 1:
        return None
    key = different[0]
    return (
        key,
        ", ".join([before.get(key, "default"), *_only_in(before, after)]),
        ", ".join([after.get(key, "default"), *_only_in(after, before)]),
    )


def _only_in(one: Knobs, other: Knobs) -> list[str]:
    """Values of knobs that do something in one configuration and nothing in the other."""
    return [value for key, value in one.items() if value != ANY and other.get(key) == ANY]


def _descending(before: str, after: str) -> bool:
    """Whether two numbers come in the wrong order for a reader."""
    digits = [value.split(",")[0].removesuffix("PxCN") for value in (before, after)]
    try:
        return float(digits[0]) > float(digits[1])
    except ValueError:
        return False
