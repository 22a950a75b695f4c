"""The certificate: what a kernel will issue against its model, phase by phase.

For the replay the plan is lowered, read back and compared: operations, bytes, offsets and order. For
IOR and fio the operations that their parameters produce are worked out and compared (method, section 3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wavetank.kernel import calls
from wavetank.kernel.lower import lower
from wavetank.kernel.operations import (
    Totals,
    first_difference,
    member_runs,
    normal,
    totals,
)
from wavetank.kernel.plan import Kernel, Refused
from wavetank.kernel.plan_reader import PlannedCall, PlannedRun, PlannedStep, read_plan
from wavetank.kernel.writers.fio import fio_plan
from wavetank.kernel.writers.ior import parse_command
from wavetank.kernel.writers.means import direction_runs
from wavetank.model.application import Model, View
from wavetank.model.phase import DataStep, Phase, RepeatStep, Run, Step, SyncStep, UnknownOffsets


@dataclass(frozen=True)
class PhaseFidelity:
    """One phase, or the phases that one benchmark line stands for.

    Attributes:
        ph_ids: the phases.
        by: "replay" or a benchmark's name.
        model: operations and bytes of the model, over all ranks.
        kernel: those that the kernel will issue.
        ranks_with_other_offsets: ranks for which an operation's offset or size differs.
        differences: a sentence each; empty when exact.
        left_to_mpi: True for POSIX operations that the MPI library makes again inside MPI-IO calls.
    """

    ph_ids: tuple[int, ...]
    by: str
    model: Totals
    kernel: Totals
    ranks_with_other_offsets: int
    differences: tuple[str, ...]
    left_to_mpi: bool = False

    @property
    def exact(self) -> bool:
        """Nothing differs."""
        return not self.differences

    def within(self, tolerance: float) -> bool:
        """Whether operations and bytes are each within a fraction of the model's; 0 asks for exactness."""
        if self.exact or self.left_to_mpi:
            return True
        if tolerance <= 0:
            return False
        return all(
            abs(ours - theirs) <= tolerance * theirs
            for ours, theirs in (
                (self.kernel.operations, self.model.operations),
                (self.kernel.bytes, self.model.bytes),
            )
        )


def replay_fidelity(kernel: Kernel, model: Model) -> list[PhaseFidelity]:
    """The replay against the model, a row for each of the model's phases.

    Raises:
        KernelError: the kernel cannot be lowered.
    """
    plan = read_plan(lower(kernel))
    made = _made_by_rank(plan)
    order = _order_differences(plan, kernel, model)
    mpi_files = {phase.file_id for phase in model.phases if phase.level == "mpiio"}
    return [_replayed(phase, plan, model, made, order, mpi_files) for phase in model.phases]


def ior_fidelity(kernel: Kernel, model_phases: Sequence[Phase]) -> list[PhaseFidelity]:
    """The kernel's IOR lines against the model's phases; refused phases with nothing issued."""
    phases = {phase.ph_id: phase for phase in model_phases}
    rows = []
    for line in kernel.ior:
        ior = parse_command(line.command)
        group = [phases[ph_id] for ph_id in line.ph_ids if ph_id in phases]
        if ior.file_per_process:
            theirs = [_runs([phase], phase.ph_processid[0], ior.write) for phase in group]
        else:
            theirs = [_runs(group, rank, ior.write) for rank in group[0].ph_processid]
        ours = [ior.operations(task) for task in range(ior.n_tasks)]
        rows.append(_benchmark(line.ph_ids, "ior", theirs, ours, line.not_reproduced))
    rows += [_refused(refused, phases, "ior") for refused in kernel.ior_refused]
    return sorted(rows, key=lambda row: row.ph_ids)


def fio_fidelity(kernel: Kernel, model_phases: Sequence[Phase]) -> list[PhaseFidelity]:
    """The kernel's fio jobs against the model's phases; refused phases with nothing issued."""
    phases = {phase.ph_id: phase for phase in model_phases}
    plan = fio_plan(kernel)
    rows = [_refused(refused, phases, "fio") for refused in plan.refused]
    for ph_id, notes in plan.not_reproduced.items():
        if ph_id not in phases:
            continue
        jobs = [job for job in plan.jobs if job.ph_id == ph_id]
        theirs = [_runs([phases[ph_id]], job.rank, job.write) for job in jobs]
        rows.append(_benchmark((ph_id,), "fio", theirs, [job.operations() for job in jobs], notes))
    return sorted(rows, key=lambda row: row.ph_ids)


