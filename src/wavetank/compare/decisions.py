"""Which configurations a report may tell apart. The one place that decides it: ranking, effects, advice ask here.

Reads the repetitions of all configurations; leaves the decisions. The promise: in at most ``error`` of all reports
is any configuration told apart from one that is the same. Variants of an application (one knob turned) are compared with it
and with each other on the same cluster and mapping; these pairs belong to the same family.

Every pair of configurations of one application is tested by time, and by cost and ratio where both have a price,
with the exact test of Mann and Whitney. A pair is told apart when its p is at most error / n, where n is the number
of pairs that may still be without a difference, and its medians are at least the smallest difference apart.

Of time, cost and ratio of one pair at most one can be without a difference: cost and ratio are rising functions of
the time, and where these differ between the two, equal costs mean different times; where they are the same, all three
are one comparison. So three rankings take no more protection than one. (S. Holm, Scandinavian Journal of Statistics
6, 1979; J. P. Shaffer, Journal of the American Statistical Association 81, 1986, for hypotheses that exclude others.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby
from typing import NamedTuple

from wavetank.compare.comparison import Criterion, Family
from wavetank.compare.configuration import Configuration
from wavetank.measure.rank_test import ERROR, fewest_repetitions, p_of, p_value
from wavetank.measure.statistics import SMALLEST_DIFFERENCE, Estimate

Pair = frozenset[str]
"""Identities of two configurations."""
CRITERIA: tuple[Criterion, ...] = ("time", "cost", "ratio")


class Subject(NamedTuple):
    """What decides which pairs a report compares."""

    application: str
    variant_of: str | None  # the application of which this is a variant
    cluster: str  # of a variant of the layout: as it is
    mapping: str


def is_compared(first: Subject, second: Subject) -> bool:
    """Whether a report compares two: all configurations of an application; variants and it where both are at one place."""
    if first.variant_of is None and second.variant_of is None:
        return first.application == second.application
    same = (first.variant_of or first.application) == (second.variant_of or second.application)
    return same and (first.cluster, first.mapping) == (second.cluster, second.mapping)


def quantity(configuration: Configuration, by: Criterion) -> Estimate | None:
    """What a criterion looks at; None where the configuration has no price, or no data for a ratio."""
    if by == "time":
        return configuration.io_time_s
    if configuration.cost is None or (by == "ratio" and not configuration.moves_data):
        return None
    return configuration.cost.cost_tot if by == "cost" else configuration.cost.perf_cost


@dataclass(frozen=True)
class Decisions:
    """What a report may say of pairs of its configurations.

    Attributes:
        error: rate of false alarms of all comparisons together.
        n_pairs: pairs that were compared, of all applications.
        apart: criterion -> pairs that are told apart by it.
        n_blind: pairs with too few repetitions to be told apart whatever they had shown.
        fewest: repetitions of the configuration that has the fewest; 0 without any.
    """

    error: float
    n_pairs: int
    apart: Mapping[Criterion, frozenset[Pair]] = field(default_factory=dict)
    n_blind: int = 0
    fewest: int = 0

    def told_apart(self, first: str, second: str, by: Criterion = "time") -> bool:
        """Whether two configurations, by their ids, are told apart."""
        return frozenset((first, second)) in self.apart.get(by, frozenset())

    @property
    def n_needed(self) -> int:
        """Repetitions of each with which every pair can be told apart."""
        return fewest_repetitions(self.n_pairs, self.error)

    def family(self) -> Family:
        """The decisions' terms, for the document."""
        return Family(
            error=self.error,
            n_pairs=self.n_pairs,
            n_told_apart=len(self.apart.get("time", frozenset())),
            n_blind=self.n_blind,
            repetitions_needed=self.n_needed,
        )


def decide(
    configurations: Sequence[Configuration],
    *,
    smallest_difference: float = SMALLEST_DIFFERENCE,
    error: float = ERROR,
    repetitions: int | None = None,
    ended: Collection[str] = (),
) -> Decisions:
    """Decide for all pairs of a report at once.

    Args:
        configurations: all of the report, of all applications.
        smallest_difference: relative; medians that are closer are never told apart.
        error: rate of false alarms of all comparisons together.
        repetitions: how many of each configuration's are tested, the first ones. What a rule added later because
            of the values that it saw must not count. None: all.
        ended: ids of configurations that got fewer because no further one could have told them apart: these do
            not lack repetitions.
    """
    pairs = list(_pairs(configurations))
    tested: list[tuple[float, Pair, Criterion]] = []
    for first, second in pairs:
        for by in CRITERIA:
            values = _tested(first, by, repetitions), _tested(second, by, repetitions)
            if None not in values:
                p = p_value(values[0] or (), values[1] or ())
                tested.append((p, frozenset((first.id, second.id)), by))
    by_id = {each.id: each for each in configurations}
    apart: dict[Criterion, set[Pair]] = {by: set() for by in CRITERIA}
    for pair, by in rejected(tested, len(pairs), error):
        one, other = (quantity(by_id[name], by) for name in pair)
        if one is not None and other is not None and are_far(one, other, smallest_difference):
            apart[by].add(pair)
    counts = {each.id: len(_tested(each, "time", repetitions) or ()) for each in configurations}
    return Decisions(
        error=error,
        n_pairs=len(pairs),
        apart={by: frozenset(found) for by, found in apart.items()},
        n_blind=sum(
            p_of(0, counts[first.id], counts[second.id]) * len(pairs) > error
            for first, second in pairs
            if first.id not in ended and second.id not in ended
        ),
        fewest=min((n for name, n in counts.items() if name not in ended), default=0),
    )


def _pairs(
    configurations: Sequence[Configuration],
) -> Iterator[tuple[Configuration, Configuration]]:
    for first, second in combinations(configurations, 2):
        if is_compared(_subject(first), _subject(second)):
            yield first, second


def _subject(each: Configuration) -> Subject:
    return Subject(each.application, each.variant_of, *each.place)


def _tested(
    configuration: Configuration, by: Criterion, repetitions: int | None
) -> tuple[float, ...] | None:
    found = quantity(configuration, by)
    return None if found is None else found.values[:repetitions]


def are_far(one: Estimate, other: Estimate, smallest_difference: float) -> bool:
    """Whether two medians are at least the smallest difference apart, relative to the smaller one."""
    near = min(abs(one.median), abs(other.median)) * smallest_difference
    return one.median != other.median and abs(one.median - other.median) >= near


def rejected(
    tested: Sequence[tuple[float, Pair, Criterion]], n_pairs: int, error: float
) -> Iterator[tuple[Pair, Criterion]]:
    """Comparisons whose "no difference" is refused, in steps from the smallest p on.

    A pair that is refused by all of its criteria can no longer be without a difference: the next step has one pair
    less to share the error with.
    """
    left = Counter(pair for _, pair, _ in tested)
    open_pairs = n_pairs
    for p, step in groupby(sorted(tested, key=lambda each: each[0]), key=lambda each: each[0]):
        if open_pairs and p * open_pairs > error:
            return
        for _, pair, by in step:
            left[pair] -= 1
            open_pairs -= left[pair] == 0
            yield pair, by
