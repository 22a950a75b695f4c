"""A kernel as the text that the replay program reads: folded, one line for each step or run of offsets.

The text is described in docs/reference/kernel.md, its version is in native/replay/plan/plan.h. Nothing is
unfolded here: the plan's length does not depend on the number of operations.

Why a plan, and not the kernel itself, which is JSON: the replay is a program in C inside of an MPI job. It would need a
reader of JSON, and all that the lowering knows: who waits for whom, which communicator opens a file, where an empty call goes.
A line of the plan says what is done next. The replay decides nothing, so that two runs of a plan do the same.

Why text and no bytes: a person reads it beside a trace, and tests break it line by line. A damaged plan is refused with the
number of its line, before anything is performed. It is parsed once, before the run.

Why one text for all ranks: ranks that do the same have one program, and offsets are a function of the rank where one fits. Rank 0
alone reads the file and sends it, and each rank keeps what concerns it. So nodes share nothing but the root.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

import numpy as np

from wavetank.errors import KernelError
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel, KernelFile, KernelMembers
from wavetank.kernel.document.steps import is_of_all
from wavetank.kernel.lowering.step_lines import Communicators, ProgramLines
from wavetank.kernel.ordering.waits import find_waits
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Phase
from wavetank.model.document.program import Program, Step, SyncStep
from wavetank.trace.schema import UNKNOWN

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
        yield from _file(file)
    for view in kernel.views:
        runs = " ".join(
            f"{offset} {length}"
            for offset, length in zip(view.run_offsets, view.run_lengths, strict=True)
        )
        yield f"view {view.displacement} {view.etype_size} {view.extent} {len(view.run_offsets)} {runs}".rstrip()
    for info in kernel.infos:
        words = " ".join(f"{quote(key)} {_hint(value)}" for key, value in info)
        yield f"info {len(info)} {words}".rstrip()
    communicators = Communicators(kernel.communicators, kernel.programs)
    for ranks in communicators.table:
        if len(ranks) == kernel.n_ranks and list(ranks) == list(range(kernel.n_ranks)):
            yield "communicator all"
        else:
            yield f"communicator {len(ranks)} {' '.join(map(str, ranks))}"
    for phase in kernel.phases:
        yield from _phase(phase)
    waits = find_waits(kernel)
    ends = _own_syncs(kernel)
    for number, program in enumerate(kernel.programs):
        yield f"program {rank_list(program.ranks)}"
        lines = ProgramLines(program, kernel, communicators)
        for index, step in enumerate(program.steps):
            for wait in waits.before.get((number, index), ()):
                yield f" await {wait.number} {len(wait.writers)} {' '.join(map(str, wait.writers))}"
            following = program.steps[index + 1 : index + 2]
            yield from lines.of(
                [_without_own_sync(step, index, program, ends)], after=next(iter(following), None)
            )
            for wait in waits.after.get((number, index), ()):
                yield f" signal {wait.number} {len(wait.readers)} {' '.join(map(str, wait.readers))}"
        yield "end"
    yield "plan-end"


def _file(file: KernelFile) -> Iterator[str]:
    yield f"file {file.file_id} {file.content_id} {file.role} {file.prepare_bytes} {quote(file.name)}"
    for other in file.other_names:
        yield f"name {file.file_id} {quote(other.name)}"
    if file.members is not None:
        yield from _members(file.file_id, file.members)


def _members(file_id: int, members: KernelMembers) -> Iterator[str]:
    """The members that each rank visits, for it alone, and their order where it is not that of the lines."""
    yield f"members {file_id} {len(members.names)} {'tree' if members.in_tree else 'folder'}"
    named = zip(members.names, *members.other_names, strict=True)
    lines = [
        f" member {size} {' '.join(map(quote, names))}"
        for names, size in zip(named, members.prepare_bytes.tolist(), strict=True)
    ]
    for rank, visited in members.visits.by_rank():
        different, first, number = np.unique(visited, return_index=True, return_inverse=True)
        by_visit = np.argsort(first)
        order = ""
        if len(different) < len(visited):
            place = np.empty(len(different), dtype=np.int64)
            place[by_visit] = np.arange(len(different))
            order = f" {' '.join(map(str, place[number].tolist()))}"
        yield f"visits {file_id} {rank} {len(different)} {len(visited)}{order}"
        yield from (lines[member] for member in different[by_visit].tolist())


def _hint(value: str) -> str:
    """A hint's value as one word; "-" is the empty one."""
    return "%2D" if value == "-" else quote(value, safe="") or "-"


