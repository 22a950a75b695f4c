"""A table of a model as plain rows, before it is printed or becomes part of a report; and ranks in words."""

from __future__ import annotations

from collections.abc import Sequence
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


def ranks_text(ranks: Sequence[int]) -> str:
    """Ranks for people: 0-3, 8, 10-30 by 5."""
    parts = []
    position = 0
    while position < len(ranks):
        step = ranks[position + 1] - ranks[position] if position + 1 < len(ranks) else 1
        end = position
        while end + 1 < len(ranks) and ranks[end + 1] - ranks[end] == step:
            end += 1
        if end - position >= (1 if step == 1 else 2):
            parts.append(f"{ranks[position]}-{ranks[end]}" + ("" if step == 1 else f" by {step}"))
        else:
            parts.append(str(ranks[position]))
            end = position
        position = end + 1
    return ", ".join(parts)
