"""Variants of an application beside it: which single change gains most, and where.

A gain is a change of the I/O time that the report's decisions tell apart. The changes of two variants on the same cluster
and mapping are compared too: those that cannot be told apart from the best are named with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wavetank.compare.comparison import Advice, NotMeasured
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions
from wavetank.compare.what_if_record import (
    BestGain,
    Gain,
    NotApplying,
    Unmeasured,
    VariantGains,
    WhatIf,
)
from wavetank.compare.words import show
from wavetank.kernel.document.variant import Variant
from wavetank.measure.statistics import CONFIDENCE, change_percent
from wavetank.units import format_duration


def what_if(
    application: str,
    variants: Mapping[str, Variant],
    refused: Sequence[tuple[str, str]],
    configurations: Sequence[Configuration],
    not_measured: Sequence[NotMeasured],
    decisions: Decisions,
    *,
    first: str | None,
    confidence: float = CONFIDENCE,
) -> WhatIf:
    """What an application's variants gain.

    Args:
        application: as it is.
        variants: name in the campaign -> certificate.
        refused: (setting, reason) of knobs that do not apply.
        configurations: all that were measured, of any application and its variants.
        not_measured: parts of the plan without a result, of any application.
        decisions: for all pairs of the report.
        first: the configuration that ranks first, of the application as it is.
        confidence: of the intervals.
    """
    ours = {each.place: each for each in configurations if each.application == application}
    found = []
    for name, certificate in variants.items():
        theirs = [each for each in configurations if each.application == name]
        found.append(
            VariantGains(
                application=name,
                certificate=certificate,
                gains=tuple(
                    _gain(ours[each.place], each, configurations, decisions, confidence)
                    for each in theirs
                    if each.place in ours
                ),
                not_measured=tuple(
                    Unmeasured(cluster=each.cluster, mapping=each.mapping, reason=each.reason)
                    for each in not_measured
                    if each.application == name
                ),
            )
        )
    return WhatIf(
        application=application,
        variants=tuple(found),
        not_applying=tuple(
            NotApplying(setting=setting, reason=reason) for setting, reason in refused
        ),
        best=_best(found, None),
        best_on_first=_best(found, first) if first is not None else None,
    )


def _gain(
    ours: Configuration,
    theirs: Configuration,
    configurations: Sequence[Configuration],
    decisions: Decisions,
    confidence: float,
) -> Gain:
    here = [
        each
        for each in configurations
        if each.variant_of == ours.application
        and each.place == ours.place
        and each.id != theirs.id
        and decisions.told_apart(ours.id, each.id)
        and each.io_time_s.median < ours.io_time_s.median
    ]
    return Gain(
        configuration=ours.id,
        variant_configuration=theirs.id,
        cluster=ours.cluster,
        cluster_title=ours.cluster_title,
        mapping=ours.mapping,
        before=None if theirs.turned is None else theirs.turned.before,
        before_s=ours.io_time_s,
        after_s=theirs.io_time_s,
        change_percent=change_percent(ours.io_time_s.values, theirs.io_time_s.values, confidence),
        clear=decisions.told_apart(ours.id, theirs.id),
        ties_with=tuple(
            each.application for each in here if not decisions.told_apart(theirs.id, each.id)
        ),
    )


def _best(found: Sequence[VariantGains], configuration: str | None) -> BestGain | None:
    """The largest gain that is told apart; on one configuration, or on any."""
    gains = [
        (gain.change_percent.median, variant.application, gain.configuration)
        for variant in found
        for gain in variant.gains
        if is_gain(gain) and configuration in (None, gain.configuration)
    ]
    if not gains:
        return None
    _, name, where = min(gains)
    return BestGain(application=name, configuration=where)


def is_gain(gain: Gain) -> bool:
    """Whether a variant is faster than the application, and told apart from it."""
    return gain.clear and gain.change_percent.median < 0


def what_if_advice(found: WhatIf) -> tuple[Advice, ...]:
    """Which single change gains most, and where; and that none does."""
    if not found.variants:
        reasons = tuple(f"{each.setting}: {each.reason}" for each in found.not_applying)
        return (
            _advice(found, "No single change of the application was measured: no knob applies to it.", reasons),
        )  # fmt: skip
    gains = [gain for variant in found.variants for gain in variant.gains]
    evidence = tuple(gain_words(variant, gain) for variant, gain in all_gains(found))
    n = len(found.variants)
    changes = "1 single change of" if n == 1 else f"{n} single changes of"
    changes = f"{changes} {_turned(found)}"
    if not gains:
        return (_advice(found, f"None of {changes} has a result beside it yet.", ()),)
    if found.best is None:
        return (
            _advice(
                found,
                f"None of {changes} makes its I/O faster by what can be told apart, in {len(gains)} "
                f"comparison{'s' if len(gains) > 1 else ''}{_slower(found)}.",
                evidence,
            ),
        )
    sentence = f"Of {changes}, {_best_words(found, found.best)}."
    if found.best_on_first is None:
        sentence += " On the configuration that ranks first none gains what can be told apart."
    elif found.best_on_first != found.best:
        sentence += (
            f" On the configuration that ranks first, {_best_words(found, found.best_on_first)}."
        )
    return (_advice(found, sentence, evidence),)


def _turned(found: WhatIf) -> str:
    """Of what the variants are."""
    of = {variant.certificate.of for variant in found.variants}
    if of == {"layout"}:
        return "the layout of its files"
    if "layout" in of:
        return "the application and of the layout of its files"
    return "the application"


def all_gains(found: WhatIf) -> Iterable[tuple[VariantGains, Gain]]:
    """Every comparison, largest gain first; those that are not told apart last."""
    every = [(variant, gain) for variant in found.variants for gain in variant.gains]
    return sorted(every, key=lambda each: (not each[1].clear, each[1].change_percent.median))


def gain_words(variant: VariantGains, gain: Gain) -> str:
    """One comparison as a sentence without a full stop."""
    return (
        f"{variant.change_on(gain)}, {gain.cluster_title} with {gain.mapping}: I/O time "
        f"{show(gain.before_s, 'time')} -> {show(gain.after_s, 'time')}, {change_words(gain)}"
    )


def change_words(gain: Gain) -> str:
    """The change of the I/O time: "-43.1 % (-50.0 to -30.2 %)", or that it cannot be told."""
    change = gain.change_percent
    if not gain.clear:
        return f"cannot be told apart ({change.median:+.1f} %)"
    if change.low is None or change.high is None:
        return f"{change.median:+.1f} % (one repetition: no interval)"
    return f"{change.median:+.1f} % ({change.low:+.1f} to {change.high:+.1f} %)"


def _best_words(found: WhatIf, best: BestGain) -> str:
    variant = next(each for each in found.variants if each.application == best.application)
    gain = next(each for each in variant.gains if each.configuration == best.configuration)
    titles = {each.application: each.certificate.words() for each in found.variants}
    words = (
        f"{variant.change_on(gain)} gains most: on {gain.cluster_title} with {gain.mapping} the I/O time changes by "
        f"{change_words(gain)}, from {format_duration(gain.before_s.median)} to {format_duration(gain.after_s.median)}"
    )
    if not gain.ties_with:
        return words
    return f"{words}; what was measured there cannot tell it apart from {', '.join(titles[name] for name in gain.ties_with)}"


def _slower(found: WhatIf) -> str:
    slower = sum(gain.clear and gain.change_percent.median > 0 for _, gain in all_gains(found))
    return f"; in {slower} of them it is slower" if slower else ""


def _advice(found: WhatIf, sentence: str, evidence: tuple[str, ...]) -> Advice:
    return Advice(
        about="application", application=found.application, sentence=sentence, evidence=evidence
    )
