"""What a directory holds that a kernel lists, beside the files that the kernel knows by their names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from wavetank.kernel.document.kernel import KernelFile
from wavetank.kernel.document.steps import may_make, removes
from wavetank.kernel.files.turns import FileNames, Turns
from wavetank.model.document.program import FileStep, Program, RepeatStep, Step
from wavetank.model.document.step_walks import file_steps, in_order

_DOTS = 2  # "." and ".." are entries too


def with_entries(
    files: Sequence[KernelFile], programs: Sequence[Program]
) -> tuple[list[KernelFile], list[str]]:
    """The files, each directory with the entries that its first listing needs, and sentences on these.

    A listing asks for one entry after another, so the number of calls says how many there were. Those that were there
    before and that no other call names are made as empty files.
    """
    if not any(_lists(program) for program in programs):
        return list(files), []
    names = FileNames(files)
    prepared: defaultdict[str, set[str]] = defaultdict(set)
    for file in files:
        for name in file.prepared_names:
            prepared[name.rpartition("/")[0]].add(name)
    found: dict[int, int] = {}
    for program in programs:
        for rank in program.ranks if names.differ(program) else program.ranks[:1]:
            listing = _Listings(files, names.turns_of(rank), prepared)
            listing.walk(program.steps)
            for file_id, n in listing.missing.items():
                found.setdefault(file_id, n)
    n_more = sum(n for n in found.values() if n > 0)
    if not n_more:
        return list(files), []
    filled = [
        file.model_copy(update={"entries": found[file.file_id]})
        if found.get(file.file_id, 0) > 0 and file.directory and file.role != "output"
        else file
        for file in files
    ]
    made = sum(file.entries for file in filled)
    if not made:
        return filled, []
    return filled, [
        f"{made:,} entries of directories that are listed are named by no other call: empty files stand for them."
    ]


def _lists(program: Program) -> bool:
    return any(step.iop_type == "readdir" for step in file_steps(program.steps))


class _Listings:
    """Walks through a program and counts what is in each directory when it is first listed."""

    def __init__(
        self, files: Sequence[KernelFile], turns: Turns, prepared: Mapping[str, set[str]]
    ) -> None:
        self._turns = turns
        self._several = {file.file_id for file in files if file.members is not None}
        self._inside = defaultdict(set, {folder: set(some) for folder, some in prepared.items()})
        self._read: Counter[tuple[int, int]] = Counter()
        self.missing: dict[int, int] = {}

    def walk(self, steps: Sequence[Step]) -> None:
        """In order. A repeat that lists a directory to its end does so anew each time."""
        for step, times in in_order(steps, self._rounds):
            if isinstance(step, FileStep):
                self._see(step, times)

    def _rounds(self, repeat: RepeatStep) -> int | None:
        """All, where each is on other members; of listings of the same directory the first."""
        inside = list(file_steps(repeat.steps))
        if any(step.file_id in self._several for step in inside):
            return repeat.times
        return 1 if any(step.at_end for step in inside) else None

    def _see(self, step: FileStep, times: int) -> None:
        for name, count in self._turns.calls(step):  # a call that fails is a turn too
            if not step.error:
                self._see_one(step, name, count * times)

    def _see_one(self, step: FileStep, name: str, count: int) -> None:
        folder = name.rpartition("/")[0]
        if step.iop_type == "open":
            self._read[step.file_id, step.handle] = 0
        if may_make(step) or step.new_name or step.iop_type in ("mkdir", "mknod"):
            self._inside[folder].add(name)
        elif removes(step):
            self._inside[folder].discard(name)
        elif step.at_end:
            read = self._read.pop((step.file_id, step.handle), 0)
            self.missing.setdefault(step.file_id, read - _DOTS - len(self._inside[name]))
        elif step.iop_type == "readdir":
            self._read[step.file_id, step.handle] += count
