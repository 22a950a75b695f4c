"""The tables of an approximate model: what was counted beside what was made of it, and what is exact or assumed."""

from __future__ import annotations

from wavetank.model.document.approximation import Approximation
from wavetank.model.tables.table import ModelTable


def approximation_tables(approximation: Approximation | None) -> tuple[ModelTable, ...]:
    """Both tables; none of a model that is not approximate."""
    if approximation is None:
        return ()
    columns = ("what", "counted", "model", "least", "most")
    rows = tuple(
        (one.what, one.counted, one.model, one.least, one.most) for one in approximation.quantities
    )
    shown = tuple(
        (one.what, "-" if one.counted is None else str(one.counted), str(one.model), one.bounds)
        for one in approximation.quantities
    )
    told = [("exact", text) for text in approximation.exact]
    told += [("assumed", text) for text in approximation.assumed]
    return (
        ModelTable(
            "APPROXIMATE",
            columns,
            rows,
            shown,
            f"This is {approximation.sentence()}.",
            key="approximate",
            shown_columns=("what", "counted", "model", "bounds"),
        ),
        ModelTable("What is exact, what is assumed", ("which", "what"), tuple(told), tuple(told), key="assumptions"),
    )  # fmt: skip
