"""Configurations whose numbers are not comparable with hardware: how they are marked, and what a ranking says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wavetank.cluster.guests.hypervisors import INCOMPARABLE
from wavetank.compare.comparison import Ranking
from wavetank.compare.configuration import Configuration
from wavetank.compare.search_record import Search


def mark(configuration: Configuration) -> str:
    """What goes behind a configuration's numbers: empty, or ", not comparable with hardware"."""
    return "" if configuration.comparable else f", {INCOMPARABLE}"


def marks_words(configurations: Sequence[Configuration]) -> str:
    """How many of some are marked, for a caption: empty, or " (2 of 5 configurations not comparable with hardware)"."""
    n, n_marked = len(configurations), sum(not each.comparable for each in configurations)
    if not n_marked:
        return ""
    return (
        f" ({INCOMPARABLE})"
        if n_marked == n
        else f" ({n_marked} of {n} configurations {INCOMPARABLE})"
    )


def behind_words(search: Search, application: str) -> str | None:
    """That a search of an application preferred marked configurations to unmarked ones; None where it did not."""
    n = search.n_behind_incomparable(application)
    if not n:
        return None
    which = "1 configuration that is" if n == 1 else f"{n} configurations that are"
    return (
        f"the search dropped {which} comparable with hardware, behind others that went on and are not: "
        "this selection says nothing of hardware."
    )


def above_words(ranking: Ranking, configurations: Iterable[Configuration]) -> str | None:
    """Which marked configurations a ranking has above unmarked ones; None where it has none.

    Args:
        ranking: of one application.
        configurations: those in it, and perhaps others.
    """
    by_id: Mapping[str, Configuration] = {each.id: each for each in configurations}
    order = [by_id[place.configuration] for place in ranking.places]
    last = max((at for at, each in enumerate(order) if each.comparable), default=0)
    above = [each for each in order[:last] if not each.comparable]
    if not above:
        return None
    names = "; ".join(f"{each.cluster_title} with {each.mapping}" for each in above)
    which = "is above one that is" if len(above) == 1 else "are above one that is"
    return f"{names} {which} comparable with hardware, and {'is' if len(above) == 1 else 'are'} not: this order says nothing of hardware."
