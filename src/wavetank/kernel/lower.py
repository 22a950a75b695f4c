"""A kernel as the text that the replay program reads: folded, one line for each step or run of offsets.

The text is described in docs/reference/kernel.md, its version is in native/replay/plan.h. Nothing is
unfolded here: the plan's length does not depend on the number of operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from wavetank.errors import KernelError
from wavetank.kernel import calls
from wavetank.kernel.order import find_waits
from wavetank.kernel.plan import Kernel
from wavetank.model.phase import (
    DataStep,
    FileStep,
    LinearOffsets,
    ListedOffsets,
    Offsets,
    PauseStep,
    Phase,
    RepeatStep,
    Step,
    SyncStep,
)

PLAN_VERSION = 1


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
        for index, step in enumerate(program.steps):
            for wait in waits.before.get((number, index), ()):
                yield f" await {wait.number} {len(wait.writers)} {' '.join(map(str, wait.writers))}"
            yield from _steps([step], communicators, depth=1)
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
            for step in _flat(program.steps):
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


def _flat(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, RepeatStep):
            yield from _flat(step.steps)
        else:
            yield step


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


def _steps(steps: Sequence[Step], communicators: _Communicators, depth: int) -> Iterator[str]:
    indent = " " * depth
    for step in steps:
        if isinstance(step, DataStep):
            yield (
                f"{indent}data {step.ph_id} {step.n} {_optional(step.handle)} {int(step.single)} {step.null_seeks}"
            )
        elif isinstance(step, FileStep):
            line = _file_step(step, communicators)
            if line is not None:
                yield indent + line
        elif isinstance(step, SyncStep):
            yield f"{indent}sync {step.communicator} {step.count}"
        elif isinstance(step, PauseStep):
            yield f"{indent}pause {round(step.seconds * 1e9)}"
        else:
            yield f"{indent}repeat {step.times}"
            yield from _steps(step.steps, communicators, depth + 1)
            yield f"{indent}end"


def _file_step(step: FileStep, communicators: _Communicators) -> str | None:
    name = calls.performed(step.iop_type)
    if name is None:
        return None
    if name in calls.DATA:
        return f"empty {name} {step.file_id} {step.handle} {_optional(step.offset)} {step.size} {step.count}"
    # Negative offsets and arguments have no meaning here; "-" is what the plan writes for unknown.
    return (
        f"do {name} {step.file_id} {step.handle} {step.arg} {_optional(step.offset)} {_optional(step.view_id)} "
        f"{communicators.of_open(step)} {step.error} {step.count}"
    )
