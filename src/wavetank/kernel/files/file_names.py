"""Which of a file's names are there before a run, and which the run makes.

Reads a model's file and the steps of the kernel; leaves the names in the kernel's order, and by which of them each
step goes. A name that neither is there beforehand nor is made by any step of the kernel stands for the file's own
(the same directory mounted twice).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import KernelFile, KernelName
from wavetank.kernel.document.steps import may_make, removes
from wavetank.kernel.files.tree_names import top_folder, tree_names
from wavetank.model.document.file import ModelFile
from wavetank.model.document.file_members import Members, name_of_member, step_name, turns_to_next
from wavetank.model.document.program import DataStep, FileStep, Program, Step
from wavetank.model.document.step_walks import changed_steps, file_steps
from wavetank.model.events.file_identity import NAMED_OPS

# Calls that show that a name led to its file before. A stat may have been of a file that another one replaced.
_LEADING = frozenset({"open", "MPI_File_open", "truncate", "unlink"}) | calls.ON_TWO_NAMES

Prepared = Literal["link", "symlink"]


@dataclass
class Uses:
    """What the steps do with the names of one file; names by their index."""

    linked: set[int] = field(default_factory=set)  # that come to be by rename, link or symlink
    created: set[int] = field(
        default_factory=set
    )  # by which the file was opened and made if it was not there
    gone: set[int] = field(default_factory=set)  # that were removed, or renamed


def uses_of_names(programs: Sequence[Program], several: Collection[int] = ()) -> dict[int, Uses]:
    """By file id.

    Args:
        programs: of the kernel.
        several: files with members, of which each has the names.
    """
    found: dict[int, Uses] = {}
    for program in programs:
        used: set[tuple[int, int]] = set()
        for step in file_steps(program.steps):
            if step.error or step.iop_type not in NAMED_OPS:
                continue
            uses = found.setdefault(step.file_id, Uses())
            name = name_of_member(step.name) if step.file_id in several else step.name
            if step.new_name and (step.file_id, name) not in used:
                uses.linked.add(name)
            if may_make(step):
                uses.created.add(name)
            if removes(step):
                uses.gone.add(name)
            if step.iop_type in _LEADING and not step.new_name:
                used.add((step.file_id, name))
    return found


@dataclass(frozen=True)
class NamePlan:
    """The names of one file as the kernel has them.

    Attributes:
        order: indices of the model's names; the first is the kernel's own.
        prepared: how names of the model are made before the run.
        of_step: the kernel's index of each of the model's names.
        stand_ins: names of the model that no step makes, so that another one is used.
    """

    order: tuple[int, ...]
    prepared: Mapping[int, Prepared]
    of_step: tuple[int, ...]
    stand_ins: tuple[int, ...]


def plan_names(file: ModelFile, uses: Uses, *, there_before: bool) -> NamePlan:
    """What becomes of a file's names.

    Args:
        file: of the model.
        uses: of its names, by the kernel's steps.
        there_before: whether the file is made before the run.
    """
    n = 1 + len(file.other_names)
    symlinks = {k for k, name in enumerate(file.other_names, start=1) if name.symlink}
    unmade = [k for k in range(n) if k not in uses.linked]
    plain = [k for k in unmade if k not in symlinks]
    prepared: dict[int, Prepared] = {k: "symlink" for k in unmade if k in symlinks}
    own, stand_ins = 0, []
    if there_before and plain:
        own = plain[0]
        prepared |= dict.fromkeys(plain[1:], "link")
    elif plain:
        own = next((k for k in plain if k in uses.created), plain[0])
        stand_ins = [k for k in plain if k != own]
    keeps = 0 not in stand_ins and not there_before
    first = 0 if keeps else own
    order = (first, *(k for k in range(n) if k != first and k not in stand_ins))
    of_step = tuple(order.index(own if k in stand_ins else k) for k in range(n))
    return NamePlan(order, prepared, of_step, tuple(stand_ins))


def with_names(
    steps: Sequence[Step], plans: Mapping[int, NamePlan], several: Collection[int] = ()
) -> tuple[Step, ...]:
    """The steps, by the kernel's names. Files in ``several`` have members."""

    def named(step: DataStep | FileStep) -> DataStep | FileStep:
        if not isinstance(step, FileStep) or step.file_id not in plans:
            return step
        of_step = plans[step.file_id].of_step
        if step.file_id in several:
            own, turns = name_of_member(step.name), bool(turns_to_next(step.name))
            name = step_name(of_step[own], turns=turns)
        else:
            name = of_step[step.name]
        return step if name == step.name else step.model_copy(update={"name": name})

    return changed_steps(steps, named)


