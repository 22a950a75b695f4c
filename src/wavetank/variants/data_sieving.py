"""Data sieving: whether small pieces of an independent call are moved as one large piece with the gaps."""

from __future__ import annotations

from typing import ClassVar

from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import View
from wavetank.model.document.phase import Phase
from wavetank.variants.base import DoesNotApplyError, Turned, require_word
from wavetank.variants.hints import hints_of, is_collective, mpi_phases, verbs, with_hints


class DataSieving:
    """romio_ds_read and romio_ds_write, of the kinds of calls that the kernel makes."""

    name: ClassVar[str] = "data-sieving"
    title: ClassVar[str] = "data sieving"
    takes: ClassVar[str] = "on or off"

    def values(self, kernel: Kernel) -> tuple[str, ...]:
        """Both: the default leaves it to ROMIO."""
        return ("on", "off")

    def turned(self, kernel: Kernel, value: str) -> Turned:
        """See Knob."""
        require_word(self, value, ("on", "off"))
        phases = [
            phase
            for phase in mpi_phases(kernel)
            if not is_collective(phase) and _has_holes(kernel, phase)
        ]
        if not phases:
            raise DoesNotApplyError(
                "no independent MPI-IO call of it goes through a file view with gaps, so there is nothing to sieve"
            )
        keys = tuple(f"romio_ds_{verb}" for verb in verbs(phases))
        hint = "enable" if value == "on" else "disable"
        return Turned(
            kernel=with_hints(kernel, phases, dict.fromkeys(keys, hint)),
            before=hints_of(kernel, {phase.file_id for phase in phases}, keys),
            after=hint,
            hints=keys,
        )


def _has_holes(kernel: Kernel, phase: Phase) -> bool:
    numbers = {*(phase.view_ids or ()), *([] if phase.view_id is None else [phase.view_id])}
    return any(_visible(kernel.views[number]) < kernel.views[number].extent for number in numbers)


def _visible(view: View) -> int:
    return sum(view.run_lengths)
