"""How much storage a kernel's files take at most at one time.

Reads the model's files, the kernel's, and its programs; leaves a number of bytes. Source: P15 eq. 4, the sum of the
file sizes, but for files that take each other's place: a program that renames one state file after another onto one
name has one or two of them at any time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavetank.kernel.document.kernel import KernelFile
from wavetank.model.document.file import ModelFile
from wavetank.model.document.file_members import Members
from wavetank.model.document.program import Program
from wavetank.model.document.step_walks import file_steps
from wavetank.trace.schema import Int64Array


def capacity_bytes(
    files: Sequence[ModelFile], made: Sequence[KernelFile], programs: Sequence[Program]
) -> int:
    """Bytes that the files of a kernel take at most at one time.

    Args:
        files: the model's, those that the kernel has.
        made: the kernel's.
        programs: the kernel's.
    """
    names = {file.file_id: len(set(file.members.names)) for file in files if file.members}
    replaced = {
        file.file_id for file in files if names.get(file.file_id, file.n_files) < file.n_files
    }
    if replaced:
        replaced -= {one.file_id for one in made if one.members and one.members.prepare_bytes.any()}
        replaced -= {
            step.file_id
            for program in programs
            for step in file_steps(program.steps)
            if step.iop_type == "link"
        }
    return sum(
        _at_once(file.members, names[file.file_id])
        if file.members and file.file_id in replaced
        else file.file_size
        for file in files
    )


def _at_once(members: Members, n_names: int) -> int:
    """Bytes of the largest members that may be there together.

    They are made in the run, and a rename gives each its last name in place of the one before it. So of those that no
    rank will visit any more there is one for each name, beside those between their first visit and their last one.

    Args:
        members: of a family.
        n_names: different names that they have last.
    """
    sizes = np.sort(members.size)[::-1]
    if members.visits.shared:  # in which order ranks visit them is not known
        return int(sizes.sum())
    between = sum(_between(order) for _, order in members.visits.by_rank())
    return int(sizes[: n_names + between].sum())


def _between(order: Int64Array) -> int:
    """How many members at most are between their first and their last visit at one time, both included."""
    n = len(order)
    first = np.unique(order, return_index=True)[1]
    last = n - 1 - np.unique(order[::-1], return_index=True)[1]
    change = np.zeros(n + 1, dtype=np.int64)
    change[first] += 1
    change[last + 1] -= 1
    return int(np.cumsum(change).max(initial=0))
