"""Whether a plan's calls on names find what the model's found: by which names are there before, and what the calls do to them.

Names that another rank makes or removes are not followed: a replay waits for them (``order_made``), and where it cannot know for
what, that is said.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.plan_reader import PlannedRun, PlannedStep
from wavetank.kernel.ordering.made_names import left_to_chance
from wavetank.model.document.model import Model
from wavetank.model.document.program import FileStep
from wavetank.model.document.step_walks import flat

_MPI_CREATE, _MPI_DELETES, _MPI_EXCL = 1, 16, 64  # MPI_MODE_* of Open MPI and MPICH
_NEED = frozenset({"stat", "access", "truncate", "unlink", "rmdir"})
_OPENS = frozenset({"open", "MPI_File_open"})
_OF_FOLDERS = frozenset({errno.ENOENT, errno.ENOTDIR})  # a new file's folder is not there, or none
_REMOVE = frozenset({"unlink", "rmdir", "MPI_File_delete"})


def names_differences(plan: PlannedRun, kernel: Kernel) -> Iterator[str]:
    """A sentence on each rank with calls that would not end as they did, the first such call of each."""
    there = {name for file in kernel.files for name in file.prepared_names}
    one_of_each = _one_of_each(plan)
    n_ranks = Counter(map(id, plan.programs.values()))
    changes = {rank: _changed(plan, steps) for rank, steps in one_of_each.items()}
    everywhere: Counter[str] = Counter()
    for rank, names in changes.items():
        everywhere.update(dict.fromkeys(names, n_ranks[id(plan.programs[rank])]))
    for rank, steps in one_of_each.items():
        walk = _Names(plan, there, everywhere, changes[rank])
        walk.steps(steps)
        if walk.found:
            yield f"rank {rank}: {walk.found[0]}"
    for number, name in left_to_chance(kernel):
        yield (
            f"rank {kernel.programs[number].ranks[0]}: whether {name} is there for it is chance: other ranks make or "
            "remove it several times, and no collective orders them"
        )


def size_differences(kernel: Kernel, model: Model) -> Iterator[str]:
    """A sentence on each file that is opened, and made beforehand with another size than it had."""
    before = {file.file_id: file.file_size_before for file in model.files}
    opened = {
        step.file_id
        for program in kernel.programs
        for step, _ in flat(program.steps)
        if isinstance(step, FileStep) and step.iop_type in _OPENS and not step.error
    }
    for file in kernel.files:
        size = before.get(file.file_id)
        if (
            file.is_prepared
            and not file.folder
            and file.file_id in opened
            and size is not None
            and size != file.prepare_bytes
        ):
            yield f"{file.name} has {file.prepare_bytes} bytes beforehand, it had {size}"


def _one_of_each(plan: PlannedRun) -> dict[int, list[PlannedStep]]:
    """The first rank of each program."""
    found: dict[int, tuple[int, list[PlannedStep]]] = {}
    for rank, steps in plan.programs.items():
        found.setdefault(id(steps), (rank, steps))
    return dict(found.values())


def _changed(plan: PlannedRun, steps: Sequence[PlannedStep]) -> set[str]:
    """Names that the steps make or remove."""
    names: set[str] = set()
    for step in steps:
        if step.inner is not None:
            names |= _changed(plan, step.inner)
        elif step.words[0] == "pair":
            _, _, old, old_name, new, new_name, _ = step.words
            names |= {_name(plan, old, old_name), _name(plan, new, new_name)}
        elif step.words[0] == "do" and _is_one(plan, step.words) and _changes(step.words):
            names.add(_name(plan, step.words[2], step.words[-1]))
    return names


def _is_one(plan: PlannedRun, words: Sequence[str]) -> bool:
    """Whether a call is on one file: which member of several it is on changes with each visit, and is not followed."""
    return int(words[2]) not in plan.members


def _changes(words: Sequence[str]) -> bool:
    name, flags = words[1], int(words[4])
    if name == "open":
        return bool(flags & os.O_CREAT)
    if name == "MPI_File_open":
        return bool(flags & (_MPI_CREATE | _MPI_DELETES))
    return name == "mkdir" or name in _REMOVE


def _name(plan: PlannedRun, file: str, number: str) -> str:
    names = plan.names.get(int(file)) or [f"file {file}"]
    return names[int(number)] if int(number) < len(names) else names[0]


class _Names:
    """Follows the names of one rank's files."""

    def __init__(
        self, plan: PlannedRun, there: Set[str], everywhere: Mapping[str, int], own: Set[str]
    ) -> None:
        """Of a rank.

        Args:
            plan: the plan.
            there: names that are there before the run.
            everywhere: how many ranks make or remove each name.
            own: names that this rank makes or removes.
        """
        self._plan = plan
        self._beforehand, self._everywhere, self._own = there, everywhere, own
        self._there: dict[str, bool | None] = {}  # where this rank changed it
        self._nameless: set[str] = set()  # names of files that were opened by O_TMPFILE
        self.found: list[str] = []

    def steps(self, steps: Sequence[PlannedStep]) -> None:
        """Follow steps; of what repeats two repetitions, the second of which is like all others."""
        for step in steps:
            if step.inner is not None:
                for _ in range(min(2, int(step.words[1]))):
                    self.steps(step.inner)
            elif step.words[0] == "do" and _is_one(self._plan, step.words):
                self._call(step.words)
            elif step.words[0] == "pair":
                self._pair(step.words)

    def _is(self, name: str) -> bool | None:
        if self._everywhere.get(name, 0) > (name in self._own):
            return None
        return self._there.get(name, name in self._beforehand)

    def _need(self, call: str, name: str, wanted: bool) -> None:
        if self._is(name) is (not wanted):
            self.found.append(
                f"{call} of {name} would fail: it is not there"
                if wanted
                else f"{call} of {name} would fail: it is there already"
            )

    def _call(self, words: Sequence[str]) -> None:
        call, flags, error = words[1], int(words[4]), int(words[8])
        name = _name(self._plan, words[2], words[-1])
        if error:
            if self._would_succeed(call, name, flags, error):
                self.found.append(f"{call} of {name} failed, and would succeed")
            return
        if call in ("open", "MPI_File_open"):
            self._open(call, name, flags)
        elif call in _NEED:
            self._need(call, name, True)
        elif call == "mkdir":
            self._need(call, name, False)
        if call in _REMOVE:
            self._there[name] = False
        elif call == "mkdir":
            self._there[name] = True

    def _would_succeed(self, call: str, name: str, flags: int, error: int) -> bool:
        """Whether a call of MPI that failed has no reason to fail again. Those of POSIX fail by a filter where it must be."""
        is_there = self._is(name)
        if call == "MPI_File_delete":
            return bool(is_there)
        if call != "MPI_File_open":
            return False
        if not flags & _MPI_CREATE:
            return bool(is_there)
        if flags & _MPI_EXCL:
            return is_there is False or error != errno.EEXIST
        folder = name.rpartition("/")[0]
        return error not in _OF_FOLDERS or not folder or self._has_names_below(folder)

    def _has_names_below(self, folder: str) -> bool:
        names = {*self._beforehand, *self._own, *self._everywhere}
        return any(name == folder or name.startswith(f"{folder}/") for name in names)

    def _open(self, call: str, name: str, flags: int) -> None:
        if call == "open" and flags & os.O_TMPFILE == os.O_TMPFILE:
            self._nameless.add(name)
            return
        create, exclusive = (os.O_CREAT, os.O_EXCL) if call == "open" else (_MPI_CREATE, _MPI_EXCL)
        if not flags & create:
            self._need(call, name, True)
        elif flags & exclusive:
            self._need(call, name, False)
        self._there[name] = True
        if call == "MPI_File_open" and flags & _MPI_DELETES:
            self._there[name] = None

    def _pair(self, words: Sequence[str]) -> None:
        _, call, old, old_name, new, new_name, error = words
        if int(error):
            return
        first, second = _name(self._plan, old, old_name), _name(self._plan, new, new_name)
        if call != "symlink" and first not in self._nameless:
            self._need(call, first, True)
        if call != "rename":
            self._need(call, second, False)
        if call == "rename" and first != second:
            self._there[first] = False
        self._there[second] = True
