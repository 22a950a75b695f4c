"""MPI files whose opening is not in the model (Darshan keeps counts of opens, not their place in the order).

Opening is collective: the replay opens each such file at the start, with all ranks that use it and the files in
the same order on every rank, so that no rank waits for another one's later file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from wavetank.kernel.document import calls
from wavetank.kernel.document.steps import mpi_openers
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import FileStep, Program
from wavetank.trace.arguments import MpiMode


def unopened_files(phases: Sequence[Phase], programs: Sequence[Program]) -> dict[int, list[Phase]]:
    """The phases at MPI-IO level of each file that no rank opens, by file id in ascending order."""
    opened = mpi_openers(programs)
    found: defaultdict[int, list[Phase]] = defaultdict(list)
    for phase in phases:
        if phase.level == "mpiio" and phase.file_id not in opened:
            found[phase.file_id].append(phase)
    return dict(sorted(found.items()))


def with_opens(phases: Sequence[Phase], programs: Sequence[Program]) -> list[Program]:
    """The programs, each with the opening of those files that its ranks use, at its start."""
    missing = unopened_files(phases, programs)
    if not missing:
        return list(programs)
    return [part for program in programs for part in _with_opens(program, missing)]


def _with_opens(program: Program, missing: dict[int, list[Phase]]) -> list[Program]:
    """One program, or several where its ranks use different ones of the files."""
    by_files: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for rank in program.ranks:
        used = tuple(
            file_id
            for file_id, phases in missing.items()
            if any(rank in phase.ph_processid for phase in phases)
        )
        by_files[used].append(rank)
    return [
        Program(
            ranks=tuple(ranks),
            steps=(
                *(
                    FileStep(iop_type="MPI_File_open", file_id=file_id, handle=0, mpi_mode=_mode(missing[file_id]))
                    for file_id in used
                ),
                *program.steps,
            ),
        )
        for used, ranks in by_files.items()
    ]  # fmt: skip


def _mode(phases: Sequence[Phase]) -> int:
    reads = [calls.reads(member.iop_type) for phase in phases for member in phase.pattern]
    if all(reads):
        return int(MpiMode.RDONLY)
    return MpiMode.CREATE | (MpiMode.RDWR if any(reads) else MpiMode.WRONLY)
