"""What ranks do with many files and directories, taken apart: stretches in which all ranks do the same with each item.

Reads a kernel's programs; leaves ``Stretch``es, in order. Source: the phases of mdtest (hpc/ior, mdtest.c): create, stat,
read and remove items.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.files.turns import FileNames, Turns
from wavetank.model.document.phase import ListedOffsets, Phase, UnknownOffsets
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    Program,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.model.document.step_walks import in_order, plain_steps

CREATE, STAT, READ, RENAME, REMOVE = "C", "T", "E", "U", "r"  # mdtest's letters for its phases
MOST_STRETCHES = 64  # between two collectives; more is calls in turns
_PRINCIPAL = {
    "mkdir": (CREATE, "directories"), "mknod": (CREATE, "files"), "stat": (STAT, None),
    "unlink": (REMOVE, "files"), "rmdir": (REMOVE, "directories"),
}  # fmt: skip
_BESIDE = frozenset(
    {
        "fstat", "fsync", "fdatasync", "lseek", "dup", "fcntl", "futime", "fchmod", "fchown", "utime", "chmod", "chown", "access",
        "close", "ftruncate", "fallocate", "sync_file_range",
    }
)  # fmt: skip
"""Calls that may come with an item without making a stretch another one."""


@dataclass
class Items:
    """What one rank does in a stretch: one principal call for each of its items, and others beside them."""

    kind: str
    objects: str
    names: list[str] = field(default_factory=list)  # below the root, in order
    write_bytes: set[int] = field(default_factory=set)
    read_bytes: set[int] = field(default_factory=set)
    beside: Counter[str] = field(default_factory=Counter)
    calls: set[str] = field(default_factory=set)  # principal ones
    ph_ids: set[int] = field(default_factory=set)
    moved_at: dict[bool, int] = field(
        default_factory=dict
    )  # last item with data: of reads, of writes


@dataclass(frozen=True)
class Stretch:
    """The same of all ranks.

    Attributes:
        stage: collectives before it.
        by_rank: of each rank that does anything its items.
    """

    stage: int
    by_rank: Mapping[int, Items]


@dataclass(frozen=True)
class Other:
    """Calls that are no phase of mdtest, and why."""

    calls: frozenset[str]
    reason: str


class _Rank:
    """Takes one rank's steps apart."""

    def __init__(self, kernel: Kernel, phases: Mapping[int, OfPhase], turns: Turns) -> None:
        self._turns = turns
        self._folders = {file.file_id for file in kernel.files if file.directory}
        self._phases = phases
        self._alone = {
            number for number, ranks in enumerate(kernel.communicators) if len(ranks) < 2
        }
        self.stages: defaultdict[int, list[Items]] = defaultdict(list)
        self._stage = 0
        self._newest: Items | None = None  # of whatever stage
        self.others: Counter[str] = Counter()

    def see(self, steps: Sequence[Step]) -> None:
        """In order."""
        for step, _ in in_order(steps, _rounds):
            if isinstance(step, SyncStep):
                self._stage += step.count * (step.communicator not in self._alone)
            elif isinstance(step, FileStep):
                self._see_call(step)
            elif isinstance(step, DataStep):
                self._see_data(step)

    def _see_call(self, step: FileStep) -> None:
        for name, count in self._turns.calls(step):
            self._see_one(step, name, count)

    def _see_one(self, step: FileStep, name: str, count: int) -> None:
        folder = step.file_id in self._folders
        kind, objects = _PRINCIPAL.get(step.iop_type, (None, None))
        if step.iop_type == "rename" and folder:
            if step.is_old_name:
                return  # the new name counts
            kind, objects = RENAME, "directories"
        if step.iop_type == "open" and not folder:
            kind, objects = CREATE if step.flags & os.O_CREAT else READ, "files"
        if kind is not None and not step.error and count == 1:
            self._item(kind, objects or ("directories" if folder else "files"), name, step)
        elif step.iop_type in _BESIDE and not folder and not step.error:
            last = self._last()
            if last is not None and last.names and last.names[-1] == name:
                if step.iop_type != "close" or last.kind not in (CREATE, READ):
                    last.beside[step.iop_type] += count
            else:
                self.others[step.iop_type] += count
        elif step.iop_type != "access":
            self.others[step.iop_type] += count

    def _last(self) -> Items | None:
        stage = self.stages.get(self._stage)
        return stage[-1] if stage else None

    def _item(self, kind: str, objects: str, name: str, step: FileStep) -> None:
        stage = self.stages[self._stage]
        if not stage or (stage[-1].kind, stage[-1].objects) != (kind, objects):
            stage.append(Items(kind, objects))
        self._newest = stage[-1]
        stage[-1].names.append(name)
        stage[-1].calls.add(step.iop_type)

    def _see_data(self, step: DataStep) -> None:
        phase = self._phases.get(step.ph_id)
        last = self._newest
        if phase is None or last is None:
            return
        last.ph_ids.add(step.ph_id)
        moved = phase.moved if step.n == 1 else -1
        same = self._turns.at_hand(phase.file_id) == last.names[-1]
        again = last.moved_at.get(phase.reads) == len(last.names)
        last.moved_at[phase.reads] = len(last.names)
        if again or not same or last is not self._last() or last.kind not in (CREATE, READ):
            moved = -1
        (last.read_bytes if phase.reads else last.write_bytes).add(moved)


