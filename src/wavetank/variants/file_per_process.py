"""A file for each process in place of one that they share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.model.document.step_walks import changed_steps, file_steps, plain_steps
from wavetank.trace.arguments import ARGUMENTS, MpiMode
from wavetank.trace.schema import Int64Array
from wavetank.variants.base import DoesNotApplyError, Turned, require_word
from wavetank.variants.extents import merged, ranks_extents
from wavetank.variants.own_places import MOST, Own, own_phase
from wavetank.variants.own_views import why_not_alone

_OF_A_HANDLE = frozenset(
    {"open", "close", "fsync", "fdatasync", "fstat"}
    | {f"MPI_File_{verb}" for verb in ("open", "close", "sync", "set_view")}
)
"""Calls that mean the same on a part as on the whole file."""
_CREATE = {"open": os.O_CREAT, "MPI_File_open": MpiMode.CREATE}


class FilePerProcess:
    """Each rank's bytes of a shared file lie in a file of its own, in sequence."""

    name: ClassVar[str] = "file-per-process"
    title: ClassVar[str] = "files"
    takes: ClassVar[str] = "on"

    def values(self, kernel: Kernel) -> tuple[str, ...]:
        """The one that there is."""
        return ("on",)

    def turned(self, kernel: Kernel, value: str) -> Turned:
        """See Knob."""
        require_word(self, value, ("on",))
        shared = [file for file in kernel.files if len(_moving(kernel, file.file_id)) > 1]
        if not shared:
            raise DoesNotApplyError("no two ranks move bytes of one file")
        split: dict[int, _Split] = {}
        reasons: dict[str, list[str]] = {}
        for file in shared:
            found = _split(kernel, file)
            if isinstance(found, str):
                reasons.setdefault(found, []).append(file.name)
            else:
                split[file.file_id] = found
        if not split:
            words = (f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
            raise DoesNotApplyError("; ".join(words))
        n = sum(len(one.ranks) for one in split.values())
        left = [name for names in reasons.values() for name in names]
        return _Maker(kernel, split).turned(
            before=f"{len(split)} shared",
            after=f"{n}, one for each process",
            notes=(
                "Whoever reads these bytes later has to read the parts: a shared file has them in one place.",
                *((f"Shared as before: {', '.join(left)}.",) if left else ()),
            ),
        )


@dataclass(frozen=True)
class _Split:
    """A shared file: ranks that use it, and the bytes of each, shape (n, 2)."""

    file: KernelFile
    ranks: tuple[int, ...]
    bytes_of: dict[int, Int64Array]


def _moving(kernel: Kernel, file_id: int) -> set[int]:
    return {
        rank for phase in kernel.phases if phase.file_id == file_id for rank in phase.ph_processid
    }


def _split(kernel: Kernel, file: KernelFile) -> _Split | str:
    """How a file is split, or why it is not."""
    phases = [phase for phase in kernel.phases if phase.file_id == file.file_id]
    ranks = _moving(kernel, file.file_id)
    of_steps = _why_not_by_steps(kernel, file.file_id, ranks)
    against = _why_not_by_file(kernel, file) or _why_not_by_calls(phases) or of_steps
    against = against or why_not_alone(kernel, phases)
    if against is not None:
        return against
    both = ranks_extents(phases, None)
    return _why_not_by_bytes(file, phases, both) or _Split(file, tuple(sorted(ranks)), both)


def _why_not_by_file(kernel: Kernel, file: KernelFile) -> str | None:
    if file.members is not None or file.other_names or file.directory:
        return "it has several names, or stands for several files"
    if any(other.content_of == file.file_id for other in kernel.files):
        return "it is renamed or linked to another file"
    return None


def _why_not_by_calls(phases: list[Phase]) -> str | None:
    names = {member.iop_type for phase in phases for member in phase.pattern}
    if odd := sorted(names & (calls.COPIES | calls.SHARED_POINTER)):
        return f"{odd[0]} goes by a place or a file that ranks have in common"
    if sum(phase.ph_nrep * len(phase.pattern) * phase.ph_np for phase in phases) > MOST:
        return f"it has more than {MOST:,} operations"
    return None


def _why_not_by_steps(kernel: Kernel, file_id: int, ranks: set[int]) -> str | None:
    """Why a call on a file keeps it shared; adds the ranks that call."""
    for program in kernel.programs:
        for step in file_steps(program.steps):
            if step.file_id == file_id:
                if step.iop_type not in _OF_A_HANDLE or step.error:
                    return f"a call of {step.iop_type} on it is not of one rank's bytes"
                ranks.update(program.ranks)
    return None


def _why_not_by_bytes(
    file: KernelFile, phases: list[Phase], both: dict[int, Int64Array]
) -> str | None:
    by_view = any(
        phase.offset_view is not None for phase in phases
    )  # they show other bytes to each rank
    if not by_view and sum(map(_length, both.values())) > _length(merged(_joined(both.values()))):
        return "several ranks move the same bytes of it"
    if file.role != "output":
        return None
    written = ranks_extents(phases, False)
    for rank, read in ranks_extents(phases, True).items():
        own = written.get(rank, _NOTHING)
        if _length(merged(_joined([own, read]))) > _length(own):
            return "ranks read bytes of it that they did not write"
    return None


_NOTHING = np.empty((0, 2), dtype=np.int64)


def _joined(parts: Iterable[Int64Array]) -> Int64Array:
    return np.concatenate([_NOTHING, *parts])


def _length(intervals: Int64Array) -> int:
    return int((intervals[:, 1] - intervals[:, 0]).sum())


class _Maker:
    """Makes the kernel in which files are split."""

    def __init__(self, kernel: Kernel, split: dict[int, _Split]) -> None:
        self._kernel, self._split = kernel, split
        self._communicators = list(kernel.communicators)
        self._file_ids: dict[tuple[int, int], int] = {}
        self._ph_ids: dict[tuple[int, int], int] = {}
        self._parts: dict[int, int] = {}
        self._origins: dict[int, int] = {}

    def turned(self, before: str, after: str, notes: tuple[str, ...]) -> Turned:
        """The kernel with its parts."""
        files = self._files()
        phases = self._phases()
        programs = tuple(
            part for program in self._kernel.programs for part in self._programs(program)
        )
        made = self._kernel.model_copy(
            update={
                "files": tuple(files), "phases": tuple(phases), "programs": programs,
                "communicators": tuple(self._communicators), "metadata": (),
            }
        )  # fmt: skip
        return Turned(made, before, after, notes=notes, parts=self._parts, origins=self._origins)

    def _files(self) -> list[KernelFile]:
        taken = {name for file in self._kernel.files for name in file.stored_names()}
        found: list[KernelFile] = []
        next_id = max(file.file_id for file in self._kernel.files) + 1
        for file in self._kernel.files:
            split = self._split.get(file.file_id)
            if split is None:
                found.append(file)
                continue
            width = max(4, len(str(split.ranks[-1])))
            for rank in split.ranks:
                name = f"{file.name}.{rank:0{width}d}"
                while name in taken:
                    name += "_"
                taken.add(name)
                size = _length(split.bytes_of.get(rank, _NOTHING)) if file.is_prepared else 0
                found.append(
                    file.model_copy(
                        update={"file_id": next_id, "name": name, "prepare_bytes": size}
                    )
                )
                self._file_ids[file.file_id, rank] = next_id
                self._parts[next_id] = file.file_id
                next_id += 1
        return found

    def _phases(self) -> list[Phase]:
        found: list[Phase] = []
        next_id = max(phase.ph_id for phase in self._kernel.phases) + 1
        for phase in self._kernel.phases:
            split = self._split.get(phase.file_id)
            if split is None:
                found.append(phase)
                continue
            for number, rank in enumerate(phase.ph_processid):
                own = Own(next_id, self._file_ids[phase.file_id, rank], split.bytes_of[rank])
                found.append(own_phase(phase, number, own))
                self._ph_ids[phase.ph_id, rank] = next_id
                self._origins[next_id] = phase.ph_id
                next_id += 1
        return found

    def _programs(self, program: Program) -> list[Program]:
        """A program for each rank, where it uses a file that is split."""
        uses = any(
            step.file_id in self._split
            if isinstance(step, FileStep)
            else isinstance(step, DataStep) and (step.ph_id, program.ranks[0]) in self._ph_ids
            for step in plain_steps(program.steps)
        )
        if not uses:
            return [program]
        return [self._own(program, rank) for rank in program.ranks]

    def _own(self, program: Program, rank: int) -> Program:
        is_made = set[int]()  # files that the rank has opened before

        def change(step: DataStep | FileStep) -> DataStep | FileStep | None:
            if isinstance(step, DataStep):
                ph_id = self._ph_ids.get((step.ph_id, rank))
                return step if ph_id is None else step.model_copy(update={"ph_id": ph_id})
            split = self._split.get(step.file_id)
            if split is None:
                return step
            if step.iop_type == "MPI_File_set_view":
                return None
            update: dict[str, object] = {"file_id": self._file_ids[step.file_id, rank]}
            if step.iop_type == "MPI_File_open":
                update["communicator"] = self._alone(rank)
            if step.iop_type in _CREATE and step.file_id not in is_made:
                is_made.add(step.file_id)
                if split.file.role == "output":
                    given = ARGUMENTS[step.iop_type].value  # flags or MPI mode
                    update[given] = getattr(step, given) | _CREATE[step.iop_type]
            return step.model_copy(update=update)

        return Program(ranks=(rank,), steps=changed_steps(program.steps, change))

    def _alone(self, rank: int) -> int:
        """The communicator of one rank."""
        if (rank,) not in self._communicators:
            self._communicators.append((rank,))
        return self._communicators.index((rank,))
