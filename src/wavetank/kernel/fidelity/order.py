"""What a replay's ranks do in order, all calls included: the plan that was read back against the model.

Steps become tuples that name what they use by its contents (a view's runs, a communicator's ranks, hints), so
that equal order is equality. Nothing is unfolded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.steps import are_of_one_call
from wavetank.kernel.fidelity.entries import Entry, first_other, n_calls, trimmed
from wavetank.kernel.files.file_names import paths_of
from wavetank.kernel.files.tree_names import folders_of, tree_names
from wavetank.kernel.lowering.plan_reader import NEXT_MEMBER, PlannedRun, PlannedStep, distinct
from wavetank.model.document.file_members import NEXT
from wavetank.model.document.file_views import programs_by_view
from wavetank.model.document.model import Model
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    MixStep,
    PauseStep,
    ProcessStep,
    Program,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.model.document.step_walks import flat
from wavetank.trace.paths import is_stored

_LARGEST_EMPTY = 1 << 30  # bytes; a larger request that moved nothing asks for 0


@dataclass
class OrderFidelity:
    """The order of all calls, by rank.

    Attributes:
        differences: of each rank whose order differs, where it does first.
        n_model: calls that move no data, of all ranks, in the model.
        n_kernel: those in the plan.
        left_out: names of such calls that the plan does not have, and how many.
        replaced: calls that the plan makes by others: "MPI_Test is issued as MPI_Wait".
    """

    differences: dict[int, str] = field(default_factory=dict)
    n_model: int = 0
    n_kernel: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    replaced: list[str] = field(default_factory=list)


def compare_order(plan: PlannedRun, kernel: Kernel, model: Model) -> OrderFidelity:
    """Compare what each rank does, in order.

    Args:
        plan: read back from the kernel's text.
        kernel: for the order of processes, which the plan holds as waits.
        model: what the kernel is to reproduce.
    """
    wanted_steps, made_steps = _ModelSteps(kernel, model), _PlanSteps(plan, _opened_by_mpi(model))
    found = OrderFidelity()
    compared: dict[tuple[int, int], str | None] = {}
    processes = {
        rank: wanted_steps.processes(program)
        for program in kernel.programs
        for rank in program.ranks
    }
    seen: set[int] = set()
    for program in programs_by_view(model.programs):
        own_processes = wanted_steps.processes(program)
        wanted = wanted_steps.of(program)
        for rank in program.ranks:
            seen.add(rank)
            planned = plan.programs.get(rank, [])
            key = (id(program), id(planned))
            if key not in compared:
                compared[key] = first_other(wanted, made_steps.of(planned))
            difference = compared[key]
            if processes.get(rank, []) != own_processes:
                difference = (
                    difference or "other processes begin or end, or elsewhere, than in the model"
                )
            if difference is not None:
                found.differences[rank] = difference
            found.n_kernel += made_steps.n_calls(planned)
        found.n_model += wanted_steps.n_calls * len(program.ranks)
        for name, n in wanted_steps.left_out.items():
            found.left_out[name] += n * len(program.ranks)
    for rank in sorted(plan.programs.keys() - seen):
        if made_steps.of(plan.programs[rank]):
            found.differences[rank] = "the model has no program for this rank"
            found.n_kernel += made_steps.n_calls(plan.programs[rank])
    found.replaced = [
        f"{name} is issued as {calls.performed(name)}" for name in sorted(wanted_steps.replaced)
    ]
    return found


def _opened_by_mpi(model: Model) -> set[int]:
    """Files that some rank opens by MPI, as far as the model knows."""
    return {
        step.file_id
        for program in model.programs
        for step, _ in flat(program.steps)
        if isinstance(step, FileStep) and step.iop_type == "MPI_File_open"
    }


class _ModelSteps:
    """Programs of the model as a replay is to perform them."""

    def __init__(self, kernel: Kernel, model: Model) -> None:
        self._model = model
        self._performed = {phase.ph_id for phase in kernel.phases}
        self._names = {file.file_id: file.file_name for file in model.files}
        self._paths = {file.file_id: paths_of(file) for file in model.files}
        self._kernel_names = {file.file_id: list(file.names) for file in kernel.files}
        self._several = {file.file_id for file in model.files if file.members is not None}
        below = dict.fromkeys(
            path for file_id in self._kernel_names for path in self._paths.get(file_id, ())
        )
        touched = [file for file in model.files if file.file_id in self._kernel_names]
        folders = folders_of(touched, metadata_only=not model.phases)
        found = tree_names(dict(enumerate(below)), folders)
        self._below_root = {path: found[number] for number, path in enumerate(below)}
        self._mpi_files = {p.file_id for p in model.phases if p.level == "mpiio"}
        self._mpi_files |= _opened_by_mpi(model)
        openers: defaultdict[int, set[int]] = defaultdict(set)
        for program in model.programs:
            for step, _ in flat(program.steps):
                if isinstance(step, FileStep) and step.iop_type == "MPI_File_open":
                    openers[step.file_id].update(program.ranks)
        self._openers = {file_id: tuple(sorted(ranks)) for file_id, ranks in openers.items()}
        self._views = [
            hash(
                (view.displacement, view.etype_size, view.extent, len(view.run_offsets),
                 *(n for pair in zip(view.run_offsets, view.run_lengths, strict=True) for n in pair))
            )
            for view in model.views
        ]  # fmt: skip
        self.n_calls = 0
        self.left_out: Counter[str] = Counter()
        self.replaced: set[str] = set()

    def of(self, program: Program) -> list[Entry]:
        """One program; counts its calls anew."""
        self.n_calls, self.left_out = 0, Counter()
        order = [entry for entry in self._order(program.steps, 1) if entry[0] != "process"]
        return trimmed(order, self._model.n_ranks)

    def processes(self, program: Program) -> list[tuple[int, Entry]]:
        """Which processes begin and have ended, and before which step of the program; also of a kernel's program."""
        if not any(isinstance(step, ProcessStep) for step in program.steps):
            return []
        order = enumerate(self._order(program.steps, 1))
        return [(number, entry) for number, entry in order if entry[0] == "process"]

    def _order(self, steps: Sequence[Step], times: int) -> Iterator[Entry]:
        for number, step in enumerate(steps):
            if isinstance(step, MixStep):
                yield from self._of_mix(step, times)
            elif isinstance(step, RepeatStep):
                if inner := tuple(self._order(step.steps, times * step.times)):
                    yield ("repeat", step.times, inner)
            elif isinstance(step, FileStep):
                if self._is_the_replays(step):
                    yield from self._of_file(step, steps[max(number - 1, 0) : number + 2], times)
            elif (entry := self._of_no_file(step)) is not None:
                yield entry

    def _of_mix(self, step: MixStep, times: int) -> Iterator[Entry]:
        if any(getattr(one, "iop_type", "") in calls.ON_TWO_NAMES for one in step.steps):
            yield from self._order(tuple(step.each()), times)  # each looks at its neighbours
            return
        each: list[Entry | None] = []
        for one, count in zip(step.steps, step.counts(), strict=True):
            each.append(next(self._order([one], times * count), None) if count else None)
        for entry in map(each.__getitem__, step.order.tolist()):
            if entry is not None:
                yield entry

    def _of_no_file(self, step: Step) -> Entry | None:
        if isinstance(step, DataStep) and step.ph_id in self._performed:
            return ("data", step.ph_id, step.n, step.handle, step.single, step.null_seeks)
        if isinstance(step, SyncStep):
            return ("sync", tuple(self._model.communicators[step.communicator]), step.count)
        if isinstance(step, PauseStep):
            return ("pause", round(step.seconds * 1e9))
        if isinstance(step, ProcessStep):
            return ("process", step.rank, step.event)
        return None

    def _of_file(self, step: FileStep, around: Sequence[Step], times: int) -> Iterator[Entry]:
        """A call; of one on two names the second step says both."""
        if step.iop_type in calls.ON_TWO_NAMES:
            before, after = around[0], around[-1]
            if are_of_one_call(step, after) and self._is_stored(after):
                return
            is_second = are_of_one_call(before, step) and self._is_stored(before)
            if is_second and isinstance(before, FileStep):
                self.n_calls += times
                yield ("pair", step.iop_type, self._name(before), self._name(step), step.error)
                return
        self.n_calls += times * step.count
        if (entry := self._call(step)) is None:
            self.left_out[step.iop_type] += times * step.count
        else:
            yield entry

    def _name(self, step: FileStep) -> tuple[int, str]:
        """The file and the name below the root by which the replay is to call it."""
        if step.file_id in self._several and step.name == NEXT:
            return step.file_id, NEXT_MEMBER
        named = self._paths[step.file_id]
        name = self._below_root.get(named[step.name] if 0 <= step.name < len(named) else "", "")
        known = self._kernel_names.get(step.file_id, [])
        return step.file_id, name if name in known or not known else known[0]

    def _is_stored(self, step: Step) -> bool:
        return isinstance(step, FileStep) and is_stored(self._names[step.file_id])

    def _is_the_replays(self, step: FileStep) -> bool:
        if step.file_id in self._mpi_files and not calls.is_mpi(step.iop_type):
            return False  # left to the MPI library
        return is_stored(self._names[step.file_id])

    def _call(self, step: FileStep) -> Entry | None:
        name = calls.performed(step.iop_type)
        if name is None or (name in calls.ON_TWO_NAMES and not step.error):
            return None
        if not calls.is_performed(name, step.error, step.arg):
            return None
        if name != step.iop_type:
            self.replaced.add(step.iop_type)
        if name in calls.DATA:
            size = step.size if step.size <= _LARGEST_EMPTY else 0
            return (
                "empty",
                name,
                step.file_id,
                step.handle,
                step.offset,
                size,
                step.error,
                step.count,
            )
        arg = step.arg
        if name == "MPI_Wait":
            arg = 0
        communicator = None
        if name == "MPI_File_open":
            communicator = (
                self._openers[step.file_id]
                if step.communicator is None
                else tuple(self._model.communicators[step.communicator])
            )
        view = step.view_id
        return (
            "do", name, self._name(step), step.handle, arg, step.offset,
            None if view is None or view < 0 else self._views[view], communicator, step.error,
            None if step.info_id is None else self._model.infos[step.info_id], step.count,
        )  # fmt: skip


