"""Readers: a file that one rank reads, read by several, each its own part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.kernel.document.steps import is_of_all
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Phase
from wavetank.model.document.program import DataStep, FileStep, Program, Step, SyncStep
from wavetank.model.document.step_walks import flat
from wavetank.variants.base import DoesNotApplyError, Turned, ranks_of
from wavetank.variants.extents import runs_of

_READS = frozenset({"read", "pread", "readv", "preadv"})


class Readers:
    """The requests of one reader are shared among ranks: as many for each, the last one takes what is left over."""

    name: ClassVar[str] = "readers"
    title: ClassVar[str] = "readers of a file"
    takes: ClassVar[str] = "a number of ranks from 2 on, or 'all'"

    def values(self, kernel: Kernel) -> tuple[str, ...]:
        """All ranks."""
        return ("all",)

    def turned(self, kernel: Kernel, value: str) -> Turned:
        """See Knob."""
        n = ranks_of(self, value, kernel, 2)
        if kernel.n_ranks == 1:
            raise DoesNotApplyError("it has one rank")
        if n > kernel.n_ranks:
            raise DoesNotApplyError(f"it has {kernel.n_ranks} ranks, fewer than {n} readers")
        tasks: list[_Task] = []
        reasons: dict[str, list[str]] = {}
        for file in kernel.files:
            found = _task(kernel, file, n)
            if isinstance(found, str):
                reasons.setdefault(found, []).append(file.name)
            elif found is not None:
                tasks.append(found)
        if not tasks:
            words = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
            raise DoesNotApplyError(
                "; ".join(words) or "it has no input file that one rank alone reads"
            )
        made, origins = kernel, dict[int, int]()
        for task in tasks:
            made = _shared(made, task, origins)
        return Turned(
            kernel=made,
            before="1",
            after=str(n),
            notes=(
                f"Read in parts: {', '.join(task.file.name for task in tasks)}. What a part holds of a record that the next "
                "part goes on with is the application's to pass on.",
                *(f"{', '.join(names)}: {reason}." for reason, names in reasons.items()),
            ),
            origins=origins,
        )


@dataclass(frozen=True)
class _Task:
    """A file that is to be read in parts: its phase, where its reader reads it, and the readers."""

    file: KernelFile
    phase: Phase
    step: DataStep
    opening: FileStep
    n_syncs: int  # of all ranks, before the reader reads
    readers: tuple[int, ...]


def _task(kernel: Kernel, file: KernelFile, n: int) -> _Task | str | None:
    """How a file is read in parts, why it is not, or None where it is no file of one reader."""
    phases = [phase for phase in kernel.phases if phase.file_id == file.file_id]
    ranks = {rank for phase in phases for rank in phase.ph_processid}
    reading = all(calls.reads(member.iop_type) for phase in phases for member in phase.pattern)
    if file.role != "input" or len(ranks) != 1 or not reading:
        return None
    if (against := _why_not_by_phases(file, phases, n)) is not None:
        return against
    (phase,), (reader,) = phases, ranks
    program = next(each for each in kernel.programs if reader in each.ranks)
    whole = [step for step in program.steps if isinstance(step, DataStep) and _is_all(step, phase)]
    if not whole or len(program.ranks) > 1:
        return "its reads alternate with other calls"
    before = program.steps[: program.steps.index(whole[0])]
    opening = [step for step in before if isinstance(step, FileStep) and _opens(step, file)]
    if not opening:
        return "the model does not show where it is opened"
    if any(_syncs(kernel, each.steps) for each in kernel.programs):
        return "ranks synchronise in loops, so that it is not known when others could read"
    others = [rank for rank in range(kernel.n_ranks) if rank != reader]
    return _Task(
        file, phase, whole[0], opening[-1], _n_syncs(kernel, before),
        tuple(sorted([reader, *others[: n - 1]])),
    )  # fmt: skip


def _why_not_by_phases(file: KernelFile, phases: list[Phase], n: int) -> str | None:
    phase = phases[0]
    if file.members is not None:
        return "it stands for several files"
    if len(phases) > 1 or len(phase.pattern) > 1 or phase.pattern[0].iop_type not in _READS:
        return "it is not read by one run of equal reads"
    places = phase.offset[0]
    if not isinstance(places, LinearOffsets) or places.b != phase.pattern[0].rs:
        return "it is not read from one place on without gaps"
    if phase.ph_nrep < 2 * n:
        return f"it is read by {phase.ph_nrep} requests, too few for {n} readers"
    return None


def _opens(step: FileStep, file: KernelFile) -> bool:
    return step.iop_type == "open" and step.file_id == file.file_id and not step.error


def _is_all(step: DataStep, phase: Phase) -> bool:
    return step.ph_id == phase.ph_id and step.n == phase.ph_nrep


def _syncs(kernel: Kernel, steps: tuple[Step, ...]) -> bool:
    """Whether all ranks synchronise inside of a loop."""
    return any(times > 1 and is_of_all(kernel, step) for step, times in flat(steps))


def _n_syncs(kernel: Kernel, steps: tuple[Step, ...]) -> int:
    return sum(
        step.count for step in steps if isinstance(step, SyncStep) and is_of_all(kernel, step)
    )


def _shared(kernel: Kernel, task: _Task, origins: dict[int, int]) -> Kernel:
    """The kernel with one file read in parts."""
    phase, n = task.phase, len(task.readers)
    rs, each = phase.pattern[0].rs, phase.ph_nrep // n
    rest = phase.ph_nrep - each * n
    if not rest and phase.moved_last is not None:  # the short one is of the last reader alone
        each, rest = each - 1, n
    first = int(runs_of(phase, 0, 0).offset[0])
    whole = [RunArrays(*_row(each, rs, each * rs, first + i * each * rs)) for i in range(n)]
    equal = phase.model_copy(
        update={
            "ph_processid": task.readers, "ph_np": n, "ph_nrep": each, "ph_niop": each,
            "ph_weight": n * each * rs, "offset": (ListedOffsets.of(whole),), "moved_last": None,
            "exact": False,
        }
    )  # fmt: skip
    last = max(one.ph_id for one in kernel.phases) + 1
    left = phase.model_copy(
        update={
            "ph_id": last, "ph_processid": task.readers[-1:], "ph_nrep": rest, "ph_niop": rest,
            "ph_weight": phase.ph_weight - equal.ph_weight,
            "offset": (LinearOffsets(a=0, b=rs if rest > 1 else 0, c=first + n * each * rs),),
        }
    )  # fmt: skip
    new = (equal, left) if rest else (equal,)
    if rest:
        origins[last] = phase.ph_id
    phases = [one for old in kernel.phases for one in (new if old.ph_id == phase.ph_id else (old,))]
    programs = []
    for program in kernel.programs:
        for ranks in _groups(program.ranks, task.readers):
            steps = _steps(kernel, program, ranks, task, (each, rest, last))
            programs.append(Program(ranks=ranks, steps=steps))
    return kernel.model_copy(update={"phases": tuple(phases), "programs": tuple(programs)})


def _row(
    n: int, rs: int, moved: int, offset: int
) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    columns = (n, rs, moved, offset, rs if n > 1 else 0)
    return [np.array([value], dtype=np.int64) for value in columns]


def _groups(ranks: tuple[int, ...], readers: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Ranks of a program that do the same with the parts: the last reader, other readers, the others."""
    kinds = (
        tuple(rank for rank in ranks if rank == readers[-1]),
        tuple(rank for rank in ranks if rank in readers[:-1]),
        tuple(rank for rank in ranks if rank not in readers),
    )
    return [kind for kind in kinds if kind]


