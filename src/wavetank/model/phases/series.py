"""Finds series: equal phases of a model that recur at regular distance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from wavetank.model.document.phase import Phase, Series


def find_series(phases: Sequence[Phase]) -> list[Series]:
    """Equal phases at regular distance, e.g. the 40 writes of BT-IO (P15 table V: "1 to 40")."""
    by_shape: dict[object, list[Phase]] = defaultdict(list)
    for phase in phases:
        by_shape[_shape(phase)].append(phase)
    series = []
    for equal in by_shape.values():
        if len(equal) > 1:
            series.extend(_regular(equal))
    return sorted(series, key=lambda one: one.ph_ids)


def _shape(phase: Phase) -> object:
    """What equal phases have in common: all but where and when they are."""
    members = tuple([(m.iop_type, m.handle, m.rs, m.disp, m.disp_view) for m in phase.pattern])
    views = phase.view_ids or phase.view_id
    return (
        phase.file_id,
        phase.level,
        phase.ph_processid,
        phase.ph_nrep,
        members,
        views,
        phase.memory,
        phase.ph_weight,
    )


def _regular(equal: list[Phase]) -> list[Series]:
    firsts = [_first_offsets(phase) for phase in equal]
    steps = [_step(a, b) for a, b in pairwise(firsts)]
    found = []
    begin = 0
    for position in range(1, len(equal) + 1):
        step = steps[begin] if begin < len(steps) else None
        if (
            position < len(equal)
            and steps[position - 1] == step
            and (step is not None or firsts[position] is None)
        ):
            continue
        if position - begin > 1:
            found.append(_series(equal[begin:position], step))
        begin = position
    return found


def _series(phases: list[Phase], offset_step: int | None) -> Series:
    ticks = {b.tick_first - a.tick_first for a, b in pairwise(phases)}
    dist = (ticks.pop(), 0) if len(ticks) == 1 else None
    return Series.model_construct(
        ph_ids=tuple(p.ph_id for p in phases), offset_step=offset_step, dist=dist
    )


def _first_offsets(phase: Phase) -> tuple[int, ...] | None:
    """First offset of every rank and member."""
    found: list[int] = []
    for offset in phase.offset:
        if offset.function == "linear":
            found.extend(offset.a * rank + offset.c for rank in phase.ph_processid)
        elif offset.function == "list":
            found.extend(offset.first_offsets())
        else:
            return None
    return tuple(found)


def _step(a: tuple[int, ...] | None, b: tuple[int, ...] | None) -> int | None:
    if a is None or b is None:
        return None
    steps = {y - x for x, y in zip(a, b, strict=True)}
    return steps.pop() if len(steps) == 1 else None
