"""The verdict: the one sentence that answers a comparison, with the numbers that carry it.

It is about the whole run where that is known, and else about the I/O. A saving below a stated share is no reason to change
anything. Measurements that are void recommend nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wavetank.compare.comparable import above_words, behind_words
from wavetank.compare.comparison import SMALLEST_SAVING, Criterion, Ranking, Verdict
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions
from wavetank.compare.search_record import Search
from wavetank.compare.trust_record import Trust
from wavetank.compare.use_advice import is_limited_by_machine
from wavetank.compare.what_if_record import WhatIf
from wavetank.compare.whole_run import reference_of
from wavetank.compare.words import configuration_words
from wavetank.measure.statistics import Estimate
from wavetank.units import format_duration

TENTATIVE = "Tentative: "
"""Stands before every sentence that is built on measurements which are void."""
_BETTER: Mapping[Criterion, tuple[str, str]] = {
    "time": ("faster", "fastest"), "cost": ("cheaper", "cheapest"), "ratio": ("better in rate per cost", "best"),
}  # fmt: skip
_MOST_ORDERED = 3


@dataclass(frozen=True)
class _Choice:
    """What a verdict is made from: one application's configurations, best first, and what may be told apart."""

    ranked: Sequence[Configuration]
    by: Criterion
    decisions: Decisions
    smallest_saving: float

    def apart(self, one: Configuration, other: Configuration) -> bool:
        return self.decisions.told_apart(one.id, other.id, self.by)

    def words(self, each: Configuration) -> str:
        """A configuration; without its mapping where all have the same."""
        several = len({one.mapping for one in self.ranked}) > 1
        return configuration_words(each) if several else each.cluster_title

    def best(self) -> Configuration:
        """The first; of those that cannot be told apart from it the cheapest, or the one with the fewest instances."""
        first = self.ranked[0]
        tied = [each for each in self.ranked if each is first or not self.apart(first, each)]
        return min(tied, key=_effort)

    def change(self, each: Configuration, base: Configuration) -> Change:
        return change_between(
            each, base, told_apart=self.decisions.told_apart(each.id, base.id, "time")
        )


@dataclass(frozen=True)
class Change:
    """What a configuration does to the time and the cost of another one; of the whole run where it is known.

    Attributes:
        time: relative; negative: shorter. None where it cannot be told.
        cost: relative; None where one has none.
        of: "run" or "I/O".
        before_s, after_s: medians of that time.
    """

    time: float | None
    cost: float | None
    of: str
    before_s: float
    after_s: float

    @property
    def saving(self) -> float:
        """The larger of the two savings."""
        return max(-(self.time or 0.0), -(self.cost or 0.0))

    def words(self, *, times: bool = False) -> str:
        """What it does: "shortens the run by 1.9 % and costs 31 % more"; ``times``: with both times of the run."""
        said = (
            f"changes nothing measurable in the time of the {self.of}"
            if self.time is None
            else f"{'shortens' if self.time <= 0 else 'lengthens'} the {self.of} by {percent(self.time)}"
        )
        if times and self.time is not None:
            said += f" ({format_duration(self.before_s)} to {format_duration(self.after_s)})"
        return said if self.cost is None else f"{said} and {cost_words(self.cost)}"


def change_between(each: Configuration, base: Configuration, *, told_apart: bool) -> Change:
    """What a configuration changes against another one."""
    whole = [one.run.whole_s if one.run else None for one in (each, base)]
    known = all(one is not None for one in whole)
    after, before = (
        one.median for one in (whole if known else (each.io_time_s, base.io_time_s)) if one
    )
    costs = [_run_cost(one) if known else _io_cost(one) for one in (each, base)]
    return Change(
        time=after / before - 1 if told_apart and before else None,
        cost=_relative(*costs),
        of="run" if known else "I/O",
        before_s=before,
        after_s=after,
    )


