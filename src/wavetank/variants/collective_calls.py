"""Independent MPI-IO calls as collective ones."""

from __future__ import annotations

from typing import ClassVar

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.step_lines import Communicators
from wavetank.kernel.ordering.waits import find_waits
from wavetank.model.document.phase import Phase
from wavetank.model.document.step_walks import file_steps
from wavetank.variants.base import DoesNotApplyError, Turned, require_word
from wavetank.variants.hints import is_collective, mpi_phases
from wavetank.variants.programs import with_phases

_COLLECTIVE = {
    f"MPI_File_{verb}{how}": f"MPI_File_{verb}{how}_all"
    for verb in ("read", "write")
    for how in ("", "_at")
}


class CollectiveCalls:
    """MPI_File_write_at becomes MPI_File_write_at_all, where all ranks that opened the file make the call."""

    name: ClassVar[str] = "collective-calls"
    title: ClassVar[str] = "MPI-IO calls"
    takes: ClassVar[str] = "on"

    def values(self, kernel: Kernel) -> tuple[str, ...]:
        """The one that there is."""
        return ("on",)

    def turned(self, kernel: Kernel, value: str) -> Turned:
        """See Knob."""
        require_word(self, value, ("on",))
        independent = [phase for phase in mpi_phases(kernel) if not is_collective(phase)]
        if not independent:
            raise DoesNotApplyError("its MPI-IO calls are collective already")
        reasons: dict[str, list[int]] = {}
        new: dict[int, Phase] = {}
        for phase in independent:
            reason = _why_not(kernel, phase)
            if reason is None:
                new[phase.ph_id] = _collective(phase)
            else:
                reasons.setdefault(reason, []).append(phase.ph_id)
        if not new:
            raise DoesNotApplyError("; ".join(reasons))
        made = with_phases(kernel, new, kernel.programs)
        if find_waits(made).number:
            raise DoesNotApplyError(
                "its ranks wait for what others wrote or opened before, and could wait for ever if they all had to make "
                "a call together"
            )
        left = sum(len(ph_ids) for ph_ids in reasons.values())
        return Turned(
            kernel=made,
            before="independent",
            after="collective",
            notes=(f"{left} phases of independent calls stay: {'; '.join(reasons)}.",)
            if left
            else (),
        )


def _why_not(kernel: Kernel, phase: Phase) -> str | None:
    """Why a phase's calls cannot be collective; None when they can."""
    for member in phase.pattern:
        if (calls.performed(member.iop_type) or "") not in _COLLECTIVE:
            return f"{member.iop_type} calls have no collective call that does the same"
    communicators = Communicators(kernel.communicators, kernel.programs)
    opened_by = {
        communicators.table[number]
        for program in kernel.programs
        for step in file_steps(program.steps)
        if step.file_id == phase.file_id and not step.error
        if (number := communicators.of_open(step)) is not None
    }
    if not opened_by:
        return "the model does not show who opened the file"
    for ranks in opened_by:
        missing = sorted(set(ranks) - set(phase.ph_processid))
        if missing:
            return f"{len(ranks)} ranks opened the file together, and {len(missing)} of them do not make these calls"
        if len(ranks) == 1:
            return "each rank opened the file for itself"
    return None


def _collective(phase: Phase) -> Phase:
    return phase.model_copy(
        update={
            "pattern": tuple(
                member.model_copy(
                    update={"iop_type": _COLLECTIVE[calls.performed(member.iop_type) or ""]}
                )
                for member in phase.pattern
            ),
            "collective": True,
        }
    )
