"""What a kernel's ranks do in order, all calls included, against the model.

Which calls are a replay's is asked of the rules that made the kernel; what they are and in which order, of the model. Steps of
both sides become their fields, with what a number stands for (a name, a view's runs, a communicator's ranks, hints) in
its place, so that equal order is equality. Nothing but irregular orders is unfolded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wavetank.kernel.construction.own_calls import OwnCalls
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.steps import mpi_openers
from wavetank.kernel.fidelity.performed import Performed, of_next_member, performed_as
from wavetank.kernel.files.file_names import paths_of
from wavetank.kernel.files.tree_names import folders_of, tree_names
from wavetank.kernel.lowering.step_lines import Communicators
from wavetank.model.document.file_members import name_of_member, turns_to_next
from wavetank.model.document.file_views import programs_by_view
from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, FileStep, ProcessStep, Program, Step
from wavetank.model.document.step_walks import Around, changed_among, flat, orders_expanded

_Entry = dict[str, Any]
"""A step's fields. Of a repeat those of its steps that are compared, as ``steps``."""


@dataclass
class OrderFidelity:
    """The order of all calls, by rank.

    Attributes:
        differences: of each rank whose order differs, where it does first.
        n_model: calls that move no data, of all ranks, in the model.
        n_kernel: those in the kernel.
        left_out: names of such calls that the kernel does not have, and how many.
        replaced: names of calls that the replay makes by others.
    """

    differences: dict[int, str] = field(default_factory=dict)
    n_model: int = 0
    n_kernel: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    replaced: set[str] = field(default_factory=set)


def compare_order(done: Performed, kernel: Kernel, model: Model) -> OrderFidelity:
    """Compare what each rank does, in order.

    Args:
        done: what the kernel's ranks will do.
        kernel: for the order of processes, and its tables.
        model: what the kernel is to reproduce.
    """
    found = OrderFidelity()
    wanted_steps = _ModelSteps(kernel, model, found)
    opened = mpi_openers(model.programs)

    def is_known(step: Step) -> bool:
        """Not when a file was opened, if nothing says so: the kernel opens it at the start."""
        if isinstance(step, FileStep) and step.iop_type == "MPI_File_open":
            return step.file_id in opened
        return True

    entries = _Entries(
        {"view_id": kernel.views, "info_id": kernel.infos, "communicator": done.communicators},
        lambda step: _at(done.names.get(step.file_id, []), step.name),
        is_known,
        kernel.n_ranks,
    )
    made: dict[int, tuple[list[_Entry], int]] = {}  # by rank: what it does, calls without data
    for ranks, steps in done.programs:
        calls_made = ((one, n) for one, n in flat(steps) if one.step == "file" and is_known(one))
        n_calls = sum(times * step.count for step, times in calls_made)
        made |= dict.fromkeys(ranks, (entries.of(steps), n_calls))
    processes = {rank: _processes(one.steps) for one in kernel.programs for rank in one.ranks}
    nothing: tuple[list[_Entry], int] = [], 0
    for program in programs_by_view(model.programs):
        steps = wanted_steps.of(program)
        wanted = wanted_steps.entries.of(steps)
        compared: dict[int, str | None] = {}
        for rank in program.ranks:
            order, n_calls = made.pop(rank, nothing)
            if id(order) not in compared:
                compared[id(order)] = _first_other(wanted, order)
            difference = compared[id(order)]
            if difference is None and processes.get(rank, []) != _processes(steps):
                difference = "other processes begin or end, or elsewhere, than in the model"
            if difference is not None:
                found.differences[rank] = difference
            found.n_kernel += n_calls
    for rank, (order, n_calls) in sorted(made.items()):
        if order:
            found.differences[rank] = "the model has no program for this rank"
            found.n_kernel += n_calls
    return found


def _processes(steps: Sequence[Step]) -> list[tuple[int, Step]]:
    """Which processes begin and have ended, and before which step of a program."""
    return [(place, step) for place, step in enumerate(steps) if isinstance(step, ProcessStep)]


