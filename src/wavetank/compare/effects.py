"""What knobs do: pairs of configurations that differ in nothing else.

Pairs that differ in several knobs are there too, and say so: their effects cannot be separated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from wavetank.compare.comparison import Comparison, Effect, Turn
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions
from wavetank.compare.knobs import Knobs, differences
from wavetank.measure.mapping import parse_mapping
from wavetank.measure.statistics import CONFIDENCE, change_percent
from wavetank.units import parse_rate, parse_size

MAPPING = "mapping"
"""The knob that is no cluster's."""


def effects(
    configurations: Sequence[Configuration],
    knobs: Mapping[str, Knobs],
    decisions: Decisions,
    *,
    confidence: float = CONFIDENCE,
    baseline: str | None = None,
) -> tuple[Effect, ...]:
    """The effect of each knob that was turned alone, and of those that were turned together.

    Args:
        configurations: that were measured.
        knobs: cluster name -> what was chosen for it.
        decisions: for all pairs of the report.
        confidence: of the intervals.
        baseline: a cluster; pairs with it that differ in several knobs begin there.
    """
    found = []
    told: set[Turn] = set()
    for first, second in combinations(configurations, 2):
        if first.application != second.application:
            continue
        turns = _turned(first, second, knobs)
        if not turns:
            continue
        back = tuple(Turn(knob=t.knob, before=t.after, after=t.before) for t in turns)
        known = len(turns) == 1 and (turns[0] in told or back[0] in told)
        if back[0] in told if known else _starts_second(turns, second.cluster == baseline):
            first, second, turns = second, first, back  # noqa: PLW2901
        told.update(turns[:1] if len(turns) == 1 else ())  # every pair tells a change the same way
        change = change_percent(first.speed.values, second.speed.values, confidence)
        found.append(
            Effect(
                application=first.application,
                knob=" and ".join(turn.knob for turn in turns),
                before="; ".join(turn.before for turn in turns),
                after="; ".join(turn.after for turn in turns),
                turns=turns if len(turns) > 1 else (),
                first=first.id,
                second=second.id,
                rate_change_percent=change,
                clear=decisions.told_apart(first.id, second.id),
            )
        )
    return tuple(found)


def single_effects(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Those of one knob."""
    return tuple(effect for effect in effects if not effect.turns)


def effects_shown(comparison: Comparison) -> tuple[Effect, ...]:
    """Those that people are shown: of one knob, and of several knobs against the baseline.

    With the baseline's other mappings only the fastest one is compared. k configurations have k * (k - 1) / 2
    pairs; CSV and JSON hold all of them.
    """
    there = [
        each
        for each in comparison.configurations
        if comparison.baseline is not None and each.cluster == comparison.baseline
    ]
    of_baseline = {each.id for each in there}
    slowest_first = sorted(there, key=lambda each: each.io_time_s.median, reverse=True)
    fastest = set({each.application: each.id for each in slowest_first}.values())
    return tuple(
        effect
        for effect in comparison.effects
        if not effect.turns
        or {effect.first, effect.second}
        & (fastest if effect.turns[-1].knob == MAPPING else of_baseline)
    )


def turn_words(effect: Effect) -> str:
    """What is turned: "data servers 1 -> 2 and instance type c5.large -> c5.xlarge, not separable"."""
    turns = effect.turns or (Turn(knob=effect.knob, before=effect.before, after=effect.after),)
    words = " and ".join(f"{turn.knob} {turn.before} -> {turn.after}" for turn in turns)
    return f"{words}, not separable" if effect.turns else words


def _turned(
    first: Configuration, second: Configuration, knobs: Mapping[str, Knobs]
) -> tuple[Turn, ...]:
    """The knobs that differ, each with its two values; the mapping comes last.

    What has a meaning for one of the two only is told with its value: data servers "1" against
    "2, 1DFx1F" and against "2, sharded 4 MiB" are two different changes.
    """
    of_first, of_second = (knobs.get(each.cluster, Knobs()) for each in (first, second))
    turns = [
        Turn(knob=each.knob, before=each.before, after=each.after)
        for each in differences(of_first, of_second)
    ]
    if parse_mapping(first.mapping) != parse_mapping(second.mapping):
        if first.cluster != second.cluster and not turns:
            return ()  # clusters that are the same: each has the pair of these mappings itself
        turns.append(Turn(knob=MAPPING, before=first.mapping, after=second.mapping))
    return tuple(turns)


def _starts_second(turns: Sequence[Turn], second_is_baseline: bool) -> bool:
    """Whether a reader expects the second configuration first: amounts ascend, else the baseline comes first."""
    first, second = _amount(turns[0].before), _amount(turns[0].after)
    if len(turns) > 1 or first is None or second is None:
        return second_is_baseline
    return first > second


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
