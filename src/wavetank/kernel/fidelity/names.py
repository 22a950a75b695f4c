"""Whether a kernel's calls find what the model's found: which names, sizes and holes are there before, and what calls do to names.

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
from wavetank.kernel.fidelity.performed import Performed
from wavetank.kernel.files.holes import holes_missed
from wavetank.kernel.ordering.made_names import left_to_chance
from wavetank.model.document.model import Model
from wavetank.model.document.program import FileStep, Step
from wavetank.model.document.step_walks import file_steps, unrolled
from wavetank.trace.arguments import MpiMode

_NEED = frozenset({"stat", "access", "truncate", "unlink", "rmdir"})
_OF_FOLDERS = frozenset({errno.ENOENT, errno.ENOTDIR})  # a new file's folder is not there, or none


def names_differences(done: Performed, kernel: Kernel) -> Iterator[str]:
    """A sentence on each rank with calls that would not end as they did, the first such call of each."""
    there = {name for file in kernel.files for name in file.prepared_names}
    everywhere: Counter[str] = Counter()
    changes: dict[int, set[str]] = {}  # of one rank of each program
    steps_of = {}
    for ranks, steps in done.programs:
        steps_of[min(ranks)] = steps
        names = changes[min(ranks)] = _changed(done, steps)
        everywhere.update(dict.fromkeys(names, len(ranks)))
    for rank, names in sorted(changes.items()):
        walk = _Names(done, there, everywhere, names)
        walk.steps(steps_of[rank])
        if walk.found:
            yield f"rank {rank}: {walk.found[0]}"
    for number, name in left_to_chance(kernel):
        yield (
            f"rank {kernel.programs[number].ranks[0]}: whether {name} is there for it is chance: other ranks make or "
            "remove it several times, and no collective orders them"
        )


def size_differences(done: Performed, model: Model) -> Iterator[str]:
    """A sentence on each file that is opened, and made beforehand with another size than it had."""
    opened = {
        step.file_id
        for _, steps in done.programs
        for step in file_steps(steps)
        if step.iop_type in OPENS and not step.error
    }
    for file in model.files:
        size, had = done.sizes.get(file.file_id), file.file_size_before
        is_compared = file.file_id in opened and not file.directory
        if is_compared and None not in (size, had) and size != had:
            yield f"{done.names[file.file_id][0]} has {size} bytes beforehand, it had {had}"


def hole_differences(done: Performed, kernel: Kernel) -> Iterator[str]:
    """A sentence on each file in which a seek found a hole that the replay's file does not have."""
    sizes = dict(done.sizes) | {
        file.file_id: int(file.members.prepare_bytes.max())
        for file in kernel.files
        if file.members is not None
    }
    missed: Counter[int] = Counter()
    for ranks, steps in done.programs:
        for file_id, n in holes_missed(steps, sizes).items():
            missed[file_id] += n * len(ranks)
    for file_id, n in sorted(missed.items()):
        yield f"{n} lseek to a hole of {done.names[file_id][0]} will find none there: files made beforehand are not sparse"


def _changed(done: Performed, steps: Sequence[Step]) -> set[str]:
    """Names that the steps make or remove."""
    return {
        _name(done, step)
        for step in file_steps(steps)
        if _is_followed(done, step) and _changes(step)
    }


def _is_followed(done: Performed, step: FileStep) -> bool:
    """Whether a call is on one file: which member of several it is on changes with each visit, and is not followed."""
    return step.file_id not in done.several


def _changes(step: FileStep) -> bool:
    if step.iop_type in calls.ON_TWO_NAMES:
        return not step.error
    opens = may_make(step) or step.mpi_mode & MpiMode.DELETE_ON_CLOSE
    return bool(opens) or step.iop_type in REMOVE | {"mkdir"}


def _name(done: Performed, step: FileStep) -> str:
    names = done.names.get(step.file_id) or [f"file {step.file_id}"]
    return names[step.name] if step.name < len(names) else names[0]


class _Names:
    """Follows the names of one rank's files."""

    def __init__(
        self, done: Performed, there: Set[str], everywhere: Mapping[str, int], own: Set[str]
    ) -> None:
        """Of a rank.

        Args:
            done: what the kernel's ranks do.
            there: names that are there before the run.
            everywhere: how many ranks make or remove each name.
            own: names that this rank makes or removes.
        """
        self._done = done
        self._beforehand, self._everywhere, self._own = there, everywhere, own
        self._there: dict[str, bool | None] = {}  # where this rank changed it
        self._nameless: set[str] = set()  # names of files that were opened by O_TMPFILE
        self._old = ""  # first name of a call on two
        self.found: list[str] = []

    def steps(self, steps: Sequence[Step]) -> None:
        """Follow steps; of what repeats two repetitions, the second of which is like all others."""
        for step in unrolled(steps, most=2):
            if isinstance(step, FileStep) and _is_followed(self._done, step):
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
        call, name = step.iop_type, _name(self._done, step)
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
