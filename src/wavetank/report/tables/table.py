"""Tables of a report, before any markup: the same for the page, Markdown, CSV and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from wavetank.measure.statistics import Estimate
from wavetank.model.tables.table import ranks_text
from wavetank.report.text.words import interval_words

Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """A column: ``key`` for machines, ``title`` for people, ``help`` says what it means.

    ``wide`` columns hold words that should not be broken into many lines; ``machine`` columns are
    for CSV and JSON only, since the caption says the same to people.
    """

    key: str
    title: str
    numeric: bool = False
    help: str = ""
    wide: bool = False
    machine: bool = False


@dataclass(frozen=True)
class Interval:
    """A median with its ends, as fractions (0 to 1) of the column's scale, for a small drawing."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Cell:
    """A value as people read it and as machines do.

    Attributes:
        text: for people.
        value: plain value in base units; what is sorted by.
        ends: of the interval around the value, in base units.
        interval: drawn under the text where given.
        lines: more text, collapsed until it is asked for.
        strong: the best of its column.
        target: name of the part of the report that says more.
    """

    text: str
    value: Value
    ends: tuple[float, float] | None = None
    interval: Interval | None = None
    lines: tuple[str, ...] = ()
    strong: bool = False
    target: str | None = None


@dataclass(frozen=True)
class ReportTable:
    """A table with a name (unique in a report), a title and a caption that says what is counted.

    People are shown the first ``max_rows`` rows; CSV and JSON hold them all.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    filterable: bool = False
    max_rows: int | None = None

    @property
    def shown(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows for people."""
        return self.rows[: self.max_rows]

    @property
    def columns_shown(self) -> tuple[Column, ...]:
        """The columns for people."""
        return tuple(column for column in self.columns if not column.machine)

    def cells_shown(self, row: Sequence[Cell]) -> list[tuple[Column, Cell]]:
        """A row's cells for people, each with its column."""
        pairs = zip(self.columns, row, strict=True)
        return [(column, cell) for column, cell in pairs if not column.machine]

    @property
    def n_left_out(self) -> int:
        """Rows that people are not shown."""
        return len(self.rows) - len(self.shown)


def text(value: str, lines: Iterable[str] = ()) -> Cell:
    """A cell of words."""
    return Cell(value, value, lines=tuple(lines))


def number(value: float | None, shown: str | None = None, *, strong: bool = False) -> Cell:
    """A cell of a number; a missing one is a dash, never 0."""
    if value is None:
        return Cell("\N{EN DASH}", None)
    return Cell(f"{value:,}" if shown is None else shown, value, strong=strong)


def few(lines: Sequence[str], at_most: int = 8) -> tuple[str, ...]:
    """The first lines, and how many more there are."""
    if len(lines) <= at_most:
        return tuple(lines)
    return (*lines[:at_most], f"and {len(lines) - at_most:,} more")


def ranks_words(ranks: Sequence[int], n_ranks: int | None = None) -> str:
    """(0, 1, 2, 5) -> "0-2, 5"; all of them -> "all"; many pieces are counted instead."""
    if n_ranks is not None and len(ranks) == n_ranks > 1:
        return "all"
    pieces = id_range(ranks)
    if pieces.count(",") > 5:
        return f"{len(ranks):,} of {min(ranks):,}\N{EN DASH}{max(ranks):,}"
    return pieces


def id_range(ids: Iterable[int]) -> str:
    """(1, 2, 3, 7) -> "1-3, 7", with en dashes."""
    return ranks_text(sorted(ids)).replace("-", "\N{EN DASH}")


def estimated(
    estimate: Estimate,
    show: Callable[[float], str],
    scale: float | None = None,
    *,
    strong: bool = False,
) -> Cell:
    """A median, its interval in words, and drawn where a scale (the widest value) is given."""
    interval = None
    if scale and estimate.low is not None and estimate.high is not None:
        low, middle, high = (
            min(max(value / scale, 0.0), 1.0)
            for value in (estimate.low, estimate.median, estimate.high)
        )
        interval = Interval(low, middle, high)
    words = interval_words(estimate, show)[2:-1]
    return Cell(
        show(estimate.median),
        estimate.median,
        ends=None
        if estimate.low is None or estimate.high is None
        else (estimate.low, estimate.high),
        interval=interval,
        lines=(words,) if words else (),
        strong=strong,
    )
