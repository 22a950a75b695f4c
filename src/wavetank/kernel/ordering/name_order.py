"""Waits for what one process does with a file's name while others work on its bytes: scripts, and forked programs.

A shell opens (and empties) a file that its child writes; another process removes it when it was read. Neither is
data, and no message orders it, so a replay needs waits: data of a process that did not open the file itself
comes after the opening that it inherited; a file that the run made is removed after the others' data on it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, Step
from wavetank.model.document.step_walks import flat

_REMOVALS = frozenset({"unlink", "rename"})


@dataclass(frozen=True)
class NamePair:
    """Steps of which the second must wait for the first: (index of the program, index of its top-level step)."""

    first: tuple[tuple[int, int], ...]
    then: tuple[int, int]


@dataclass(frozen=True)
class _Program:
    """A program of one rank: where its top-level steps touch each file."""

    number: int
    steps: Sequence[Step]
    data: Mapping[int, list[int]]  # file_id -> indices of the steps that move its data
    calls: Mapping[int, list[int]]  # file_id -> indices of the calls on it that did not fail

    def calls_on(self, file_id: int, names: frozenset[str]) -> Iterator[tuple[int, FileStep]]:
        """Calls of some names on a file."""
        for index in self.calls.get(file_id, ()):
            step = self.steps[index]
            if isinstance(step, FileStep) and step.iop_type in names:
                yield index, step


def name_pairs(kernel: Kernel) -> Iterator[NamePair]:
    """What must wait, of programs of one rank each, outside of MPI."""
    phases = {phase.ph_id: phase for phase in kernel.phases}
    of_file: defaultdict[int, list[Phase]] = defaultdict(list)
    for phase in kernel.phases:
        of_file[phase.file_id].append(phase)
    single = [
        _look_at(number, program.steps, phases)
        for number, program in enumerate(kernel.programs)
        if len(program.ranks) == 1
    ]
    users: defaultdict[int, list[_Program]] = defaultdict(list)
    for program in single:
        for file_id in {**program.data, **program.calls}:
            users[file_id].append(program)
    for file in kernel.files:
        if file.role == "output" and file.members is None:
            yield from _inherited(file.file_id, users[file.file_id])
            yield from _removed(file.file_id, users[file.file_id], of_file[file.file_id], phases)


def _look_at(number: int, steps: Sequence[Step], phases: Mapping[int, Phase]) -> _Program:
    data: defaultdict[int, list[int]] = defaultdict(list)
    made: defaultdict[int, list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        if isinstance(step, FileStep) and not step.error:
            made[step.file_id].append(index)
        moved = {phases[i.ph_id].file_id for i, _ in flat([step]) if isinstance(i, DataStep)}
        for file_id in moved:
            data[file_id].append(index)
    return _Program(number, steps, data, made)


def _inherited(file_id: int, users: Sequence[_Program]) -> Iterator[NamePair]:
    opening = frozenset({"open"})
    makers = [
        (program.number, index)
        for program in users
        for index, step in program.calls_on(file_id, opening)
        if step.flags & (os.O_CREAT | os.O_TRUNC)
    ]
    for program in users:
        moved = program.data.get(file_id)
        if moved and makers and not any(program.calls_on(file_id, opening)):
            yield NamePair((makers[0],), (program.number, moved[0]))


def _removed(
    file_id: int, users: Sequence[_Program], of_file: Sequence[Phase], phases: Mapping[int, Phase]
) -> Iterator[NamePair]:
    data = {program.number: found for program in users if (found := program.data.get(file_id))}
    for program in users:
        removals = [
            index
            for index, step in program.calls_on(file_id, _REMOVALS)
            if step.iop_type == "unlink" or step.is_old_name
        ]
        others = tuple(
            (number, found[-1]) for number, found in data.items() if number != program.number
        )
        mine = data.get(program.number, ())
        if len(removals) != 1 or not others or any(i > removals[0] for i in mine):
            continue
        limit = _next_start(program.steps, removals[0], phases)
        if limit is None or all(
            phase.end_s is not None and phase.end_s <= limit for phase in of_file
        ):
            yield NamePair(others, (program.number, removals[0]))


def _next_start(steps: Sequence[Step], index: int, phases: Mapping[int, Phase]) -> float | None:
    """When the first data of the steps from one on began; None when there is none."""
    starts = (
        phases[step.ph_id].start_s
        for at in range(index, len(steps))
        for step, _ in flat([steps[at]])
        if isinstance(step, DataStep)
    )
    return next(starts, None)
