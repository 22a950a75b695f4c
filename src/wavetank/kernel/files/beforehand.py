"""What must be there of each file before a run: by what the first calls on it need, and where they find it.

A call that succeeded without being able to make its file shows that the file was there; one that failed for
want of it (ENOENT) shows that it was not. Where several processes use a file, one of them may have made it for
the others.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from wavetank.kernel.document.steps import OPENS, is_nameless, looks_up, may_make, removes
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.model.document.step_walks import PlainStep, flat

_CHANGING = frozenset({"truncate", "ftruncate", "fallocate", "unlink", "rmdir", "rename"})


@dataclass
class Evidence:
    """What the calls on one file show, over all ranks.

    Attributes:
        flags: of all its opens that succeeded, together.
        needed_by: ranks of which the first call that tells anything needs the file.
        missed_by: ranks that did not find it at first.
        made_by: ranks that could make it, by an open or by a call on its name.
        is_used: whether any call on it succeeded, but for a symbolic link to its name.
        is_pointed_at: whether such a link was made.
        is_opened: whether it was opened at all.
        is_folder: whether it is a folder.
        changes: whether a call changes its size or its names.
        mapped_bytes: how long the longest mapping is.
        apart: whether it stands for several files, each of which one rank alone uses.
    """

    flags: int = 0
    needed_by: set[int] = field(default_factory=set)
    missed_by: set[int] = field(default_factory=set)
    made_by: set[int] = field(default_factory=set)
    is_used: bool = False
    is_pointed_at: bool = False
    is_opened: bool = False
    is_folder: bool = False
    changes: bool = False
    mapped_bytes: int = 0
    apart: bool = False

    @property
    def must_be_there(self) -> bool:
        """Whether a rank needs the file, and no other one could have made it before."""
        return (self.apart and bool(self.needed_by)) or any(
            not self.made_by - {rank} for rank in self.needed_by
        )

    @property
    def is_never_there(self) -> bool:
        """Whether it was looked for or pointed at, and never there."""
        return (bool(self.missed_by) or self.is_pointed_at) and not self.is_used

    def note(self, step: FileStep, rank: int) -> None:
        """Take one more call of a rank, in order."""
        self.is_folder |= _is_of_folders(step)
        told = rank in self.needed_by or rank in self.missed_by or rank in self.made_by
        if step.error:
            if not told and step.error == errno.EEXIST:
                self.needed_by.add(rank)
            elif (
                not told and step.error == errno.ENOENT
            ):  # of a call that makes it: its folder is not there
                self.missed_by.add(rank)
            return
        if step.iop_type == "symlink" and step.is_old_name:
            self.is_pointed_at = True
            return
        self.is_used = True
        self.is_opened |= step.iop_type in OPENS
        self.flags |= step.flags
        if step.iop_type == "mmap":
            self.mapped_bytes = max(self.mapped_bytes, step.length)
        self.changes |= step.iop_type in _CHANGING or bool(step.flags & os.O_TRUNC)
        if not told and _needs(step):
            self.needed_by.add(rank)
        if _makes(step):
            self.made_by.add(rank)


def _is_of_folders(step: FileStep) -> bool:
    if step.iop_type == "mkdir":
        return step.error in (0, errno.EEXIST)
    return not step.error and step.iop_type == "rmdir"


def _makes(step: FileStep) -> bool:
    makes = is_nameless(step) or may_make(step) or step.new_name
    return makes or step.iop_type in ("mkdir", "mknod")


def _needs(step: FileStep) -> bool:
    """Whether a call that succeeded shows that the name was there: it cannot make it."""
    return looks_up(step) or removes(step) or (step.iop_type in OPENS and not _makes(step))


def evidence_of(
    programs: Sequence[Program], phases: Iterable[Phase], apart: Iterable[int] = ()
) -> dict[int, Evidence]:
    """By file id: what the programs' calls show of each file.

    Args:
        programs: of all ranks.
        phases: that they perform.
        apart: files that stand for several, each of which one rank alone uses.
    """
    file_of = {phase.ph_id: phase.file_id for phase in phases}
    found: dict[int, Evidence] = {}
    for program in programs:
        # What a rank does with a file, its program's other ranks do as well.
        rank = program.ranks[0]
        others = set(program.ranks[1:])
        of_program: dict[int, Evidence] = {}
        for step, _ in flat(program.steps):
            _note(step, rank, of_program, file_of)
        for file_id, one in of_program.items():
            for ranks in (one.needed_by, one.missed_by, one.made_by):
                ranks.update(others if rank in ranks else ())
            _join(found.setdefault(file_id, Evidence()), one)
    for file_id in apart:
        if file_id in found:
            found[file_id].apart = True
    return found


def _note(step: PlainStep, rank: int, found: dict[int, Evidence], file_of: dict[int, int]) -> None:
    if isinstance(step, DataStep) and step.ph_id in file_of:
        found.setdefault(file_of[step.ph_id], Evidence()).is_used = True
    elif isinstance(step, FileStep):
        found.setdefault(step.file_id, Evidence()).note(step, rank)


def _join(all_ranks: Evidence, one: Evidence) -> None:
    all_ranks.flags |= one.flags
    all_ranks.needed_by |= one.needed_by
    all_ranks.missed_by |= one.missed_by
    all_ranks.made_by |= one.made_by
    all_ranks.is_used |= one.is_used
    all_ranks.is_pointed_at |= one.is_pointed_at
    all_ranks.is_opened |= one.is_opened
    all_ranks.is_folder |= one.is_folder
    all_ranks.changes |= one.changes
    all_ranks.mapped_bytes = max(all_ranks.mapped_bytes, one.mapped_bytes)
