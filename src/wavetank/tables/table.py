"""What a table is: columns that read items, and cells with a value for programs and words for people.

A definition says once what each column is: its key in CSV and JSON, its title, its unit, the kind of
its values, and how it is read from an item. Terminal, CSV, JSON, Markdown and page render the same
table. They choose no columns: a column says itself whether people see it.

Programs and people may get different rows of the same columns. Programs get a row for each thing;
people may get one row for several alike (a series of phases), or only those that matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, overload, runtime_checkable

from wavetank.tables.words import DASH, change, count, interval_text, money, plain_words, words
from wavetank.units import format_duration, format_rate, format_size

T = TypeVar("T")
Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"
Kind = Literal["text", "integer", "number", "boolean", "list", "object", "any"]
"""Of a column's values in JSON; each may be null too."""
Unit = Literal["", "s", "B", "B/s", "1/s", "%", "change %", "currency", "share"]
"""Of a column's values. A share is of 1; ``change %`` is shown with its sign."""

FEW_ROWS = 12
"""More rows than these have a filter on the page."""
_FORMATS: Mapping[Unit, Callable[[Any], str]] = {
    "s": format_duration,
    "B": format_size,
    "B/s": format_rate,
    "1/s": count,
    "%": lambda value: f"{value:.1f} %",
    "change %": change,
    "share": lambda value: f"{100 * value:.0f} %",
}


@runtime_checkable
class Estimated(Protocol):
    """A quantity over repetitions: the median, and the interval that they support."""

    @property
    def median(self) -> float: ...  # noqa: D102
    @property
    def low(self) -> float | None: ...  # noqa: D102
    @property
    def high(self) -> float | None: ...  # noqa: D102
    @property
    def range_of(self) -> int | None: ...  # noqa: D102


@dataclass(frozen=True)
class Amount:
    """An amount of money, or an estimate of one."""

    value: Estimated | Decimal | float
    currency: str


@dataclass(frozen=True)
class Interval:
    """A median with its ends, as fractions (0 to 1) of the column's scale, for a small drawing."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Cell:
    """A value as people read it and as programs do.

    Attributes:
        text: for people.
        value: plain value in base units; what is sorted by.
        ends: of the interval around the value, in base units.
        interval: drawn under the text where given.
        lines: more text, collapsed on a page until it is asked for.
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
class Column(Generic[T]):
    """A column, and how it is read from an item.

    Attributes:
        key: name in CSV and JSON.
        title: for people.
        of: item -> value, estimate, amount, or a cell where people read something else than the value.
        unit: of the values; says how they are shown.
        kind: of the values; by default that of the unit, and text without one.
        show: value -> text, where the unit's way does not fit.
        help: what the column means.
        spread: values have ends of an interval: ``<key>_low`` and ``<key>_high`` in CSV and JSON.
        drawn: name of a scale; the page draws the intervals of all columns of this name on it.
        brief: a terminal shows the value without its interval.
        wide: holds words that should not be broken into many lines.
        machine: for CSV and JSON only.
        people: not for CSV and JSON: other columns hold its values.
    """

    key: str
    title: str
    of: Callable[[T], Cell | Estimated | Amount | Decimal | Value]
    unit: Unit = ""
    kind: Kind | None = None
    show: Callable[[Any], str] | None = None
    help: str = ""
    spread: bool = False
    drawn: str | None = None
    brief: bool = False
    wide: bool = False
    machine: bool = False
    people: bool = False

    @property
    def json_kind(self) -> Kind:
        """Kind of the values in JSON."""
        if self.kind is not None:
            return self.kind
        return "text" if not self.unit else "integer" if self.unit == "B" else "number"

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers, which stand at the right."""
        return self.json_kind in ("integer", "number")

    def cell(self, item: T) -> Cell:
        """An item's cell."""
        found = self.of(item)
        if isinstance(found, Cell):
            return found
        show = self.show or _FORMATS.get(self.unit, words)
        if found is None or isinstance(found, str | int | float | list | dict):
            return Cell(DASH if found is None else show(found), found)
        if isinstance(found, Amount):
            currency, found = found.currency, found.value
            show = self.show or (lambda value: money(value, currency))
        if isinstance(found, Decimal):
            return Cell(show(found), float(found))
        if isinstance(found, Estimated):
            return estimated(found, show)
        return Cell(show(found), found)


