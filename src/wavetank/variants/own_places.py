"""A phase of one rank on a file of its own, in which its bytes lie in sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.document.access_runs import RunArrays, canonical
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Offsets, Phase
from wavetank.trace.schema import Int64Array
from wavetank.variants.extents import runs_of

MOST = 5_000_000
"""Operations that are placed one by one."""


@dataclass(frozen=True)
class Own:
    """The numbers of the new phase and file, and the bytes that the rank has in the shared file, shape (n, 2)."""

    ph_id: int
    file_id: int
    had: Int64Array


def own_phase(phase: Phase, number: int, own: Own) -> Phase:
    """What one rank of a phase does, on its own file.

    Args:
        phase: of several ranks on a shared file.
        number: place of the rank in the phase.
        own: the rank's file.
    """
    rank = phase.ph_processid[number]
    runs = [_compact(runs_of(phase, index, number), own.had) for index in range(len(phase.pattern))]
    weight = sum(int(each.moved.sum()) for each in runs)
    places, last = _places(runs)
    return phase.model_copy(
        update={
            "ph_id": own.ph_id, "file_id": own.file_id, "ph_processid": (rank,), "ph_np": 1,
            "ph_weight": weight, "offset": places, "offset_view": None, "view_id": None,
            "view_ids": None, "memory": _memory(phase, number), "moved_last": last, "metadata_ops": {},
            "pattern": tuple(
                member.model_copy(update={"disp": _step(each), "disp_view": None, "rs": int(each.size[0])})
                for member, each in zip(phase.pattern, runs, strict=True)
            ),
            "exact": phase.exact and all(isinstance(each, LinearOffsets) for each in places),
        }
    )  # fmt: skip


def _memory(phase: Phase, number: int) -> tuple[tuple[int, ...], ...] | None:
    """Where the gaps in one rank's memory are."""
    if phase.memory is None:
        return None
    return tuple((phase.memory_at(number, member),) for member in range(len(phase.pattern)))


def _compact(runs: RunArrays, had: Int64Array) -> RunArrays:
    """Operations at the places that their bytes have when those that the rank does not use are left out."""
    starts = np.cumsum(runs.count) - runs.count
    number = np.arange(int(runs.count.sum())) - np.repeat(starts, runs.count)
    at = np.repeat(runs.offset, runs.count) + number * np.repeat(runs.disp, runs.count)
    size = np.repeat(runs.size, runs.count)
    moved = size.copy()
    moved[starts + runs.count - 1] = runs.moved - (runs.count - 1) * runs.size
    before = np.cumsum(had[:, 1] - had[:, 0]) - (had[:, 1] - had[:, 0])
    inside = np.clip(np.searchsorted(had[:, 0], at, side="right") - 1, 0, None)
    place = at if not len(had) else at - had[inside, 0] + before[inside]
    ones = np.ones(len(at), dtype=np.int64)
    return canonical(ones, size, moved, place, np.zeros(len(at), dtype=np.int64))


def _places(runs: list[RunArrays]) -> tuple[tuple[Offsets, ...], tuple[int, ...] | None]:
    """Places as functions where each call of the pattern is one run, else as lists; and what the last ones move."""
    if any(len(each) > 1 for each in runs):
        return tuple(ListedOffsets.of([each]) for each in runs), None
    found = tuple(LinearOffsets(a=0, b=int(each.disp[0]), c=int(each.offset[0])) for each in runs)
    last = tuple(int(each.moved[0] - (each.count[0] - 1) * each.size[0]) for each in runs)
    full = all(short == each.size[0] for short, each in zip(last, runs, strict=True))
    return found, None if full else last


def _step(runs: RunArrays) -> int | None:
    return int(runs.disp[0]) if len(runs) == 1 and runs.count[0] > 1 else None
