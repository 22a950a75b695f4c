"""What an interference study says in words: where curves part, which group slows which, and what removes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import comb

from wavetank.compare.comparison import Advice
from wavetank.compare.interference import Divergence, Interference, Remedy, Slowdown
from wavetank.interfere.plan import InterferePlan
from wavetank.interfere.spec import InterfereSpec
from wavetank.measure.rank_test import fewest_repetitions, p_of, p_value
from wavetank.measure.statistics import Estimate
from wavetank.units import format_duration, format_rate, format_size

LITTLE = 0.1
"""A difference of slowdowns below which the start of a group hardly matters; single runs vary by some percent."""


def slowdown_words(estimate: Estimate) -> str:
    """A slowdown with its interval: "1.92 (1.88-1.95)"."""
    words = f"{estimate.median:.2f}"
    if estimate.low is None or estimate.high is None:
        return words
    return f"{words} ({estimate.low:.2f}\N{EN DASH}{estimate.high:.2f})"


def at_words(divergence: Divergence) -> str:
    """Where two curves part, with the interval: "94 ms (88 ms-106 ms)"; a dash where they do not."""
    if divergence.at is None or divergence.low is None or divergence.high is None:
        return "\N{EN DASH}"
    low, high = _place(divergence, divergence.low), _place(divergence, divergence.high)
    return f"{_place(divergence, divergence.at)} ({low}\N{EN DASH}{high})"


def neighbours_words(divergence: Divergence) -> str:
    """The measured values around the point: "50 ms and 100 ms"; a dash where there is no point."""
    if divergence.measured_below is None or divergence.measured_above is None:
        return "\N{EN DASH}"
    below, above = divergence.measured_below, divergence.measured_above
    return f"{_place(divergence, below)} and {_place(divergence, above)}"


def _place(divergence: Divergence, value: float) -> str:
    if divergence.over == "time ratio":
        return f"{value:.2f}"
    return format_duration(value) if value else "0"


def find_remedies(
    spec: InterfereSpec, plan: InterferePlan, slowdowns: Sequence[Slowdown]
) -> tuple[Remedy, ...]:
    """For groups that ran together on several clusters or mappings: the greatest and the least slowdown.

    The slowdown of a variant is that of its group that suffers most. What helps most comes first.
    """
    titles = {cluster.name: cluster.title for cluster in plan.clusters}
    n_pairs = _n_pairs(slowdowns)
    remedies = [
        _remedy(spec, groups, object_bytes, variants, n_pairs, titles)
        for (groups, object_bytes), variants in _variants(slowdowns).items()
    ]
    return tuple(
        sorted(
            remedies,
            key=lambda each: (
                not each.clear,
                each.slowdown_after.median - each.slowdown_before.median,
            ),
        )
    )


def _variants(
    slowdowns: Sequence[Slowdown],
) -> dict[tuple[tuple[str, ...], int | None], list[list[Slowdown]]]:
    """Slowdowns of groups that ran together on several clusters or mappings, by groups and size of objects."""
    least_interval = min(
        (each.interval_s for each in slowdowns if each.interval_s is not None), default=None
    )
    found: dict[tuple[tuple[str, ...], int | None], dict[tuple[str, str], list[Slowdown]]] = (
        defaultdict(lambda: defaultdict(list))
    )
    # A start offset of 0 is a run together too, but a single one: it counts where there is no other.
    for each in sorted(slowdowns, key=lambda each: each.offset_s is not None):
        if each.offset_s not in (None, 0) or each.interval_s not in (None, least_interval):
            continue
        variants = found[tuple(sorted((each.group, *each.beside))), each.object_bytes]
        known = variants[each.cluster, each.mapping]
        if not known or (known[0].offset_s is None) == (each.offset_s is None):
            known.append(each)
    return {key: list(variants.values()) for key, variants in found.items() if len(variants) > 1}


def _by_offset(slowdowns: Sequence[Slowdown]) -> dict[str, dict[float, list[Slowdown]]]:
    """Slowdowns by cluster and start offset, offsets in order."""
    found: dict[str, dict[float, list[Slowdown]]] = defaultdict(lambda: defaultdict(list))
    for each in sorted(
        (s for s in slowdowns if s.offset_s is not None), key=lambda s: s.offset_s or 0.0
    ):
        found[each.cluster][each.offset_s or 0.0].append(each)
    return found


def _n_pairs(slowdowns: Sequence[Slowdown]) -> int:
    """Pairs that one report compares: variants, and start offsets of each cluster."""
    families = (*_variants(slowdowns).values(), *_by_offset(slowdowns).values())
    return sum(comb(len(family), 2) for family in families)


def _remedy(
    spec: InterfereSpec,
    groups: tuple[str, ...],
    object_bytes: int | None,
    variants: Sequence[Sequence[Slowdown]],
    n_pairs: int,
    titles: dict[str, str],
) -> Remedy:
    def name(each: Slowdown) -> str:
        return f"{titles[each.cluster]} with {each.mapping}"

    by_slowdown = sorted(variants, key=lambda each: _most(each).slowdown.median)
    ordered = [_most(each) for each in by_slowdown]
    best, most = ordered[0], ordered[-1]
    clear, why_not = _told_apart(spec, by_slowdown[0], by_slowdown[-1], n_pairs)
    alike = len(set(groups)) == 1
    who = f"{groups[0]} beside itself" if alike else " and ".join(groups)
    who += _size_words(object_bytes)
    if clear and best.slowdown.median <= 1 + 3 * spec.smallest_difference:
        result = "the slowdown is gone"
    elif clear:
        result = "the slowdown is less"
    elif most.slowdown.median <= 1 + 3 * spec.smallest_difference:
        result = "no slowdown to remove was measured"
    else:
        result = f"the variants cannot be told apart{why_not}"
    sentence = (
        f"{who}: on {name(best)} {result}: {slowdown_words(best.slowdown)} of {best.group}, against "
        f"{slowdown_words(most.slowdown)} of {most.group} on {name(most)}."
        if clear
        else f"{who}: {result}: from {slowdown_words(best.slowdown)} on {name(best)} to "
        f"{slowdown_words(most.slowdown)} on {name(most)}."
    )
    return Remedy(
        groups=groups,
        object_bytes=object_bytes,
        before=name(most),
        after=name(best),
        slowdown_before=most.slowdown,
        slowdown_after=best.slowdown,
        clear=clear,
        sentence=sentence,
        evidence=tuple(
            f"{name(each)}: {slowdown_words(each.slowdown)} of {each.group} ({_numbers(each)})"
            for each in ordered
        ),
    )


def _most(variant: Sequence[Slowdown]) -> Slowdown:
    """The group of a variant that suffers most."""
    return max(variant, key=lambda each: each.slowdown.median)


def _told_apart(
    spec: InterfereSpec, best: Sequence[Slowdown], most: Sequence[Slowdown], n_pairs: int
) -> tuple[bool, str]:
    """Whether two variants are told apart by their repetitions, and why they cannot be.

    By the greatest slowdown of each repetition: which group suffers most may be chance too. All pairs of variants
    share the error, as any two of them could have been the best and the worst.
    """
    few, many = (
        [max(slowdowns) for slowdowns in zip(*(each.slowdown.values for each in of), strict=False)]
        for of in (best, most)
    )
    error = 1 - spec.confidence
    if p_of(0, max(len(few), 1), max(len(many), 1)) * n_pairs > error:
        n = min(len(few), len(many))
        return False, (
            f" with {n} {'repetition' if n == 1 else 'repetitions'} "
            f"({fewest_repetitions(n_pairs, error)} could)"
        )
    low, high = _most(best).slowdown.median, _most(most).slowdown.median
    far = high > low * (1 + spec.smallest_difference)
    return far and p_value(few, many) * n_pairs <= error, ""


def advise(spec: InterfereSpec, plan: InterferePlan, found: Interference) -> tuple[Advice, ...]:
    """All sentences of a study, what to do first."""
    titles = {cluster.name: cluster.title for cluster in plan.clusters}
    return (
        *(
            Advice(
                about="cluster",
                application=spec.name,
                sentence=each.sentence,
                evidence=each.evidence,
            )
            for each in found.remedies
        ),
        *_worst(spec, found.slowdowns, titles),
        *_partings(spec, found.divergences, titles),
        *_offsets(spec, found.slowdowns, titles),
    )


def _worst(
    spec: InterfereSpec, slowdowns: Sequence[Slowdown], titles: dict[str, str]
) -> list[Advice]:
    """The greatest slowdown measured on each cluster: a number, not a claim that others are less."""
    sentences = []
    for cluster in dict.fromkeys(each.cluster for each in slowdowns):
        here = [each for each in slowdowns if each.cluster == cluster]
        most = max(here, key=lambda each: each.slowdown.median)
        if most.slowdown.median < 1 + spec.smallest_difference:
            sentence = (
                f"On {titles[cluster]} no slowdown of "
                f"{100 * spec.smallest_difference:g} % or more was measured."
            )
        else:
            sentence = (
                f"On {titles[cluster]} the greatest slowdown measured is that of {most.group}: it takes "
                f"{slowdown_words(most.slowdown)} times as long beside {' and '.join(most.beside)}"
                f"{_size_words(most.object_bytes)}, {most.mapping}{_when(most)}."
            )
        sentences.append(
            Advice(
                about="application",
                application=spec.name,
                sentence=sentence,
                evidence=(_numbers(most),),
            )
        )
    return sentences


def _partings(
    spec: InterfereSpec, divergences: Sequence[Divergence], titles: dict[str, str]
) -> list[Advice]:
    sentences = []
    by_ratio = {
        (d.cluster, d.mapping, d.object_bytes, d.first): d
        for d in divergences
        if d.over == "time ratio"
    }
    for each in divergences:
        if each.over != "interval":
            continue
        where = f"On {titles[each.cluster]}, {each.mapping}{_size_words(each.object_bytes)}"
        if each.at is None:
            sentence = (
                f"{where}: the bandwidths of {each.first} and {each.second} do not part: "
                f"{each.why_not}."
            )
            evidence: tuple[str, ...] = ()
        else:
            ratio = by_ratio[each.cluster, each.mapping, each.object_bytes, each.first]
            sentence = (
                f"{where}: the bandwidths of {each.first} and {each.second} seem to part at an interval of "
                f"{at_words(each)}, a time ratio of {at_words(ratio)}."
            )
            evidence = (
                f"beyond it {each.second} transfers {each.change_percent:+.0f} % relative to "
                f"{each.first}",
                f"measured at {neighbours_words(each)}; the point between them is a fit, and more "
                "intervals there make it finer",
            )
        sentences.append(
            Advice(about="measurement", application=spec.name, sentence=sentence, evidence=evidence)
        )
    return sentences


def _offsets(
    spec: InterfereSpec, slowdowns: Sequence[Slowdown], titles: dict[str, str]
) -> list[Advice]:
    """The least and the greatest slowdown over start offsets, on each cluster, and whether they can be told apart."""
    sentences = []
    n_pairs = _n_pairs(slowdowns)
    for cluster, by_offset in _by_offset(slowdowns).items():
        suffering = {offset: _most(here) for offset, here in by_offset.items()}
        best = min(suffering, key=lambda offset: (suffering[offset].slowdown.median, abs(offset)))
        most = max(suffering, key=lambda offset: suffering[offset].slowdown.median)
        moved = spec.start_offsets.group if spec.start_offsets is not None else ""
        least, greatest = suffering[best].slowdown, suffering[most].slowdown
        if greatest.median - least.median < LITTLE:
            said = (
                f"when {moved} starts makes little difference: the greatest slowdown lies between "
                f"{least.median:.2f} and {greatest.median:.2f}."
            )
        else:
            clear, why_not = _told_apart(spec, by_offset[best], by_offset[most], n_pairs)
            doubt = "" if clear else f"; start offsets cannot be told apart{why_not}"
            said = (
                f"with {moved} starting {offset_words(best)} the greatest slowdown measured is "
                f"{slowdown_words(least)}, starting {offset_words(most)} it is "
                f"{slowdown_words(greatest)}{doubt}."
            )
        sentences.append(
            Advice(
                about="application",
                application=spec.name,
                sentence=f"On {titles[cluster]}: {said}",
                evidence=tuple(
                    f"{offset_words(offset)}: {each.group} {slowdown_words(each.slowdown)}"
                    for offset, each in suffering.items()
                ),
            )
        )
    return sentences


def offset_words(offset_s: float) -> str:
    """A start offset: "2.00 s later", "500 ms earlier", "at the same time"."""
    if offset_s == 0:
        return "at the same time"
    return f"{format_duration(abs(offset_s))} {'later' if offset_s > 0 else 'earlier'}"


def _size_words(object_bytes: int | None) -> str:
    return "" if object_bytes is None else f" with objects of {format_size(object_bytes)}"


def _when(each: Slowdown) -> str:
    if each.offset_s is not None:
        return f", starting {offset_words(each.offset_s)}"
    return "" if not each.interval_s else f", interval {format_duration(each.interval_s)}"


def _numbers(each: Slowdown) -> str:
    show = format_rate if each.measured_by == "rate" else format_duration
    return f"{each.group}: {show(each.alone)} alone, {show(each.together)} beside {' and '.join(each.beside)}"
