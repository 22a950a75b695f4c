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
from wavetank.measure.rank_test import (
    ERROR,
    fewest_repetitions,
    p_of,
    p_value,
    repetitions_for,
)
from wavetank.measure.statistics import (
    SMALLEST_DIFFERENCE,
    Estimate,
    change_percent,
    estimate,
)

CHANGE = 0.1
"""Relative: what a user waits for where nothing else is asked for."""
Word = Literal["slower", "faster", "not told apart", "cannot tell"]


@dataclass(frozen=True)
class Verdict:
    """What a check says of one configuration.

    Attributes:
        before: of the baseline; None where it has no such configuration.
        after: of the results; None where they have none.
        change: of the I/O time, percent, with its interval; None without one side, or from a time of zero.
        reason: why it cannot be told; empty else.
        to_tell: repetitions of each side that tell the change which is waited for in nine of ten checks, by the spread of
            these; None where that cannot be said.
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
    to_tell: int | None = None
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
    tell: float = CHANGE  # relative: the change that is waited for

    def n(self, word: Word) -> int:
        """How many configurations have a verdict."""
        return sum(each.word == word for each in self.verdicts)


def check(
    now: Baseline,
    baseline: Baseline,
    *,
    smallest_difference: float = SMALLEST_DIFFERENCE,
    rule_out: float | None = None,
    tell: float = CHANGE,
    error: float = ERROR,
) -> Check:
    """Hold results against a baseline.

    Args:
        now: the results.
        baseline: of the same kernels, performed in the same way.
        smallest_difference: relative; medians that are closer are never told apart.
        rule_out: relative; what is not told apart cannot be told where its interval holds a slowdown of this. None:
            not asked.
        tell: relative; how many repetitions tell a change of this is said.
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
    terms = _Terms(len(tested), len(shared), rule_out, tell, error)
    verdicts = tuple(
        _verdict(before.get(name), after.get(name), name in apart, terms)
        for name in dict.fromkeys((*before, *after))
    )
    notes = (*_notes(now, baseline), *_repetitions_note(verdicts, tell))
    return Check(now.campaign, verdicts, notes, tell)


@dataclass(frozen=True)
class _Terms:
    """On which a check decides: how many configurations are tested and how many could be, and what is asked for."""

    n_tested: int
    n_shared: int
    rule_out: float | None
    tell: float
    error: float


def _repetitions_note(verdicts: Sequence[Verdict], tell: float) -> list[str]:
    """That fewer repetitions were made than it takes to tell a change; empty where they suffice."""
    short = [
        each
        for each in verdicts
        if each.before is not None
        and each.after is not None
        and each.word not in ("slower", "faster")
        if each.to_tell is None
        or each.to_tell > min(len(each.before.values), len(each.after.values))
    ]
    if not short:
        return []
    unknown = [each for each in short if each.to_tell is None]
    worst = unknown[0] if unknown else max(short, key=lambda each: each.to_tell or 0)
    needed = (
        f"How many repetitions tell it cannot be said from these: {worst.title} has too few, or too much noise."
        if worst.to_tell is None
        else f"To tell it, each needs about {worst.to_tell} repetitions, before and now: {worst.title} has the most noise of them."
    )
    return [
        f"A slowdown of {100 * tell:g} % may go unseen in {len(short)} of {len(verdicts)} configurations. {needed}"
    ]


def _told(n: int | None, what: str) -> str:
    """How many repetitions of each do something, as a part of a sentence."""
    return f"how many {what} cannot be said from these" if n is None else f"about {n} {what}"


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
    terms: _Terms,
) -> Verdict:
    first = new or old
    assert first is not None  # noqa: S101 - one side named it
    before, after = (None if each is None else estimate(each.io_time_s) for each in (old, new))
    change = None
    if old is not None and new is not None and min(*old.io_time_s, *new.io_time_s) > 0:
        change = change_percent(old.io_time_s, new.io_time_s)
    to_tell = None
    if old is not None and new is not None:
        both = (old.io_time_s, new.io_time_s)
        to_tell = repetitions_for(terms.tell, both, terms.n_shared, terms.error)
    reason = "" if apart else _why_not(old, new, change, to_tell, terms)
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
        to_tell=to_tell,
        differs=_differs(old, new),
    )


def _why_not(
    old: Kept | None,
    new: Kept | None,
    change: Estimate | None,
    to_tell: int | None,
    terms: _Terms,
) -> str:
    """Why a configuration that is not told apart cannot be told at all; empty where it can."""
    if new is None or old is None:
        return "it was not measured now" if new is None else "the baseline does not have it"
    fewest = fewest_repetitions(terms.n_shared, terms.error)
    told = _told(to_tell, f"tell a slowdown of {100 * terms.tell:g} %")
    for each, where in ((old, "the baseline"), (new, "these results")):
        if each.ended_early:
            return (
                f"{where} stopped measuring it because of its values. Write 'repetitions: {to_tell or fewest}' in the campaign "
                f"file: {fewest} can show a difference, {told}"
            )
    n_old, n_new = len(old.io_time_s), len(new.io_time_s)
    if p_of(0, n_old, n_new) * terms.n_tested > terms.error:
        return f"{n_old} repetitions against {n_new} cannot show any difference. {fewest} of each can, {told}"
    if terms.rule_out is None:
        return ""
    return _not_ruled_out(change, (old.io_time_s, new.io_time_s), terms.rule_out)


def _not_ruled_out(
    change: Estimate | None, both: Sequence[Sequence[float]], rule_out: float
) -> str:
    limit = f"a slowdown of {100 * rule_out:g} %"
    # The interval is of one configuration alone. It leaves a change out as often as a test tells it.
    n = repetitions_for(rule_out, both, 1)
    needed = _told(n, "repetitions of each rule it out where nothing changed").capitalize()
    if change is None or change.high is None or change.range_of is not None:
        return f"too few repetitions for an interval, so that {limit} is not ruled out. {needed}"
    if change.high >= 100 * rule_out:
        return f"{limit} is not ruled out: up to {change.high:.0f} % slower. {needed}"
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


def baseline_notes(baseline: Baseline) -> list[str]:
    """What of a baseline no check will be able to tell, a sentence each; with the repetitions that it takes.

    Args:
        baseline: that later results will be held against.
    """
    kept = baseline.configurations
    fewest = fewest_repetitions(len(kept), ERROR)
    few = [each for each in kept if each.ended_early or len(each.io_time_s) < fewest]
    needed = [repetitions_for(CHANGE, (each.io_time_s,), len(kept), ERROR) for each in kept]
    short = [
        n for each, n in zip(kept, needed, strict=True) if n is None or n > len(each.io_time_s)
    ]
    told = None if None in short else max((n for n in short if n is not None), default=fewest)
    if few:
        return [
            f"A check can tell nothing of {len(few)} of {len(kept)} configurations: too few repetitions, or ended because of their values. "
            f"Write 'repetitions: {told or fewest}' in the campaign file and measure again: {fewest} can show a difference, "
            f"{_told(told, f'tell a slowdown of {100 * CHANGE:g} %')}."
        ]
    if short:
        return [
            f"A slowdown of {100 * CHANGE:g} % may go unseen in {len(short)} of {len(kept)} configurations. "
            f"{_told(told, 'repetitions of each tell it').capitalize()}."
        ]
    return []
