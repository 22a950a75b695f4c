"""Advice on the choice: the one sentence that answers a campaign."""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.compare.comparable import above_words, behind_words, mark
from wavetank.compare.comparison import Advice, Criterion, Ranking
from wavetank.compare.configuration import Configuration
from wavetank.compare.search_record import Search
from wavetank.compare.words import configuration_words, place_words, show, show_value

_BEST: Mapping[Criterion, str] = {
    "time": "the shortest I/O time", "cost": "the lowest cost", "ratio": "the best ratio",
}  # fmt: skip


def choice_advice(
    application: str,
    ours: Mapping[str, Configuration],
    ranking: Ranking,
    search: Search | None = None,
) -> tuple[Advice, ...]:
    """What to choose: the best one where it is told apart, else the simplest of those that are not.

    Args:
        application: its name in the campaign.
        ours: its configurations, by id.
        ranking: with a place at least. Its ties decide.
        search: that left configurations out of the ranking; None: the full grid.
    """
    n_dropped = 0 if search is None else search.n_dropped(application)
    first = ranking.places[0]
    best = ours[first.configuration]
    tied = [ours[name] for name in first.ties_with]
    if tied:
        sentence = _of_tied([best, *tied], ranking)
    elif len(ranking.places) > 1:
        sentence = (
            f"Choose {configuration_words(best)}: it has {_BEST[ranking.by]}, "
            f"{show(first.value, ranking.by)}, and is told apart from every other"
            f"{' finalist' if n_dropped else ''}."
        )
    else:
        sentence = f"{configuration_words(best)} is the only configuration that was measured; there is nothing to choose from."
    if n_dropped:
        others = "one other" if n_dropped == 1 else f"{n_dropped} others"
        sentence += f" The search dropped {others} after few measurements, and does not tell whether they differ."
    behind = None if search is None else behind_words(search, application)
    if behind is not None:
        sentence += f" {behind}"
    above = above_words(ranking, ours.values())
    if above is not None:
        sentence += f" {above}"
    evidence = tuple(
        f"{configuration_words(ours[place.configuration])}: {show(place.value, ranking.by)}, place {place_words(place)}"
        f"{mark(ours[place.configuration])}"
        for place in ranking.places
    )
    return (Advice(about="choice", application=application, sentence=sentence, evidence=evidence),)


def _of_tied(tied: list[Configuration], ranking: Ranking) -> str:
    """The same words for the same tie, whichever of it has the best median today."""
    tied = sorted(tied, key=lambda each: (each.n_instances, each.cluster_title, each.mapping))
    fewest = tied[0].n_instances
    simple = [each for each in tied if each.n_instances == fewest]
    medians = {place.configuration: place.value.median for place in ranking.places}
    of_tied = [medians[each.id] for each in tied]
    span = " to ".join(
        dict.fromkeys(show_value(value, ranking.by) for value in (min(of_tied), max(of_tied)))
    )
    one_mapping = len({each.mapping for each in tied}) == 1

    def words(each: Configuration) -> str:
        return each.cluster_title if one_mapping else configuration_words(each)

    which = "; ".join(map(words, tied))
    instances = "1 instance" if fewest == 1 else f"{fewest} instances"
    apart = f"What was measured cannot tell which of {len(tied)} configurations has {_BEST[ranking.by]} ({span})"
    if len(simple) == len(tied):
        return f"{apart}, and all need {instances}: any of them will do. They are {which}."
    titles = list(dict.fromkeys(each.cluster_title for each in simple))
    names = " or ".join(map(words, simple))
    if len(simple) > len(titles):
        names = f"{' or '.join(titles)}, with any mapping of these"
    need = "needs" if len(titles) == 1 else "need"
    return f"{apart}: {which}. Choose {names}, which {need} the fewest instances ({fewest})."
