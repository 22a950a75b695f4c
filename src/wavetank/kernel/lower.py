"""A kernel as the text that the replay program reads: folded, one line for each step or run of offsets.

The text is described in docs/reference/kernel.md, its version is in native/replay/plan.h. Nothing is
unfolded here: the plan's length does not depend on the number of operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from wavetank.errors import KernelError
from wavetank.kernel import calls
from wavetank.kernel.order import find_waits
from wavetank.kernel.plan import Kernel
from wavetank.kernel.steps import flat
from wavetank.model.phase import (
    DataStep,
    FileStep,
    LinearOffsets,
    ListedOffsets,
    Offsets,
    PauseStep,
    Phase,
    Program,
    Step,
    SyncStep,
)

PLAN_VERSION = 1
_LARGEST_EMPTY = 1 << 30  # bytes


def lower(kernel: Kernel) -> str:
    """The plan's text.

    Raises:
        KernelError: an operation has no known offset, or a step names something that is not there.
    """
    return "\n".join(_lines(kernel)) + "\n"


def _lines(kernel: Kernel) -> Iterator[str]:
    yield f"wavetank-plan {PLAN_VERSION}"
    yield f"ranks {kernel.n_ranks}"
    for file in kernel.files:
        yield f"file {file.file_id} {file.role} {quote(file.name)}"
    for view in kernel.views:
        runs = " ".join(
            f"{offset} {length}"
            for offset, length in zip(view.run_offsets, view.run_lengths, strict=True)
        )
        yield f"view {view.displacement} {view.etype_size} {view.extent} {len(view.run_offsets)} {runs}".rstrip()
    communicators = _Communicators(kernel)
    for ranks in communicators.table:
        if len(ranks) == kernel.n_ranks and list(ranks) == list(range(kernel.n_ranks)):
            yield "communicator all"
        else:
            yield f"communicator {len(ranks)} {' '.join(map(str, ranks))}"
    for phase in kernel.phases:
        yield from _phase(phase)
    waits = find_waits(kernel)
    for number, program in enumerate(kernel.programs):
        yield f"program {rank_list(program.ranks)}"
        places = _Places(communicators, _one_by_one(program, kernel))
        for index, step in enumerate(program.steps):
            for wait in waits.before.get((number, index), ()):
                yield f" await {wait.number} {len(wait.writers)} {' '.join(map(str, wait.writers))}"
            yield from _steps([step], places, depth=1)
            for wait in waits.after.get((number, index), ()):
                yield f" signal {wait.number} {len(wait.readers)} {' '.join(map(str, wait.readers))}"
        yield "end"
    yield "plan-end"


class _Communicators:
    """The kernel's communicators, with those of MPI_File_open that the trace did not tell."""

    def __init__(self, kernel: Kernel) -> None:
        self.table: list[tuple[int, ...]] = list(kernel.communicators)
        self._index = {ranks: index for index, ranks in reversed(list(enumerate(self.table)))}
        self._openers: dict[int, tuple[int, ...]] = {}
        openers: dict[int, set[int]] = {}
        for program in kernel.programs:
            for step, _ in flat(program.steps):
                if isinstance(step, FileStep) and step.iop_type == "MPI_File_open":
                    openers.setdefault(step.file_id, set()).update(program.ranks)
        for file_id, ranks in openers.items():
            self._openers[file_id] = tuple(sorted(ranks))
            if self._openers[file_id] not in self._index:
                self._index[self._openers[file_id]] = len(self.table)
                self.table.append(self._openers[file_id])

    def of_open(self, step: FileStep) -> str:
        """The communicator of an MPI_File_open: as traced, else the ranks that open the file."""
        if step.iop_type != "MPI_File_open":
            return "-"
        if step.communicator is not None:
            return str(step.communicator)
        return str(self._index[self._openers[step.file_id]])


@dataclass(frozen=True)
class _Places:
    """What a program's steps need to know beside themselves."""

    communicators: _Communicators
    one_by_one: frozenset[
        int
    ]  # files whose MPI_Wait completes one call, not all that are under way