def _own_syncs(kernel: Kernel) -> tuple[bool, bool]:
    """Whether every rank begins, and ends, with a synchronisation of all ranks: those are MPI_Init and MPI_Finalize."""
    programs = [program.steps for program in kernel.programs]
    return (
        all(len(steps) > 1 and is_of_all(kernel, steps[0]) for steps in programs),
        all(len(steps) > 1 and is_of_all(kernel, steps[-1]) for steps in programs),
    )


def _without_own_sync(step: Step, index: int, program: Program, ends: tuple[bool, bool]) -> Step:
    """The step without the synchronisation that the replay's own MPI_Init and MPI_Finalize do."""
    own = (index == 0 and ends[0]) or (index == len(program.steps) - 1 and ends[1])
    if not own or not isinstance(step, SyncStep):
        return step
    return step.model_copy(update={"count": step.count - 1})


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


def _phase(phase: Phase) -> Iterator[str]:
    yield f"phase {phase.ph_id} {phase.file_id}"
    for index, (member, offsets) in enumerate(zip(phase.pattern, phase.positions, strict=True)):
        name = calls.performed(member.iop_type)
        if name is None or name not in calls.DATA:
            raise KernelError(
                f"phase {phase.ph_id} cannot be replayed: no replay of {member.iop_type} is known. "
                "Make the kernel again from its model; it then says what is left out"
            )
        moved_last = member.rs if phase.moved_last is None else phase.moved_last[index]
        if isinstance(offsets, LinearOffsets):
            yield f" call {name} {_place(name)} {member.handle}"
            yield from _memory(phase, index)
            yield f"  linear {phase.ph_nrep} {member.rs} {offsets.a} {offsets.b} {offsets.c} {moved_last}"
        elif isinstance(offsets, ListedOffsets):
            yield f" call {name} {_place(name)} {member.handle}"
            yield from _memory(phase, index)
            for position, rank in enumerate(phase.ph_processid):
                yield from _runs(rank, offsets.of_rank(position))
        else:
            if _place(name) == "placed" and "_at" in name:
                raise KernelError(
                    f"phase {phase.ph_id} cannot be replayed: its source ({member.iop_type}) does not know the "
                    "offsets, and the call needs one. Trace the application with wavetank trace"
                )
            yield f" call {name} pointer {member.handle}"
            yield from _memory(phase, index)
            if offsets.sizes is None:
                yield f"  linear {phase.ph_nrep} {member.rs} 0 0 0 {moved_last}"
                continue
            for position, rank in enumerate(phase.ph_processid):
                runs = offsets.sizes.of_rank(position)
                yield from _runs(rank, replace(runs, offset=np.zeros_like(runs.offset)))


def _memory(phase: Phase, index: int) -> Iterator[str]:
    """Where the gaps are in the memory of a member's calls, for each view that says so."""
    ranks: dict[int, list[int]] = {}
    for position, rank in enumerate(phase.ph_processid if phase.memory is not None else ()):
        ranks.setdefault(phase.memory_at(position, index), []).append(rank)
    for view_id, some in ranks.items():
        if view_id != UNKNOWN:
            yield f"  memory {rank_list(some)} {view_id}"


def _runs(rank: int, runs: RunArrays) -> Iterator[str]:
    last = runs.moved - (runs.count - 1) * runs.size
    columns = (runs.count, runs.size, runs.offset, runs.disp, last)
    for count, size, offset, disp, moved_last in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        yield f"  run {rank} {count} {size} {offset} {disp} {moved_last}"


def _place(name: str) -> str:
    return "pointer" if name in calls.SHARED_POINTER else "placed"
