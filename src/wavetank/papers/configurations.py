"""Statements on configurations of a campaign, judged by the campaign's own decisions.

Reads a comparison; leaves findings. Two configurations differ where the comparison's rankings tell them apart
(compare.decisions). How many times as good one is has the interval of all ratios of their repetitions
(measure.rank_test).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product

from wavetank.compare.comparison import Comparison, Criterion, NotMeasured
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import quantity
from wavetank.compare.words import ratio_words
from wavetank.measure.rank_test import ratio_interval
from wavetank.papers.claims import Better, Change, NoGain, Selection, Strongest
from wavetank.papers.study import Statement
from wavetank.papers.verdict import Finding, Verdict, verdict_of
from wavetank.units import format_rate

Place = Configuration | NotMeasured
"""A part of the plan, with or without a result."""


@dataclass(frozen=True)
class Times:
    """How many times as good one configuration is as another one; ``sure``: the interval holds at its confidence."""

    low: float
    median: float
    high: float
    sure: bool


class Evidence:
    """What was measured, and what was not and why."""

    def __init__(
        self, comparison: Comparison | None, not_measured: Sequence[NotMeasured] = ()
    ) -> None:
        self._comparison = comparison
        self.configurations = () if comparison is None else comparison.configurations
        missing = not_measured if comparison is None else comparison.not_measured
        there = {(each.application, each.cluster, each.mapping) for each in self.configurations}
        self.missing = tuple(
            {
                (each.application, each.cluster, each.mapping): each
                for each in missing
                if (each.application, each.cluster, each.mapping) not in there
            }.values()
        )

    @property
    def applications(self) -> tuple[str, ...]:
        """All of the campaign."""
        both: tuple[Place, ...] = (*self.configurations, *self.missing)
        return tuple(dict.fromkeys(each.application for each in both))

    def places(self, application: str, selection: Selection) -> tuple[Place, ...]:
        """What a selection means, measured or not."""
        both: tuple[Place, ...] = (*self.configurations, *self.missing)
        return tuple(
            each
            for each in both
            if each.application == application and selection.takes(each.cluster, each.mapping)
        )

    def told_apart(self, first: str, second: str, by: Criterion) -> bool:
        """Whether the comparison tells two configurations apart, by their ids."""
        rankings = () if self._comparison is None else self._comparison.rankings
        for ranking in rankings:
            if ranking.by == by:
                for place in ranking.places:
                    if place.configuration == first:
                        names = {each.configuration for each in ranking.places}
                        return second in names and second not in place.ties_with
        return False

    @property
    def smallest_difference(self) -> float:
        """Relative; less is no difference."""
        return 0.0 if self._comparison is None else self._comparison.smallest_difference

    @property
    def confidence(self) -> float:
        """Of intervals."""
        return 0.95 if self._comparison is None else self._comparison.confidence

    def name(self, place: Place) -> str:
        """A configuration for people."""
        title = (
            place.cluster if self._comparison is None else self._comparison.title_of(place.cluster)
        )
        several = f"{place.application} on " if len(self.applications) > 1 else ""
        return f"{several}{title} with {place.mapping}"

    def value(self, place: Configuration, by: Criterion) -> str:
        """What a criterion looks at, for people; the rate where it is time."""
        if by == "time":
            return format_rate(place.rate_bytes_per_s.median)
        value = quantity(place, by)
        price = None if self._comparison is None else self._comparison.price
        if value is None or price is None:
            return "no price"
        if by == "ratio":
            return ratio_words(value.median, price.currency)
        return f"{value.median:.3g} {price.currency}"

    def values(self, places: Sequence[Place], by: Criterion) -> str:
        """Each configuration with its value, in the order given, once."""
        once = {each.id: each for each in places if isinstance(each, Configuration)}
        return "; ".join(f"{self.name(each)}: {self.value(each, by)}" for each in once.values())


def judge_better(statement: Statement, claim: Better, evidence: Evidence) -> Verdict:
    """Each of these is better than each of those."""
    pairs = list(_pairs(claim, evidence, claim.these, claim.those))
    findings = [_better(first, second, claim, evidence) for first, second in pairs]
    return verdict_of(statement, findings, evidence.values(list(chain(*pairs)), claim.by))


def judge_no_gain(statement: Statement, claim: NoGain, evidence: Evidence) -> Verdict:
    """None of those after is better than those before by more than what helps."""
    pairs = list(_pairs(claim, evidence, claim.before, claim.after))
    findings = [_no_gain(before, after, claim, evidence) for before, after in pairs]
    return verdict_of(statement, findings, evidence.values(list(chain(*pairs)), claim.by))


def judge_strongest(statement: Statement, claim: Strongest, evidence: Evidence) -> Verdict:
    """One change matters more than each of some others."""
    findings: list[Finding] = []
    told: list[str] = []
    for application in claim.applications or evidence.applications:
        confidence = 1 - (1 - evidence.confidence) / (1 + len(claim.others))
        this, words = _strength(claim.this, application, claim.by, evidence, confidence)
        told.append(words)
        for other in claim.others:
            against, words = _strength(other, application, claim.by, evidence, confidence)
            told.append(words)
            findings.append(_stronger(this, against))
    return verdict_of(statement, findings, "; ".join(words for words in told if words))


def _pairs(
    claim: Better | NoGain, evidence: Evidence, these: Selection, those: Selection
) -> Iterator[tuple[Place, Place]]:
    for application in claim.applications or evidence.applications:
        for first, second in product(
            evidence.places(application, these), evidence.places(application, those)
        ):
            same_mapping = first.mapping == second.mapping
            same_cluster = first.cluster == second.cluster
            if same_mapping and same_cluster:
                continue
            if claim.same_mapping and not same_mapping:
                continue
            if isinstance(claim, Better) and claim.same_cluster and not same_cluster:
                continue
            yield first, second


def _better(first: Place, second: Place, claim: Better, evidence: Evidence) -> Finding:
    times = _times(first, second, claim.by, evidence, evidence.confidence)
    if isinstance(times, Finding):
        return times
    names = evidence.name(first), evidence.name(second)
    if claim.times is not None:
        return _so_many_times(times, claim.times, names)
    if _told_apart(first, second, claim.by, evidence):
        if times.median > 1:
            return Finding(True)
        factor = 1 / times.median
        return Finding(False, _opposite(second, first, factor, claim.by, evidence), factor)
    if times.sure and times.high <= 1 + evidence.smallest_difference:
        least = f"{100 * evidence.smallest_difference:g} %"
        return Finding(False, f"{names[0]} is not better than {names[1]} by {least}", 1.0)
    return Finding(None, f"{names[0]} and {names[1]} are not told apart")


def _so_many_times(times: Times, wanted: float, names: tuple[str, str]) -> Finding:
    if times.sure and times.low >= wanted:
        return Finding(True)
    found = f"{names[0]} is {times.median:.3g} times as good as {names[1]}"
    if times.sure and times.high < wanted:
        return Finding(False, f"{found}, not {wanted:g} times", wanted / times.median)
    return Finding(None, f"{found} [{times.low:.3g} to {times.high:.3g}]")


def _no_gain(before: Place, after: Place, claim: NoGain, evidence: Evidence) -> Finding:
    gain = _times(after, before, claim.by, evidence, evidence.confidence)
    if isinstance(gain, Finding):
        return gain
    apart = _told_apart(before, after, claim.by, evidence)
    if (apart and gain.median < 1) or (gain.sure and gain.high <= 1 + claim.at_most):
        return Finding(True)
    if apart and gain.median > 1 + claim.at_most:
        return Finding(False, _opposite(after, before, gain.median, claim.by, evidence), gain.median)  # fmt: skip
    return Finding(
        None,
        f"{evidence.name(after)} may gain {100 * (gain.high - 1):.0f} % on {evidence.name(before)}",
    )


def _strength(
    change: Change, application: str, by: Criterion, evidence: Evidence, confidence: float
) -> tuple[tuple[float, float] | Finding, str]:
    """Ends of the size of a change, on the scale of logarithms, and the change in words."""
    befores = evidence.places(application, change.before)
    afters = evidence.places(application, change.after)
    if len(befores) != 1 or len(afters) != 1:
        return Finding(None, "a change is from one configuration to one other"), ""
    times = _times(afters[0], befores[0], by, evidence, confidence)
    if isinstance(times, Finding):
        return times, ""
    words = f"{evidence.name(befores[0])} to {evidence.name(afters[0])}: {100 * (times.median - 1):+.0f} %"
    if not times.sure:
        return Finding(None, f"too few repetitions for {words}"), words
    low, high = math.log(times.low), math.log(times.high)
    least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return (least, max(abs(low), abs(high))), words


def _stronger(this: tuple[float, float] | Finding, other: tuple[float, float] | Finding) -> Finding:
    if isinstance(this, Finding):
        return this
    if isinstance(other, Finding):
        return other
    if this[0] > other[1]:
        return Finding(True)
    if this[1] < other[0]:
        return Finding(False, "another change is larger", other[0] - this[1])
    return Finding(None, "the intervals of the changes overlap")


def _times(
    first: Place, second: Place, by: Criterion, evidence: Evidence, confidence: float
) -> Times | Finding:
    """How many times as good the first is; or why that is not known."""
    values = []
    for place in (first, second):
        if not isinstance(place, Configuration):
            return Finding(None, f"{evidence.name(place)} was not measured: {place.reason}")
        value = quantity(place, by)
        if value is None or min(value.values) <= 0:
            return Finding(None, f"{evidence.name(place)} has no {by}")
        values.append(value)
    good, other = values if by == "ratio" else values[::-1]
    low, high, sure = ratio_interval(other.values, good.values, confidence)
    return Times(low, good.median / other.median, high, sure)


def _told_apart(first: Place, second: Place, by: Criterion, evidence: Evidence) -> bool:
    return (
        isinstance(first, Configuration)
        and isinstance(second, Configuration)
        and evidence.told_apart(first.id, second.id, by)
    )


_WORDS: dict[Criterion, str] = {
    "time": "is {:.3g} times as fast as",
    "cost": "is {:.3g} times as cheap as",
    "ratio": "has {:.3g} times the performance-cost ratio of",
}


def _opposite(better: Place, worse: Place, times: float, by: Criterion, evidence: Evidence) -> str:
    """That one is better, and what each waited for where that is known."""
    text = f"{evidence.name(better)} {_WORDS[by].format(times)} {evidence.name(worse)}"
    waits = [
        f"{evidence.name(each)} waits for {each.use.whole.bottleneck.name}"
        for each in (better, worse)
        if isinstance(each, Configuration)
        and each.use is not None
        and each.use.whole.bottleneck.verdict in ("resource", "latency")
    ]
    return "; ".join([text, *waits])
