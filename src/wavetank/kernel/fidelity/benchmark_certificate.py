"""The certificate of IOR lines and fio jobs: the operations that their parameters produce against the model's phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wavetank.kernel.benchmarks.fio import fio_plan
from wavetank.kernel.benchmarks.groups import ranks_of
from wavetank.kernel.benchmarks.ior import IorParameters, parse_command
from wavetank.kernel.benchmarks.means import direction_runs
from wavetank.kernel.construction.doubts import UNDECIDED
from wavetank.kernel.document.kernel import Kernel, Refused
from wavetank.kernel.document.operations import first_difference, normal, totals
from wavetank.kernel.fidelity.rows import PhaseFidelity, inside_mpi, nothing
from wavetank.model.document.phase import Phase, Run
from wavetank.notes import texts


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
    of_mpi = inside_mpi(model_phases)
    for phase in model_phases:
        if phase.ph_id not in told:
            inside = phase.ph_id in of_mpi
            line = (
                "Made by the MPI library inside of its own calls."
                if inside
                else "No line performs it."
            )
            rows.append(nothing((phase.ph_id,), by, [phase], line, inside=inside))
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
    return nothing(refused.ph_ids, by, group, f"Refused: {refused.reason}.")


def _runs(group: Sequence[Phase], rank: int, write: bool) -> list[Run]:
    return normal(direction_runs(group, rank, write))
