"""What steps of programs are to each other, and to a replay: what its stages ask alike."""

from __future__ import annotations

import os
from collections.abc import Iterable

from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.program import FileStep, Program, Step, SyncStep
from wavetank.model.document.step_walks import file_steps
from wavetank.trace.arguments import MpiMode

OPENS = frozenset({"open", "MPI_File_open"})
REMOVE = frozenset({"unlink", "rmdir", "MPI_File_delete"})
_LOOK = frozenset({"stat", "access", "truncate", "chmod", "chown", "utime", "readlink"})
_LARGEST_EMPTY = 1 << 30  # bytes


def are_of_one_call(old: Step | None, new: Step | None) -> bool:
    """Whether two steps are the two names of one call: rename, link, symlink."""
    return (
        isinstance(old, FileStep)
        and isinstance(new, FileStep)
        and old.iop_type == new.iop_type
        and old.is_old_name
        and new.new_name
    )


def may_make(step: FileStep) -> bool:
    """Whether a call opens a file, and makes it if it is not there."""
    return bool(step.flags & os.O_CREAT or step.mpi_mode & MpiMode.CREATE)


def is_nameless(step: FileStep) -> bool:
    """Whether a call opens a file that has no name, by O_TMPFILE."""
    return step.flags & os.O_TMPFILE == os.O_TMPFILE


def looks_up(step: FileStep) -> bool:
    """Whether a call needs a name, and leaves it. An open may make it: see ``may_make``."""
    return step.iop_type in _LOOK or (step.iop_type == "link" and step.is_old_name)


def removes(step: FileStep) -> bool:
    """Whether a call takes a name away."""
    return step.iop_type in REMOVE or (step.iop_type == "rename" and step.is_old_name)


def is_of_all(kernel: Kernel, step: Step) -> bool:
    """Whether a step is a collective of all ranks."""
    return (
        isinstance(step, SyncStep)
        and len(kernel.communicators[step.communicator]) == kernel.n_ranks
    )


def bytes_asked(step: FileStep) -> int:
    """What a replay asks for by a call that moved nothing.

    The application may have asked for anything (copy_file_range: 2^63); such a call needs no buffer of that size.
    """
    return step.size if step.size <= _LARGEST_EMPTY else 0


def mpi_openers(programs: Iterable[Program]) -> dict[int, tuple[int, ...]]:
    """The ranks that open each file by MPI, ascending; none of files of which the model has no opening."""
    found: dict[int, set[int]] = {}
    for program in programs:
        for step in file_steps(program.steps):
            if step.iop_type == "MPI_File_open":
                found.setdefault(step.file_id, set()).update(program.ranks)
    return {file_id: tuple(sorted(ranks)) for file_id, ranks in found.items()}