class _ModelSteps:
    """Programs of the model as a replay is to perform them."""

    def __init__(self, kernel: Kernel, model: Model, found: OrderFidelity) -> None:
        self._found = found
        self._own = OwnCalls(model)
        self._communicators = Communicators(model.communicators, model.programs)
        self._phases = {phase.ph_id for phase in kernel.phases}
        self._kernel_names = {file.file_id: file.names for file in kernel.files}
        touched = [file for file in model.files if file.file_id in self._kernel_names]
        self._paths = {file.file_id: paths_of(file) for file in model.files}
        self._several = {file.file_id for file in model.files if file.members is not None}
        paths = list(dict.fromkeys(path for file in touched for path in paths_of(file)))
        folders = folders_of(touched, metadata_only=not model.phases)
        names = tree_names(dict(enumerate(paths)), folders)
        self._below_root = {path: names[number] for number, path in enumerate(paths)}
        self.entries = _Entries(
            {
                "view_id": model.views,
                "info_id": model.infos,
                "communicator": self._communicators.table,
            },
            self._name,
            lambda _: True,
            model.n_ranks,
        )

    def of(self, program: Program) -> tuple[Step, ...]:
        """Steps of one program; its calls are counted."""
        return changed_among(program.steps, self._performed_as, len(program.ranks))

    def _performed_as(
        self, step: DataStep | FileStep, around: Around
    ) -> DataStep | FileStep | None:
        if isinstance(step, DataStep):
            return step if step.ph_id in self._phases else None
        if not self._own.has(step):
            return None
        is_first = self._own.is_first_name(step, around.after)
        is_pair = is_first or self._own.is_first_name(around.before, step)
        n = around.times * (int(not is_first) if is_pair else step.count)
        self._found.n_model += n
        made = performed_as(step, self._communicators, is_first=is_first, is_pair=is_pair)
        alone = not is_pair and not step.error and step.iop_type in calls.ON_TWO_NAMES
        if made is None or alone or not calls.is_performed(step):
            self._found.left_out[step.iop_type] += n
            return None
        if made.iop_type != step.iop_type:
            self._found.replaced.add(step.iop_type)
        return made

    def _name(self, step: FileStep) -> str:
        """The name below the root by which the replay is to call a file."""
        is_several = step.file_id in self._several
        which = name_of_member(step.name) if is_several else step.name
        name = self._below_root.get(str(_at(self._paths[step.file_id], which)), "")
        known = self._kernel_names.get(step.file_id, (name,))
        name = name if name in known else known[0]
        return of_next_member(name) if is_several and turns_to_next(step.name) else name


class _Entries:
    """Steps by what the numbers in them stand for."""

    def __init__(
        self,
        tables: Mapping[str, Sequence[object]],
        name: Callable[[FileStep], object],
        is_known: Callable[[Step], bool],
        n_ranks: int,
    ) -> None:
        """Of one side.

        Args:
            tables: what the numbers of a step's fields stand for.
            name: of the file of a call, as it calls it.
            is_known: whether a model can know of a call.
            n_ranks: of the run.
        """
        self._tables, self._name, self._is_known, self._n_ranks = tables, name, is_known, n_ranks

    def of(self, steps: Sequence[Step]) -> list[_Entry]:
        """Those of a program, without collectives of all ranks at its start and end: MPI_Init and MPI_Finalize do those."""
        order = self._order(steps)
        low, high = 0, len(order)
        while low < high and self._is_of_all(order[low]):
            low += 1
        while low < high and self._is_of_all(order[high - 1]):
            high -= 1
        return order[low:high]

    def _is_of_all(self, entry: _Entry) -> bool:
        ranks = entry["communicator"] if entry["step"] == "sync" else ()
        return isinstance(ranks, tuple) and len(ranks) == self._n_ranks

    def _order(self, steps: Sequence[Step]) -> list[_Entry]:
        known: dict[int, list[_Entry]] = {}  # by step, which may come many times
        found: list[_Entry] = []
        for step in orders_expanded(steps):
            if id(step) not in known:
                known[id(step)] = self._entries(step)
            found += known[id(step)]
        return found

    def _entries(self, step: Step) -> list[_Entry]:
        """The entry of a step; none of one that is not compared, or holds none that is."""
        if step.step in ("process", "own") or not self._is_known(step):
            return []
        entry = dict(vars(step))
        for name, table in self._tables.items():
            entry[name] = _at(table, entry.get(name))
        if step.step == "repeat":
            entry["steps"] = self._order(step.steps)
            return [entry] if entry["steps"] else []
        if isinstance(step, FileStep):
            entry["name"] = None if step.iop_type in calls.DATA else self._name(step)
        if step.step == "pause":
            entry["seconds"] = round(step.seconds * 1e9)
        return [entry]


def _at(table: Sequence[object], number: int | None) -> object:
    """What a number stands for; None where there is none."""
    return table[number] if number is not None and 0 <= number < len(table) else None


def _first_other(wanted: Sequence[_Entry], planned: Sequence[_Entry]) -> str | None:
    """A sentence on the first step at which two orders differ; None where they are equal."""
    least = min(len(wanted), len(planned))
    place = next((i for i in range(least) if wanted[i] != planned[i]), least)
    if place == len(wanted) == len(planned):
        return None
    model, plan = (
        _told(some[place]) if place < len(some) else "nothing more" for some in (wanted, planned)
    )
    return f"the order differs from the model's at step {place + 1}: {plan}, the model has {model}"


def _told(entry: _Entry) -> str:
    """An entry for people."""
    if entry["step"] == "data":
        return f"{entry['n']} of phase {entry['ph_id']}"
    if entry["step"] == "repeat":
        inner = [_told(one) for one in entry["steps"]]
        return f"{entry['times']} times ({', '.join(inner[:3])}{', ...' if len(inner) > 3 else ''})"
    if entry["step"] == "file":
        return f"{entry['iop_type']} of {entry['name'] or 'file ' + str(entry['file_id'])}"
    return {"sync": "a collective", "pause": "a pause"}[entry["step"]]
