"""Operations of one phase: what a kernel asks each rank to do against what the model's does.

Columns are compared, all ranks at once; one by one only where they are not found the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.operations import (
    first_difference,
    normal,
    objects,
    same_operations,
    totals,
)
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.model import Model
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Phase, UnknownOffsets


def found_alike(phase: Phase, planned: Phase) -> set[int]:
    """Members of the pattern whose operations, of all ranks at once, are found the same as the kernel's."""
    if any(
        getattr(phase, name) != getattr(planned, name)
        for name in ("ph_processid", "ph_nrep", "moved_last")
    ):
        return set()
    pairs = zip(phase.positions, planned.positions, phase.pattern, planned.pattern, strict=False)
    return {
        index
        for index, (one, other, member, call) in enumerate(pairs)
        if member.rs == call.rs and one == other
    }


def planned_bytes(phase: Phase, planned: Phase) -> int:
    """What a kernel's phase moves, on the ranks of the model's."""
    return sum(
        int(_runs(phase, position, planned, index).moved.sum())
        for index in range(len(planned.pattern))
        for position in range(len(phase.ph_processid))
    )


def _runs(phase: Phase, position: int, planned: Phase, index: int) -> RunArrays:
    """A kernel's operations on a rank of the model's: a function says them of any rank, a list of its own ranks alone."""
    offsets, rank = planned.positions[index], phase.ph_processid[position]
    if planned.ph_processid == phase.ph_processid:
        return planned.runs_at(position, index, offsets)
    if rank not in planned.ph_processid:
        if not (isinstance(offsets, LinearOffsets) or getattr(offsets, "sizes", offsets) is None):
            return RunArrays(*(np.zeros(0, dtype=np.int64) for _ in range(5)))
        planned = planned.model_copy(update={"ph_processid": (rank,)})
    return planned.runs(rank, index, offsets)


def rank_differences(
    phase: Phase, position: int, alike: set[int], model: Model, planned: Phase, kernel: Kernel
) -> Iterator[str]:
    """Of one rank, by its place in ``ph_processid``; the operations of members that are alike are not looked at again."""
    rank = phase.ph_processid[position]
    if planned.file_id != phase.file_id:
        yield f"it is on file {planned.file_id}, the model's on file {phase.file_id}"
    if len(planned.pattern) != len(phase.pattern):
        yield f"the pattern has {len(planned.pattern)} calls, the model's {len(phase.pattern)}"
        return
    for index, (member, call) in enumerate(zip(phase.pattern, planned.pattern, strict=True)):
        name = calls.performed(call.iop_type)
        if name != member.iop_type:
            yield f"{member.iop_type} is issued as {name}"
        if call.handle != member.handle:
            yield f"{member.iop_type} goes through open {call.handle} of the file, the model's through {member.handle}"
        memory = -1
        if rank in planned.ph_processid:
            memory = planned.memory_at(planned.ph_processid.index(rank), index)
        if not _same_view(phase.memory_at(position, index), memory, model, kernel):
            yield f"the memory of rank {rank} has other gaps at {member.iop_type}"
        if index not in alike:
            yield from _other_operations(phase, index, planned, position)
    view_id = phase.view_id if phase.view_ids is None else phase.view_ids[position]
    if view_id is not None and not _same_view(view_id, view_id, model, kernel):
        yield f"the file view of rank {rank} is another one"


def _same_view(wanted: int, planned: int, model: Model, kernel: Kernel) -> bool:
    """Whether a kernel's view shows the bytes that the model's does; -1: there is none."""
    if wanted < 0 or planned < 0:
        return wanted == planned
    return kernel.views[planned : planned + 1] == (model.views[wanted],)


def _other_operations(phase: Phase, index: int, planned: Phase, position: int) -> Iterator[str]:
    """Whether a rank's operations of a pattern member have other offsets, sizes or bytes moved."""
    rank, offsets = phase.ph_processid[position], phase.positions[index]
    ours, theirs = phase.runs_at(position, index, offsets), _runs(phase, position, planned, index)
    if same_operations(ours, theirs):
        return
    wanted, made = objects(ours), objects(theirs)
    if (
        isinstance(offsets, UnknownOffsets)
        or calls.performed(planned.pattern[index].iop_type) in calls.SHARED_POINTER
    ):
        if totals(wanted) != totals(made):
            yield f"rank {rank} moves other bytes"
        return
    first = first_difference(normal(wanted), normal(made))
    if first is not None:
        yield f"operation {first} of rank {rank} has another offset or size"
    elif isinstance(planned.positions[index], ListedOffsets) or totals(wanted) != totals(made):
        yield f"rank {rank} moves other bytes"
