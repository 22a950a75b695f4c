"""From the stored runs of an interference study to what they say."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from wavetank.campaign.store import Store
from wavetank.compare.blocks import Rates, estimate_of, rates_of
from wavetank.compare.comparison import Comparison, NotMeasured
from wavetank.compare.interference import (
    GroupRates,
    GroupWords,
    Interference,
    Percentiles,
    Setting,
)
from wavetank.document import provenance
from wavetank.interfere.advice import advise, find_remedies
from wavetank.interfere.curves import find_divergences
from wavetank.interfere.measured import Measured
from wavetank.interfere.placement import Group, Member
from wavetank.interfere.plan import InterferePlan, Point
from wavetank.interfere.slowdown import find_slowdowns
from wavetank.interfere.spec import InterfereSpec
from wavetank.measure.disturbance import share_words
from wavetank.measure.statistics import Estimate
from wavetank.measure.together import ALIGNED_S
from wavetank.measure.together_result import PartyResult, TogetherMeasurement
from wavetank.notes import Note, about, notes_of, of_kinds
from wavetank.units import format_duration, format_size

MOST_DOUBTS = 20
"""Shown one by one; all of them are in the list of runs."""


def compare_study(spec: InterfereSpec, plan: InterferePlan, store: Store) -> Comparison:
    """Compare everything in the plan that was measured.

    Runs of the store that are not in the plan any more are left out.
    """
    measured = _measured(spec, plan, store)
    settings = tuple(_setting(spec, each) for each in measured)
    slowdowns = find_slowdowns(spec, plan, measured)
    divergences = find_divergences(spec, measured)
    remedies = find_remedies(spec, plan, slowdowns)
    runs = [run for each in measured for run in each.runs]
    found = Interference(
        groups=tuple(group_words(group) for group in plan.groups),
        swept=None if spec.intervals is None else spec.intervals.group,
        moved=None if spec.start_offsets is None else spec.start_offsets.group,
        duration_s=spec.duration_s,
        origin=runs[0].origin if runs else None,
        settings=settings,
        divergences=divergences,
        slowdowns=slowdowns,
        remedies=remedies,
    )
    return Comparison(
        provenance=provenance(seed=spec.seed),
        campaign=spec.name,
        confidence=spec.confidence,
        smallest_difference=spec.smallest_difference,
        rank_by="time",
        price=None,
        configurations=(),
        rankings=(),
        pareto=(),
        effects=(),
        advice=advise(spec, plan, found),
        not_measured=_not_measured(plan, store),
        notes=(*notes_of("remark", "method", _notes(spec, runs)), *_doubts(plan, measured)),
        interference=found,
        titles={cluster.name: cluster.title for cluster in plan.clusters},
    )


def group_words(group: Group) -> GroupWords:
    """A group in words."""
    objects = group.entry.objects
    kernel = group.kernels[None]
    if objects is None:
        pattern = f"{kernel.application}, again and again"
    else:
        every = f"every {format_duration(objects.interval)}" if objects.interval else "back to back"
        sizes = " or ".join(format_size(size) for size in group.kernels if size is not None)
        pattern = f"{objects.operation}s objects of {sizes}, {every}"
    return GroupWords(name=group.name, clients=kernel.n_ranks, pattern=pattern)


def _measured(spec: InterfereSpec, plan: InterferePlan, store: Store) -> list[Measured]:
    found = store.together()
    by_setting: dict[object, list[tuple[Point, TogetherMeasurement]]] = defaultdict(list)
    for point in plan.points:
        if point.key in found:
            by_setting[_identity(point)].append((point, found[point.key]))
    measured = []
    for pairs in by_setting.values():
        runs = tuple(run for _, run in pairs)
        rates = rates_of(runs, spec.seed)
        measured.append(Measured(pairs[0][0], runs, dict(rates or {})))
    return sorted(measured, key=lambda each: _reading_order(plan, each.point))


def _reading_order(plan: InterferePlan, point: Point) -> tuple[object, ...]:
    """By cluster, mapping and size as specified, then what is varied; runs alone first."""
    clusters = [cluster.name for cluster in plan.clusters]
    kinds = ["alone", "together", "pair", "offset"]
    return (
        clusters.index(point.cluster),
        point.mapping,
        point.object_bytes or 0,
        kinds.index(point.kind),
        point.duration_s is None,
        tuple(member.interval_s or 0 for member in reversed(point.members)),
        tuple(member.start_s for member in point.members),
    )


def _identity(point: Point) -> object:
    return (
        point.kind,
        point.cluster,
        point.mapping,
        point.object_bytes,
        point.members,
        point.duration_s,
    )


def _setting(spec: InterfereSpec, measured: Measured) -> Setting:
    point, runs, rates = measured.point, measured.runs, measured.rates
    windows = [end - start for start, end in (run.window_s for run in runs if run.window_s)]
    groups = tuple(
        _group(spec, measured, index, member) for index, member in enumerate(measured.members)
    )
    swept = _swept_rates(spec, point, groups)
    moved = None
    if point.kind == "offset" and spec.start_offsets is not None:
        moved = measured.offset_s(spec.start_offsets.group)
    return Setting(
        point=point.kind,
        cluster=point.cluster,
        mapping=point.mapping,
        object_bytes=point.object_bytes,
        interval_s=None if swept is None else swept.interval_s,
        time_ratio=None if swept is None else measured.time_ratio(swept.group),
        offset_s=moved,
        groups=groups,
        combined_bytes_per_s=_combined(list(rates.values()), spec.confidence, io=False),
        combined_io_bytes_per_s=_combined(list(rates.values()), spec.confidence, io=True),
        n_repetitions=len(runs),
        window_s=sum(windows) / len(windows) if windows else None,
        alignment_s=max(run.alignment_s for run in runs),
        notes=of_kinds(each for run in runs for each in run.notes),
    )


def _swept_rates(
    spec: InterfereSpec, point: Point, groups: Sequence[GroupRates]
) -> GroupRates | None:
    if spec.intervals is None or point.kind != "together":
        return None
    return next((each for each in groups if each.group == spec.intervals.group), None)


def _group(spec: InterfereSpec, measured: Measured, index: int, member: Member) -> GroupRates:
    parties = [run.parties[index] for run in measured.runs]
    rates = measured.rates.get((member.group, member.instance))
    objects = sum(party.operations for party in parties)
    return GroupRates(
        group=member.group,
        instance=member.instance,
        n_clients=parties[0].n_ranks,
        interval_s=member.interval_s,
        start_s=member.start_s,
        rate_bytes_per_s=None if rates is None else rates.estimate(spec.confidence),
        io_rate_bytes_per_s=None if rates is None else rates.io_estimate(spec.confidence),
        object_s=measured.object_s(index),
        objects=objects,
        latency=_slowest(parties),
    )


def _slowest(parties: Sequence[PartyResult]) -> Percentiles | None:
    found = [party.latency for party in parties if party.latency is not None]
    if not found:
        return None
    return Percentiles(
        p50_s=max(each.p50_s for each in found),
        p95_s=max(each.p95_s for each in found),
        p99_s=max(each.p99_s for each in found),
        max_s=max(each.max_s for each in found),
    )


def _combined(rates: Sequence[Rates], confidence: float, *, io: bool) -> Estimate | None:
    if not rates:
        return None
    values = [each.io_rate if io else each.rate for each in rates]
    total = sum(values)
    if not math.isfinite(total):  # one of them transferred nothing
        return None
    resampled = sum((each.io_rates if io else each.rates) for each in rates[1:])
    resampled = resampled + (rates[0].io_rates if io else rates[0].rates)
    by_repetition = zip(
        *(each.io_by_repetition if io else each.by_repetition for each in rates), strict=False
    )
    return estimate_of(total, resampled, [sum(each) for each in by_repetition], confidence)


def _not_measured(plan: InterferePlan, store: Store) -> tuple[NotMeasured, ...]:
    done = store.together()
    failed = {
        (each.application, each.cluster, each.mapping): each.reason for each in store.failures()
    }
    waiting: dict[tuple[str, str, str], str] = {}
    for point in plan.points:
        if point.key not in done:
            key = (point.application, point.cluster, point.mapping)
            waiting[key] = failed.get(
                key, "not measured yet: run the same command again to continue"
            )
    return (
        *plan.impossible,
        *(
            NotMeasured(application=label, cluster=cluster, mapping=mapping, reason=reason)
            for (label, cluster, mapping), reason in waiting.items()
        ),
    )


def _doubts(plan: InterferePlan, measured: Sequence[Measured]) -> tuple[Note, ...]:
    """What runs found doubtful about themselves, with where that was; the first of many."""
    titles = {cluster.name: cluster.title for cluster in plan.clusters}
    doubts = [
        doubt
        for each in measured
        for doubt in about(
            f"{each.point.application} on {titles[each.point.cluster]}, {each.point.mapping}",
            of_kinds(one for run in each.runs for one in run.notes),
        )
    ]
    more = len(doubts) - MOST_DOUBTS
    rest = [f"{more} more doubts are in the report's list of runs."] if more > 0 else []
    return (*doubts[:MOST_DOUBTS], *notes_of("remark", "doubts", rest))


def _notes(spec: InterfereSpec, runs: Sequence[TogetherMeasurement]) -> tuple[str, ...]:
    notes = []
    if any(run.origin == "measured under emulated limits" for run in runs):
        notes.append(
            "Rates were measured on this machine under emulated limits, not on the named instances: "
            "they compare settings with each other."
        )
    if runs:
        worst = max(run.alignment_s for run in runs)
        late = sum(run.alignment_s > ALIGNED_S for run in runs)
        notes.append(
            f"All ranks of a run started within {1e3 * worst:.2f} ms of their orders (worst of "
            f"{len(runs)} runs; {late} of them later than {1e3 * ALIGNED_S:.0f} ms)."
        )
    said = share_words([run.load for run in runs if run.load is not None], "runs")
    if said is not None:
        notes.append(
            f"{said}. It takes processors from clients and servers: make such a study on a quiet machine."
        )
    notes.append(
        "What counts is what groups move while all of them are active: after the last start and "
        f"{format_duration(spec.settle)} to settle, until the first of them ends. Intervals of "
        f"{100 * spec.confidence:g} % are bootstrapped from ten parts of that time in each run; they "
        "hold what varies within runs, and between runs only with repetitions."
    )
    return tuple(notes)
