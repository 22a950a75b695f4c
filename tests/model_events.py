"""Gives the events back that a model stands for: the exact sequence of each rank's operations.

Reads programs and phases alone. Used to check a model against its trace, and a kernel against its
model. What a model does not keep is not given back: null seeks, and times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wavetank.errors import ModelError
from wavetank.model.document.expansion import Operations, phase_operations
from wavetank.model.document.file import ModelFile
from wavetank.model.document.file_members import turns_to_next
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.model.document.step_walks import unrolled
from wavetank.trace.schema import UNKNOWN


@dataclass(frozen=True)
class UnfoldedEvent:
    """One operation of a rank."""

    iop_type: str
    file_id: int
    handle: int
    offset: int | None
    size: int
    moved: int
    member: int | None = None  # of a file that stands for several: which one


def program_of(programs: Sequence[Program], rank: int) -> Program | None:
    """The program that a rank follows; None for a rank that does nothing."""
    return next((program for program in programs if rank in program.ranks), None)


def unfold(
    programs: Sequence[Program],
    phases: Sequence[Phase],
    rank: int,
    files: Sequence[ModelFile] = (),
) -> Iterator[UnfoldedEvent]:
    """A rank's operations in exact order: data operations, and those that move nothing.

    Args:
        programs: of the model.
        phases: of the model.
        rank: whose operations.
        files: of the model, for the members that operations are on.

    Raises:
        ModelError: a program does not use up a phase's operations, or uses more; or the visits of a file's members.
    """
    turns = _Turns(files, rank)
    program = program_of(programs, rank)
    by_id = {phase.ph_id: phase for phase in phases}
    operations: dict[int, Operations] = {}
    consumed: dict[int, int] = {}
    for step in unrolled(program.steps) if program else ():
        if isinstance(step, DataStep):
            phase = by_id[step.ph_id]
            if step.ph_id not in operations:
                operations[step.ph_id] = phase_operations(phase, rank)
            first = consumed.get(step.ph_id, 0)
            last = first + step.n * (1 if step.single else len(phase.pattern))
            consumed[step.ph_id] = last
            for event in _events(phase, operations[step.ph_id], first, last):
                yield turns.told(event)
        elif isinstance(step, FileStep):
            for _ in range(step.count):
                if turns_to_next(step.name):
                    turns.next(step.file_id)
                yield turns.told(
                    UnfoldedEvent(
                        step.iop_type, step.file_id, step.handle, step.offset, step.size, 0
                    )
                )
    _check(consumed, by_id, rank)
    turns.check()


class _Turns:
    """Which member of each file that stands for several a rank is at."""

    def __init__(self, files: Sequence[ModelFile], rank: int) -> None:
        self._visits = {
            file.file_id: file.members.visits.of_rank(rank).tolist()
            for file in files
            if file.members is not None
        }
        self._done = dict.fromkeys(self._visits, 0)

    def next(self, file_id: int) -> None:
        """A call on the next member."""
        if file_id in self._done:
            self._done[file_id] += 1

    def told(self, event: UnfoldedEvent) -> UnfoldedEvent:
        """The event with its member."""
        if event.file_id not in self._done:
            return event
        done, visits = self._done[event.file_id], self._visits[event.file_id]
        if not 0 < done <= len(visits):
            raise ModelError(
                f"a program turns to visit {done} of {len(visits)} on file {event.file_id}"
            )
        return replace(event, member=visits[done - 1])

    def check(self) -> None:
        """Raise where visits are left."""
        for file_id, done in self._done.items():
            if done != len(self._visits[file_id]):
                raise ModelError(
                    f"a program makes {done} of {len(self._visits[file_id])} visits on file {file_id}"
                )


def _events(phase: Phase, done: Operations, first: int, last: int) -> Iterator[UnfoldedEvent]:
    if last > len(done):
        raise ModelError(
            f"the programs ask for operation {last} of phase {phase.ph_id}, which has {len(done)}"
        )
    columns = (done.member, done.offset, done.size, done.moved)
    for member, offset, size, moved in zip(
        *(column[first:last].tolist() for column in columns), strict=True
    ):
        op = phase.pattern[member]
        at = None if offset == UNKNOWN else offset
        yield UnfoldedEvent(op.iop_type, phase.file_id, op.handle, at, size, moved)


def _check(consumed: Mapping[int, int], phases: Mapping[int, Phase], rank: int) -> None:
    for ph_id, n in consumed.items():
        if n != phases[ph_id].ph_niop:
            raise ModelError(
                f"rank {rank} performs {n} operations of phase {ph_id}, which has {phases[ph_id].ph_niop}"
            )
