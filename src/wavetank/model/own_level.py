"""The level at which the application itself uses each file, apart from what the MPI library makes of its calls below."""

from __future__ import annotations

from wavetank.model.application import Model
from wavetank.model.phase import Phase


def levels_of_files(model: Model) -> dict[int, str]:
    """Of each file: "mpiio" where it has a phase of MPI-IO calls, else "posix"."""
    levels = {file.file_id: "posix" for file in model.files}
    levels |= {phase.file_id: "mpiio" for phase in model.phases if phase.level == "mpiio"}
    return levels


def own_phases(model: Model) -> tuple[Phase, ...]:
    """The phases of the level at which the application itself uses each file."""
    levels = levels_of_files(model)
    return tuple(phase for phase in model.phases if phase.level == levels[phase.file_id])


def own_levels(model: Model) -> Model:
    """The model with the application's own phases alone, and no relations."""
    phases = own_phases(model)
    kept = {phase.ph_id for phase in phases}
    series = tuple(one for one in model.series if set(one.ph_ids) <= kept)
    return model.model_copy(update={"phases": phases, "series": series, "relations": ()})