def _one_by_one(program: Program, kernel: Kernel) -> frozenset[int]:
    """Files with as many waits as nonblocking calls; with fewer, a wait (MPI_Waitall) completes all.

    Which requests a wait completed is not in the model.
    """
    members = {phase.ph_id: phase for phase in kernel.phases}
    calls_of: Counter[int] = Counter()
    waits_of: Counter[int] = Counter()

    for step, times in flat(program.steps):
        if isinstance(step, DataStep) and step.ph_id in members:
            phase = members[step.ph_id]
            later = sum(member.iop_type in calls.NONBLOCKING for member in phase.pattern)
            n = step.n if not step.single else -(-step.n // len(phase.pattern))
            calls_of[phase.file_id] += times * n * later
        elif isinstance(step, FileStep) and calls.performed(step.iop_type) == "MPI_Wait":
            waits_of[step.file_id] += times * step.count
    return frozenset(file_id for file_id, n in waits_of.items() if n >= calls_of[file_id])


def rank_list(ranks: Sequence[int]) -> str:
    """Ranks as "0-3,7"."""
    parts: list[str] = []
    first = last = ranks[0]
    for rank in [*ranks[1:], None]:
        if rank is not None and rank == last + 1:
            last = rank
            continue
        parts.append(str(first) if first == last else f"{first}-{last}")
        if rank is not None:
            first = last = rank
    return ",".join(parts)


def positions(phase: Phase) -> tuple[Offsets, ...]:
    """Where each pattern member's calls go: in the view where there is one, else in the file."""
    return phase.offset_view if phase.offset_view is not None else phase.offset


def _phase(phase: Phase) -> Iterator[str]:
    yield f"phase {phase.ph_id} {phase.file_id}"
    for index, (member, offsets) in enumerate(zip(phase.pattern, positions(phase), strict=True)):
        name = calls.performed(member.iop_type)
        if name is None or name not in calls.DATA:
            raise KernelError(
                f"phase {phase.ph_id} cannot be replayed: no replay of {member.iop_type} is known. "
                "Make the kernel again from its model; it then says what is left out"
            )
        moved_last = member.rs if phase.moved_last is None else phase.moved_last[index]
        if isinstance(offsets, LinearOffsets):
            yield f" call {name} {_place(name)} {member.handle}"
            yield f"  linear {phase.ph_nrep} {member.rs} {offsets.a} {offsets.b} {offsets.c} {moved_last}"
        elif isinstance(offsets, ListedOffsets):
            yield f" call {name} {_place(name)} {member.handle}"
            for rank, runs in zip(phase.ph_processid, offsets.runs, strict=True):
                for run in runs:
                    last = run.moved - (run.count - 1) * run.rs
                    yield f"  run {rank} {run.count} {run.rs} {run.offset} {run.disp} {last}"
        else:
            if _place(name) == "placed" and "_at" in name:
                raise KernelError(
                    f"phase {phase.ph_id} cannot be replayed: its source ({member.iop_type}) does not know the "
                    "offsets, and the call needs one. Trace the application with wavetank trace"
                )
            yield f" call {name} pointer {member.handle}"
            yield f"  linear {phase.ph_nrep} {member.rs} 0 0 0 {moved_last}"


def _place(name: str) -> str:
    return "pointer" if name in calls.SHARED_POINTER else "placed"


def _optional(value: int | None) -> str:
    return "-" if value is None else str(value)


def _steps(steps: Sequence[Step], places: _Places, depth: int) -> Iterator[str]:
    indent = " " * depth
    for step in steps:
        if isinstance(step, DataStep):
            yield (
                f"{indent}data {step.ph_id} {step.n} {_optional(step.handle)} {int(step.single)} {step.null_seeks}"
            )
        elif isinstance(step, FileStep):
            line = _file_step(step, places)
            if line is not None:
                yield indent + line
        elif isinstance(step, SyncStep):
            yield f"{indent}sync {step.communicator} {step.count}"
        elif isinstance(step, PauseStep):
            yield f"{indent}pause {round(step.seconds * 1e9)}"
        else:
            yield f"{indent}repeat {step.times}"
            yield from _steps(step.steps, places, depth + 1)
            yield f"{indent}end"


def _file_step(step: FileStep, places: _Places) -> str | None:
    name = calls.performed(step.iop_type)
    if name is None:
        return None
    if name in calls.DATA:
        # A request that moved nothing may ask for anything (copy_file_range: 2^63); it needs no such buffer.
        size = step.size if step.size <= _LARGEST_EMPTY else 0
        return f"empty {name} {step.file_id} {step.handle} {_optional(step.offset)} {size} {step.count}"
    arg = step.arg
    if name == "MPI_Wait":
        arg = int(step.file_id in places.one_by_one)
    # Negative offsets and arguments have no meaning here; "-" is what the plan writes for unknown.
    return (
        f"do {name} {step.file_id} {step.handle} {arg} {_optional(step.offset)} {_optional(step.view_id)} "
        f"{places.communicators.of_open(step)} {step.error} {step.count}"
    )
