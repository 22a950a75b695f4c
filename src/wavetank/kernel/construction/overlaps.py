"""Collective calls whose ranks would move the same bytes, because a trace knows less than there was.

A log that keeps an operation's first offset and its size, and not the MPI file view through which it went
(Darshan), shows the ranks of a collective call as contiguous regions that overlap. What is certain is the
region that they share and what each moved; the replay lays the ranks' parts out in it one after another. (Open
MPI's collective writes abort on regions that overlap.)
"""

from __future__ import annotations

import numpy as np

from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Offsets, Phase
from wavetank.trace.schema import Int64Array


def without_overlaps(phase: Phase) -> Phase:
    """The phase with the ranks' parts of each collective call beside each other; itself where none overlap."""
    if phase.level != "mpiio" or not phase.collective or phase.ph_np < 2 or _has_view(phase):
        return phase
    offsets = tuple(_apart(phase, index) for index in range(len(phase.pattern)))
    if all(new is old for new, old in zip(offsets, phase.offset, strict=True)):
        return phase
    return phase.model_copy(update={"offset": offsets})


def _has_view(phase: Phase) -> bool:
    return phase.view_id is not None or phase.view_ids is not None or phase.offset_view is not None


def _apart(phase: Phase, index: int) -> Offsets:
    offsets, rs = phase.offset[index], phase.pattern[index].rs
    ranks = np.array(phase.ph_processid, dtype=np.int64)
    if isinstance(offsets, LinearOffsets):
        if (
            abs(offsets.a) >= rs or offsets.a == 0
        ):  # 0: the same bytes by intent, such as a common header
            return offsets
        order = ranks.argsort() if offsets.a > 0 else (-ranks).argsort()
        lowest = min(offsets.a * int(ranks[0]), offsets.a * int(ranks[-1])) + offsets.c
        places = np.empty_like(ranks)
        places[order] = np.arange(len(ranks))
        last = rs if phase.moved_last is None else phase.moved_last[index]
        moved = (phase.ph_nrep - 1) * rs + last
        return ListedOffsets.of(
            [
                _run(phase.ph_nrep, rs, moved, lowest + int(place) * rs, offsets.b)
                for place in places
            ]
        )
    if not isinstance(offsets, ListedOffsets):
        return offsets
    runs = [offsets.of_rank(position) for position in range(len(ranks))]
    first = runs[0]
    if any(
        len(one) != len(first)
        or not np.array_equal(one.count, first.count)
        or not np.array_equal(one.size, first.size)
        or not np.array_equal(one.disp, first.disp)
        for one in runs
    ):
        return offsets
    found = _laid_out(np.stack([one.offset for one in runs]), first.size)
    if found is None:
        return offsets
    return ListedOffsets.of(
        [
            RunArrays(one.count, one.size, one.moved, new, one.disp)
            for one, new in zip(runs, found, strict=True)
        ]
    )


def _laid_out(offsets: Int64Array, sizes: Int64Array) -> Int64Array | None:
    """Offsets, shape (ranks, runs), with overlapping columns laid out anew; None where nothing overlaps."""
    order = offsets.argsort(axis=0, kind="stable")
    gaps = np.diff(np.take_along_axis(offsets, order, axis=0), axis=0)
    overlap = ((gaps > 0) & (gaps < sizes)).any(axis=0)
    if not overlap.any():
        return None
    places = order.argsort(axis=0, kind="stable")
    return np.where(overlap, offsets.min(axis=0) + places * sizes, offsets)


def _run(count: int, size: int, moved: int, offset: int, disp: int) -> RunArrays:
    return RunArrays(*(np.array([n], dtype=np.int64) for n in (count, size, moved, offset, disp)))
