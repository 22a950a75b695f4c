"""Bandwidth over the interval of one group: where it parts from that of the others (method, section 9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from wavetank.compare.blocks import log_gap
from wavetank.compare.divergence import FEWEST_VALUES, find_change
from wavetank.compare.interference import Divergence
from wavetank.interfere.measured import Measured
from wavetank.interfere.spec import InterfereSpec

Over = Literal["interval", "time ratio"]


def find_divergences(spec: InterfereSpec, measured: Sequence[Measured]) -> tuple[Divergence, ...]:
    """For each cluster, mapping and object size: where each group's rate and the swept one's part."""
    if spec.intervals is None:
        return ()
    curves: dict[tuple[str, str, int | None], list[Measured]] = defaultdict(list)
    for each in measured:
        if each.point.kind == "together":
            curves[each.place].append(each)
    others = [group.name for group in spec.groups if group.name != spec.intervals.group]
    return tuple(
        divergence
        for curve in curves.values()
        for other in others
        for divergence in _of_curve(spec, curve, other, spec.intervals.group)
    )


def swept_interval_s(measured: Measured, group: str) -> float:
    """The interval of the group whose interval varies, seconds."""
    found = next(member.interval_s for member in measured.members if member.group == group)
    return found or 0.0


def _of_curve(
    spec: InterfereSpec, curve: Sequence[Measured], first: str, second: str
) -> Iterator[Divergence]:
    usable = []
    for each in curve:
        if (first, 0) in each.rates and (second, 0) in each.rates:
            gap = log_gap(each.rates[first, 0], each.rates[second, 0])
            if gap is not None:
                usable.append((each, gap))
    for over in ("interval", "time ratio"):
        yield _divergence(spec, curve[0], usable, first, second, over)


def _divergence(
    spec: InterfereSpec,
    example: Measured,
    usable: Sequence[tuple[Measured, tuple[float, np.ndarray[tuple[int], np.dtype[np.float64]]]]],
    first: str,
    second: str,
    over: Over,
) -> Divergence:
    def place(each: Measured) -> float:
        if over == "interval":
            return swept_interval_s(each, second)
        return each.time_ratio(second) or 0.0

    ordered = sorted(usable, key=lambda pair: place(pair[0]))
    change = None
    if len(ordered) >= FEWEST_VALUES:
        change = find_change(
            [place(each) for each, _ in ordered],
            [gap for _, (gap, _) in ordered],
            np.stack([resampled for _, (_, resampled) in ordered], axis=1),
            confidence=spec.confidence,
            smallest=float(np.log1p(spec.smallest_difference)),
        )
    why_not = None
    if len(ordered) < FEWEST_VALUES:
        why_not = (
            f"{len(ordered)} intervals have a transfer of both groups in their window, and "
            f"{FEWEST_VALUES} are needed: take more intervals, or a longer duration"
        )
    elif change is None:
        why_not = "what was measured shows no change beyond its noise"
    cluster, mapping, object_bytes = example.place
    below, above = (
        (None, None) if change is None else _neighbours([place(e) for e, _ in ordered], change.at)
    )
    return Divergence(
        cluster=cluster,
        mapping=mapping,
        object_bytes=object_bytes,
        first=first,
        second=second,
        over=over,
        at=None if change is None else change.at,
        low=None if change is None else change.low,
        high=None if change is None else change.high,
        change_percent=None if change is None else float(100 * np.expm1(change.change)),
        why_not=why_not,
        measured_below=below,
        measured_above=above,
    )


def _neighbours(values: Sequence[float], at: float) -> tuple[float | None, float | None]:
    """The measured values on both sides of a point."""
    return (
        max((value for value in values if value <= at), default=None),
        min((value for value in values if value > at), default=None),
    )
