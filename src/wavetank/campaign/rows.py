"""A table of a campaign's results: plain values, and the same as people read them."""

from __future__ import annotations

from dataclasses import dataclass

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Rows:
    """A table: plain values, and the same as people read them."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[Cell]]
    shown_columns: tuple[str, ...]
    shown: list[list[str]]
    note: str | None = None
