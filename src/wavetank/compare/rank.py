"""Ranking: who is better, what cannot be told apart, and the front of time and cost."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.comparison import Criterion, Place, Ranking
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions, quantity


def rank(
    configurations: Sequence[Configuration], application: str, by: Criterion, decisions: Decisions
) -> Ranking:
    """Rank the configurations of one application, best median first.

    Two configurations tie when the decisions do not tell them apart. Ties are not transitive (A
    may tie with B and B with C while A is told apart from C), so a place is a range: from one plus
    the number of better ones that are told apart to the last place before the worse ones that are.
    Configurations without the quantity are left out.
    """
    compared = [
        (configuration.id, value)
        for configuration in configurations
        if configuration.application == application
        and (value := quantity(configuration, by)) is not None
    ]
    more_is_better = by == "ratio"
    compared.sort(key=lambda pair: pair[1].median, reverse=more_is_better)
    places = []
    for name, value in compared:
        others = [(other, theirs) for other, theirs in compared if other != name]
        tied = [other for other, _ in others if not decisions.told_apart(name, other, by)]
        apart = [theirs for other, theirs in others if other not in tied]
        better = sum((theirs.median > value.median) == more_is_better for theirs in apart)
        worse = len(apart) - better
        places.append(
            Place(
                configuration=name,
                value=value,
                best=1 + better,
                worst=len(compared) - worse,
                ties_with=tuple(tied),
            )
        )
    return Ranking(application=application, by=by, places=tuple(places))


def pareto_front(configurations: Sequence[Configuration]) -> tuple[str, ...]:
    """Configurations of one application that no other beats in both time and cost, fastest first.

    By medians. A configuration without a cost is not on the front; without any costs the front is
    the fastest configuration.
    """
    priced = [
        (each.io_time_s.median, each.cost.cost_tot.median, each.id)
        for each in configurations
        if each.cost is not None
    ]
    if not priced:
        fastest = min(configurations, key=lambda each: each.io_time_s.median, default=None)
        return () if fastest is None else (fastest.id,)
    front: list[tuple[float, float, str]] = []
    for time, cost, name in sorted(priced):
        if not front or cost < front[-1][1] or (time, cost) == front[-1][:2]:
            front.append((time, cost, name))
    return tuple(name for _, _, name in front)
