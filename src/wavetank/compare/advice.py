"""The advice in words: what to choose and what to change, each sentence with its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from wavetank.compare.application_advice import (
    CACHED_PERCENT,
    FULL_PERCENT,
    application_advice,
)
from wavetank.compare.comparison import (
    Advice,
    Configuration,
    Criterion,
    Effect,
    OwnRunError,
    Place,
    Ranking,
)
from wavetank.compare.decisions import Decisions
from wavetank.compare.effects import single_effects
from wavetank.compare.run_advice import baseline_advice, run_advice
from wavetank.compare.use_advice import use_advice
from wavetank.kernel.plan import Kernel
from wavetank.measure.statistics import Estimate
from wavetank.units import format_duration, format_rate


def advise(
    application: str,
    kernel: Kernel,
    configurations: Sequence[Configuration],
    ranking: Ranking,
    effects: Sequence[Effect],
    own_runs: Sequence[OwnRunError] = (),
    *,
    decisions: Decisions,
) -> tuple[Advice, ...]:
    """All advice on one application.

    Args:
        application: its name in the campaign.
        kernel: its kernel.
        configurations: all that were measured, of any application.
        ranking: of this application, by the criterion that was asked for.
        effects: of any application.
        own_runs: errors against this application's own runs.
        decisions: for all pairs of the report.
    """
    ours = {each.id: each for each in configurations if each.application == application}
    if not ranking.places:
        return ()
    return (
        *run_advice(list(ours.values()), ours[ranking.places[0].configuration]),
        *_choice(application, ours, ranking),
        *baseline_advice(list(ours.values()), ranking, effects),
        *_effects(
            ours, [each for each in single_effects(effects) if each.application == application]
        ),
        *use_advice(application, [ours[place.configuration] for place in ranking.places], ranking),
        *_full_storage(application, list(ours.values())),
        *_cached(application, list(ours.values())),
        *application_advice(application, kernel, ours[ranking.places[0].configuration]),
        *_method(ours, application, own_runs),
        *_repetitions(application, decisions),
    )


def show(of: Estimate, by: Criterion, currency: str = "") -> str:
    """An estimate with its interval, in the unit of its criterion."""

    def one(value: float) -> str:
        if by == "time":
            return format_duration(value)
        if by == "cost":
            return f"{three_digits(value)} {currency}".rstrip()
        return f"{three_digits(value)} MB/s per {currency or 'unit'}"

    if of.low is None or of.high is None:
        return f"{one(of.median)} (one repetition)"
    few = "" if of.range_of is None else f", range of {of.range_of}"
    return f"{one(of.median)} [{one(of.low)} to {one(of.high)}{few}]"


def three_digits(value: float) -> str:
    """A number with three significant digits, never in powers of ten: 0.000198, 12.3, 484,000."""
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def place_range(place: Place) -> str:
    """A place as people write it: "1", or "1-3" with ties."""
    return str(place.best) if place.best == place.worst else f"{place.best}-{place.worst}"


def _choice(
    application: str, ours: dict[str, Configuration], ranking: Ranking
) -> tuple[Advice, ...]:
    first = ranking.places[0]
    best = ours[first.configuration]
    named = {"time": "the shortest I/O time", "cost": "the lowest cost", "ratio": "the best ratio"}
    evidence = [
        f"{_words(ours[place.configuration])}: {show(place.value, ranking.by)}, place {place_range(place)}"
        for place in ranking.places
    ]
    tied = [ours[name] for name in first.ties_with]
    if not tied and len(ranking.places) > 1:
        sentence = (
            f"Choose {best.cluster_title} with {best.mapping}: it has {named[ranking.by]}, "
            f"{show(first.value, ranking.by)}, and is told apart from every other."
        )
    elif not tied:
        sentence = (
            f"{best.cluster_title} with {best.mapping} is the only configuration that was "
            "measured; there is nothing to choose from."
        )
    else:
        others = "; ".join(f"{each.cluster_title} with {each.mapping}" for each in tied)
        if len(tied) == len(ranking.places) - 1 and len(tied) > 2:
            others = f"any of the other {len(tied)} configurations"
        sentence = (
            f"{best.cluster_title} with {best.mapping} has {named[ranking.by]} by its median, "
            f"but what was measured cannot tell it from {others}. {_among([best, *tied])}"
        )
    return (
        Advice(
            about="choice", application=application, sentence=sentence, evidence=tuple(evidence)
        ),
    )


def _among(tied: Sequence[Configuration]) -> str:
    """Which of several that tie to take."""
    fewest = min(each.n_instances for each in tied)
    simple = [each for each in tied if each.n_instances == fewest]
    if len(simple) == len(tied):
        return f"All of them need {_instances(fewest)}: any of them will do."
    titles = list(dict.fromkeys(each.cluster_title for each in simple))
    names = " or ".join(f"{each.cluster_title} with {each.mapping}" for each in simple)
    if len(simple) > len(titles):
        names = f"{' or '.join(titles)}, with any mapping of the tie,"
    return f"{names} needs the fewest instances ({fewest}) among them; choose it."


def _instances(n: int) -> str:
    return "1 instance" if n == 1 else f"{n} instances"


def _effects(ours: dict[str, Configuration], effects: Sequence[Effect]) -> tuple[Advice, ...]:
    """One advice per knob: what each change of it does, over all pairs that differ in it alone."""
    advice = []
    for knob in dict.fromkeys(effect.knob for effect in effects):
        pairs = [effect for effect in effects if effect.knob == knob]
        changes = dict.fromkeys((effect.before, effect.after) for effect in pairs)
        named = {"mapping": "Process mapping"}.get(knob, knob[:1].upper() + knob[1:])
        parts = [
            _change_words([e for e in pairs if (e.before, e.after) == change]) for change in changes
        ]
        advice.append(
            Advice(
                about="mapping" if knob == "mapping" else "cluster",
                application=pairs[0].application,
                sentence=f"{named}: {'; '.join(parts)}.",
                evidence=tuple(_evidence(ours, effect) for effect in pairs),
            )
        )
    return tuple(advice)


def _change_words(pairs: Sequence[Effect]) -> str:
    """What one change does: from 1 to 2 the rate changes by +28 to +93 % in 2 of 2 pairs."""
    before, after = pairs[0].before, pairs[0].after
    clear = sorted(each.rate_change_percent.median for each in pairs if each.clear)
    of_pairs = f"{len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'}"
    if not clear:
        return f"from {before} to {after} cannot be told apart in {of_pairs}"
    span = f"{clear[0]:+.0f} %"
    if round(clear[0]) != round(clear[-1]):
        span = f"{clear[0]:+.0f} to {clear[-1]:+.0f} %"
    return f"from {before} to {after} the rate changes by {span} in {len(clear)} of {of_pairs}" + (
        "" if len(clear) == len(pairs) else ", and cannot be told apart in the others"
    )


def _words(configuration: Configuration) -> str:
    return f"{configuration.cluster_title} with {configuration.mapping}"


def _evidence(ours: dict[str, Configuration], effect: Effect) -> str:
    change = effect.rate_change_percent
    interval = (
        "one repetition: no interval"
        if change.low is None or change.high is None
        else f"{change.low:+.1f} to {change.high:+.1f} %"
    )
    return (
        f"{effect.knob} {effect.before} -> {effect.after}, {_words(ours[effect.first])} against "
        f"{_words(ours[effect.second])}: "
        f"rate {change.median:+.1f} % ({interval})"
    )


def _full_storage(application: str, configurations: Sequence[Configuration]) -> tuple[Advice, ...]:
    full = [
        each
        for each in configurations
        if each.usage_percent is not None
        and FULL_PERCENT <= each.usage_percent.median <= CACHED_PERCENT
    ]
    if not full:
        return ()
    return _beside_the_peak(
        "cluster",
        application,
        f"The storage itself is the limit on {_titles(full)}: faster devices or more data servers "
        "would help there, a faster network would not.",
        full,
    )


def _cached(application: str, configurations: Sequence[Configuration]) -> tuple[Advice, ...]:
    """Rates above the storage's peak are rates of memory: written data that is read back, or not yet flushed."""
    above = [
        each
        for each in configurations
        if each.usage_percent is not None and each.usage_percent.median > CACHED_PERCENT
    ]
    if not above:
        return ()
    return _beside_the_peak(
        "measurement",
        application,
        f"Faster than the storage can be on {_titles(above)}: page caches of servers or clients took "
        "part of the bytes (written and not flushed yet, or read back). This ranking holds for "
        "files that fit into memory; for larger ones, measure with larger files or less memory.",
        above,
    )