def verdict(
    application: str,
    ours: Mapping[str, Configuration],
    ranking: Ranking,
    decisions: Decisions,
    *,
    baseline: str | None = None,
    search: Search | None = None,
    trust: Trust | None = None,
    variants: WhatIf | None = None,
    smallest_saving: float = SMALLEST_SAVING,
) -> Verdict:
    """What to do: stay with the baseline, choose another configuration, or measure again.

    Args:
        application: its name in the campaign.
        ours: its configurations, by id.
        ranking: of them, with a place at least.
        decisions: for all pairs of the report.
        baseline: a cluster's name; None without one.
        search: that left configurations out of the ranking; None: the full grid.
        trust: of the kernel beside the application itself; None where the campaign did not run it.
        variants: of the application, one knob turned each; None where the campaign did not ask for them.
        smallest_saving: relative, of time or cost; a smaller one is no reason to change.
    """
    ranked = [ours[place.configuration] for place in ranking.places]
    places = [each for each in ranked if not each.in_memory] or ranked
    choice = _Choice(places, ranking.by, decisions, smallest_saving)
    base = None
    if any(each.cluster == baseline for each in places):
        base = reference_of(places, baseline)
    if len(places) == 1:
        verb, chosen, sentence = _of_one(choice, variants)
    else:
        verb, chosen, sentence = _decided(choice, base)
    if len(places) < len(ranked):
        titles = dict.fromkeys(each.cluster_title for each in ranked if each.in_memory)
        sentence += f" {' and '.join(titles)}: files in memory, which no storage keeps."
    void = _void(choice, base, above_words(ranking, ours.values()), search, trust)
    if void is not None:
        order = "; ".join(choice.words(each) for each in places[:_MOST_ORDERED])
        more = f"; and {len(places) - _MOST_ORDERED} more" if len(places) > _MOST_ORDERED else ""
        verb, chosen = "inconclusive", None
        sentence = f"Not conclusive: {void} Tentative order: {order}{more}."
    elif search is not None and (n_dropped := search.n_dropped(application)):
        others = "one other" if n_dropped == 1 else f"{n_dropped} others"
        sentence += f" The search dropped {others} after few measurements, and does not tell whether they differ."
    return Verdict.model_validate(
        {
            "application": application,
            "verb": verb,
            "sentence": sentence,
            "choice": None if chosen is None else chosen.id,
            "baseline": None if base is None else base.id,
            "void": void,
            "run": _run_words(choice, base or places[0]),
        }
    )


def _of_one(choice: _Choice, variants: WhatIf | None) -> tuple[str, Configuration | None, str]:
    """What the one place for files leaves to decide: changes of the application, where some were measured."""
    (only,) = choice.ranked
    words = choice.words(only)
    if variants is None or not variants.variants:
        return (
            "only",
            only,
            f"{words} is the only place for files that was measured: there is nothing to choose from.",
        )
    n = len(variants.variants)
    if variants.best is None:
        changes = "the change is not" if n == 1 else f"none of the {n} changes is"
        return "stay", only, f"Leave it as it is: on {words} {changes} measurably faster."
    variant = next(
        each for each in variants.variants if each.application == variants.best.application
    )
    gain = next(each for each in variant.gains if each.configuration == variants.best.configuration)
    share = -gain.change_percent.median / 100
    ends = " to ".join(format_duration(each.median) for each in (gain.before_s, gain.after_s))
    said = f"on {words} it shortens the I/O by {percent(share)} ({ends})"
    if share < choice.smallest_saving:
        return (
            "stay",
            only,
            f"Leave it as it is: of {n} changes the best, {variant.change_on(gain)}, saves little: {said}.",
        )
    return "choose", only, f"Change {variant.change_on(gain)}: {said}."


def _decided(choice: _Choice, base: Configuration | None) -> tuple[str, Configuration | None, str]:
    if base is None:
        return _without_baseline(choice)
    at = choice.ranked.index(base)
    better = [each for each in choice.ranked[:at] if choice.apart(each, base)]
    stay = f"Stay with {choice.words(base)}: "
    comparative, superlative = _BETTER[choice.by]
    if not better:
        n = len(choice.ranked) - 1
        others = "the alternative is not" if n == 1 else f"none of the {n} alternatives is"
        return "stay", base, f"{stay}{others} measurably {comparative}."
    first = choice.change(better[0], base)
    if first.saving < choice.smallest_saving:
        return "stay", base, f"{stay}the {superlative} alternative {first.words()}."
    best = min((each for each in better if each is better[0] or not choice.apart(better[0], each)), key=_effort)  # fmt: skip
    change = choice.change(best, base)
    return (
        "choose",
        best,
        f"Choose {choice.words(best)}: against {choice.words(base)} it {change.words(times=True)}."
        f"{_ties(choice, best)}",
    )


