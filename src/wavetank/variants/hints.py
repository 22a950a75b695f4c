"""MPI-IO hints of a kernel's files: those that they have, others, and which library reads which."""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep
from wavetank.model.document.step_walks import file_steps
from wavetank.variants.base import DoesNotApplyError
from wavetank.variants.programs import changed_programs

DEFAULT = "default"
_TAKES_HINTS = frozenset({"MPI_File_open", "MPI_File_set_view", "MPI_File_set_info"})


def mpi_phases(kernel: Kernel) -> list[Phase]:
    """Phases of MPI-IO calls.

    Raises:
        DoesNotApplyError: there are none.
    """
    found = [phase for phase in kernel.phases if phase.level == "mpiio"]
    if not found:
        raise DoesNotApplyError("it moves no data by MPI-IO")
    return found


def is_collective(phase: Phase) -> bool:
    """Whether a phase's calls are collective ones."""
    return any(calls.is_collective(_performed(phase, n)) for n in range(len(phase.pattern)))


def collective_phases(kernel: Kernel) -> list[Phase]:
    """Phases of collective MPI-IO calls.

    Raises:
        DoesNotApplyError: there are none.
    """
    found = [phase for phase in mpi_phases(kernel) if is_collective(phase)]
    if not found:
        raise DoesNotApplyError("it makes no collective MPI-IO call that moves data")
    return found


def verbs(phases: list[Phase]) -> tuple[str, ...]:
    """Which of "read" and "write" these phases do."""
    reading = [calls.reads(member.iop_type) for phase in phases for member in phase.pattern]
    return (*(["read"] if any(reading) else []), *(["write"] if not all(reading) else []))


def hints_of(kernel: Kernel, files: set[int], keys: tuple[str, ...]) -> str:
    """The values that files have of some hints, for people: "default", "4", "enable"."""
    found = {
        dict(kernel.infos[step.info_id]).get(key, DEFAULT) if step.info_id is not None else DEFAULT
        for program in kernel.programs
        for step in file_steps(program.steps)
        if step.iop_type == "MPI_File_open" and step.file_id in files
        for key in keys
    }
    return " or ".join(sorted(found)) or DEFAULT


def with_hints(kernel: Kernel, phases: list[Phase], hints: Mapping[str, str]) -> Kernel:
    """The kernel with hints given at each open of the phases' files, besides those that they have.

    Calls that give hints later give these too, so that none takes them back.

    Raises:
        DoesNotApplyError: the files have these values already.
    """
    files = {phase.file_id for phase in phases}
    infos = list(kernel.infos)

    def change(step: DataStep | FileStep) -> DataStep | FileStep:
        if (
            not isinstance(step, FileStep)
            or step.file_id not in files
            or step.iop_type not in _TAKES_HINTS
            or (step.info_id is None and step.iop_type != "MPI_File_open")
        ):
            return step
        has = dict(kernel.infos[step.info_id]) if step.info_id is not None else {}
        info = tuple((has | dict(hints)).items())
        if info not in infos:
            infos.append(info)
        return step.model_copy(update={"info_id": infos.index(info)})

    programs = changed_programs(kernel.programs, change)
    changed = kernel.model_copy(update={"programs": programs, "infos": tuple(infos)})
    if programs == kernel.programs:
        words = ", ".join(f"{key} {value}" for key, value in hints.items())
        raise DoesNotApplyError(f"its files have these hints already ({words})")
    return changed


def _performed(phase: Phase, index: int) -> str:
    return calls.performed(phase.pattern[index].iop_type) or ""
