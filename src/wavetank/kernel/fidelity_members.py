"""Files that take turns at being one: whether a replay turns to the same members as the model, in the same order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavetank.kernel.plan import Kernel
from wavetank.kernel.plan_reader import PlannedRun
from wavetank.model.application import Model
from wavetank.model.file import ModelFile


def member_differences(plan: PlannedRun, kernel: Kernel, model: Model) -> Iterator[str]:
    """What differs in the members of files, a sentence each.

    Args:
        plan: read back from the kernel's text.
        kernel: which files it performs.
        model: what it is to reproduce.
    """
    performed = {file.file_id for file in kernel.files}
    for file in model.files:
        if file.file_id in performed and (file.members is not None or file.file_id in plan.members):
            what = _difference(plan, file)
            if what is not None:
                yield f"{file.file_name}: {what}"


def _difference(plan: PlannedRun, file: ModelFile) -> str | None:
    members, planned = file.members, plan.members.get(file.file_id)
    if members is None or planned is None:
        return "one file on one side, several on the other"
    if len(planned) != len(members):
        return f"{len(planned)} files, the model has {len(members)}"
    if len({name for _, name in planned}) != len(planned):
        return "two of its files have one name"
    visits = plan.visits[file.file_id]
    if set(visits) != set(members.visits.ranks):
        return "other ranks work on its files than in the model"
    for rank, visited in visits.items():
        wanted = members.visits.of_rank(rank)
        if not np.array_equal(visited, wanted):
            both = min(len(visited), len(wanted))
            place = next(iter(np.flatnonzero(visited[:both] != wanted[:both])), both)
            return f"rank {rank} turns to its files in another order than in the model, from visit {place + 1} on"
    return None
