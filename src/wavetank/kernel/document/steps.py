"""Walking through programs: their steps without the nesting of repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wavetank.kernel.document import calls
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    MixStep,
    PauseStep,
    ProcessStep,
    RepeatStep,
    Step,
    SyncStep,
)

PlainStep = DataStep | FileStep | SyncStep | PauseStep | ProcessStep


def flat(steps: Sequence[Step], times: int = 1) -> Iterator[tuple[PlainStep, int]]:
    """Each step inside of all repeats once, with how often it is performed in all."""
    for step in steps:
        if isinstance(step, RepeatStep):
            yield from flat(step.steps, times * step.times)
        elif isinstance(step, MixStep):
            for inner, count in zip(step.steps, step.counts(), strict=True):
                yield inner, times * count
        else:
            yield step, times


def are_of_one_call(old: Step | None, new: Step | None) -> bool:
    """Whether two steps are the two names of one call: rename, link, symlink."""
    return (
        isinstance(old, FileStep)
        and isinstance(new, FileStep)
        and old.iop_type == new.iop_type
        and old.iop_type in calls.ON_TWO_NAMES
        and (old.arg, new.arg) == (0, 1)
    )
