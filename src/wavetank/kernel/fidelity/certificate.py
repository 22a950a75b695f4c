"""The certificate: what a kernel will issue against its model, phase by phase.

For the replay what the kernel's ranks will do is compared: operations, bytes, offsets and order. For IOR and
fio the operations that their parameters produce are worked out and compared (method, section 3). That the replay
performs its kernel is shown by the model of its trace, which is compared by ``wavetank diff``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wavetank.kernel.benchmarks.fio import fio_plan
from wavetank.kernel.benchmarks.groups import ranks_of
from wavetank.kernel.benchmarks.ior import IorParameters, parse_command
from wavetank.kernel.benchmarks.means import direction_runs
from wavetank.kernel.construction.doubts import UNDECIDED
from wavetank.kernel.document.calls import performed
from wavetank.kernel.document.kernel import Kernel, Refused
from wavetank.kernel.document.operations import (
    Totals,
    first_difference,
    normal,
    totals,
)
from wavetank.kernel.fidelity.members import member_differences
from wavetank.kernel.fidelity.names import (
    hole_differences,
    names_differences,
    size_differences,
)
from wavetank.kernel.fidelity.order import OrderFidelity, compare_order
from wavetank.kernel.fidelity.performed import Performed, performed_by
from wavetank.kernel.fidelity.phase_operations import (
    found_alike,
    planned_bytes,
    rank_differences,
)
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.comparison.comparability import is_race
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase, Run
from wavetank.model.document.program import DataStep
from wavetank.model.document.step_walks import flat
from wavetank.notes import texts


@dataclass(frozen=True)
class PhaseFidelity:
    """One phase, or the phases that one benchmark line stands for.

    Attributes:
        ph_ids: the phases; none of the row about what lies beside them.
        by: "replay" or a benchmark's name.
        model: operations and bytes of the model, over all ranks.
        kernel: those that the kernel will issue.
        ranks_with_other_offsets: ranks for which an operation's offset or size differs.
        differences: a sentence each; empty when exact.
        places_by_race: True where the application itself does not determine the offsets: calls by the shared file
            pointer that are not ordered by rank. Their number, sizes and order within a rank are compared.
        left_to_mpi: True for POSIX operations that the MPI library makes again inside MPI-IO calls.
    """

    ph_ids: tuple[int, ...]
    by: str
    model: Totals
    kernel: Totals
    ranks_with_other_offsets: int
    differences: tuple[str, ...]
    left_to_mpi: bool = False
    places_by_race: bool = False

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
    """The replay against the model: a row for each of the model's phases, and one for what lies beside phases.

    The last row, of no phase, is about calls that move no data (open, seek, sync, rename, ...), collectives, and
    the order of everything; about what is there before the run, too: the calls that succeeded find their files,
    in the sizes that they had. It is left out where there is none of it.

    Raises:
        KernelError: the kernel cannot be lowered.
    """
    lower(kernel)  # refuses what has no plan
    done = performed_by(kernel)
    planned = {phase.ph_id: phase for phase in kernel.phases}
    made = _made_by_rank(done, planned)
    order = compare_order(done, kernel, model)
    inside = _inside_mpi(model.phases)
    rows = [
        _replayed(
            phase,
            planned.get(phase.ph_id),
            kernel,
            model,
            made,
            order.differences,
            inside=phase.ph_id in inside,
        )
        for phase in model.phases
    ]
    return rows + _beside_phases(done, kernel, model, order)


def _beside_phases(
    done: Performed, kernel: Kernel, model: Model, order: OrderFidelity
) -> list[PhaseFidelity]:
    """The calls that move no data, collectives, and the order of everything; nothing where there is none of it."""
    differences = [f"{n} {name} calls are left out" for name, n in sorted(order.left_out.items())]
    differences += [f"{name} is issued as {performed(name)}" for name in sorted(order.replaced)]
    differences += member_differences(kernel, model)
    if kernel.n_ranks != model.n_ranks:
        differences.append(f"{kernel.n_ranks} ranks, the model has {model.n_ranks}")
    if order.differences:
        rank, what = next(iter(order.differences.items()))
        others = f" (and {len(order.differences) - 1} more)" if len(order.differences) > 1 else ""
        differences.append(f"rank {rank}{others}: {what}")
    differences += [*size_differences(done, model), *names_differences(done, kernel)]
    differences += hole_differences(done, kernel)
    if not (order.n_model or order.n_kernel or differences):
        return []
    totals_of = Totals(order.n_model, 0), Totals(order.n_kernel, 0)
    return [PhaseFidelity((), "replay", *totals_of, len(order.differences), tuple(differences))]


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
            theirs = [_runs(group, rank, ior.write) for rank in ranks_of(group)]
        ours = [ior.operations(task) for task in range(ior.n_tasks)]
        notes = (*texts(line.not_reproduced), *_other_calls(ior, group))
        rows.append(_benchmark(line.ph_ids, "ior", theirs, ours, notes))
    rows += [_refused(refused, phases, "ior") for refused in kernel.ior_refused]
    return _complete(rows, model_phases, "ior")


def _other_calls(ior: IorParameters, group: Sequence[Phase]) -> Iterator[str]:
    level = "MPIIO" if group[0].level == "mpiio" else "POSIX"
    if ior.api != level:
        yield f"IOR's interface is {ior.api}, the application's {level}."
    if ior.collective != group[0].collective:
        theirs, made = ("" if it else "not " for it in (group[0].collective, ior.collective))
        yield f"IOR's calls are {made}collective, the application's are {theirs}so."
    if level == "MPIIO" and any(phase.collective_unknown for phase in group):
        yield f"{UNDECIDED[0].upper()}{UNDECIDED[1:]}."


def _complete(
    rows: list[PhaseFidelity], model_phases: Sequence[Phase], by: str
) -> list[PhaseFidelity]:
    """With the phases that no line is about; in order."""
    told = {ph_id for row in rows for ph_id in row.ph_ids}
    of_mpi = _inside_mpi(model_phases)
    for phase in model_phases:
        if phase.ph_id not in told:
            inside = phase.ph_id in of_mpi
            line = (
                "Made by the MPI library inside of its own calls."
                if inside
                else "No line performs it."
            )
            rows.append(_nothing((phase.ph_id,), by, [phase], line, inside=inside))
    return sorted(rows, key=lambda row: row.ph_ids)


def _inside_mpi(phases: Sequence[Phase]) -> set[int]:
    """POSIX phases on files with phases of MPI-IO: the MPI library makes these calls."""
    files = {phase.file_id for phase in phases if phase.level == "mpiio"}
    return {phase.ph_id for phase in phases if phase.level == "posix" and phase.file_id in files}


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
        rows.append(
            _benchmark((ph_id,), "fio", theirs, [job.operations() for job in jobs], texts(notes))
        )
    return _complete(rows, model_phases, "fio")


def _benchmark(
    ph_ids: tuple[int, ...],
    by: str,
    theirs: Sequence[Sequence[Run]],
    ours: Sequence[Sequence[Run]],
    notes: tuple[str, ...],
) -> PhaseFidelity:
    others = [
        (task, first)
        for task, (a, b) in enumerate(zip(theirs, ours, strict=False))
        if (first := first_difference(a, b)) is not None
    ]
    return PhaseFidelity(
        ph_ids=ph_ids,
        by=by,
        model=totals(run for runs in theirs for run in runs),
        kernel=totals(run for runs in ours for run in runs),
        ranks_with_other_offsets=len(others) + abs(len(theirs) - len(ours)),
        differences=(*notes, *_computed(theirs, ours, others)),
    )


def _computed(
    theirs: Sequence[Sequence[Run]],
    ours: Sequence[Sequence[Run]],
    others: Sequence[tuple[int, int]],
) -> Iterator[str]:
    """What differs by the parameters themselves, whatever the kernel says of them."""
    if len(theirs) != len(ours):
        yield f"{len(ours)} tasks, the model has {len(theirs)} ranks."
    if others:
        task, first = others[0]
        wanted, made = _operation(theirs[task], first), _operation(ours[task], first)
        more = f", and on {len(others) - 1} more" if len(others) > 1 else ""
        yield f"Operation {first} of task {task}{more}: {made}, the model has {wanted}."


def _operation(runs: Sequence[Run], number: int) -> str:
    for run in runs:
        if number < run.count:
            return f"{run.rs} bytes at {run.offset + number * run.disp}"
        number -= run.count
    return "none"


def _refused(refused: Refused, phases: Mapping[int, Phase], by: str) -> PhaseFidelity:
    group = [phases[ph_id] for ph_id in refused.ph_ids if ph_id in phases]
    return _nothing(refused.ph_ids, by, group, f"Refused: {refused.reason}.")


def _nothing(
    ph_ids: tuple[int, ...], by: str, group: Sequence[Phase], why: str, *, inside: bool = False
) -> PhaseFidelity:
    """The row of phases that are not issued; those inside of MPI-IO calls are the MPI library's."""
    ranks = set() if inside else {rank for phase in group for rank in phase.ph_processid}
    totals_of = _phase_totals(group), Totals(0, 0)
    return PhaseFidelity(ph_ids, by, *totals_of, len(ranks), (why,), left_to_mpi=inside)


