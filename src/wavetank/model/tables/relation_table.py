"""What the phases of a model became below MPI-IO, by aggregator and request size."""

from __future__ import annotations

from wavetank.model.document.model import LevelRelation, Model
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import id_range, ranges, ranks_words
from wavetank.units import exact_size

MAX_ROWS = 300
_Alike = tuple[Model, tuple[LevelRelation, ...]]
"""Relations that differ only in the phase above."""

RELATIONS: Definition[_Alike] = Definition(
    "relations",
    "What the phases became below MPI-IO",
    (
        Column("ph_id", "Phase", lambda i: Cell(id_range(r.ph_id for r in i[1]), i[1][0].ph_id), kind="integer"),
        Column("below", "Became", lambda i: i[1][0].below, kind="integer", help="phase at POSIX level"),
        Column("ranks", "Ranks", lambda i: Cell(ranks_words(i[1][0].ranks, i[0].n_ranks), ranges(i[1][0].ranks)), kind="list",
               help="that made the POSIX calls, the aggregators: [first, last, step] of each range"),
        Column("n_operations", "Operations", lambda i: sum(r.n_operations for r in i[1]), kind="integer"),
        Column("moved", "Bytes", lambda i: sum(r.moved for r in i[1]), unit="B"),
        Column("rs_min", "Smallest", lambda i: i[1][0].rs_min, unit="B", show=exact_size, help="request"),
        Column("rs_max", "Largest", lambda i: i[1][0].rs_max, unit="B", show=exact_size, help="request"),
    ),
    key="what_the_phases_became_below_mpi_io",
)  # fmt: skip


def relation_table(model: Model) -> Table:
    """Which POSIX phases the MPI-IO phases became; for people those that are alike together."""
    alike: dict[tuple[object, ...], list[LevelRelation]] = {}
    for each in model.relations:
        alike.setdefault((each.below, each.ranks, each.rs_min, each.rs_max), []).append(each)
    return RELATIONS.table(
        [(model, (each,)) for each in model.relations],
        people=[(model, tuple(members)) for members in alike.values()],
        max_rows=MAX_ROWS,
    )
