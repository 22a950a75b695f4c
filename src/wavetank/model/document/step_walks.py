"""Walks over the steps of programs, which nest: a repeat and an irregular order hold other steps.

A new kind of step that holds others is added here and in ``program``. Whoever looks at steps one by one, or changes
them, goes by these walks; only what depends on where a step stands among its neighbours walks by itself. The walks ask
a step for its kind, ``isinstance`` of a record takes several times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from wavetank.model.document.program import (
    DataStep,
    FileStep,
    PauseStep,
    ProcessStep,
    RepeatStep,
    Step,
    SyncStep,
)

PlainStep = DataStep | FileStep | SyncStep | PauseStep | ProcessStep
"""A step that holds no others."""


def orders_expanded(steps: Sequence[Step]) -> Iterator[PlainStep | RepeatStep]:
    """The steps in the order of the run, irregular orders expanded, repeats as they are: for walks that skip repetitions."""
    for step in steps:
        if step.step == "mix":
            yield from step.each()
        else:
            yield step


def plain_steps(steps: Sequence[Step]) -> Iterator[PlainStep]:
    """Each plain step once, in the order in which they are written."""
    for step in steps:
        if step.step == "repeat" or step.step == "mix":  # noqa: PLR1714 - narrows the type
            yield from plain_steps(step.steps)
        else:
            yield step


def flat(steps: Sequence[Step], times: int = 1) -> Iterator[tuple[PlainStep, int]]:
    """Each plain step once, with how often it is performed in all."""
    for step in steps:
        if step.step == "repeat":
            yield from flat(step.steps, times * step.times)
        elif step.step == "mix":
            for inner, count in zip(step.steps, step.counts(), strict=True):
                yield inner, times * count
        else:
            yield step, times


def file_steps(steps: Sequence[Step]) -> Iterator[FileStep]:
    """Each call that moves no data once, in the order in which they are written."""
    return (step for step in plain_steps(steps) if step.step == "file")


def unrolled(steps: Sequence[Step], most: int | None = None) -> Iterator[PlainStep]:
    """Each plain step as often as it is performed, in the order of the run; of what repeats ``most`` repetitions."""

    def rounds(repeat: RepeatStep) -> int:
        return repeat.times if most is None else min(most, repeat.times)

    return (step for step, _ in in_order(steps, rounds))


def in_order(
    steps: Sequence[Step], rounds: Callable[[RepeatStep], int | None], times: int = 1
) -> Iterator[tuple[PlainStep, int]]:
    """Plain steps in the order of the run, and for how many like it each stands.

    Args:
        steps: the steps.
        rounds: of a repeat, how many of its repetitions are gone through, each for itself; None: one, for all of them.
        times: for how many all steps stand.
    """
    for step in steps:
        if step.step == "repeat":
            n = rounds(step)
            for _ in range(1 if n is None else n):
                yield from in_order(step.steps, rounds, times * (step.times if n is None else 1))
        elif step.step == "mix":
            yield from ((inner, times) for inner in step.each())
        else:
            yield step, times


class Around(NamedTuple):
    """Where a step is: the steps beside it, none in an irregular order, and how often it is performed in all."""

    before: Step | None
    after: Step | None
    times: int


def changed_steps(
    steps: Sequence[Step], change: Callable[[DataStep | FileStep], DataStep | FileStep | None]
) -> tuple[Step, ...]:
    """The steps with data and file steps changed, each once, in the order in which they are written.

    Those for which the change gives None are left out, and repeats and irregular orders of which nothing is left.
    """
    return changed_among(steps, lambda step, _: change(step))


def changed_among(
    steps: Sequence[Step],
    change: Callable[[DataStep | FileStep, Around], DataStep | FileStep | None],
    times: int = 1,
) -> tuple[Step, ...]:
    """As ``changed_steps``, of a change that asks where a step is; the steps are performed ``times``."""
    found: list[Step] = []
    for before, step, after in zip((None, *steps), steps, (*steps[1:], None), strict=False):
        if step.step == "repeat":
            inner = changed_among(step.steps, change, times * step.times)
            found += [RepeatStep(times=step.times, steps=inner)] if inner else []
        elif step.step == "mix":
            each = zip(step.steps, step.counts(), strict=True)
            found += step.replaced([change(one, Around(None, None, times * n)) for one, n in each])
        elif isinstance(step, DataStep | FileStep):
            new = change(step, Around(before, after, times))
            found += [] if new is None else [new]
        else:
            found.append(step)
    return tuple(found)
