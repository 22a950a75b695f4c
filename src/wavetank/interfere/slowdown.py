"""Slowdown of groups: time with others / time alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from wavetank.compare.blocks import N_RESAMPLES, Floats, estimate_of
from wavetank.compare.interference import MeasuredBy, Slowdown
from wavetank.interfere.measured import Measured
from wavetank.interfere.plan import InterferePlan
from wavetank.interfere.spec import InterfereSpec
from wavetank.measure.statistics import Estimate


def find_slowdowns(
    spec: InterfereSpec, plan: InterferePlan, measured: Sequence[Measured]
) -> tuple[Slowdown, ...]:
    """The slowdown of each group in each setting that it was measured alone for too.

    A group whose interval varies has none where it waited another time than alone.
    """
    alone = {
        (
            *each.place,
            each.members[0].group,
            each.members[0].interval_s,
            each.point.duration_s,
        ): each
        for each in measured
        if each.point.kind == "alone"
    }
    found = []
    for each in measured:
        if each.point.kind == "alone":
            continue
        for index, member in enumerate(each.members):
            key = (*each.place, member.group, member.interval_s, each.point.duration_s)
            by_itself = alone.get(key)
            if by_itself is not None:
                is_application = plan.group(member.group).is_application
                slowdown = _slowdown(spec, by_itself, each, index, is_application)
                found += [] if slowdown is None else [slowdown]
    return tuple(found)


def _slowdown(
    spec: InterfereSpec, alone: Measured, together: Measured, index: int, is_application: bool
) -> Slowdown | None:
    member = together.members[index]
    compared = _compare(spec, alone, together, index, is_application)
    if compared is None:
        return None
    measured_by, before, after, estimate = compared
    cluster, mapping, object_bytes = together.place
    others = [m for i, m in enumerate(together.members) if i != index]
    sweep, moves = spec.intervals, spec.start_offsets
    intervals = [m.interval_s for m in together.members if sweep and m.group == sweep.group]
    return Slowdown(
        cluster=cluster,
        mapping=mapping,
        object_bytes=object_bytes,
        group=member.group,
        instance=member.instance,
        beside=tuple(m.group for m in others),
        interval_s=intervals[0] if intervals and together.point.kind == "together" else None,
        offset_s=together.offset_s(moves.group)
        if moves is not None and together.point.kind == "offset"
        else None,
        slowdown=estimate,
        measured_by=measured_by,
        alone=before,
        together=after,
    )


def _compare(
    spec: InterfereSpec, alone: Measured, together: Measured, index: int, is_application: bool
) -> tuple[MeasuredBy, float, float, Estimate] | None:
    if together.point.duration_s is None:
        times = [
            [[run.parties[i].elapsed_s] for run in of.runs]
            for of, i in ((alone, 0), (together, index))
        ]
        return _of_times(spec, "run", times[0], times[1])
    if is_application:
        before, after = _repetitions_s(alone, 0), _repetitions_s(together, index)
        if any(before) and any(after):
            return _of_times(spec, "repetitions", before, after)
    member = together.members[index]
    first = alone.rates.get((member.group, 0))
    second = together.rates.get((member.group, member.instance))
    if first is None or second is None or not first.rate or not second.rate:
        return None
    with np.errstate(divide="ignore"):
        ratios = first.rates / second.rates
    by_repetition = [
        a / b for a, b in zip(first.by_repetition, second.by_repetition, strict=False) if b
    ]
    finite = np.where(np.isfinite(ratios), ratios, np.nan)
    estimate = estimate_of(first.rate / second.rate, finite, by_repetition, spec.confidence)
    return "rate", first.rate, second.rate, estimate


def _repetitions_s(of: Measured, index: int) -> list[list[float]]:
    """Times of whole repetitions of a kernel that lie in the windows, seconds, by run."""
    return [
        [
            end - start
            for start, end in run.parties[index].loops
            if start >= run.window_s[0] and end <= run.window_s[1]
        ]
        for run in of.runs
        if run.window_s is not None
    ]


def _of_times(
    spec: InterfereSpec,
    by: MeasuredBy,
    alone_by_run: Sequence[Sequence[float]],
    together_by_run: Sequence[Sequence[float]],
) -> tuple[MeasuredBy, float, float, Estimate]:
    by_repetition = [
        float(np.median(b)) / float(np.median(a))
        for a, b in zip(alone_by_run, together_by_run, strict=False)
        if a and b
    ]
    alone_s, together_s = (list(chain(*by_run)) for by_run in (alone_by_run, together_by_run))
    before, after = float(np.median(alone_s)), float(np.median(together_s))
    if len(alone_s) < 2 or len(together_s) < 2:  # nothing says how they vary
        ratio = Estimate(median=after / before, low=None, high=None, values=tuple(by_repetition))
        return by, before, after, ratio
    rng = np.random.default_rng(spec.seed)
    ratios = _medians(together_s, rng) / _medians(alone_s, rng)
    estimate = estimate_of(after / before, ratios, by_repetition, spec.confidence)
    return by, before, after, estimate


def _medians(values: Sequence[float], rng: np.random.Generator) -> Floats:
    sample = np.asarray(values, dtype=float)
    picks = rng.integers(0, len(sample), size=(N_RESAMPLES, len(sample)))
    medians: Floats = np.median(sample[picks], axis=1)
    return medians
