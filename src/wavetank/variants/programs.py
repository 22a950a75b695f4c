"""Programs with some of their steps changed, inside of repeats and irregular orders too."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.model.document.step_walks import changed_steps, flat

Change = Callable[[DataStep | FileStep], DataStep | FileStep | None]


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
