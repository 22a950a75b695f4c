"""What one knob does: pairs of configurations that differ in nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from wavetank.compare.comparison import Configuration, Effect
from wavetank.compare.decisions import Decisions
from wavetank.compare.knobs import Knobs, differences
from wavetank.measure.mapping import parse_mapping
from wavetank.measure.statistics import CONFIDENCE, change_percent
from wavetank.units import parse_rate, parse_size


def effects(
    configurations: Sequence[Configuration],
    knobs: Mapping[str, Knobs],
    decisions: Decisions,
    *,
    confidence: float = CONFIDENCE,
) -> tuple[Effect, ...]:
    """The effect of each knob that was turned alone.

    Args:
        configurations: that were measured.
        knobs: cluster name -> what was chosen for it.
        decisions: for all pairs of the report.
        confidence: of the intervals.
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
            first.rate_bytes_per_s.values, second.rate_bytes_per_s.values, confidence
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
                clear=decisions.told_apart(first.id, second.id),
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
    found = differences(knobs.get(first.cluster, Knobs()), knobs.get(second.cluster, Knobs()))
    if len(found) != 1:
        return None
    return found[0].knob, found[0].before, found[0].after


def _descending(before: str, after: str) -> bool:
    """Whether two amounts come in the wrong order for a reader."""
    first, second = _amount(before), _amount(after)
    return first is not None and second is not None and first > second


def _amount(value: str) -> float | None:
    """The number that a value begins with, in the same unit for values of one knob; None without."""
    words = value.partition(", ")[0].removesuffix("PxCN").replace(",", "")
    readers: tuple[Callable[[str], float], ...] = (float, parse_size, parse_rate)
    for read in readers:
        try:
            return read(words)
        except ValueError:
            continue
    return None