def _titles(configurations: Sequence[Configuration]) -> str:
    return "; ".join(dict.fromkeys(each.cluster_title for each in configurations))


def _beside_the_peak(
    about: Literal["cluster", "measurement"],
    application: str,
    sentence: str,
    configurations: Sequence[Configuration],
) -> tuple[Advice, ...]:
    """A sentence on configurations, with their rates beside the storage's peak as evidence."""
    evidence = tuple(
        f"{_words(each)}: {format_rate(each.rate_bytes_per_s.median)} are "
        f"{each.usage_percent.median:.0f} % of the peak"
        for each in configurations
        if each.usage_percent is not None
    )
    return (Advice(about=about, application=application, sentence=sentence, evidence=evidence),)


def _method(
    ours: dict[str, Configuration], application: str, own_runs: Sequence[OwnRunError]
) -> tuple[Advice, ...]:
    """How far to trust the kernel, where the application itself ran on the same clusters."""
    if not own_runs:
        return ()
    errors = sorted(each.error_percent for each in own_runs)
    span = f"{errors[0]:.0f} %"
    if round(errors[0]) != round(errors[-1]):
        span = f"{errors[0]:.0f} to {errors[-1]:.0f} %"
    compared = f"{len(errors)} {'phase' if len(errors) == 1 else 'phases'}"
    return (
        Advice(
            about="measurement",
            application=application,
            sentence=(
                f"The kernel's rates lie {span} from those of the application itself, over {compared} "
                "compared on the same clusters. Differences between clusters that are smaller than "
                "this are differences of the kernel."
            ),
            evidence=tuple(
                f"{_words(ours[each.configuration])}, phase {each.ph_id}: kernel "
                f"{format_rate(each.kernel_bytes_per_s)}, application "
                f"{format_rate(each.application_bytes_per_s)}, error {each.error_percent:.1f} %"
                for each in own_runs
            ),
        ),
    )


def _repetitions(application: str, decisions: Decisions) -> tuple[Advice, ...]:
    """What too few repetitions cannot say, and how many could."""
    if not decisions.n_blind:
        return ()
    pairs = "the one pair" if decisions.n_pairs == 1 else f"{decisions.n_pairs} pairs"
    which = "nothing" if decisions.n_blind == decisions.n_pairs else "not every pair"
    often = f"{decisions.fewest} {'repetition' if decisions.fewest == 1 else 'repetitions'}"
    return (
        Advice(
            about="measurement",
            application=application,
            sentence=(
                f"With {often} {which} can be told apart: chance alone separates {pairs} too often. "
                f"{decisions.n_needed} repetitions of each configuration could."
            ),
            evidence=(
                f"fewest repetitions of a configuration: {decisions.fewest}",
                f"pairs with too few repetitions: {decisions.n_blind} of {decisions.n_pairs}",
                f"false alarms of all pairs together: {100 * decisions.error:g} % of reports at most",
            ),
        ),
    )
