"""Where a plan's ticks separate phases: between two that only messages separated, and never within one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plan_reader import OwnStep, PlannedRun

from wavetank.kernel.document import calls
from wavetank.model.document.program import DataStep, Step, SyncStep
from wavetank.model.document.step_walks import unrolled


def separated_differences(plan: PlannedRun) -> Iterator[tuple[int, str]]:
    """(rank, sentence) of each rank whose phases are separated elsewhere than in the model."""
    for ranks, steps in plan.each_program():
        if (sentence := _first_difference(plan, steps)) is not None:
            yield from ((rank, sentence) for rank in sorted(ranks))


def _first_difference(plan: PlannedRun, steps: Sequence[Step]) -> str | None:
    latest: int | None = None  # of the last data, as long as no collective followed
    ticked = False
    for step in unrolled(steps, most=2):
        if isinstance(step, SyncStep):
            latest = None
        elif isinstance(step, OwnStep):
            ticked |= step.words[0] == "tick"
        elif isinstance(step, DataStep):
            if latest == step.ph_id and ticked:
                return f"a tick splits phase {latest} into several"
            if latest not in (None, step.ph_id) and not ticked and _alike(plan, latest, step.ph_id):
                return f"nothing separates phase {step.ph_id} from phase {latest}"
            latest, ticked = step.ph_id, False
    return None


def _alike(plan: PlannedRun, one: int | None, other: int) -> bool:
    """Whether two phases are of the same calls of MPI-IO on the same file."""
    if one is None:
        return False
    a, b = plan.phases[one], plan.phases[other]
    names = [call.name for call in a.calls]
    return (
        a.file_id == b.file_id
        and names == [call.name for call in b.calls]
        and all(map(calls.is_mpi, names))
    )
