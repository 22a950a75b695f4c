"""Which bytes of each file a kernel's phases read and write, and how many calls and bytes that are.

Positions are those of the calls: in the file view where there is one, else in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from wavetank.errors import KernelError
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.model import View
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Phase, UnknownOffsets
from wavetank.model.document.program import DataStep
from wavetank.model.document.step_walks import flat
from wavetank.trace.schema import Int64Array

Space = tuple[int, bool, View | None]
"""Number of a file, whether it is read, and the file view."""
_MOST = 50_000_000  # places that are written down one by one


def extents(kernel: Kernel, phases: Iterable[Phase]) -> dict[Space, Int64Array]:
    """The bytes that phases touch, shape (n, 2): sorted intervals [first, end), none next to another.

    Raises:
        KernelError: the places are unknown, or too many to compare.
    """
    found: dict[Space, list[Int64Array]] = {}
    for phase in phases:
        for index, member in enumerate(phase.pattern):
            reading = calls.reads(member.iop_type)
            if phase.view_ids is None:
                space = (phase.file_id, reading, _view(kernel, phase, 0))
                found.setdefault(space, []).append(_intervals(_of_all(phase, index)))
                continue
            for rank_number, runs in _by_rank(phase, index):
                space = (phase.file_id, reading, _view(kernel, phase, rank_number))
                found.setdefault(space, []).append(_intervals(runs))
    return {space: merged(np.concatenate(parts)) for space, parts in found.items()}


def ranks_extents(phases: Iterable[Phase], reading: bool | None) -> dict[int, Int64Array]:
    """The bytes that each rank touches, shape (n, 2), in its own file view: what it reads, writes, or (None) both."""
    found: dict[int, list[Int64Array]] = {}
    for phase in phases:
        for index, member in enumerate(phase.pattern):
            if reading in (None, calls.reads(member.iop_type)):
                for number, rank in enumerate(phase.ph_processid):
                    found.setdefault(rank, []).append(_intervals(runs_of(phase, index, number)))
    return {rank: merged(np.concatenate(parts)) for rank, parts in found.items()}


def calls_and_bytes(kernel: Kernel) -> dict[int, tuple[int, int]]:
    """By phase: data calls that the programs make of it, of all ranks, and the bytes that it moves."""
    made = {phase.ph_id: 0 for phase in kernel.phases}
    members = {phase.ph_id: len(phase.pattern) for phase in kernel.phases}
    for program in kernel.programs:
        for step, times in flat(program.steps):
            if isinstance(step, DataStep):
                n = step.operations(members[step.ph_id])
                made[step.ph_id] += n * times * len(program.ranks)
    return {phase.ph_id: (made[phase.ph_id], moved(phase)) for phase in kernel.phases}


def moved(phase: Phase, reading: bool | None = None) -> int:
    """Bytes that a phase moves by its places; of its reads or its writes alone, if asked for.

    A phase of which places are not known moves its weight.
    """
    if any(isinstance(each, UnknownOffsets) for each in phase.positions):
        if reading is None:
            return phase.ph_weight
        of_kind = [calls.reads(member.iop_type) == reading for member in phase.pattern]
        return phase.ph_weight if all(of_kind) else 0
    return sum(
        _moved_by(phase, index)
        for index, member in enumerate(phase.pattern)
        if reading is None or calls.reads(member.iop_type) == reading
    )


def _moved_by(phase: Phase, index: int) -> int:
    """Bytes that one call of the pattern moves, of all ranks."""
    places = phase.positions[index]
    if isinstance(places, ListedOffsets):
        return sum(int(runs.moved.sum()) for _, runs in _by_rank(phase, index))
    rs = phase.pattern[index].rs
    last = rs if phase.moved_last is None else phase.moved_last[index]
    return len(phase.ph_processid) * ((phase.ph_nrep - 1) * rs + last)


def merged(intervals: Int64Array) -> Int64Array:
    """Intervals sorted, with those that touch or overlap as one. Shape (n, 2)."""
    some = intervals[intervals[:, 1] > intervals[:, 0]]
    if not len(some):
        return some
    order = np.argsort(some[:, 0], kind="stable")
    first, end = some[order, 0], np.maximum.accumulate(some[order, 1])
    new = np.ones(len(first), dtype=bool)
    new[1:] = first[1:] > end[:-1]
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(first)) - 1
    return np.stack([first[starts], end[ends]], axis=1)


def runs_of(phase: Phase, index: int, number: int) -> RunArrays:
    """The runs of one call of the pattern, of one rank by its place in the phase.

    Raises:
        KernelError: the places are not known.
    """
    places = phase.positions[index]
    if isinstance(places, UnknownOffsets):
        raise KernelError(f"the places of phase {phase.ph_id} are not known")
    return phase.runs_at(number, index, places)


def _of_all(phase: Phase, index: int) -> RunArrays:
    """The runs of one call of the pattern, of all ranks.

    Raises:
        KernelError: the places are not known.
    """
    places = phase.positions[index]
    if not isinstance(places, LinearOffsets):
        parts = [runs for _, runs in _by_rank(phase, index)]
        names = ("count", "size", "moved", "offset", "disp")
        return RunArrays(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))
    one, ranks = runs_of(phase, index, 0), np.array(phase.ph_processid, dtype=np.int64)
    n = len(ranks)
    return RunArrays(
        np.repeat(one.count, n),
        np.repeat(one.size, n),
        np.repeat(one.moved, n),
        places.a * ranks + places.c,
        np.repeat(one.disp, n),
    )


def _by_rank(phase: Phase, index: int) -> Iterator[tuple[int, RunArrays]]:
    """The runs of one call of the pattern, of each rank by its place in the phase."""
    for number in range(len(phase.ph_processid)):
        yield number, runs_of(phase, index, number)


def _intervals(runs: RunArrays) -> Int64Array:
    """What runs move, as intervals, shape (n, 2)."""
    count, size, offset, disp = runs.count, runs.size, runs.offset, runs.disp
    last = runs.moved - (count - 1) * size
    joined = (count == 1) | ((disp >= 0) & (disp <= size) & (last == size)) | (disp == size)
    end = offset + (count - 1) * disp + last
    parts = [np.stack([offset[joined], end[joined]], axis=1)]
    apart = ~joined
    if int(count[apart].sum()) > _MOST:
        raise KernelError(f"it has more than {_MOST:,} places that would have to be compared")
    for n, rs, at, step, short in zip(
        *(column[apart].tolist() for column in (count, size, offset, disp, last)), strict=True
    ):
        first = at + np.arange(n, dtype=np.int64) * step
        ends = first + rs
        ends[-1] = first[-1] + short
        parts.append(np.stack([first, ends], axis=1))
    return np.concatenate(parts)


def _view(kernel: Kernel, phase: Phase, number: int) -> View | None:
    if phase.view_ids is not None:
        return kernel.views[phase.view_ids[number]]
    return None if phase.view_id is None else kernel.views[phase.view_id]
