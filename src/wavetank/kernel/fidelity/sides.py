"""A kernel and its model as two models, for the comparison that ``wavetank diff`` makes too (model/comparison).

Of the model that is what a replay has to do: the application's own calls, at the places in file views that it gave. Which calls
are the application's own is asked of the rules that made the kernel; what they are and in which order, of the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wavetank.kernel.construction.own_calls import OwnCalls
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.kernel.document.steps import are_of_one_call, mpi_openers
from wavetank.kernel.files.file_names import Uses, plan_names, uses_of_names, with_names
from wavetank.model.comparison.comparability import KERNEL
from wavetank.model.comparison.counterparts import FilePairs
from wavetank.model.document.file import ModelFile
from wavetank.model.document.file_members import Members
from wavetank.model.document.file_views import programs_by_view
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.model.document.step_walks import Around, changed_among


@dataclass(frozen=True)
class Sides:
    """What is compared.

    Attributes:
        model: what a replay has to do.
        kernel: what it will do.
        pairs: files of both by their number.
        n_model: calls that move no data, of all ranks, in the model.
        n_kernel: those in the kernel.
        left_out: names of such calls that no replay makes, and how many.
        replaced: names of such calls that a replay makes by others.
    """

    model: Model
    kernel: Model
    pairs: FilePairs
    n_model: int
    n_kernel: int
    left_out: Counter[str]
    replaced: set[str]


def sides_of(kernel: Kernel, model: Model) -> Sides:
    """A kernel and its model side by side."""
    own = _OwnSteps(kernel, model)
    programs = [_changed(program, own.kept) for program in programs_by_view(model.programs)]
    planned = _PlannedSteps(model)
    told: dict[str, Any] = {
        "source": KERNEL,
        "n_ranks": kernel.n_ranks,
        "files": tuple(map(_model_file, kernel.files)),
        "phases": _in_views(kernel.phases),
        "programs": tuple(_changed(program, planned.kept) for program in kernel.programs),
        "views": kernel.views,
        "infos": kernel.infos,
        "communicators": kernel.communicators,
    }
    as_model = Model.model_construct(**told)
    kept = {phase.ph_id for phase in kernel.phases}
    phases = _in_views([phase for phase in model.phases if phase.ph_id in kept])
    named = _by_names_of(kernel, model, programs)
    ours, theirs = (
        {file.file_id: file for file in files} for files in (model.files, as_model.files)
    )
    return Sides(
        model=model.model_copy(update={"phases": phases, "programs": named}),
        kernel=as_model,
        pairs=[(ours.get(number), theirs.get(number)) for number in sorted({*ours, *theirs})],
        n_model=own.n_calls,
        n_kernel=planned.n_calls,
        left_out=own.left_out,
        replaced=own.replaced,
    )


def _model_file(file: KernelFile) -> ModelFile:
    """A kernel's file as far as programs are compared."""
    told: dict[str, Any] = {"file_id": file.file_id, "file_name": file.name, "members": None}
    if file.members is not None:
        of_members: dict[str, Any] = {
            "folder": "" if file.members.in_tree else f"{file.name}/",
            "names": file.members.names,
            "other_names": file.members.other_names,
            "visits": file.members.visits,
        }
        told["members"] = Members.model_construct(**of_members)
    return ModelFile.model_construct(**told)


def _in_views(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    """Phases with the places that calls are given: in the file view where there is one."""
    return tuple(
        phase.model_copy(update={"offset": phase.positions, "offset_view": None})
        for phase in phases
    )


def _by_names_of(kernel: Kernel, model: Model, programs: Sequence[Program]) -> tuple[Program, ...]:
    """Programs of the model, by the numbers that names have in the kernel."""
    prepared = {file.file_id: file.is_prepared for file in kernel.files}
    several = {file.file_id for file in model.files if file.members is not None}
    uses = uses_of_names(programs, several)
    plans = {
        file.file_id: plan_names(
            file, uses.get(file.file_id, Uses()), there_before=prepared[file.file_id]
        )
        for file in model.files
        if file.file_id in prepared and file.other_names
    }
    return tuple(
        Program(ranks=program.ranks, steps=with_names(program.steps, plans, several))
        for program in programs
    )


def _changed(
    program: Program, kept: Callable[[DataStep | FileStep, Around], DataStep | FileStep | None]
) -> Program:
    """A program with those of its steps that are kept."""
    return Program(
        ranks=program.ranks, steps=changed_among(program.steps, kept, len(program.ranks))
    )


def _n_calls(step: FileStep, around: Around) -> int:
    """How many calls a step is; one on two names is counted with the second."""
    return 0 if are_of_one_call(step, around.after) else around.times * step.count


class _OwnSteps:
    """The steps of a model that are a replay's to perform; counts calls."""

    def __init__(self, kernel: Kernel, model: Model) -> None:
        self._own = OwnCalls(model)
        self._phases = {phase.ph_id for phase in kernel.phases}
        self.n_calls = 0
        self.left_out: Counter[str] = Counter()
        self.replaced: set[str] = set()

    def kept(self, step: DataStep | FileStep, around: Around) -> DataStep | FileStep | None:
        """A step of a program where it is one of them."""
        if isinstance(step, DataStep):
            return step if step.ph_id in self._phases else None
        if not self._own.has(step):
            return None
        n = _n_calls(step, around)
        self.n_calls += n
        if not (self._own.is_known(step, around) and calls.is_performed(step)):
            self.left_out[step.iop_type] += n
            return None
        if calls.substitute(step.iop_type) is not None:
            self.replaced.add(step.iop_type)
        return step


class _PlannedSteps:
    """The steps of a kernel that its model can have; counts calls.

    When a file was opened is not among them if nothing says so: the kernel opens it at the start.
    """

    def __init__(self, model: Model) -> None:
        self._opened = mpi_openers(model.programs)
        self.n_calls = 0

    def kept(self, step: DataStep | FileStep, around: Around) -> DataStep | FileStep | None:
        """A step of a program where it is one of them."""
        if isinstance(step, DataStep):
            return step
        if step.iop_type == "MPI_File_open" and step.file_id not in self._opened:
            return None
        self.n_calls += _n_calls(step, around)
        return step
