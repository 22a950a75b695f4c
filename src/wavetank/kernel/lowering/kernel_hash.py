"""The name of a kernel: a hash of what it does, the same for all encodings of one run.

Reads a kernel; gives a hash over its files as they are before the run, and for each rank the number of its operations in
order (``access_numbers``). Two kernels have one name where each rank performs the same calls with the same arguments, at the
same places, in the same order. How operations are gathered in phases, patterns, runs, loops and steps is no part of it, and
neither are the traced run's times, lines of benchmarks, and whence the kernel is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from wavetank.errors import KernelError
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.kernel.lowering.access_numbers import Accesses, Numbered, word
from wavetank.kernel.lowering.sequences import BASE, PRIME
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    IrregularOrderStep,
    PauseStep,
    ProcessStep,
    Program,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.trace.schema import UNKNOWN


def kernel_hash(kernel: Kernel) -> str:
    """The name of a kernel, 64 hexadecimal digits.

    Raises:
        KernelError: its steps perform what its phases do not hold.
    """
    digest = hashlib.sha256(_text([kernel.n_ranks]).encode())
    for file in sorted(kernel.files, key=lambda file: file.file_id):
        digest.update(_text(_file(file)).encode())
    program_of = {rank: program for program in kernel.programs for rank in program.ranks}
    tables = _Tables(kernel)
    for rank in sorted(program_of):
        program = program_of[rank]
        done = _Rank(tables, program, rank).all_of(program.steps)
        digest.update(_text([rank, done.length, done.number]).encode())
    return digest.hexdigest()


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True) + "\n"


def _file(file: KernelFile) -> list[object]:
    """What is made of a file beforehand, and its names."""
    body = file.model_dump(mode="json", exclude={"members", "content_of"})
    found: list[object] = [body, file.content_id]
    if file.members is not None:
        members = file.members
        visits = sorted((rank, visited.tolist()) for rank, visited in members.visits.by_rank())
        sizes = members.prepare_bytes.tolist()
        found += [list(members.names), list(map(list, members.other_names)), members.in_tree]
        found += [sizes, visits]
    return found


class _Tables:
    """What steps and phases name by a number, as texts."""

    def __init__(self, kernel: Kernel) -> None:
        self.phases = {phase.ph_id: phase for phase in kernel.phases}
        self.views = [view.model_dump_json() for view in kernel.views]
        self.infos = [_text(info) for info in kernel.infos]
        self.communicators = [_text(ranks) for ranks in kernel.communicators]

    def word_of(self, step: FileStep | SyncStep | PauseStep | ProcessStep, place: int) -> int:
        """The word of a step that moves no data.

        Args:
            step: of a program.
            place: of the rank in the program's ranks.
        """
        if isinstance(step, SyncStep):
            return word(f"sync {self.communicators[step.communicator]}")
        if not isinstance(step, FileStep):
            return word(step.model_dump_json())
        body = step.model_dump(mode="json")
        for name in ("count", "view_id", "view_ids", "info_id", "communicator"):
            del body[name]
        view = step.view_id if step.view_ids is None else step.view_ids[place]
        body |= {
            "view": None if view is None else self.views[view],
            "info": None if step.info_id is None else self.infos[step.info_id],
            "communicator": None
            if step.communicator is None
            else self.communicators[step.communicator],
        }
        return word(_text(body))

    def call(self, phase: Phase, place: int, member: int, handle: int | None) -> str:
        """The text of a call that moves data, without its size and offset.

        Args:
            phase: that it belongs to.
            place: of the rank in the phase's ranks.
            member: of the pattern.
            handle: of the step.
        """
        one, memory = phase.pattern[member], phase.memory_at(place, member)
        gaps = None if memory == UNKNOWN else self.views[memory]
        where = phase.positions[member].function == "unknown"
        return _text([one.iop_type, phase.file_id, one.handle, handle, gaps, where])


class _Rank:
    """A rank on its way through its program: how far it is in each phase."""

    def __init__(self, tables: _Tables, program: Program, rank: int) -> None:
        self._tables, self._rank = tables, rank
        self._place = program.ranks.index(rank)
        self._accesses: dict[tuple[int, int | None], Accesses] = {}
        self._places: dict[int, Accesses] = {}  # through any handle
        self._at: dict[int, int] = {}
        self._words: dict[int, int] = {}
        self._loops = 0  # around the step at hand

    def all_of(self, steps: Iterable[Step]) -> Numbered:
        """The operations of steps, one after another; how they grow is told within loops only."""
        if not self._loops:
            length = number = 0
            for step in steps:
                one = self._step(step)
                number = (number * pow(BASE, one.length, PRIME) + one.number) % PRIME
                length += one.length
            return Numbered(length, number)
        found = Numbered()
        for step in steps:
            found = found.then(self._step(step))
        return found

    def _step(self, step: Step) -> Numbered:
        if isinstance(step, DataStep):
            return self._data(step)
        if isinstance(step, RepeatStep):
            return self._repeat(step)
        if isinstance(step, IrregularOrderStep):
            return self.all_of(step.each())
        count = step.count if isinstance(step, FileStep | SyncStep) else 1
        return Numbered(1, self._word(step)).times(count, self._members)

    def _word(self, step: FileStep | SyncStep | PauseStep | ProcessStep) -> int:
        found = self._words.get(id(step))  # of steps of the kernel, which outlives this
        if found is None:
            found = self._words[id(step)] = self._tables.word_of(step, self._place)
        return found

    def _data(self, step: DataStep) -> Numbered:
        accesses = self._of_phase(step.ph_id, step.handle)
        at, n = self._at.get(step.ph_id, 0), step.operations(accesses.n_members)
        self._at[step.ph_id] = at + n
        found = accesses.of(at, n)
        if step.null_seeks:  # the replay spreads them over the operations of the step
            found = Numbered(1, word(f"null seeks {step.null_seeks} {n}")).then(found)
        return found

    def _repeat(self, step: RepeatStep) -> Numbered:
        """Rounds that lie within one stretch of each phase are one sum; of others each is looked at."""
        found, left = Numbered(), step.times
        self._loops += 1
        while left:
            one = self.all_of(step.steps)
            rounds = min([left, *(self._rounds(phase, n) for phase, n in one.taken.items())])
            for phase, n in one.taken.items():
                self._at[phase] += (rounds - 1) * n
            found, left = found.then(one.times(rounds, self._members)), left - rounds
        self._loops -= 1
        return found

    def _rounds(self, phase: int, n: int) -> int:
        """How many rounds like the one that took the last ``n`` operations of a phase lie within one stretch; 1 at least."""
        if n % self._members(phase):
            return 1
        first = self._at[phase] - n
        return max((self._places[phase].stretch_end(first) - first) // n, 1)

    def _members(self, phase: int) -> int:
        return len(self._tables.phases[phase].pattern)

    def _of_phase(self, ph_id: int, handle: int | None = None) -> Accesses:
        found = self._accesses.get((ph_id, handle))
        if found is None:
            phase = self._tables.phases[ph_id]
            if self._rank not in phase.ph_processid:
                raise KernelError(
                    f"rank {self._rank} performs phase {ph_id}, in which it has no part. Make the kernel again from its model"
                )
            place = phase.ph_processid.index(self._rank)
            members = [
                (
                    self._tables.call(phase, place, member, handle),
                    phase.runs_at(place, member, offsets),
                )
                for member, offsets in enumerate(phase.positions)
            ]
            found = self._accesses[ph_id, handle] = self._places[ph_id] = Accesses(ph_id, members)
        return found
