"""Files that take turns at being one: whether a replay turns to the same members as the model, in the same order."""

from __future__ import annotations

from collections.abc import Iterator

from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.plan_reader import PlannedRun
from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Model


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
    if planned.n != len(members):
        return f"{planned.n} files, the model has {len(members)}"
    if set(planned.visits) != set(members.visits.ranks):
        return "other ranks work on its files than in the model"
    name_of: dict[int, tuple[str, ...]] = {}  # of the model's members, in the plan
    for rank, wanted in members.visits.by_rank():
        visits = planned.visits[rank]
        both = min(len(visits.order), len(wanted))
        names = [visits.names[number] for number in visits.order[:both].tolist()]
        place = next(
            (
                place
                for place, (member, name) in enumerate(zip(wanted.tolist(), names, strict=False))
                if name_of.setdefault(member, name) != name
            ),
            both,
        )
        if place < both or len(visits.order) != len(wanted):
            return f"rank {rank} turns to its files in another order than in the model, from visit {place + 1} on"
    if len(set(name_of.values())) != len(name_of):
        return "two of its files have one name"
    return None
