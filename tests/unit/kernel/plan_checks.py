"""Whether a plan says what its kernel says: the lowering, looked at by other code.

The certificate compares kernels with models, and takes for granted that a plan is its kernel. That is shown here, for the
plans of all tests that ask, and by traced replays (tests/native).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from performed import Performed, performed_by
from plan_reader import PlannedCall, PlannedRun, read_plan
from plan_ticks import separated_differences
from plan_waits import waiting_differences

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.operations import normal, objects
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.model import View
from wavetank.model.document.phase import Phase, UnknownOffsets
from wavetank.model.document.program import DataStep, PauseStep, Step, SyncStep
from wavetank.model.document.step_walks import orders_expanded, plain_steps


def plan_differences(text: str, kernel: Kernel) -> list[str]:
    """What a plan says otherwise than its kernel, a sentence each.

    Raises:
        KernelError: the plan is damaged.
    """
    plan, done = read_plan(text), performed_by(kernel)
    tables = {
        "ranks": (plan.n_ranks, kernel.n_ranks),
        "names": (plan.names, done.names),
        "sizes": (plan.sizes, done.sizes),
        "members": (_planned_members(plan), _members(kernel)),
        "views": (plan.views, [_numbers(view) for view in kernel.views]),
        "hints": (tuple(plan.infos), kernel.infos),
        "communicators": (plan.communicators, done.communicators),
        "phases": (list(plan.phases), [phase.ph_id for phase in kernel.phases]),
    }
    return [
        *(f"other {name}" for name, (ours, theirs) in tables.items() if ours != theirs),
        *(what for phase in kernel.phases for what in _of_phase(plan, phase)),
        *_of_programs(plan, done, kernel),
        *(f"rank {rank}: {what}" for rank, what in separated_differences(plan)),
        *waiting_differences(plan, kernel),
    ]


def _numbers(view: View) -> tuple[int, ...]:
    runs = [n for pair in zip(view.run_offsets, view.run_lengths, strict=True) for n in pair]
    return (view.displacement, view.etype_size, view.extent, len(view.run_offsets), *runs)


def _planned_members(plan: PlannedRun) -> object:
    """By file and rank the members that it turns to, in order: names and bytes beforehand of each visit."""
    return {
        file_id: (members.n, members.in_tree, {
            rank: [(visits.names[number], visits.sizes[number]) for number in visits.order.tolist()]
            for rank, visits in members.visits.items()
        })
        for file_id, members in plan.members.items()
    }  # fmt: skip


def _members(kernel: Kernel) -> object:
    found = {}
    for file in kernel.files:
        if (members := file.members) is not None:
            named = list(zip(members.names, *members.other_names, strict=True))
            sizes = members.prepare_bytes.tolist()
            visits = {
                rank: [(named[number], sizes[number]) for number in order.tolist()]
                for rank, order in members.visits.by_rank()
            }
            found[file.file_id] = (len(named), members.in_tree, visits)
    return found


def _of_phase(plan: PlannedRun, phase: Phase) -> Iterator[str]:
    planned = plan.phases.get(phase.ph_id)
    if planned is None:
        return
    what = f"phase {phase.ph_id}"
    names = [calls.performed(member.iop_type) for member in phase.pattern]
    if (planned.file_id, [call.name for call in planned.calls]) != (phase.file_id, names):
        yield f"{what} is other calls, or on another file"
        return
    taking = [rank for rank, steps in plan.programs.items() if _takes_part(phase.ph_id, steps)]
    for index, (member, call) in enumerate(zip(phase.pattern, planned.calls, strict=True)):
        by_pointer = call.name in calls.SHARED_POINTER or isinstance(
            phase.positions[index], UnknownOffsets
        )
        if (call.handle, call.placed) != (member.handle, not by_pointer):
            yield f"{what}: {call.name} goes through another open, or by another place"
        for rank in taking:
            if not _same(_runs(phase, index, rank), call, rank):
                yield f"{what}: rank {rank} makes other operations"
            place = phase.ph_processid.index(rank) if rank in phase.ph_processid else None
            memory = -1 if place is None else phase.memory_at(place, index)
            if call.memory.get(rank, -1) != memory:
                yield f"{what}: the memory of rank {rank} is another"  # fmt: skip


def _takes_part(ph_id: int, steps: Sequence[Step]) -> bool:
    return any(isinstance(step, DataStep) and step.ph_id == ph_id for step in plain_steps(steps))


def _runs(phase: Phase, index: int, rank: int) -> RunArrays:
    """Operations of a rank; what a phase says by one function it says of every rank. Unknown offsets are 0 in plans."""
    offsets = phase.positions[index]
    if rank not in phase.ph_processid:
        if offsets.function == "list" or getattr(offsets, "sizes", None) is not None:
            return RunArrays(*(np.zeros(0, dtype=np.int64) for _ in range(5)))
        phase = phase.model_copy(update={"ph_processid": (rank,)})
    runs = phase.runs(rank, index, offsets)
    if isinstance(offsets, UnknownOffsets):
        return RunArrays(runs.count, runs.size, runs.moved, np.zeros_like(runs.offset), runs.disp)
    return runs


def _same(wanted: RunArrays, call: PlannedCall, rank: int) -> bool:
    return normal(objects(wanted)) == normal(call.runs(rank))


def _of_programs(plan: PlannedRun, done: Performed, kernel: Kernel) -> Iterator[str]:
    asked = {rank: steps for ranks, steps in done.programs for rank in ranks}
    everyone = [n for n, ranks in enumerate(plan.communicators) if len(ranks) == kernel.n_ranks]
    if plan.programs.keys() != asked.keys():
        yield "programs of other ranks"
    for rank in plan.programs.keys() & asked.keys():
        if _entries(plan.programs[rank], everyone) != _entries(asked[rank], everyone):
            yield f"rank {rank} does something else, or in another order"


def _entries(steps: Sequence[Step], everyone: Sequence[int]) -> list[Any]:
    """The steps that a kernel has too, without collectives of all ranks at both ends: MPI_Init and MPI_Finalize."""
    order = _order(steps)

    def of_all(entry: Any) -> bool:
        return bool(entry["step"] == "sync" and entry["communicator"] in everyone)

    while order and of_all(order[0]):
        del order[0]
    while order and of_all(order[-1]):
        del order[-1]
    return order


def _order(steps: Sequence[Step]) -> list[Any]:
    found = []
    for step in orders_expanded(steps):
        if step.step in ("process", "own"):
            continue
        entry = {key: value for key, value in vars(step).items() if key != "view_ids"}
        if step.step == "repeat":
            entry["steps"] = _order(step.steps)
            if not entry["steps"]:
                continue
        if isinstance(step, PauseStep):
            entry["seconds"] = round(step.seconds * 1e9)
        found.append(entry)
    return found


def does_the_same(made: PlannedRun, plan: PlannedRun) -> bool:
    """Whether all ranks make the same calls; table rows that nothing uses may differ."""
    tables = ("views", "infos", "communicators")
    return all(
        getattr(made, name)[: len(getattr(plan, name))] == getattr(plan, name) for name in tables
    ) and (made.n_ranks, _operations(made), _programs(made)) == (
        plan.n_ranks, _operations(plan), _programs(plan),
    )  # fmt: skip


def _programs(plan: PlannedRun) -> dict[int, list[Step]]:
    """By rank, without a last synchronisation of all: MPI_Finalize is one, and a rank's that does nothing else."""
    everyone = [i for i, ranks in enumerate(plan.communicators) if len(ranks) == plan.n_ranks]
    found = {}
    for rank, steps in plan.programs.items():
        kept = list(steps)
        while kept and isinstance(kept[-1], SyncStep) and kept[-1].communicator in everyone:
            kept.pop()
        if kept:
            found[rank] = kept
    return found


def _operations(plan: PlannedRun) -> object:
    """Every call of every phase, as each rank makes it that takes part."""
    ranks = {
        ph_id: [rank for rank, steps in sorted(plan.programs.items()) if _takes_part(ph_id, steps)]
        for ph_id in plan.phases
    }
    return {
        ph_id: (phase.file_id, [
            (call.name, call.placed, call.handle, [
                (normal(call.runs(rank)), plan.views[call.memory[rank]] if rank in call.memory else None)
                for rank in ranks[ph_id]
            ])
            for call in phase.calls
        ])
        for ph_id, phase in plan.phases.items()
    }  # fmt: skip
