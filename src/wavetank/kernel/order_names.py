"""Waits for what one process does with a file's name while others work on its bytes: scripts, and forked programs.

A shell opens (and empties) a file that its child writes; another process removes it when it was read. Neither is
data, and no message orders it, so a replay needs waits: data of a process that did not open the file itself
comes after the opening that it inherited; a file that the run made is removed after the others' data on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wavetank.kernel import calls
from wavetank.kernel.plan import Kernel
from wavetank.kernel.steps import flat
from wavetank.model.phase import DataStep, FileStep, Phase, Step

_REMOVALS = frozenset({"unlink", "rename"})


@dataclass(frozen=True)
class NamePair:
    """Steps of which the second must wait for the first: (index of the program, index of its top-level step)."""

    first: tuple[tuple[int, int], ...]
    then: tuple[int, int]


def name_pairs(kernel: Kernel) -> Iterator[NamePair]:
    """What must wait, of programs of one rank each, outside of MPI."""
    phases = {phase.ph_id: phase for phase in kernel.phases}
    single = [
        (number, program.steps)
        for number, program in enumerate(kernel.programs)
        if len(program.ranks) == 1
    ]
    for file in kernel.files:
        if file.role != "output":
            continue
        data = {
            number: found
            for number, steps in single
            if (found := _data_on(file.file_id, steps, phases))
        }
        yield from _inherited(file.file_id, single, data)
        yield from _removed(file.file_id, single, data, phases)


def _data_on(file_id: int, steps: Sequence[Step], phases: Mapping[int, Phase]) -> list[int]:
    """Indices of the top-level steps that move data of a file."""
    return [
        index
        for index, step in enumerate(steps)
        if any(
            isinstance(inner, DataStep) and phases[inner.ph_id].file_id == file_id
            for inner, _ in flat([step])
        )
    ]


def _calls_on(file_id: int, steps: Sequence[Step], names: frozenset[str]) -> list[int]:
    return [
        index
        for index, step in enumerate(steps)
        if isinstance(step, FileStep)
        and step.file_id == file_id
        and step.iop_type in names
        and not step.error
    ]


def _inherited(
    file_id: int, single: Sequence[tuple[int, Sequence[Step]]], data: Mapping[int, list[int]]
) -> Iterator[NamePair]:
    opening = frozenset({"open"})
    makers = [
        (number, index)
        for number, steps in single
        for index in _calls_on(file_id, steps, opening)
        if isinstance(step := steps[index], FileStep) and step.arg & (os.O_CREAT | os.O_TRUNC)
    ]
    for number, steps in single:
        if number in data and makers and not _calls_on(file_id, steps, opening):
            yield NamePair((makers[0],), (number, data[number][0]))


def _removed(
    file_id: int,
    single: Sequence[tuple[int, Sequence[Step]]],
    data: Mapping[int, list[int]],
    phases: Mapping[int, Phase],
) -> Iterator[NamePair]:
    for number, steps in single:
        removals = [
            index
            for index in _calls_on(file_id, steps, _REMOVALS)
            if isinstance(step := steps[index], FileStep)
            and (step.iop_type not in calls.ON_TWO_NAMES or step.arg == 0)
        ]
        others = tuple((other, found[-1]) for other, found in data.items() if other != number)
        if len(removals) != 1 or not others or any(i > removals[0] for i in data.get(number, ())):
            continue
        limit = _next_start(steps[removals[0] :], phases)
        ends = [phase.end_s for phase in phases.values() if phase.file_id == file_id]
        if limit is None or all(end is not None and end <= limit for end in ends):
            yield NamePair(others, (number, removals[0]))


def _next_start(steps: Sequence[Step], phases: Mapping[int, Phase]) -> float | None:
    """When the first data of some steps began; None when there is none."""
    starts = (phases[step.ph_id].start_s for step, _ in flat(steps) if isinstance(step, DataStep))
    return next(starts, None)
