"""A program's steps as lines of the plan: what a rank does beside moving data, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.steps import are_of_one_call, bytes_asked, mpi_openers
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
from wavetank.model.document.step_walks import flat, plain_steps

_BLOCK = 1 << 16  # lines of an irregular order that are joined at once


class Communicators:
    """The communicators of a kernel, or of a model, with those of MPI_File_open that the trace did not tell."""

    def __init__(self, table: Sequence[tuple[int, ...]], programs: Sequence[Program]) -> None:
        self.table = list(table)
        index = {ranks: number for number, ranks in reversed(list(enumerate(self.table)))}
        self._of_file: dict[int, int] = {}
        for file_id, ranks in mpi_openers(programs).items():
            if ranks not in index:
                index[ranks] = len(self.table)
                self.table.append(ranks)
            self._of_file[file_id] = index[ranks]

    def of_open(self, step: FileStep) -> int | None:
        """The communicator of an MPI_File_open: as traced, else the ranks that open the file. None of other calls."""
        if step.iop_type != "MPI_File_open":
            return None
        return self._of_file[step.file_id] if step.communicator is None else step.communicator


class ProgramLines:
    """The lines of one program. Keeps what a line depends on: the steps before it."""

    def __init__(self, program: Program, kernel: Kernel, communicators: Communicators) -> None:
        self._communicators = communicators
        self._phases = {phase.ph_id: phase for phase in kernel.phases}
        self._one_by_one = _one_by_one(program, self._phases)
        self._latest: Phase | None = (
            None  # of the last data, as long as no synchronisation followed
        )
        self._old_name: tuple[int, int] | None = (
            None  # file and name of a call of which the new name comes next
        )

    def of(self, steps: Sequence[Step], depth: int = 1, after: Step | None = None) -> Iterator[str]:
        """Lines of the next steps; ``after`` is the step that comes after them, if it matters."""
        indent = " " * depth
        # Not strict: there may be no steps, and one after them.
        for step, following in zip(steps, (*steps[1:], after), strict=False):
            if isinstance(step, DataStep):
                before, self._latest = self._latest, self._phases[step.ph_id]
                if _was_separated(before, self._latest):
                    yield f"{indent}tick"
                yield f"{indent}data {step.ph_id} {step.n} {_optional(step.handle)} {int(step.single)} {step.null_seeks}"
            elif isinstance(step, FileStep):
                if are_of_one_call(step, following):
                    self._old_name = (step.file_id, step.name)
                    continue
                line = self._file_step(step)
                if line is not None:
                    yield indent + line
            elif isinstance(step, SyncStep):
                self._latest = None
                if step.count > 0:
                    yield f"{indent}sync {step.communicator} {step.count}"
            elif isinstance(step, PauseStep):
                yield f"{indent}pause {round(step.seconds * 1e9)}"
            elif isinstance(step, ProcessStep):
                continue  # a wait or a signal beside the steps, see kernel/ordering/waits.py
            elif isinstance(step, IrregularOrderStep):
                yield from self._of_order(step, depth)
            elif step is not None:  # a repeat
                yield from self._of_repeat(step, depth)

    def _of_repeat(self, repeat: RepeatStep, depth: int) -> Iterator[str]:
        """The lines of a repeat. A tick that separates only its first repetition from what is before stands before it."""
        indent = " " * depth
        first = next(self._phases_in(repeat.steps), None)
        *_, last = (self._latest, *self._phases_in(repeat.steps))
        at_entry = first is not None and _was_separated(self._latest, first)
        between = first is not None and repeat.times > 1 and _was_separated(last, first)
        if at_entry and not between:
            yield f"{indent}tick"
        if at_entry != between:
            self._latest = first
        yield f"{indent}repeat {repeat.times}"
        yield from self.of(repeat.steps, depth + 1)
        if between and not at_entry:
            yield f"{indent} tick"
            self._latest = None
        yield f"{indent}end"

    def _phases_in(self, steps: Sequence[Step]) -> Iterator[Phase | None]:
        """The phase of each step of data, and None for each synchronisation."""
        for step in plain_steps(steps):
            if isinstance(step, DataStep):
                yield self._phases[step.ph_id]
            elif isinstance(step, SyncStep):
                yield None

    def _of_order(self, irregular: IrregularOrderStep, depth: int) -> Iterator[str]:
        """The lines of an irregular order; some thousands at once where a line depends on no step before it."""
        data = [isinstance(step, DataStep) for step in irregular.steps]
        if any(
            self._phases[step.ph_id].level == "mpiio"
            if isinstance(step, DataStep)
            else step.iop_type in calls.ON_TWO_NAMES
            for step in irregular.steps
        ):
            for inner in irregular.each():
                yield from self.of([inner], depth)
            return
        latest = self._latest
        each = ["\n".join(self.of([step], depth)) for step in irregular.steps]
        of_data = np.flatnonzero(np.array(data)[irregular.order])
        last = irregular.steps[irregular.order[of_data[-1]]] if len(of_data) else None
        self._latest = self._phases[last.ph_id] if isinstance(last, DataStep) else latest
        for low in range(0, len(irregular.order), _BLOCK):
            lines = map(each.__getitem__, irregular.order[low : low + _BLOCK].tolist())
            if block := "\n".join(filter(None, lines)):
                yield block

    def _file_step(self, step: FileStep) -> str | None:
        name = calls.performed(step.iop_type)
        if name is None:
            return None
        if name in calls.DATA:
            return f"empty {name} {step.file_id} {step.handle} {_optional(step.offset)} {bytes_asked(step)} {step.count} {step.error}"
        if self._old_name is not None and name in calls.ON_TWO_NAMES:
            (old, old_name), self._old_name = self._old_name, None
            return f"pair {name} {old} {old_name} {step.file_id} {step.name} {step.error}"
        number = step.number
        if name == "MPI_Wait":
            number = int(step.file_id in self._one_by_one)
        # Negative offsets and numbers have no meaning here; "-" is what the plan writes for unknown.
        return (
            f"do {name} {step.file_id} {step.handle} {number} {_optional(step.offset)} {_optional(step.view_id)} "
            f"{_optional(self._communicators.of_open(step))} {step.error} {step.count} {_optional(step.info_id)} {step.name}"
        )


def _was_separated(before: Phase | None, phase: Phase) -> bool:
    """Whether only messages between ranks, which a replay does not send, separate a phase from the one before."""
    return (
        before is not None
        and phase.level == "mpiio"
        and before is not phase
        and before.file_id == phase.file_id
        and [member.iop_type for member in before.pattern]
        == [member.iop_type for member in phase.pattern]
    )


def _one_by_one(program: Program, phases: dict[int, Phase]) -> frozenset[int]:
    """Files with as many waits as nonblocking calls; with fewer, a wait (MPI_Waitall) completes all.

    Which requests a wait completed is not in the model.
    """
    calls_of: Counter[int] = Counter()
    waits_of: Counter[int] = Counter()

    for step, times in flat(program.steps):
        if isinstance(step, DataStep) and step.ph_id in phases:
            phase = phases[step.ph_id]
            later = sum(member.iop_type in calls.NONBLOCKING for member in phase.pattern)
            n = step.n if not step.single else -(-step.n // len(phase.pattern))
            calls_of[phase.file_id] += times * n * later
        elif isinstance(step, FileStep) and calls.performed(step.iop_type) == "MPI_Wait":
            waits_of[step.file_id] += times * step.count
    return frozenset(file_id for file_id, n in waits_of.items() if n >= calls_of[file_id])


def _optional(value: int | None) -> str:
    return "-" if value is None else str(value)