def _runs(group: Sequence[Phase], rank: int, write: bool) -> list[Run]:
    return normal(direction_runs(group, rank, write))


def _phase_totals(group: Sequence[Phase]) -> Totals:
    return Totals(
        sum(phase.ph_np * phase.ph_niop for phase in group), sum(phase.ph_weight for phase in group)
    )


def _made_by_rank(done: Performed, planned: Mapping[int, Phase]) -> dict[int, Counter[int]]:
    """Calls (not repetitions) of each phase that each rank's program asks for, by rank."""
    by_rank: dict[int, Counter[int]] = {}
    for ranks, steps in done.programs:
        made = Counter[int]()
        for step, times in flat(steps):
            if isinstance(step, DataStep):
                made[step.ph_id] += times * step.operations(len(planned[step.ph_id].pattern))
        by_rank |= dict.fromkeys(ranks, made)
    return by_rank


def _replayed(
    phase: Phase,
    planned: Phase | None,
    kernel: Kernel,
    model: Model,
    made: dict[int, Counter[int]],
    order: dict[int, str],
    *,
    inside: bool,
) -> PhaseFidelity:
    if planned is None:
        of_mpi = "Not issued by the replay: the MPI library makes these calls inside its own."
        why = of_mpi if inside else "Left out by the replay; the kernel says why."
        return _nothing((phase.ph_id,), "replay", [phase], why, inside=inside)
    differences: list[str] = []
    issued, other_offsets = 0, 0
    alike = found_alike(phase, planned)
    for position, rank in enumerate(phase.ph_processid):
        operations = made.get(rank, Counter())[phase.ph_id]
        issued += operations
        sentences = list(rank_differences(phase, position, alike, model, planned, kernel))
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
    kernel_totals = Totals(issued, planned_bytes(phase, planned))
    if phase.level == "mpiio" and phase.collective_unknown:
        differences.append(UNDECIDED)
    if not differences and kernel_totals.bytes != phase.ph_weight:
        differences = [f"{kernel_totals.bytes} bytes, the model's weight is {phase.ph_weight}"]
    return PhaseFidelity(
        (phase.ph_id,), "replay", _phase_totals([phase]), kernel_totals, other_offsets, tuple(differences),
        places_by_race=is_race(phase),
    )  # fmt: skip