def apply_names(
    files: Sequence[ModelFile],
    made: Sequence[KernelFile],
    programs: Sequence[Program],
    folders: Collection[str] = (),
    *,
    metadata_only: bool = False,
) -> tuple[list[KernelFile], list[Program], list[str]]:
    """The kernel's files with all their names, the programs by these, and sentences on what differs.

    Args:
        files: of the model.
        made: the kernel's files of these, in the same order, each with its file's own name.
        programs: the kernel's, by the names of the model.
        folders: whose files keep their place in them (tree_names.py).
        metadata_only: the application moves no data: no file has a folder that is not the application's.
    """
    several = {file.file_id for file in files if file.members is not None}
    uses = uses_of_names(programs, several)
    plans: dict[int, NamePlan] = {}
    places = _places(files, uses)
    unique = dict(enumerate(path for path, _ in dict.fromkeys(places.values())))
    of_members: dict[int, dict[str, int]] = {}  # numbers of names in directories that are kept
    for file in files:
        if file.members is not None and (metadata_only or _in_any(file.members, folders)):
            paths = dict.fromkeys(file.members.all_paths())
            of_members[file.file_id] = dict(zip(paths, count(len(unique)), strict=False))
            unique.update(enumerate(paths, start=len(unique)))
    names = tree_names(unique, folders)
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places.values()))}
    owners = Counter(path for file in files for path in paths_of(file))
    found, sentences = [], []
    for file, base in zip(files, made, strict=True):
        own = paths_of(file)
        of_file = uses.get(file.file_id, Uses())
        plan = plan_names(file, of_file, there_before=base.is_prepared)
        kept = [names[numbers[places[file.file_id, k]]] for k in plan.order]
        changes: dict[str, Any] = {"name": kept[0], "other_names": tuple(
            KernelName(name=name, prepared=plan.prepared.get(k))
            for k, name in zip(plan.order[1:], kept[1:], strict=True)
        )}  # fmt: skip
        if base.members is not None:
            of_file_names = [base.members.names, *base.members.other_names]
            if file.members is not None and file.file_id in of_members:
                place = of_members[file.file_id]
                of_file_names = [
                    tuple(names[place[path]] for path in file.members.paths(k))
                    for k in range(len(own))
                ]
            first, *further = (of_file_names[k] for k in plan.order)
            changes["members"] = base.members.model_copy(
                update={
                    "names": first, "other_names": tuple(further),
                    "in_tree": file.file_id in of_members,
                }
            )  # fmt: skip
        if base.role == "input" and (of_file.gone or any(owners[path] > 1 for path in own)):
            changes["role"] = "both"  # the name is gone, or another file's, after the run
        found.append(base.model_copy(update=changes))
        if plan.of_step != tuple(range(len(own))):
            plans[file.file_id] = plan
        if plan.stand_ins:
            others = ", ".join(own[k] for k in plan.stand_ins)
            sentences.append(
                f"{own[plan.order[0]]} goes by {others} too, and no traced call made that name: the replay uses the "
                "first one throughout."
            )
    if not plans:
        return found, list(programs), sentences
    return (
        found,
        [
            program.model_copy(update={"steps": with_names(program.steps, plans, several)})
            for program in programs
        ],
        sentences,
    )


def _in_any(members: Members, folders: Collection[str]) -> bool:
    return bool(folders) and any(
        top_folder(path, folders) is not None or path in folders for path in members.all_paths()
    )


def _places(
    files: Sequence[ModelFile], uses: Mapping[int, Uses]
) -> dict[tuple[int, int], tuple[str, int]]:
    """Where each name (file id, index) lies: its path, and which of the files side by side has it.

    A name that an earlier file still has, although another one is made by it, went away with its folder. A kernel
    has no folders: the two files have places of their own.
    """
    found: dict[tuple[int, int], tuple[str, int]] = {}
    staying: dict[str, int] = {}
    for file in files:
        of_file = uses.get(file.file_id, Uses())
        for index, path in enumerate(paths_of(file)):
            number = staying.get(path, 0)
            if path in staying and index in of_file.created and index not in of_file.linked:
                number += 1
            found[file.file_id, index] = (path, number)
        for index, path in enumerate(paths_of(file)):
            if index in of_file.gone:
                staying.pop(path, None)
            else:
                staying[path] = found[file.file_id, index][1]
    return found


def paths_of(file: ModelFile) -> tuple[str, ...]:
    """A file's names; ``FileStep.name`` is an index."""
    return (file.file_name, *(name.path for name in file.other_names))