class RowsOf(Sequence[tuple[Cell, ...]]):
    """The rows of some items, each made when it is asked for: of thousands people see few, and programs none of theirs."""

    def __init__(self, columns: Sequence[Column[Any]], items: Sequence[Any]) -> None:
        self._columns, self._items = columns, items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> tuple[Cell, ...]: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[tuple[Cell, ...], ...]: ...
    def __getitem__(self, at: int | slice) -> tuple[Cell, ...] | tuple[tuple[Cell, ...], ...]:
        if isinstance(at, slice):
            return tuple(map(self._row, self._items[at]))
        return self._row(self._items[at])

    def _row(self, item: object) -> tuple[Cell, ...]:
        return tuple([column.cell(item) for column in self._columns])


@dataclass(frozen=True)
class Table:
    """A table with a name (unique in a report), a title and a caption that says what is counted.

    Attributes:
        rows: for programs.
        people_rows: for people, where they are others.
        max_rows: so many of them at most are shown.
        key: name among the tables that a command prints as JSON.
    """

    name: str
    title: str
    columns: tuple[Column[Any], ...]
    rows: Sequence[tuple[Cell, ...]]
    people_rows: Sequence[tuple[Cell, ...]] | None = None
    caption: str = ""
    max_rows: int | None = None
    key: str = ""

    def __post_init__(self) -> None:
        """See that no value of a record takes another's place.

        Raises:
            ValueError: two columns have the same key in CSV and JSON.
        """
        if twice := repeated(self.keys):
            raise ValueError(f"table {self.name} has two columns {', '.join(twice)}")

    @property
    def for_people(self) -> Sequence[tuple[Cell, ...]]:
        """All rows that people may ask for."""
        return self.rows if self.people_rows is None else self.people_rows

    @cached_property
    def shown(self) -> Sequence[tuple[Cell, ...]]:
        """The rows that people see."""
        return self.for_people[: self.max_rows]

    @property
    def filterable(self) -> bool:
        """Whether a page offers a filter."""
        return len(self.for_people) > FEW_ROWS

    @property
    def columns_shown(self) -> tuple[Column[Any], ...]:
        """The columns for people."""
        return tuple(column for column in self.columns if not column.machine)

    def cells_shown(self, row: Sequence[Cell]) -> list[tuple[Column[Any], Cell]]:
        """A row's cells for people, each with its column."""
        pairs = zip(self.columns, row, strict=True)
        return [(column, cell) for column, cell in pairs if not column.machine]

    @property
    def n_left_out(self) -> int:
        """Rows that people are not shown."""
        return len(self.for_people) - len(self.shown)

    def records(self) -> list[dict[str, Value]]:
        """Rows for programs: key -> value, with the ends of intervals beside their medians."""
        return [self._record(row) for row in self.rows]

    def _record(self, row: Sequence[Cell]) -> dict[str, Value]:
        record: dict[str, Value] = {}
        for column, cell in zip(self.columns, row, strict=True):
            if column.people:
                continue
            record[column.key] = cell.value
            if column.spread:
                record[f"{column.key}_low"], record[f"{column.key}_high"] = cell.ends or (None,) * 2
        return record

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of each record."""
        keys: list[str] = []
        for column in self.columns:
            if not column.people:
                ends = (f"{column.key}_low", f"{column.key}_high") if column.spread else ()
                keys += [column.key, *ends]
        return tuple(keys)


@dataclass(frozen=True)
class Definition(Generic[T]):
    """A table as it is defined, before there are rows.

    Attributes:
        name: in a report and in the schema, unique.
        title: for people.
        columns: in their order.
        key: among the tables that a command prints as JSON, where that is not the name.
        command: the one that prints it, where only one does.
        each: stands for columns that depend on the items; its key is a regular expression.
        goes_on: keys of its tables in JSON go on with what they are of: "ranking_of_abyss_by_time".
    """

    name: str
    title: str
    columns: tuple[Column[T], ...]
    key: str | None = None
    command: str = ""
    each: Column[T] | None = None
    goes_on: bool = False

    def is_key(self, key: str) -> bool:
        """Whether a table of this kind may have the key in JSON."""
        return key == self.json_key or (self.goes_on and key.startswith(f"{self.json_key}_"))

    @property
    def json_key(self) -> str:
        """Name among the tables that a command prints as JSON."""
        return self.key or self.name.replace("-", "_")

    def table(
        self,
        items: Iterable[T],
        *,
        people: Iterable[T] | None = None,
        title: str | None = None,
        caption: str | None = None,
        max_rows: int | None = None,
        key: str | None = None,
        name: str | None = None,
        columns: Mapping[str, Mapping[str, object]] | None = None,
    ) -> Table:
        """The table of some items.

        Args:
            items: a row each.
            people: the same for people, where they are others.
            title: where it names something of the items.
            caption: what is counted, what was left out.
            max_rows: so many at most are shown to people.
            key: in JSON, where it names something of the items.
            name: in a report, where there are several of this kind.
            columns: key of a column -> fields of it that the items change, such as ``machine``.
        """
        changes: Mapping[str, Any] = columns or {}
        chosen = tuple(
            replace(column, **changes[column.key]) if column.key in changes else column
            for column in self.columns
        )

        def rows(items: Iterable[T]) -> Sequence[tuple[Cell, ...]]:
            made = RowsOf(chosen, tuple(items))
            if made and not any(column.drawn for column in chosen):
                return made
            return _drawn(chosen, made[:])  # the scale of intervals is that of all rows

        return Table(
            name or self.name,
            title or self.title,
            chosen,
            rows(items),
            None if people is None else rows(people),
            caption or "",
            max_rows,
            key or self.json_key,
        )


def _drawn(
    columns: Sequence[Column[Any]], rows: Sequence[tuple[Cell, ...]]
) -> tuple[tuple[Cell, ...], ...]:
    """The rows with intervals drawn on the scale of their columns: 0 to a little more than the largest end."""
    groups: dict[str, list[int]] = {}
    for at, column in enumerate(columns):
        if column.drawn is not None:
            groups.setdefault(column.drawn, []).append(at)
    drawn = [list(row) for row in rows]
    for which in groups.values():
        ends = [(row[at].ends or (0.0, _number(row[at])))[1] for row in rows for at in which]
        scale = 1.02 * max(ends, default=0.0)
        for row in drawn if scale else ():
            for at in which:
                row[at] = _with_interval(row[at], scale)
    return tuple(map(tuple, drawn))


def _with_interval(cell: Cell, scale: float) -> Cell:
    if cell.ends is None:
        return cell
    low, high = cell.ends
    parts = (min(max(value / scale, 0.0), 1.0) for value in (low, _number(cell), high))
    return replace(cell, interval=Interval(*parts))


def _number(cell: Cell) -> float:
    return float(cell.value) if isinstance(cell.value, int | float) else 0.0


def text(value: str, lines: Iterable[str] = ()) -> Cell:
    """A cell of words."""
    return Cell(value, value, lines=tuple(lines))


def number(value: float | None, shown: str | None = None, *, strong: bool = False) -> Cell:
    """A cell of a number; a missing one is a dash, never 0."""
    if value is None:
        return Cell(DASH, None)
    return Cell(f"{value:,}" if shown is None else shown, value, strong=strong)


def estimated(estimate: Estimated, show: Callable[[float], str], *, strong: bool = False) -> Cell:
    """A median, with its interval in words."""
    told = interval_text(estimate, show)
    return Cell(
        show(estimate.median),
        estimate.median,
        ends=None
        if estimate.low is None or estimate.high is None
        else (estimate.low, estimate.high),
        lines=(told,) if told else (),
        strong=strong,
    )


def column_at(key: str, title: str, *, help: str = "", wide: bool = False) -> Column[Any]:
    """A column of a table whose cells were made one by one."""
    return Column(key, title, lambda _: None, help=help, wide=wide)


Fact: TypeAlias = tuple[str, Value]


def facts(
    name: str,
    title: str,
    what: str = "field",
    value: str = "value",
    *,
    command: str = "",
    key: str | None = None,
) -> Definition[Fact]:
    """A row for each fact: what it is, and its value, of whatever kind."""
    return Definition(
        name,
        title,
        (
            Column(what, what.capitalize(), lambda i: i[0]),
            Column(value, value.replace("_", " ").capitalize(), lambda i: i[1], kind="any", show=plain_words),
        ),
        key=key,
        command=command,
    )  # fmt: skip


def sentences(
    name: str, title: str, what: str = "what", *, command: str = "", key: str | None = None
) -> Definition[str]:
    """A row for each sentence."""
    columns = (Column[str](what, what.capitalize(), lambda i: i, wide=True),)
    return Definition(name, title, columns, key=key, command=command)


def repeated(keys: Iterable[str]) -> list[str]:
    """The keys that are there more than once, each once."""
    return [key for key, n in Counter(keys).items() if n > 1]


def distinct(keys: Iterable[str]) -> list[str]:
    """The keys in their order, with ``_2``, ``_3`` and so on behind those that were there before."""
    given = list(keys)
    taken = set(given)
    found: list[str] = []
    for key in given:
        name, number = key, 1
        while name in found or (number > 1 and name in taken):
            number += 1
            name = f"{key}_{number}"
        found.append(name)
    return found