class _PlanSteps:
    """Programs of the plan."""

    def __init__(self, plan: PlannedRun, opened: set[int]) -> None:
        self._plan = plan
        self._opened = opened
        self._views = [hash(view) for view in plan.views]
        self._made: dict[int, list[Entry]] = {}
        self._n_calls: dict[int, int] = {}

    def of(self, steps: Sequence[PlannedStep]) -> list[Entry]:
        """One program."""
        if id(steps) not in self._made:
            self._made[id(steps)] = trimmed(list(self._order(steps)), self._plan.n_ranks)
        return self._made[id(steps)]

    def n_calls(self, steps: Sequence[PlannedStep]) -> int:
        """Calls of one program that move no data."""
        if id(steps) not in self._n_calls:
            self._n_calls[id(steps)] = n_calls(self.of(steps))
        return self._n_calls[id(steps)]

    def _order(self, steps: Sequence[PlannedStep]) -> Iterator[Entry]:
        each = {
            id(step): self._entry(step.words) for step, _ in distinct(steps) if step.inner is None
        }
        for step in steps:
            if step.inner is None:
                if (entry := each[id(step)]) is not None:
                    yield entry
            elif inner := tuple(self._order(step.inner)):
                yield ("repeat", int(step.words[1]), inner)

    def _entry(self, step: Sequence[str]) -> Entry | None:
        kind, *words = step
        entry: Entry | None = None
        if kind == "data":
            ph_id, n, handle, single, null_seeks = words
            entry = ("data", int(ph_id), int(n), _number(handle), single == "1", int(null_seeks))
        elif kind == "sync":
            entry = ("sync", _entry_of(self._plan.communicators, words[0]), int(words[1]))
        elif kind == "pause":
            entry = ("pause", int(words[0]))
        elif kind == "do":
            entry = self._do(words)
        elif kind == "pair":
            name, old, old_name, new, new_name, error = words
            first, second = self._name(old, old_name), self._name(new, new_name)
            entry = ("pair", name, first, second, int(error))
        elif kind == "empty":
            name, file, handle, offset, size, count, error = words
            entry = (
                "empty", name, int(file), int(handle), _number(offset), int(size), int(error), int(count),
            )  # fmt: skip
        return entry

    def _name(self, file: str, name: str) -> tuple[int, str]:
        return int(file), str(_entry_of(self._plan.names.get(int(file), []), name))

    def _do(self, words: list[str]) -> Entry | None:
        name, file, handle, arg, offset, view, communicator, error, count, info, named = words
        if name == "MPI_File_open" and int(file) not in self._opened:
            return None  # the model does not know when the file was opened
        return (
            "do", name, self._name(file, named), int(handle), 0 if name == "MPI_Wait" else int(arg), _number(offset),
            _entry_of(self._views, view), _entry_of(self._plan.communicators, communicator), int(error),
            _entry_of(self._plan.infos, info), int(count),
        )  # fmt: skip


def _entry_of(table: Sequence[object], word: str) -> object:
    """What a number stands for: None for "-" and below 0; the number itself where there is no such entry."""
    number = _number(word)
    if number is None or number < 0:
        return None
    return table[number] if number < len(table) else number


def _number(word: str) -> int | None:
    return None if word == "-" else int(word)
