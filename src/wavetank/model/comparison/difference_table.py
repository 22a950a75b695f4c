"""The table of what differs between two models: a row for each difference; for people one for several phases alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from wavetank.model.comparison.difference import ModelDifference
from wavetank.model.comparison.program_difference import Difference
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import DASH, plain_words


@dataclass(frozen=True)
class _Row:
    """One difference; for people that of several phases one after another, up to the last."""

    first: Difference
    last: Difference

    @property
    def ratio(self) -> float | None:
        """How many times a the second number is; None for other values."""
        a, b = self.first.a, self.first.b
        if isinstance(a, bool) or isinstance(b, bool):
            return None
        if not isinstance(a, int | float) or not isinstance(b, int | float):
            return None
        return b / a if a else None


def _span(first: int | None, last: int | None) -> Cell:
    if first is None:
        return Cell(DASH, None)
    return Cell(str(first) if first == last else f"{first} to {last}", first)


DIFFERENCES: Definition[_Row] = Definition(
    "model-differences",
    "Differences",
    (
        Column("where", "Where", lambda i: i.first.where),
        Column("ph_id_a", "Phase of a", lambda i: _span(i.first.ph_id_a, i.last.ph_id_a), kind="integer"),
        Column("ph_id_b", "Phase of b", lambda i: _span(i.first.ph_id_b, i.last.ph_id_b), kind="integer"),
        Column("field", "Field", lambda i: i.first.field),
        Column("a", "a", lambda i: i.first.a, kind="any", show=plain_words),
        Column("b", "b", lambda i: i.first.b, kind="any", show=plain_words),
        Column("ratio", "b / a", lambda i: i.ratio, kind="number", show=lambda value: f"{value:.4g}"),
    ),
    key="differences",
    command="diff",
)  # fmt: skip


def difference_table(found: ModelDifference) -> Table:
    """The differences, with how many phases are the same in the caption."""
    return DIFFERENCES.table(
        [_Row(each, each) for each in found.differences],
        people=_shown(found.differences),
        caption=counts(found),
    )


def counts(found: ModelDifference) -> str:
    """How many phases are the same."""
    return (
        f"{found.n_equal_phases} phases are the same, of {found.n_phases_a} and {found.n_phases_b}."
    )


def _shown(differences: Sequence[Difference]) -> Iterator[_Row]:
    """Rows for people: phases in a row that differ in the same are one ("2 to 40")."""
    blocks = [
        list(block)
        for _, block in groupby(differences, key=lambda d: (d.where, d.ph_id_a, d.ph_id_b))
    ]
    begin = 0
    for end in range(1, len(blocks) + 1):
        if end < len(blocks) and _goes_on(blocks[end - 1], blocks[end]):
            continue
        yield from map(_Row, blocks[begin], blocks[end - 1])
        begin = end


def _goes_on(one: Sequence[Difference], other: Sequence[Difference]) -> bool:
    """Whether a phase differs as the one before it does."""

    def follows(a: int | None, b: int | None) -> bool:
        return a is b is None if a is None or b is None else b == a + 1

    first, then = one[0], other[0]
    return (
        [(d.field, d.a, d.b) for d in one] == [(d.field, d.a, d.b) for d in other]
        and first.where == then.where
        and (first.ph_id_a, first.ph_id_b) != (None, None)
        and follows(first.ph_id_a, then.ph_id_a)
        and follows(first.ph_id_b, then.ph_id_b)
    )
