"""Operations of one phase: what a replay's plan asks each rank to do against what the model's does.

Lists are compared as columns, all ranks at once; one by one only where they are not found the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from wavetank.kernel.document import calls
from wavetank.kernel.document.operations import (
    first_difference,
    normal,
    objects,
    same_operations,
    totals,
)
from wavetank.kernel.lowering.plan_reader import PlannedCall, PlannedRun
from wavetank.model.document.model import Model, View
from wavetank.model.document.phase import ListedOffsets, Phase, UnknownOffsets
from wavetank.trace.schema import Int64Array


def found_alike(phase: Phase, planned: Sequence[PlannedCall]) -> set[int]:
    """Members of the pattern whose operations, of all ranks at once, are found the same as the plan's."""
    return {
        index
        for index, (offsets, call) in enumerate(zip(phase.positions, planned, strict=False))
        if isinstance(offsets, ListedOffsets)
        and call.linear is None
        and _is_listed_so(phase.ph_processid, offsets, call.listed)
    }


def _is_listed_so(ranks: Sequence[int], offsets: ListedOffsets, rows: Int64Array) -> bool:
    """Whether a plan's runs are those of the model, one by one."""
    if len(rows) != len(offsets.count) or len(offsets.n_runs) != len(ranks):
        return False
    count, rs = offsets.count, offsets.rs
    last = rs if offsets.moved is None else offsets.moved - (count - 1) * rs
    of_rank = np.repeat(np.array(ranks, dtype=np.int64), offsets.n_runs)
    wanted = (of_rank, count, rs, offsets.offset, offsets.disp, last)
    return all(np.array_equal(rows[:, number], column) for number, column in enumerate(wanted))


def rank_differences(
    phase: Phase, position: int, alike: set[int], model: Model, plan: PlannedRun
) -> Iterator[str]:
    """Of one rank, by its place in ``ph_processid``; the operations of members that are alike are not looked at again."""
    rank, planned = phase.ph_processid[position], plan.phases[phase.ph_id]
    if planned.file_id != phase.file_id:
        yield f"it is on file {planned.file_id}, the model's on file {phase.file_id}"
    if len(planned.calls) != len(phase.pattern):
        yield f"the pattern has {len(planned.calls)} calls, the model's {len(phase.pattern)}"
        return
    offsets = phase.positions
    for index, (member, call) in enumerate(zip(phase.pattern, planned.calls, strict=True)):
        if call.name != member.iop_type:
            yield f"{member.iop_type} is issued as {call.name}"
        if call.handle != member.handle:
            yield f"{member.iop_type} goes through open {call.handle} of the file, the model's through {member.handle}"
        if not _same_view(phase.memory_at(position, index), call.memory.get(rank, -1), model, plan):
            yield f"the memory of rank {rank} has other gaps at {member.iop_type}"
        if isinstance(offsets[index], UnknownOffsets) or call.name in calls.SHARED_POINTER:
            wanted = totals(objects(phase.runs_at(position, index, offsets[index])))
            if call.totals([rank]) != wanted:
                yield f"rank {rank} moves other bytes"
        elif index not in alike:
            yield from _other_operations(phase, index, call, position)
    view_id = phase.view_id if phase.view_ids is None else phase.view_ids[position]
    if view_id is not None and not _same_view(view_id, view_id, model, plan):
        yield f"the file view of rank {rank} is another one"


def _same_view(wanted: int, planned: int, model: Model, plan: PlannedRun) -> bool:
    """Whether a plan's view shows the bytes that the model's does; -1: there is none."""
    if wanted < 0 or planned < 0:
        return wanted == planned
    return plan.views[planned : planned + 1] == [view_numbers(model.views[wanted])]


def _other_operations(phase: Phase, index: int, call: PlannedCall, position: int) -> Iterator[str]:
    """Whether a rank's operations of a pattern member have other offsets, sizes or bytes moved."""
    rank = phase.ph_processid[position]
    runs = phase.runs_at(position, index, phase.positions[index])
    listed = call.linear is None
    if listed and same_operations(runs, call.columns(rank)):
        return
    wanted, planned = objects(runs), call.runs(rank)
    first = first_difference(normal(wanted), normal(planned))
    if first is not None:
        yield f"operation {first} of rank {rank} has another offset or size"
    elif listed or totals(wanted) != totals(planned):
        yield f"rank {rank} moves other bytes"


def view_numbers(view: View) -> tuple[int, ...]:
    """A view as the numbers of a plan's line."""
    runs = [n for pair in zip(view.run_offsets, view.run_lengths, strict=True) for n in pair]
    return (view.displacement, view.etype_size, view.extent, len(view.run_offsets), *runs)