def _steps(
    kernel: Kernel,
    program: Program,
    ranks: tuple[int, ...],
    task: _Task,
    parts: tuple[int, int, int],
) -> tuple[Step, ...]:
    """A program in which some ranks read their parts."""
    if ranks[0] not in task.readers:
        return program.steps
    each, rest, last = parts
    is_last = ranks[0] == task.readers[-1]
    total = task.phase.ph_nrep
    seeks = [task.step.null_seeks * each // total] * (len(task.readers) - 1)
    own = task.step.null_seeks - sum(seeks) if is_last else task.step.null_seeks * each // total
    in_rest = own * rest // (each + rest) if is_last else 0
    reading: list[Step] = [
        task.step.model_copy(update={"n": each, "single": False, "null_seeks": own - in_rest})
    ]
    if is_last and rest:
        reading.append(
            task.step.model_copy(
                update={"ph_id": last, "n": rest, "single": False, "null_seeks": in_rest}
            )
        )
    if task.step in program.steps:
        at = program.steps.index(task.step)
        return (*program.steps[:at], *reading, *program.steps[at + 1 :])
    closing = FileStep(iop_type="close", file_id=task.file.file_id, handle=task.opening.handle)
    at = _after_syncs(kernel, program.steps, task.n_syncs)
    return (*program.steps[:at], task.opening, *reading, closing, *program.steps[at:])


def _after_syncs(kernel: Kernel, steps: tuple[Step, ...], n: int) -> int:
    """Where a program has synchronised with all ranks so often."""
    seen = 0
    for at, step in enumerate(steps):
        if seen >= n:
            return at
        if isinstance(step, SyncStep) and is_of_all(kernel, step):
            seen += step.count
    return len(steps)