def _benchmark(
    ph_ids: tuple[int, ...],
    by: str,
    theirs: Sequence[Sequence[Run]],
    ours: Sequence[Sequence[Run]],
    notes: tuple[str, ...],
) -> PhaseFidelity:
    different = sum(first_difference(a, b) is not None for a, b in zip(theirs, ours, strict=False))
    return PhaseFidelity(
        ph_ids=ph_ids,
        by=by,
        model=totals(run for runs in theirs for run in runs),
        kernel=totals(run for runs in ours for run in runs),
        ranks_with_other_offsets=different + abs(len(theirs) - len(ours)),
        differences=notes,
    )


def _refused(refused: Refused, phases: Mapping[int, Phase], by: str) -> PhaseFidelity:
    group = [phases[ph_id] for ph_id in refused.ph_ids if ph_id in phases]
    return PhaseFidelity(
        ph_ids=refused.ph_ids,
        by=by,
        model=_phase_totals(group),
        kernel=Totals(0, 0),
        ranks_with_other_offsets=len({rank for phase in group for rank in phase.ph_processid}),
        differences=(f"Refused: {refused.reason}.",),
    )


def _runs(group: Sequence[Phase], rank: int, write: bool) -> list[Run]:
    return normal(direction_runs(group, rank, write))


def _phase_totals(group: Sequence[Phase]) -> Totals:
    return Totals(
        sum(phase.ph_np * phase.ph_niop for phase in group), sum(phase.ph_weight for phase in group)
    )


def _made_by_rank(plan: PlannedRun) -> dict[int, Counter[int]]:
    """Calls (not repetitions) of each phase that each rank's program asks for, by rank."""
    by_program: dict[int, Counter[int]] = {}
    result = {}
    for rank, steps in plan.programs.items():
        if id(steps) not in by_program:
            counter: Counter[int] = Counter()
            _count(steps, 1, plan, counter)
            by_program[id(steps)] = counter
        result[rank] = by_program[id(steps)]
    return result


def _count(
    steps: Sequence[PlannedStep], times: int, plan: PlannedRun, counter: Counter[int]
) -> None:
    for step in steps:
        if step.inner is not None:
            _count(step.inner, times * int(step.words[1]), plan, counter)
        elif step.words[0] == "data":
            _, ph_id, n, _, single, _ = step.words
            members = 1 if single == "1" else len(plan.phases[int(ph_id)].calls)
            counter[int(ph_id)] += times * int(n) * members


def _replayed(
    phase: Phase,
    plan: PlannedRun,
    model: Model,
    made: dict[int, Counter[int]],
    order: dict[int, str],
    mpi_files: set[int],
) -> PhaseFidelity:
    wanted = Totals(phase.ph_np * phase.ph_niop, phase.ph_weight)
    planned = plan.phases.get(phase.ph_id)
    if planned is None:
        inside = phase.level == "posix" and phase.file_id in mpi_files
        why = (
            "Not issued by the replay: the MPI library makes these calls inside its own."
            if inside
            else "Left out by the replay; the kernel says why."
        )
        return PhaseFidelity(
            (phase.ph_id,),
            "replay",
            wanted,
            Totals(0, 0),
            0 if inside else phase.ph_np,
            (why,),
            left_to_mpi=inside,
        )
    differences: list[str] = []
    issued, moved, other_offsets = 0, 0, 0
    for rank in phase.ph_processid:
        operations = made.get(rank, Counter())[phase.ph_id]
        issued += operations
        moved += sum(totals(call.runs(rank)).bytes for call in planned.calls)
        sentences = list(_rank_differences(phase, planned.calls, rank, model, plan))
        if operations != phase.ph_niop:
            sentences.append(
                f"rank {rank} issues {operations} operations, the model has {phase.ph_niop}"
            )
        other_offsets += bool(sentences)
        if rank in order:
            sentences.append(order[rank])
        if sentences and not differences:
            differences = (
                sentences  # those of the first rank say what is wrong; the count says how often
            )
    kernel_totals = Totals(issued, moved)
    if not differences and kernel_totals.bytes != phase.ph_weight:
        differences = [f"{kernel_totals.bytes} bytes, the model's weight is {phase.ph_weight}"]
    return PhaseFidelity(
        (phase.ph_id,), "replay", wanted, kernel_totals, other_offsets, tuple(differences)
    )


