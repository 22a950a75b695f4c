"""What a certificate says of a phase: what the model does, what the kernel will, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.kernel.document.operations import Totals
from wavetank.model.document.phase import Phase


@dataclass(frozen=True)
class PhaseFidelity:
    """One phase, or the phases that one benchmark line stands for.

    Attributes:
        ph_ids: the phases; none of the row about what lies beside them.
        by: "replay" or a benchmark's name.
        model: operations and bytes of the model, over all ranks.
        kernel: those that the kernel will issue.
        differences: a sentence each; empty when exact.
        places_by_race: True where the application itself does not determine the offsets: calls by the shared file
            pointer that are not ordered by rank. Their number, sizes and order within a rank are compared.
        left_to_mpi: True for POSIX operations that the MPI library makes again inside MPI-IO calls.
    """

    ph_ids: tuple[int, ...]
    by: str
    model: Totals
    kernel: Totals
    differences: tuple[str, ...]
    left_to_mpi: bool = False
    places_by_race: bool = False

    @property
    def exact(self) -> bool:
        """Nothing differs."""
        return not self.differences

    def within(self, tolerance: float) -> bool:
        """Whether operations and bytes are each within a fraction of the model's; 0 asks for exactness."""
        if self.exact or self.left_to_mpi:
            return True
        if tolerance <= 0:
            return False
        return all(
            abs(ours - theirs) <= tolerance * theirs
            for ours, theirs in (
                (self.kernel.operations, self.model.operations),
                (self.kernel.bytes, self.model.bytes),
            )
        )


def nothing(
    ph_ids: tuple[int, ...], by: str, group: Sequence[Phase], why: str, *, inside: bool = False
) -> PhaseFidelity:
    """The row of phases that are not issued; those inside of MPI-IO calls are the MPI library's."""
    return PhaseFidelity(ph_ids, by, phase_totals(group), Totals(0, 0), (why,), left_to_mpi=inside)


def phase_totals(group: Sequence[Phase]) -> Totals:
    """Operations and bytes of phases, over all ranks."""
    return Totals(
        sum(phase.ph_np * phase.ph_niop for phase in group), sum(phase.ph_weight for phase in group)
    )


def inside_mpi(phases: Sequence[Phase]) -> set[int]:
    """Phases of calls that the MPI library makes."""
    return {phase.ph_id for phase in phases if phase.by_library}
