"""The certificate: what a kernel will do against its model, phase by phase.

It is the comparison of two models, that ``wavetank diff`` makes too, and what a kernel alone can get wrong: the names and
sizes that it has beforehand. That the replay performs its kernel is shown by the model of its trace.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from wavetank.kernel.construction.doubts import UNDECIDED
from wavetank.kernel.document.calls import performed
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.operations import Totals
from wavetank.kernel.fidelity.preconditions import (
    hole_differences,
    names_differences,
    size_differences,
)
from wavetank.kernel.fidelity.rows import PhaseFidelity, inside_mpi, nothing, phase_totals
from wavetank.kernel.fidelity.sides import Sides, sides_of
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.comparison.comparability import is_race
from wavetank.model.comparison.comparison_limits import ComparisonLimits
from wavetank.model.comparison.program_difference import Difference, ProgramComparison
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep
from wavetank.model.document.step_walks import flat


def replay_fidelity(kernel: Kernel, model: Model) -> list[PhaseFidelity]:
    """The replay against the model: a row for each of the model's phases, and one for what lies beside phases.

    The last row, of no phase, is about calls that move no data (open, seek, sync, rename, ...), collectives, and
    the order of everything; about what is there before the run, too: the calls that succeeded find their files,
    in the sizes that they had. It is left out where there is none of it.

    Raises:
        KernelError: the kernel cannot be lowered.
    """
    lower(kernel)  # refuses what has no plan
    sides = sides_of(kernel, model)
    comparison = ProgramComparison(sides.model, sides.kernel, sides.pairs, ComparisonLimits())
    found = [one for number in range(len(sides.pairs)) for one in comparison.file(number)]
    found += [] if found else comparison.order()
    of_phase: dict[int | None, list[str]] = defaultdict(list)
    for one in found:
        of_phase[one.ph_id_a].append(_sentence(one))
    issued = _issued(kernel)
    inside = inside_mpi(model.phases)
    rows = [
        _row(phase, issued.get(phase.ph_id), of_phase[phase.ph_id], inside=phase.ph_id in inside)
        for phase in model.phases
    ]
    beside = [*of_phase[None], *comparison.not_compared(), *_beside_phases(sides, kernel, model)]
    if sides.n_model or sides.n_kernel or beside:
        calls = Totals(sides.n_model, 0), Totals(sides.n_kernel, 0)
        rows.append(PhaseFidelity((), "replay", *calls, tuple(beside)))
    return rows


def _sentence(one: Difference) -> str:
    where = "" if one.ph_id_a is not None else f"{one.where}, "
    return f"{where}{one.field}: {one.b} in the kernel, {one.a} in the model"


def _beside_phases(sides: Sides, kernel: Kernel, model: Model) -> Iterator[str]:
    """What the kernel leaves out or replaces, and what it has otherwise beforehand."""
    yield from (f"{n} {name} calls are left out" for name, n in sorted(sides.left_out.items()))
    yield from (f"{name} is issued as {performed(name)}" for name in sorted(sides.replaced))
    if kernel.n_ranks != model.n_ranks:
        yield f"{kernel.n_ranks} ranks, the model has {model.n_ranks}"
    yield from size_differences(kernel, model)
    yield from names_differences(kernel)
    yield from hole_differences(kernel)


def _issued(kernel: Kernel) -> dict[int, Totals]:
    """Operations and bytes of each phase, over all ranks."""
    members = {phase.ph_id: len(phase.pattern) for phase in kernel.phases}
    operations = Counter[int]()
    for program in kernel.programs:
        for step, times in flat(program.steps, len(program.ranks)):
            if isinstance(step, DataStep):
                operations[step.ph_id] += times * step.operations(members[step.ph_id])
    return {phase.ph_id: Totals(operations[phase.ph_id], _moved(phase)) for phase in kernel.phases}


def _moved(phase: Phase) -> int:
    return sum(
        int(phase.runs_at(place, member, offsets).moved.sum())
        for member, offsets in enumerate(phase.positions)
        for place in range(len(phase.ph_processid))
    )


def _row(
    phase: Phase, issued: Totals | None, differences: Sequence[str], *, inside: bool
) -> PhaseFidelity:
    if issued is None:
        of_mpi = "Not issued by the replay: the MPI library makes these calls inside its own."
        why = of_mpi if inside else "Left out by the replay; the kernel says why."
        return nothing((phase.ph_id,), "replay", [phase], why, inside=inside)
    wanted = phase_totals([phase])
    found = [*differences]
    if not found and issued != wanted:
        found.append(
            f"{issued.operations} operations of {issued.bytes} bytes, the model has {wanted.operations} of {wanted.bytes}"
        )
    if phase.level == "mpiio" and phase.collective_unknown:
        found.append(UNDECIDED)
    race = is_race(phase)
    return PhaseFidelity(
        (phase.ph_id,), "replay", wanted, issued, tuple(found), places_by_race=race
    )
