"""Advice on knobs: what turning each one alone did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.compare.comparison import Advice, Effect
from wavetank.compare.configuration import Configuration
from wavetank.compare.words import configuration_words


def effect_advice(
    ours: Mapping[str, Configuration], effects: Sequence[Effect]
) -> tuple[Advice, ...]:
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


def _evidence(ours: Mapping[str, Configuration], effect: Effect) -> str:
    change = effect.rate_change_percent
    interval = (
        "one repetition: no interval"
        if change.low is None or change.high is None
        else f"{change.low:+.1f} to {change.high:+.1f} %"
    )
    return (
        f"{effect.knob} {effect.before} -> {effect.after}, {configuration_words(ours[effect.first])} against "
        f"{configuration_words(ours[effect.second])}: "
        f"rate {change.median:+.1f} % ({interval})"
    )
