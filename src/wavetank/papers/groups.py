"""Statements on groups of clients that share a cluster, judged by what an interference study found.

Reads the records of an interference study; leaves findings. A point and a rate have the intervals of the study.
"""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.comparison import Comparison, NotMeasured
from wavetank.compare.interference import Divergence, Setting
from wavetank.measure.statistics import Estimate
from wavetank.papers.claims import GroupRate, HigherRate, Part
from wavetank.papers.study import Statement
from wavetank.papers.verdict import Finding, Verdict, verdict_of
from wavetank.units import format_duration, format_rate

NEAR = 2.0
"""An interval that reaches farther than this factor from a published point does not confirm it."""


def judge_part(
    statement: Statement,
    claim: Part,
    comparison: Comparison | None,
    not_measured: Sequence[NotMeasured] = (),
) -> Verdict:
    """Two rates part where the paper says: the interval of the point found here holds the paper's, and points near it alone."""
    study = None if comparison is None else comparison.interference
    points = [] if study is None else [
        each
        for each in study.divergences
        if each.over == claim.over
        and each.object_bytes == claim.object_size
        and (not claim.clusters or each.cluster in claim.clusters)
    ]  # fmt: skip
    if comparison is None or not points:
        return _nothing(statement, comparison, not_measured)
    findings, told = [], []
    for point in points:
        name = f"{comparison.title_of(point.cluster)} with {point.mapping}"
        if point.at is None or point.low is None or point.high is None:
            findings.append(Finding(None, f"{name}: {point.why_not or 'no point was found'}"))
            continue
        words = f"{_at(point.at, point)} [{_at(point.low, point)} to {_at(point.high, point)}]"
        told.append(f"{name}: {words}")
        said = f"on {name} they part at {words}, and the paper says {_at(claim.at, point)}"
        if not point.low <= claim.at <= point.high:
            findings.append(Finding(False, said, abs(point.at - claim.at)))
        elif point.low < claim.at / NEAR or point.high > claim.at * NEAR:
            findings.append(Finding(None, f"{said}: the interval holds much else"))
        else:
            findings.append(Finding(True))
    return verdict_of(statement, findings, "; ".join(told))


def judge_higher_rate(
    statement: Statement,
    claim: HigherRate,
    comparison: Comparison | None,
    not_measured: Sequence[NotMeasured] = (),
) -> Verdict:
    """A rate is higher in one setting than in another: their intervals do not overlap."""
    settings = _settings(comparison, claim)
    if comparison is None or not settings:
        return _nothing(statement, comparison, not_measured)
    findings, told = [], []
    for cluster, mapping in dict.fromkeys((each.cluster, each.mapping) for each in settings):
        here = [each for each in settings if (each.cluster, each.mapping) == (cluster, mapping)]
        this, than = _rate(claim.this, here), _rate(claim.than, here)
        name = f"{comparison.title_of(cluster)} with {mapping}"
        if this is None or than is None:
            findings.append(Finding(None, f"{name}: a setting was not measured"))
            continue
        words = f"{format_rate(this.median)} against {format_rate(than.median)}"
        told.append(f"{name}: {words}")
        findings.append(_compared(this, than, f"{name}: {words}"))
    return verdict_of(statement, findings, "; ".join(told))


def _compared(this: Estimate, than: Estimate, words: str) -> Finding:
    if this.low is None or this.high is None or than.low is None or than.high is None:
        return Finding(None, f"{words}, without intervals")
    if this.low > than.high:
        return Finding(True)
    if this.high < than.low:
        return Finding(False, words, than.median / this.median if this.median else 1.0)
    return Finding(None, f"{words}, with intervals that overlap")


def _settings(comparison: Comparison | None, claim: HigherRate) -> list[Setting]:
    if comparison is None or comparison.interference is None:
        return []
    return [
        each
        for each in comparison.interference.settings
        if each.point == "together" and (not claim.clusters or each.cluster in claim.clusters)
    ]


def _rate(what: GroupRate, settings: Sequence[Setting]) -> Estimate | None:
    for setting in settings:
        if (
            setting.object_bytes == what.object_size
            and (setting.interval_s or 0.0) == what.interval
        ):
            if what.group is None:
                return setting.combined_io_bytes_per_s
            for group in setting.groups:
                if group.group == what.group:
                    return group.io_rate_bytes_per_s
    return None


def _at(value: float, point: Divergence) -> str:
    return format_duration(value) if point.over == "interval" else f"{value:.3g}"


def _nothing(
    statement: Statement, comparison: Comparison | None, not_measured: Sequence[NotMeasured]
) -> Verdict:
    """Nothing that a statement is about was measured."""
    missing = not_measured if comparison is None else comparison.not_measured
    reasons = dict.fromkeys(f"{each.cluster} was not measured: {each.reason}" for each in missing)
    return verdict_of(statement, [Finding(None, reason) for reason in reasons], "")
