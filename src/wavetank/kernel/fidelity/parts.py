"""Where a plan's ticks part phases: between two that only messages parted, and never within one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wavetank.kernel.document import calls
from wavetank.kernel.lowering.plan_reader import PlannedRun, PlannedStep


def parted_differences(plan: PlannedRun) -> Iterator[tuple[int, str]]:
    """(rank, sentence) of each rank whose phases are parted elsewhere than in the model."""
    of_program: dict[int, str | None] = {}
    for rank, steps in plan.programs.items():
        if id(steps) not in of_program:
            of_program[id(steps)] = _first_difference(plan, steps)
        if (sentence := of_program[id(steps)]) is not None:
            yield rank, sentence


def _first_difference(plan: PlannedRun, steps: Sequence[PlannedStep]) -> str | None:
    latest: int | None = None  # of the last data, as long as no collective followed
    ticked = False
    for kind, ph_id in _flow(steps):
        if kind == "sync":
            latest = None
        if kind != "data":
            ticked |= kind == "tick"
            continue
        if latest == ph_id and ticked:
            return f"a tick parts phase {ph_id} into several"
        if latest not in (None, ph_id) and not ticked and _alike(plan, latest, ph_id):
            return f"nothing parts phase {ph_id} from phase {latest}"
        latest, ticked = ph_id, False
    return None


def _flow(steps: Sequence[PlannedStep]) -> Iterator[tuple[str, int]]:
    """Data, collectives and ticks in the order of the run; of what repeats the first two repetitions."""
    for step in steps:
        if step.inner is not None:
            for _ in range(min(2, int(step.words[1]))):
                yield from _flow(step.inner)
        elif step.words[0] == "data":
            yield "data", int(step.words[1])
        elif step.words[0] in ("sync", "tick"):
            yield step.words[0], -1


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
