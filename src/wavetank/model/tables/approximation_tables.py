"""The tables of an approximate model: what was counted beside what was made of it, and what is exact or assumed.

A file of its own: a kernel that was made of such a model shows them too.
"""

from __future__ import annotations

from wavetank.model.document.approximation import Approximation, Quantity
from wavetank.tables.table import Column, Definition, Table

QUANTITIES: Definition[Quantity] = Definition(
    "approximate",
    "APPROXIMATE",
    (
        Column("what", "What", lambda i: i.what),
        Column("counted", "Counted", lambda i: i.counted, kind="integer"),
        Column("model", "Model", lambda i: i.model, kind="integer"),
        Column("least", "At least", lambda i: i.least, kind="integer", machine=True),
        Column("most", "At most", lambda i: i.most, kind="integer", machine=True),
        Column("bounds", "Bounds", lambda i: i.bounds, people=True),
    ),
)

ASSUMPTIONS: Definition[tuple[str, str]] = Definition(
    "assumptions",
    "What is exact, what is assumed",
    (Column("which", "Which", lambda i: i[0]), Column("what", "What", lambda i: i[1])),
)


def approximation_tables(approximation: Approximation | None) -> list[Table]:
    """Both tables; none of a model that is not approximate."""
    if approximation is None:
        return []
    told = [("exact", text) for text in approximation.exact]
    told += [("assumed", text) for text in approximation.assumed]
    return [
        QUANTITIES.table(approximation.quantities, caption=f"This is {approximation.sentence()}."),
        ASSUMPTIONS.table(told),
    ]
