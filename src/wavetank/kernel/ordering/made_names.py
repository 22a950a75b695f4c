"""Waits for names that one rank makes or removes and others use: what a call found tells when it was made.

A folder that rank 0 made was there for rank 1's stat of it, for the file that rank 1 made in it, and for rank 1's mkdir
that failed because of it. So they came after rank 0's mkdir, whether a message said so or chance. Where one rank makes a
name, once, and one at most removes it, the others' calls that found it lie between the two for certain. Calls that did not
find a name need no order: they fail as they did whatever is there.
"""

from __future__ import annotations

import errno
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.steps import OPENS, REMOVE, is_nameless, looks_up, may_make, removes
from wavetank.model.document.program import FileStep, ProcessStep, Step, SyncStep
from wavetank.model.document.step_walks import flat

_MAKE = frozenset({"mkdir", "mknod"})

_SEVERAL = 2  # makings and removals of a name, of which no order follows
_ENDS = 2  # collectives: MPI_Init and MPI_Finalize

Place = tuple[int, int]  # index of the program, index of its top-level step


@dataclass
class _Name:
    """What the run does to one name; places in the order of each program."""

    made: list[Place] = field(default_factory=list)  # by calls that fail where it is there
    may_be_made: dict[int, int] = field(default_factory=dict)  # by calls that make it if need be
    removed: list[Place] = field(default_factory=list)
    first: dict[int, int] = field(default_factory=dict)  # use by each program
    last: dict[int, int] = field(default_factory=dict)
    needed: dict[int, int] = field(
        default_factory=dict
    )  # first use by a call that does not wait for it

    def used(self, place: Place) -> None:
        program, index = place
        self.first.setdefault(program, index)
        self.last[program] = index


def made_pairs(kernel: Kernel) -> list[tuple[Place, Place]]:
    """Steps of different programs of which the second cannot have come before the first; none that others imply."""
    beforehand = {name for file in kernel.files for name in file.prepared_names}
    alone = [len(program.ranks) == 1 for program in kernel.programs]
    between: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for name, found in _names(kernel).items():
        for (first, at), (then, before) in _of_name(found, alone, beforehand=name in beforehand):
            between[first, then].append((before, at))
    return [
        ((first, at), (then, before))
        for (first, then), some in between.items()
        for before, at in _needed(some)
    ]


def left_to_chance(kernel: Kernel) -> Iterator[tuple[int, str]]:
    """Programs with a name that others make or remove more than once, so that no order follows from what was found.

    Left out are those that meet the others in collectives, which order them, opens, for which a replay waits, and the processes
    of scripts and of programs that fork: each begins and ends where it did.
    """
    if any(isinstance(step, ProcessStep) for one in kernel.programs for step in one.steps):
        return
    syncs = [_n_collectives(program.steps) for program in kernel.programs]
    for name, found in _names(kernel).items():
        others = [program for program, _ in (*found.made, *found.removed)]
        if len(others) < _SEVERAL:
            continue
        for program, index in found.needed.items():
            made = [at for one, at in found.made if one == program]
            made.append(found.may_be_made.get(program, index + 1))
            strangers = set(others) - {program}
            if min(made) > index and strangers and max(syncs[i] for i in strangers) <= _ENDS:
                yield program, name


def _n_collectives(steps: Sequence[Step]) -> int:
    return sum(
        times
        for step, times in flat(steps)
        if isinstance(step, SyncStep)
        or (isinstance(step, FileStep) and calls.is_mpi(step.iop_type))
    )


def _needed(some: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Of waits of one program for another those that no earlier one, for as late a step, holds already."""
    reached = -1
    for before, at in sorted(some, key=lambda one: (one[0], -one[1])):
        if at > reached:
            reached = at
            yield before, at


def _of_name(name: _Name, alone: list[bool], *, beforehand: bool) -> Iterator[tuple[Place, Place]]:
    makers = {program for program, _ in name.made} | name.may_be_made.keys()
    once = len(name.made) <= 1 and len(makers) <= 1 and len(name.removed) <= 1
    if not once or beforehand == bool(makers):
        return
    if not all(alone[program] for program in (*makers, *(p for p, _ in name.removed))):
        return
    maker = name.made[0] if name.made else None
    if maker is None and makers:
        maker = next(iter(name.may_be_made.items()))
    for program, index in name.first.items():
        if maker is not None and program != maker[0]:
            yield maker, (program, index)
    for remover in name.removed:
        for program, index in name.last.items():
            if program != remover[0]:
                yield (program, index), remover


def _names(kernel: Kernel) -> dict[str, _Name]:
    """By name below the root: those of files that are one each."""
    names = {file.file_id: file.names for file in kernel.files if file.members is None}
    found: defaultdict[str, _Name] = defaultdict(_Name)
    for number, program in enumerate(kernel.programs):
        for index, step in enumerate(program.steps):
            for inner, times in flat([step]):
                if isinstance(inner, FileStep) and inner.file_id in names:
                    own = names[inner.file_id]
                    name = own[inner.name] if 0 <= inner.name < len(own) else own[0]
                    count = 1 if inner.iop_type in calls.ON_TWO_NAMES else inner.count
                    _note(found, name, inner, (number, index), times * count)
    return found


def _note(found: dict[str, _Name], name: str, step: FileStep, place: Place, times: int) -> None:
    call, of = step.iop_type, found[name]
    if is_nameless(step):
        return
    if step.error:
        if step.error == errno.EEXIST and (call in _MAKE or call == "open"):
            of.used(place)
        return
    if call in _MAKE or step.new_name:
        of.made += [place] * min(times, 2)
    elif removes(step):
        of.removed += [place] * min(times, 2)
    elif may_make(step):
        of.may_be_made.setdefault(*place)
    elif not (call in OPENS or looks_up(step)):
        return
    if call in OPENS and not may_make(step):
        of.last[place[0]] = place[1]  # a replay's open waits until the file is there
    elif not (step.new_name or call in _MAKE or call in REMOVE):
        of.used(place)
        if not may_make(step):
            of.needed.setdefault(*place)
    folder = name.rpartition("/")[0]
    if folder:
        found[folder].used(place)
