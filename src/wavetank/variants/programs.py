"""Programs with some of their steps changed, inside of repeats and mixes too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.steps import flat
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, MixStep, Program, RepeatStep, Step

Change = Callable[[DataStep | FileStep], DataStep | FileStep | None]


def changed_steps(steps: Sequence[Step], change: Change) -> tuple[Step, ...]:
    """The steps with data and file steps changed; those for which the change gives None are left out."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, RepeatStep):
            inner = changed_steps(step.steps, change)
            found += [RepeatStep(times=step.times, steps=inner)] if inner else []
        elif isinstance(step, MixStep):
            found += step.replaced([change(inner) for inner in step.steps])
        elif isinstance(step, DataStep | FileStep):
            new = change(step)
            found += [] if new is None else [new]
        else:
            found.append(step)
    return tuple(found)


def changed_programs(programs: Iterable[Program], change: Change) -> tuple[Program, ...]:
    """Programs with their steps changed, all ranks alike."""
    return tuple(
        Program(ranks=program.ranks, steps=changed_steps(program.steps, change))
        for program in programs
    )


def with_phases(kernel: Kernel, new: dict[int, Phase], programs: tuple[Program, ...]) -> Kernel:
    """A kernel with phases replaced, by number, and other programs."""
    phases = tuple(new.get(phase.ph_id, phase) for phase in kernel.phases)
    return kernel.model_copy(update={"phases": phases, "programs": programs})


def data_steps(kernel: Kernel) -> dict[int, list[tuple[DataStep, int, Program]]]:
    """By phase: the steps that perform it, how often each comes in a rank's program, and the program."""
    found: dict[int, list[tuple[DataStep, int, Program]]] = {}
    for program in kernel.programs:
        for step, times in flat(program.steps):
            if isinstance(step, DataStep):
                found.setdefault(step.ph_id, []).append((step, times, program))
    return found
