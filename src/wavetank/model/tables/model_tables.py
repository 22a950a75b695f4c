"""The tables of a model: what the command line prints and a report shows.

Names of columns are those of the method, section 2 (P18 table 1).
"""

from __future__ import annotations

from wavetank.model.document.model import Model, own_phases
from wavetank.model.document.phase import Phase
from wavetank.model.tables.application_table import APPLICATION, application_table
from wavetank.model.tables.file_table import FILES, file_table, names_of
from wavetank.model.tables.metadata_table import METADATA, metadata_table
from wavetank.model.tables.phase_table import PHASES, PHASES_BELOW, phase_table
from wavetank.model.tables.relation_table import RELATIONS, relation_table
from wavetank.tables.table import Table

DEFINITIONS = (APPLICATION, FILES, PHASES, PHASES_BELOW, RELATIONS, METADATA)


def model_tables(model: Model, *, largest_first: bool = False) -> list[Table]:
    """The application, file and phase tables; the phases of the level below where there are any."""
    own, lower = by_level(model)
    tables = [application_table(model)]
    if own or not model.metadata:
        tables += [file_table(model, largest_first=largest_first), _phases(model, own)]
    if model.metadata:
        tables.append(metadata_table(model.metadata, model.n_ranks))
    if lower:
        tables.append(_phases(model, lower, below=True))
    if model.relations:
        tables.append(relation_table(model))
    return tables


def _phases(model: Model, phases: tuple[Phase, ...], *, below: bool = False) -> Table:
    return phase_table(
        phases,
        model.series,
        names_of(model),
        model.n_ranks,
        PHASES_BELOW if below else PHASES,
        "What the MPI library made of the phases above; not counted twice."
        if below
        else "P15 table V. A row for each phase, or for each series of phases that are alike. "
        "Request sizes, offsets and distances are in bytes.",
    )


def by_level(model: Model) -> tuple[tuple[Phase, ...], tuple[Phase, ...]]:
    """Phases of the application's own calls, and those of the MPI library below them."""
    own = own_phases(model)
    below = tuple(phase for phase in model.phases if phase.by_library)
    return own, below
