"""What a kernel alone can get wrong: whether its calls find the names, sizes and holes beforehand that the model's found.

Names that another rank makes or removes are not followed: a replay waits for them (kernel/ordering/made_names.py). Where it
cannot know for what, that is said.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.steps import OPENS, REMOVE, is_nameless, may_make
from wavetank.kernel.files.holes import holes_missed
from wavetank.kernel.ordering.made_names import left_to_chance
from wavetank.model.document.model import Model
from wavetank.model.document.program import FileStep, Step
from wavetank.model.document.step_walks import file_steps, unrolled
from wavetank.trace.arguments import MpiMode

_NEED = frozenset({"stat", "access", "truncate", "unlink", "rmdir"})
_NamesOf = Mapping[int, Sequence[str]]
_OF_FOLDERS = frozenset({errno.ENOENT, errno.ENOTDIR})  # a new file's folder is not there, or none


def names_differences(kernel: Kernel) -> Iterator[str]:
    """A sentence on each rank with calls that would not end as they did, the first such call of each."""
    names_of = _followed(kernel)
    there = {name for file in kernel.files for name in file.prepared_names}
    everywhere: Counter[str] = Counter()
    changes: dict[int, set[str]] = {}  # of one rank of each program
    steps_of = {}
    for program in kernel.programs:
        first = min(program.ranks)
        steps_of[first] = program.steps
        names = changes[first] = _changed(names_of, program.steps)
        everywhere.update(dict.fromkeys(names, len(program.ranks)))
    for rank, names in sorted(changes.items()):
        walk = _Names(names_of, there, everywhere, names)
        walk.steps(steps_of[rank])
        if walk.found:
            yield f"rank {rank}: {walk.found[0]}"
    for number, name in left_to_chance(kernel):
        yield (
            f"rank {kernel.programs[number].ranks[0]}: whether {name} is there for it is chance: other ranks make or "
            "remove it several times, and no collective orders them"
        )


def size_differences(kernel: Kernel, model: Model) -> Iterator[str]:
    """A sentence on each file that is opened, and made beforehand with another size than it had."""
    opened = {
        step.file_id
        for program in kernel.programs
        for step in file_steps(program.steps)
        if step.iop_type in OPENS and not step.error
    }
    had = {file.file_id: file.file_size_before for file in model.files if not file.directory}
    for file in kernel.files:
        before = had.get(file.file_id)
        is_compared = file.file_id in opened and file.is_prepared and before is not None
        if is_compared and file.prepare_bytes != before:
            yield f"{file.name} has {file.prepare_bytes} bytes beforehand, it had {before}"


def hole_differences(kernel: Kernel) -> Iterator[str]:
    """A sentence on each file in which a seek found a hole that the replay's file does not have."""
    sizes = {
        file.file_id: max((size for _, size in file.stored()), default=0) for file in kernel.files
    }
    missed: Counter[int] = Counter()
    for program in kernel.programs:
        for file_id, n in holes_missed(program.steps, sizes).items():
            missed[file_id] += n * len(program.ranks)
    for file in kernel.files:
        if n := missed[file.file_id]:
            yield f"{n} lseek to a hole of {file.name} will find none there: files made beforehand are not sparse"


def _followed(kernel: Kernel) -> dict[int, tuple[str, ...]]:
    """The names of files. Which member of several a call is on changes with each visit, and is not followed."""
    return {file.file_id: file.names for file in kernel.files if file.members is None}


def _changed(names_of: _NamesOf, steps: Sequence[Step]) -> set[str]:
    """Names that the steps make or remove."""
    return {
        names_of[step.file_id][step.name]
        for step in file_steps(steps)
        if step.file_id in names_of and _changes(step)
    }


def _changes(step: FileStep) -> bool:
    if step.iop_type in calls.ON_TWO_NAMES:
        return not step.error
    opens = may_make(step) or step.mpi_mode & MpiMode.DELETE_ON_CLOSE
    return bool(opens) or step.iop_type in REMOVE | {"mkdir"}


class _Names:
    """Follows the names of one rank's files."""

    def __init__(
        self, names_of: _NamesOf, there: Set[str], everywhere: Mapping[str, int], own: Set[str]
    ) -> None:
        """Of a rank.

        Args:
            names_of: the names of files that are followed.
            there: names that are there before the run.
            everywhere: how many ranks make or remove each name.
            own: names that this rank makes or removes.
        """
        self._names_of = names_of
        self._beforehand, self._everywhere, self._own = there, everywhere, own
        self._there: dict[str, bool | None] = {}  # where this rank changed it
        self._nameless: set[str] = set()  # names of files that were opened by O_TMPFILE
        self._old = ""  # first name of a call on two
        self.found: list[str] = []

    def steps(self, steps: Sequence[Step]) -> None:
        """Follow steps; of what repeats two repetitions, the second of which is like all others."""
        for step in unrolled(steps, most=2):
            if isinstance(step, FileStep) and step.file_id in self._names_of:
                self._call(step)

    def _is(self, name: str) -> bool | None:
        if self._everywhere.get(name, 0) > (name in self._own):
            return None
        return self._there.get(name, name in self._beforehand)

    def _need(self, call: str, name: str, wanted: bool) -> None:
        if self._is(name) is (not wanted):
            how = "not there" if wanted else "there already"
            self.found.append(f"{call} of {name} would fail: it is {how}")

    def _call(self, step: FileStep) -> None:
        call, name = step.iop_type, self._names_of[step.file_id][step.name]
        if step.error:
            if self._would_succeed(step, name):
                self.found.append(f"{call} of {name} failed, and would succeed")
        elif call in OPENS:
            self._open(step, name)
        elif call in calls.ON_TWO_NAMES:
            self._pair(call, name, first=step.is_old_name)
        else:
            if call in _NEED or call == "mkdir":
                self._need(call, name, call != "mkdir")
            if call in REMOVE or call == "mkdir":
                self._there[name] = call == "mkdir"

    def _would_succeed(self, step: FileStep, name: str) -> bool:
        """Whether a call of MPI that failed has no reason to fail again. Those of POSIX fail by a filter where it must be."""
        is_there = self._is(name)
        if not step.mpi_mode & MpiMode.CREATE:
            return step.iop_type in ("MPI_File_open", "MPI_File_delete") and bool(is_there)
        if step.mpi_mode & MpiMode.EXCL:
            return is_there is False or step.error != errno.EEXIST
        folder = name.rpartition("/")[0]
        return step.error not in _OF_FOLDERS or not folder or self._has_names_below(folder)

    def _has_names_below(self, folder: str) -> bool:
        names = {*self._beforehand, *self._own, *self._everywhere}
        return any(name == folder or name.startswith(f"{folder}/") for name in names)

    def _open(self, step: FileStep, name: str) -> None:
        if is_nameless(step):
            self._nameless.add(name)
            return
        if not may_make(step):
            self._need(step.iop_type, name, True)
        elif step.flags & os.O_EXCL or step.mpi_mode & MpiMode.EXCL:
            self._need(step.iop_type, name, False)
        self._there[name] = None if step.mpi_mode & MpiMode.DELETE_ON_CLOSE else True

    def _pair(self, call: str, name: str, *, first: bool) -> None:
        if first:
            self._old = name
            return
        if call != "symlink" and self._old not in self._nameless:
            self._need(call, self._old, True)
        if call != "rename":
            self._need(call, name, False)
        elif self._old != name:
            self._there[self._old] = False
        self._there[name] = True
