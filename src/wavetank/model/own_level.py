"""A model without what lies below the application's own level: the calls that the MPI library makes of its MPI-IO calls."""

from __future__ import annotations

from wavetank.model.application import Model
from wavetank.model.tables import own_level


def own_levels(model: Model) -> Model:
    """The model with the phases of the level at which the application itself uses each file, and no relations."""
    levels = {file.file_id: own_level(model, file.file_id) for file in model.files}
    phases = tuple(phase for phase in model.phases if phase.level == levels[phase.file_id])
    kept = {phase.ph_id for phase in phases}
    series = tuple(one for one in model.series if set(one.ph_ids) <= kept)
    return model.model_copy(update={"phases": phases, "series": series, "relations": ()})
