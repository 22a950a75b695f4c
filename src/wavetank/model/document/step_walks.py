"""Walks over the steps of programs, which nest: a repeat and a mix hold other steps.

A new kind of step that holds others is added here and in ``program``. Whoever looks at steps one by one, or changes
them, goes by these walks; only what depends on where a step stands among its neighbours walks by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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
"""A step that holds no others."""


def unmixed(steps: Sequence[Step]) -> Iterator[PlainStep | RepeatStep]:
    """The steps in the order of the run, mixes laid out, repeats as they are: for walks that do not go through all repetitions."""
    for step in steps:
        if isinstance(step, MixStep):
            yield from step.each()
        else:
            yield step


def plain_steps(steps: Sequence[Step]) -> Iterator[PlainStep]:
    """Each plain step once, in the order in which they are written."""
    for step in steps:
        if isinstance(step, RepeatStep | MixStep):
            yield from plain_steps(step.steps)
        else:
            yield step


def flat(steps: Sequence[Step], times: int = 1) -> Iterator[tuple[PlainStep, int]]:
    """Each plain step once, with how often it is performed in all."""
    for step in steps:
        if isinstance(step, RepeatStep):
            yield from flat(step.steps, times * step.times)
        elif isinstance(step, MixStep):
            for inner, count in zip(step.steps, step.counts(), strict=True):
                yield inner, times * count
        else:
            yield step, times


def unrolled(steps: Sequence[Step]) -> Iterator[PlainStep]:
    """Each plain step as often as it is performed, in the order of the run."""
    for step in steps:
        if isinstance(step, RepeatStep):
            for _ in range(step.times):
                yield from unrolled(step.steps)
        elif isinstance(step, MixStep):
            yield from step.each()
        else:
            yield step


def changed_steps(
    steps: Sequence[Step], change: Callable[[DataStep | FileStep], DataStep | FileStep | None]
) -> tuple[Step, ...]:
    """The steps with data and file steps changed, each once, in the order in which they are written.

    Those for which the change gives None are left out, and repeats and mixes of which nothing is left.
    """
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
