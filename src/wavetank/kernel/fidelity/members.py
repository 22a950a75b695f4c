"""Files that take turns at being one: whether a kernel turns to the same members as the model, in the same order."""

from __future__ import annotations

from collections.abc import Iterator

from wavetank.kernel.document.kernel import Kernel, KernelMembers
from wavetank.model.document.file_members import Members
from wavetank.model.document.model import Model


def member_differences(kernel: Kernel, model: Model) -> Iterator[str]:
    """What differs in the members of files, a sentence each."""
    planned = {file.file_id: file.members for file in kernel.files}
    for file in model.files:
        if file.file_id in planned:
            what = _difference(planned[file.file_id], file.members)
            if what is not None:
                yield f"{file.file_name}: {what}"


def _difference(planned: KernelMembers | None, members: Members | None) -> str | None:
    if planned is None or members is None:
        alike = planned is None and members is None
        return None if alike else "one file on one side, several on the other"
    if len(planned.names) != len(members):
        return f"{len(planned.names)} files, the model has {len(members)}"
    made = dict(planned.visits.by_rank())
    if made.keys() != set(members.visits.ranks):
        return "other ranks work on its files than in the model"
    number_of: dict[
        int, int
    ] = {}  # of the model's members, in the kernel, where no two have one name
    for rank, wanted in members.visits.by_rank():
        both = zip(wanted.tolist(), made[rank].tolist(), strict=False)
        n_same = next(
            (n for n, (member, number) in enumerate(both) if number_of.setdefault(member, number) != number),
            min(len(wanted), len(made[rank])),
        )  # fmt: skip
        if n_same < max(len(wanted), len(made[rank])):
            return f"rank {rank} turns to its files in another order than in the model, from visit {n_same + 1} on"
    if len(set(number_of.values())) != len(number_of):
        return "two of its files have one name"
    return None
