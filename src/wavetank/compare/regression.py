"""Whether results are slower than a baseline, for continuous integration of a storage system.

Each configuration is compared with itself, before and after. All of these pairs are one family: with nothing changed, at
most 5 % of checks call any configuration slower or faster (docs/concepts/statistics.md). Pure functions of two baselines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wavetank.compare.baseline import Baseline, Kept
from wavetank.compare.comparison import Criterion
from wavetank.compare.decisions import Pair, are_far, rejected
from wavetank.errors import MeasurementError
from wavetank.measure.rank_test import ERROR, fewest_repetitions, p_of, p_value
from wavetank.measure.statistics import (
    SMALLEST_DIFFERENCE,
    Estimate,
    change_percent,
    estimate,
)

Word = Literal["slower", "faster", "not told apart", "cannot tell"]


@dataclass(frozen=True)
class Verdict:
    """What a check says of one configuration.

    Attributes:
        before: of the baseline; None where it has no such configuration.
        after: of the results; None where they have none.
        change: of the I/O time, percent, with its interval; None without one side, or from a time of zero.
        reason: why it cannot be told; empty else.
        differs: what is not as it was: cluster file, settings, limits.
    """

    application: str
    cluster: str
    cluster_title: str
    mapping: str
    before: Estimate | None
    after: Estimate | None
    change: Estimate | None
    word: Word
    reason: str = ""
    differs: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.application} on {self.cluster_title} with {self.mapping}"


@dataclass(frozen=True)
class Check:
    """What a check says of all configurations."""

    campaign: str
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]

    def n(self, word: Word) -> int:
        """How many configurations have a verdict."""
        return sum(each.word == word for each in self.verdicts)


def check(
    now: Baseline,
    baseline: Baseline,
    *,
    smallest_difference: float = SMALLEST_DIFFERENCE,
    rule_out: float | None = None,
    error: float = ERROR,
) -> Check:
    """Hold results against a baseline.

    Args:
        now: the results.
        baseline: of the same kernels, performed in the same way.
        smallest_difference: relative; medians that are closer are never told apart.
        rule_out: relative; what is not told apart cannot be told where its interval holds a slowdown of this. None:
            not asked.
        error: rate of false alarms of all configurations together.

    Raises:
        MeasurementError: they share no configuration, or a kernel was another one or performed otherwise.
    """
    before = {each.id: each for each in baseline.configurations}
    after = {each.id: each for each in now.configurations}
    shared = [name for name in before if name in after]
    if not shared:
        raise MeasurementError(
            f"the baseline ({baseline.campaign}) and the results ({now.campaign}) have no configuration in common: none has the same "
            "application, cluster and mapping. Run the same campaign file for both"
        )
    _refuse_others([(before[name], after[name]) for name in shared])
    tested = {
        name: p_value(before[name].io_time_s, after[name].io_time_s)
        for name in shared
        if not (before[name].ended_early or after[name].ended_early)
    }
    apart = _apart(tested, before, after, smallest_difference, error)
    verdicts = [
        _verdict(before.get(name), after.get(name), name in apart, len(tested), rule_out, error)
        for name in dict.fromkeys((*before, *after))
    ]
    return Check(now.campaign, tuple(verdicts), tuple(_notes(now, baseline)))


def _refuse_others(pairs: Sequence[tuple[Kept, Kept]]) -> None:
    for old, new in pairs:
        if old.kernel_sha256 != new.kernel_sha256:
            raise MeasurementError(
                f"{new.application} is another kernel than in the baseline, by its hash: their times say nothing of the storage. "
                "Measure the baseline again with this kernel"
            )
        if old.performed != new.performed:
            raise MeasurementError(
                f"{new.id} was performed otherwise than in the baseline: {new.performed}; there {old.performed}. "
                "Run the same campaign file for both"
            )


def _apart(
    tested: Mapping[str, float],
    before: Mapping[str, Kept],
    after: Mapping[str, Kept],
    smallest_difference: float,
    error: float,
) -> set[str]:
    by: Criterion = "time"
    pairs: dict[Pair, str] = {frozenset((name,)): name for name in tested}
    family = [(p, frozenset((name,)), by) for name, p in tested.items()]
    return {
        name
        for pair, _ in rejected(family, len(family), error)
        for name in [pairs[pair]]
        if are_far(
            estimate(before[name].io_time_s), estimate(after[name].io_time_s), smallest_difference
        )
    }


def _verdict(
    old: Kept | None,
    new: Kept | None,
    apart: bool,
    n_tested: int,
    rule_out: float | None,
    error: float,
) -> Verdict:
    first = new or old
    assert first is not None  # noqa: S101 - one side named it
    before, after = (None if each is None else estimate(each.io_time_s) for each in (old, new))
    change = None
    if old is not None and new is not None and min(*old.io_time_s, *new.io_time_s) > 0:
        change = change_percent(old.io_time_s, new.io_time_s)
    reason = "" if apart else _why_not(old, new, change, n_tested, rule_out, error)
    word: Word = "cannot tell" if reason else "not told apart"
    if apart and before is not None and after is not None:
        word = "slower" if after.median > before.median else "faster"
    return Verdict(
        application=first.application,
        cluster=first.cluster,
        cluster_title=first.cluster_title,
        mapping=first.mapping,
        before=before,
        after=after,
        change=change,
        word=word,
        reason=reason,
        differs=_differs(old, new),
    )


def _why_not(
    old: Kept | None,
    new: Kept | None,
    change: Estimate | None,
    n_tested: int,
    rule_out: float | None,
    error: float,
) -> str:
    """Why a configuration that is not told apart cannot be told at all; empty where it can."""
    if new is None or old is None:
        return "it was not measured now" if new is None else "the baseline does not have it"
    for each, where in ((old, "the baseline"), (new, "these results")):
        if each.ended_early:
            return f"{where} stopped measuring it because of its values. Write 'repetitions: N' in the campaign file"
    n_old, n_new = len(old.io_time_s), len(new.io_time_s)
    if p_of(0, n_old, n_new) * n_tested > error:
        return (
            f"{n_old} repetitions against {n_new} cannot show any difference. "
            f"{fewest_repetitions(n_tested, error)} of each can"
        )
    return "" if rule_out is None else _not_ruled_out(change, rule_out)


def _not_ruled_out(change: Estimate | None, rule_out: float) -> str:
    limit = f"a slowdown of {100 * rule_out:g} %"
    if change is None or change.high is None or change.range_of is not None:
        return f"too few repetitions for an interval, so that {limit} is not ruled out"
    if change.high >= 100 * rule_out:
        return f"{limit} is not ruled out: up to {change.high:.0f} % slower. Repeat it more often"
    return ""


def _differs(old: Kept | None, new: Kept | None) -> tuple[str, ...]:
    if old is None or new is None:
        return ()
    found = []
    for what, was, now in (
        ("", old.settings, new.settings),
        ("limit ", old.limits, new.limits),
    ):
        found += [
            f"{what}{key}: {was.get(key, 'none')} -> {now.get(key, 'none')}"
            for key in sorted(was.keys() | now.keys())
            if was.get(key) != now.get(key)
        ]
    if not found and old.cluster_sha256 != new.cluster_sha256:
        found.append("the cluster file is another one")
    return tuple(found)


def _notes(now: Baseline, baseline: Baseline) -> list[str]:
    found = []
    if set(now.hosts) != set(baseline.hosts):
        found.append(
            f"Other machines measured: {', '.join(now.hosts)}; the baseline {', '.join(baseline.hosts)}. "
            "A difference may be theirs."
        )
    if set(now.versions) != set(baseline.versions):
        found.append(
            f"Another version of wavetank measured: {', '.join(now.versions)}; the baseline {', '.join(baseline.versions)}."
        )
    return found