def _rounds(repeat: RepeatStep) -> int:
    """All repetitions, of data alone the first two: mdtest moves data once a file."""
    alike = all(isinstance(step, DataStep) for step in plain_steps(repeat.steps))
    return min(repeat.times, 2) if alike else repeat.times


@dataclass(frozen=True)
class OfPhase:
    """What is looked at of a phase of data.

    Attributes:
        file_id: its file.
        reads: whether it reads.
        moved: bytes asked for by each call where that is one size for all, and one call a step; else -1.
    """

    file_id: int
    reads: bool
    moved: int


def _of_phase(phase: Phase) -> OfPhase:
    (first, *others), (offsets, *_) = phase.pattern, phase.offset
    sizes = {first.rs}
    if isinstance(offsets, ListedOffsets):
        sizes |= set(np.unique(offsets.rs).tolist())
    elif isinstance(offsets, UnknownOffsets) and offsets.sizes is not None:
        sizes |= set(np.unique(offsets.sizes.rs).tolist())
    one_size = len(sizes) == 1 and not others and phase.level != "mpiio"
    return OfPhase(phase.file_id, calls.reads(first.iop_type), first.rs if one_size else -1)


def stretches(kernel: Kernel) -> tuple[list[Stretch], list[Other]]:
    """The stretches in which all ranks do the same with items, and what is in none of them."""
    phases = {phase.ph_id: _of_phase(phase) for phase in kernel.phases}
    file_names = FileNames(kernel.files)
    of_rank: dict[int, Mapping[int, list[Items]]] = {}
    others: Counter[str] = Counter()
    for program in kernel.programs:
        for rank, seen in _ranks_of(program, kernel, phases, file_names):
            of_rank[rank] = seen.stages
            others += seen.others
    found: list[Stretch] = []
    by_stage: defaultdict[int, dict[int, list[Items]]] = defaultdict(dict)
    for rank, stages in of_rank.items():
        for number, stage in stages.items():
            by_stage[number][rank] = stage
    unlike: list[Other] = []
    for number in sorted(by_stage):
        ranks = by_stage[number]
        shapes = {tuple((items.kind, items.objects) for items in stage) for stage in ranks.values()}
        longest = max(len(stage) for stage in ranks.values())
        if len(shapes) > 1 or longest > MOST_STRETCHES:
            names = frozenset(
                name for stage in ranks.values() for items in stage for name in items.calls
            )
            why = (
                "the ranks make different calls at the same time"
                if len(shapes) > 1
                else "its kinds of calls come in turns, and mdtest makes all of one kind and then all of the next"
            )
            unlike.append(Other(names, why))
            continue
        found += [
            Stretch(number, {rank: stage[place] for rank, stage in ranks.items()})
            for place in range(longest)
        ]
    if others:
        unlike.append(
            Other(
                frozenset(others), f"mdtest makes no {', '.join(sorted(others))} calls of its own"
            )
        )
    return found, unlike


def _ranks_of(
    program: Program, kernel: Kernel, phases: Mapping[int, OfPhase], names: FileNames
) -> Iterator[tuple[int, _Rank]]:
    """All ranks of a program do the same, with the same names but for members of files."""
    seen: _Rank | None = None
    differ = names.differ(program)
    for rank in program.ranks:
        if seen is None or differ:
            seen = _Rank(kernel, phases, names.turns_of(rank))
            seen.see(program.steps)
        yield rank, seen
