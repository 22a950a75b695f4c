"""A table of a model as plain rows, before it is printed or becomes part of a report."""

from __future__ import annotations

from dataclasses import dataclass

Cell = str | int | float | None


@dataclass(frozen=True)
class ModelTable:
    """A titled table: ``rows`` with plain values, ``shown`` for people (may join rows)."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    shown: tuple[tuple[str, ...], ...]
    note: str | None = None
    key: str | None = None  # in JSON; the title's words by default
    shown_columns: tuple[str, ...] | None = None  # of ``shown``, where they are others