def _rank_differences(
    phase: Phase, planned: Sequence[PlannedCall], rank: int, model: Model, plan: PlannedRun
) -> Iterator[str]:
    if len(planned) != len(phase.pattern):
        yield f"the pattern has {len(planned)} calls, the model's {len(phase.pattern)}"
        return
    positions = phase.offset_view if phase.offset_view is not None else phase.offset
    for index, (member, call) in enumerate(zip(phase.pattern, planned, strict=True)):
        if call.name != member.iop_type:
            yield f"{member.iop_type} is issued as {call.name}"
        if isinstance(positions[index], UnknownOffsets) or call.name in calls.SHARED_POINTER:
            continue
        wanted = normal(member_runs(phase, index, rank, positions[index]) or [])
        first = first_difference(wanted, normal(call.runs(rank)))
        if first is not None:
            yield f"operation {first} of rank {rank} has another offset or size"
        elif totals(wanted) != totals(call.runs(rank)):
            yield f"rank {rank} moves other bytes"
    view_id = phase.view_id
    if phase.view_ids is not None:
        view_id = phase.view_ids[phase.ph_processid.index(rank)]
    if view_id is not None and view_id >= 0 and not _same_view(model.views[view_id], view_id, plan):
        yield f"the file view of rank {rank} is another one"


def _same_view(view: View, view_id: int, plan: PlannedRun) -> bool:
    runs = [n for pair in zip(view.run_offsets, view.run_lengths, strict=True) for n in pair]
    wanted = (view.displacement, view.etype_size, view.extent, len(view.run_offsets), *runs)
    return view_id < len(plan.views) and plan.views[view_id] == wanted


def _order_differences(plan: PlannedRun, kernel: Kernel, model: Model) -> dict[int, str]:
    """By rank: the first place where data operations and synchronisation come in another order."""
    performed = {phase.ph_id for phase in kernel.phases}
    differences: dict[int, str] = {}
    compared: dict[tuple[int, int], str | None] = {}
    for program in model.programs:
        for rank in program.ranks:
            planned = plan.programs.get(rank, [])
            key = (id(program), id(planned))
            if key not in compared:
                everyone = {
                    index
                    for index, ranks in enumerate(kernel.communicators)
                    if len(ranks) == kernel.n_ranks
                }
                wanted = _inner(list(_model_order(program.steps, performed)), everyone)
                compared[key] = _first_other(wanted, _inner(list(_plan_order(planned)), everyone))
            found = compared[key]
            if found is not None:
                differences[rank] = found
    return differences


def _inner(order: Sequence[tuple[object, ...]], everyone: set[int]) -> list[tuple[object, ...]]:
    """Without synchronisation of all ranks at the very start and end: MPI_Init and MPI_Finalize do it."""
    kept = list(order)
    for end in (0, -1):
        while kept and kept[end][0] == "sync" and kept[end][1] in everyone:
            kept.pop(end)
    return kept


def _first_other(wanted: Sequence[object], planned: Sequence[object]) -> str | None:
    if wanted == planned:
        return None
    place = next(
        (i for i, (a, b) in enumerate(zip(wanted, planned, strict=False)) if a != b),
        min(len(wanted), len(planned)),
    )
    return f"the order differs from the model's at step {place + 1}"


def _model_order(steps: Sequence[Step], performed: set[int]) -> Iterator[tuple[object, ...]]:
    for step in steps:
        if isinstance(step, DataStep) and step.ph_id in performed:
            yield ("data", step.ph_id, step.n, step.single)
        elif isinstance(step, SyncStep):
            yield ("sync", step.communicator, step.count)
        elif isinstance(step, RepeatStep) and (inner := tuple(_model_order(step.steps, performed))):
            yield ("repeat", step.times, inner)


def _plan_order(steps: Sequence[PlannedStep]) -> Iterator[tuple[object, ...]]:
    for step in steps:
        words = step.words
        if words[0] == "data":
            yield ("data", int(words[1]), int(words[2]), words[4] == "1")
        elif words[0] == "sync":
            yield ("sync", int(words[1]), int(words[2]))
        elif step.inner is not None and (inner := tuple(_plan_order(step.inner))):
            yield ("repeat", int(words[1]), inner)