def _without_baseline(choice: _Choice) -> tuple[str, Configuration | None, str]:
    first, last = choice.ranked[0], choice.ranked[-1]
    best = choice.best()
    change = choice.change(first, last)
    if not any(choice.apart(first, each) for each in choice.ranked[1:]):
        said = "none is measurably " + _BETTER[choice.by][0] + " than another"
    elif change.saving < choice.smallest_saving:
        said = f"the first of the ranking {change.words()} against the last"
    else:
        change = choice.change(best, last)
        return (
            "choose",
            best,
            f"Choose {choice.words(best)}: against the last of the ranking, {choice.words(last)}, it "
            f"{change.words(times=True)}.{_ties(choice, best)}",
        )
    simple = min(choice.ranked, key=_effort)
    priced = "the cheapest" if simple.cost is not None else "the one with the fewest instances"
    several = len({_effort(each) for each in choice.ranked}) > 1
    take = f" Take {choice.words(simple)}, {priced}." if several else ""
    return "any", simple, f"Any of the {len(choice.ranked)} will do: {said}.{take}"


def _ties(choice: _Choice, best: Configuration) -> str:
    n = sum(not choice.apart(best, each) for each in choice.ranked if each is not best)
    if not n:
        return ""
    return f" {'One other' if n == 1 else f'{n} others'} cannot be told apart from it."


def _void(
    choice: _Choice,
    base: Configuration | None,
    above: str | None,
    search: Search | None,
    trust: Trust | None,
) -> str | None:
    """Why the measurements recommend nothing, and what to do; None where they do."""
    n_disturbed = sum(each.n_disturbed for each in choice.ranked)
    n = sum(each.n_repetitions for each in choice.ranked)
    limited = [each for each in choice.ranked if is_limited_by_machine(each)]
    named = {choice.ranked[0].id, base.id if base else choice.ranked[0].id}
    if 2 * n_disturbed > n:
        return (
            f"other work on this machine disturbed {n_disturbed} of {n} measurements. "
            "Wait until it is idle, and measure again with --fresh."
        )
    if named & {each.id for each in limited} or 2 * len(limited) > len(choice.ranked):
        return (
            f"this machine's processors were the limit on {len(limited)} of {len(choice.ranked)} configurations, so the "
            "emulation was measured and not the clusters. Measure again with fewer nodes, or a larger 'scale' in the cluster files."
        )
    if trust is not None and trust.verdict == "not":
        return (
            "the kernel orders these configurations otherwise than the application itself does. "
            "Rank them by runs of the application."
        )
    decisions = choice.decisions
    if decisions.n_pairs and decisions.n_blind == decisions.n_pairs:
        of = "1 repetition" if decisions.fewest == 1 else f"{decisions.fewest} repetitions"
        return f"{of} of each configuration can tell nothing apart. Measure {decisions.n_needed} of each."
    if above is None and search is not None:
        above = behind_words(search, choice.ranked[0].application)
    return None if above is None else f"{above} Measure on clusters of one kind."


def _run_words(choice: _Choice, each: Configuration) -> str:
    """How much of the run is I/O, and what it costs: of the baseline, or of the first."""
    run = each.run
    if run is None or run.whole_s is None:
        return (
            f"With {choice.words(each)} the I/O takes {format_duration(each.io_time_s.median)}; how long the whole run takes "
            "is not known."
        )
    share = "" if run.io_percent is None else f", {percent(run.io_percent / 100)} of it I/O"
    return f"With {choice.words(each)} the run takes {format_duration(run.whole_s.median)} (computed){share}."


def percent(share: float) -> str:
    """A share without its sign, with the digits that mean something: "31 %", "1.9 %", "0.02 %"."""
    value = abs(100 * share)
    if value >= 10 or value == 0:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.1 else f"{value:.1g} %"


def cost_words(change: float) -> str:
    """How the cost changes: "costs 31 % more"."""
    if abs(change) < 0.0005:
        return "costs the same"
    return f"costs {percent(change)} {'more' if change > 0 else 'less'}"


def _effort(each: Configuration) -> tuple[float, int, str]:
    """What decides between configurations that cannot be told apart: cost an hour, instances, name."""
    cost = each.cost
    per_h = (
        0.0
        if cost is None
        else float(cost.price_inst_per_h * cost.n_instances + cost.storage_per_h)
    )
    return per_h, each.n_instances, f"{each.cluster_title} {each.mapping}"


def _run_cost(each: Configuration) -> Estimate | None:
    return None if each.run is None else each.run.cost


def _io_cost(each: Configuration) -> Estimate | None:
    return None if each.cost is None else each.cost.cost_tot


def _relative(after: Estimate | None, before: Estimate | None) -> float | None:
    if after is None or before is None or not before.median:
        return None
    return after.median / before.median - 1
