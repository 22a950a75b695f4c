"""Whether MPI-IO calls of a model have their places: Darshan on Open MPI records none, and then no replay can make them.

Apart from ``below``, which takes half a second to import: commands that replay kernels need no more than this.
"""

from __future__ import annotations

from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase, UnknownOffsets
from wavetank.notes import note

BELOW = note(
    "assumed",
    "levels",
    "the log does not say at which offsets MPI-IO calls were made: the replay performs the POSIX calls below them, by the "
    "ranks that the MPI library made them on",
)


def is_without_places(model: Model) -> bool:
    """Whether MPI-IO phases of a model lack their places, so that no replay can make them, and POSIX phases have theirs."""
    mpi = [phase for phase in model.phases if phase.level == "mpiio"]
    posix = [phase for phase in model.phases if phase.level == "posix"]
    return any(needs_places(phase) for phase in mpi) and any(
        not isinstance(offsets, UnknownOffsets) for phase in posix for offsets in phase.offset
    )


def needs_places(phase: Phase) -> bool:
    """Whether a phase's offsets are not known, and its calls cannot be made without."""
    names = [member.iop_type for member in phase.pattern]
    return (
        any("_at" in name or name.startswith("p") for name in names)
        and any(isinstance(offsets, UnknownOffsets) for offsets in phase.offset)
        and (
            phase.offset_view is None
            or any(isinstance(offsets, UnknownOffsets) for offsets in phase.offset_view)
        )
    )
