"""Files that a process was given open: a shell's redirections, and descriptors that a fork hands on.

A replay has no such process to be given them by: its rank opens the file itself, and ends where it did.

A file of its own: the comparison and the selection of what a kernel performs both ask for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.model.document.step_walks import plain_steps

_ON_OPEN_FILES = frozenset(
    {"close", "dup", "fcntl", "lseek", "fstat", "fsync", "fdatasync", "ftruncate"}
)
AROUND = _ON_OPEN_FILES | {"open"}
"""Calls that a rank makes or not, by whether it opened a file itself or was given it open."""


def inherited_files(model: Model) -> Iterator[tuple[int, int]]:
    """(rank, file id) of POSIX files that a rank uses before it has opened them."""
    if all(program.ranks == (0,) for program in model.programs):
        return
    file_of = {
        phase.ph_id: phase.file_id
        for phase in model.phases
        if phase.level == "posix" and not phase.by_library
    }
    for program in model.programs:
        for file_id in sorted(set(_unopened(program, file_of))):
            yield from ((rank, file_id) for rank in program.ranks)


def _unopened(program: Program, file_of: dict[int, int]) -> Iterator[int]:
    opened: set[int] = set()
    for step in plain_steps(program.steps):
        if isinstance(step, DataStep):
            if step.ph_id in file_of and file_of[step.ph_id] not in opened:
                yield file_of[step.ph_id]
        elif isinstance(step, FileStep):
            if step.iop_type == "open" and not step.error:
                opened.add(step.file_id)
            elif step.iop_type in _ON_OPEN_FILES and step.file_id not in opened:
                yield step.file_id
