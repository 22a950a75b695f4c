"""A table as users of Python get it: columns with a meaning and a unit, as pandas, Arrow or plain records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wavetank.errors import WavetankError
from wavetank.tables import table as tables
from wavetank.tables.words import printable, words

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_SHOWN = 50
"""Rows that a notebook shows."""
_INSTALL = "pip install 'wavetank[tables]'"


@dataclass(frozen=True)
class Column:
    """What a column of a table is.

    Attributes:
        key: its name in pandas, Arrow and records.
        title: for people.
        unit: of its values: "B", "s", "B/s", "1/s", "%", "share" (of 1), "currency", or "" without one.
        kind: of its values: "text", "integer", "number", "boolean", "list", "object" or "any".
        help: what it means, where the title does not say it all.
    """

    key: str
    title: str
    unit: str
    kind: tables.Kind
    help: str = ""


@dataclass(frozen=True)
class Values:
    """A long column, as arrays.

    Attributes:
        array: shape (n,), values; of a column of texts their numbers in ``texts``.
        missing: shape (n,), where there is no value; None: nowhere.
        texts: of a column of texts.
    """

    array: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_] | None = None
    texts: tuple[str, ...] | None = None

    def plain(self) -> list[Any]:
        """Python values; None where there is none."""
        values: list[Any] = self.array.tolist()
        if self.texts is not None:
            return [None if value < 0 else self.texts[value] for value in values]
        if self.missing is None:
            return values
        return [None if gone else v for v, gone in zip(values, self.missing.tolist(), strict=True)]


class Table:
    """Rows of the same columns. Sizes are in bytes and times in seconds; a missing value is null, never 0.

    Attributes:
        name: among the tables of what it is of.
        title: for people.
        caption: what is counted and what was left out; "" where nothing needs saying.
        columns: what each column is, in their order.
    """

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]

    def __init__(
        self,
        name: str,
        title: str,
        columns: Sequence[Column],
        values: Mapping[str, Values | list[Any]],
        caption: str = "",
        people: tables.Table | None = None,
    ) -> None:
        self.name, self.title, self.caption = name, title, caption
        self.columns = tuple(columns)
        self._values, self._people = values, people

    def __len__(self) -> int:
        """Number of rows."""
        first = next(iter(self._values.values()), [])
        return len(first.array) if isinstance(first, Values) else len(first)

    def __repr__(self) -> str:
        return f"<wavetank.Table {self.name}: {len(self):,} rows of {', '.join(c.key for c in self.columns)}>"

    def records(self) -> list[dict[str, Any]]:
        """Rows as dictionaries of plain values, as ``--format json`` prints them."""
        plain = [
            v.plain() if isinstance(v, Values) else v
            for v in (self._values[c.key] for c in self.columns)
        ]
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in zip(*plain, strict=True)]

    def to_pandas(self) -> pd.DataFrame:
        """The table as a DataFrame. Columns of integers that miss some are of pandas' type ``Int64``.

        Raises:
            WavetankError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise WavetankError(f"to_pandas needs pandas. Install it: {_INSTALL}") from error
        return pd.DataFrame({c.key: _series(c, self._values[c.key]) for c in self.columns})

    def to_arrow(self) -> pa.Table:
        """The table in Arrow's columns. Units and meanings are in the metadata of its fields.

        Values of kind "object" and "any" are JSON texts, since a column of Arrow has one type.

        Raises:
            WavetankError: pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError as error:
            raise WavetankError(f"to_arrow needs pyarrow. Install it: {_INSTALL}") from error
        arrays = [_arrow(pa, c, self._values[c.key]) for c in self.columns]
        fields = [
            pa.field(c.key, a.type, metadata={"title": c.title, "unit": c.unit, "help": c.help})
            for c, a in zip(self.columns, arrays, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's interface between libraries: ``polars.DataFrame(table)`` and DuckDB take the table by it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """What a notebook shows: the words for people, at most ``ROWS_SHOWN`` rows."""
        head, rows = self._words()
        lines = [
            "".join(f"<{tag}>{escape(printable(text))}</{tag}>" for text in row)
            for tag, row in (("th", head), *(("td", row) for row in rows))
        ]
        n = len(self) if self._people is None else len(self._people.for_people)
        notes = [self.caption, f"{n - len(rows):,} more rows" if n > len(rows) else ""]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><caption>{escape(printable(self.title))}</caption>{body}</table>" + "".join(
            f"<p>{escape(printable(note))}</p>" for note in notes if note
        )

    def _words(self) -> tuple[list[str], list[list[str]]]:
        if self._people is None:
            first = {c.key: _first(self._values[c.key]) for c in self.columns}
            heads = [f"{c.title} ({c.unit})" if c.unit else c.title for c in self.columns]
            rows = zip(*(first[c.key] for c in self.columns), strict=True)
            return heads, [[words(value) for value in row] for row in rows]
        shown = self._people.for_people[:ROWS_SHOWN]
        heads = [column.title for column in self._people.columns_shown]
        return heads, [[cell.text for _, cell in self._people.cells_shown(row)] for row in shown]


def public(table: tables.Table) -> Table:
    """A stage's table as a public one."""
    columns = []
    for column in table.columns:
        if column.people:
            continue
        columns.append(Column(column.key, column.title, column.unit, column.json_kind, column.help))
        for end, word in (("low", "Lower"), ("high", "Upper")) if column.spread else ():
            title = f"{word} end of the interval of {column.title}"
            columns.append(Column(f"{column.key}_{end}", title, column.unit, "number"))
    rows = table.records()
    values = {c.key: [row[c.key] for row in rows] for c in columns}
    return Table(table.name, table.title, columns, values, table.caption, table)


def by_name(found: Sequence[tables.Table]) -> dict[str, Table]:
    """Tables by their names."""
    return {table.name: public(table) for table in found}


def _first(values: Values | list[Any]) -> list[Any]:
    if not isinstance(values, Values):
        return values[:ROWS_SHOWN]
    missing = None if values.missing is None else values.missing[:ROWS_SHOWN]
    return Values(values.array[:ROWS_SHOWN], missing, values.texts).plain()


def _series(column: Column, values: Values | list[Any]) -> Any:  # noqa: ANN401 - of pandas, which may not be there
    import pandas as pd

    if isinstance(values, Values):
        return _series_of_array(values)
    full = {"number": "float64", "text": "str"}
    partly = {"integer": ("int64", "Int64"), "boolean": ("bool", "boolean")}
    if column.kind in partly:
        return pd.Series(values, dtype=partly[column.kind][None in values])
    return pd.Series(values, dtype=full.get(column.kind, "object"))


def _series_of_array(values: Values) -> Any:  # noqa: ANN401 - the same
    import pandas as pd

    if values.texts is not None:
        return pd.Categorical.from_codes(values.array, list(values.texts))
    if values.missing is None or not values.missing.any():
        return values.array
    if values.array.dtype.kind == "f":
        return np.where(values.missing, np.nan, values.array)
    return pd.arrays.IntegerArray(values.array.astype(np.int64), values.missing)


def _arrow(pa: Any, column: Column, values: Values | list[Any]) -> Any:  # noqa: ANN401 - the same of pyarrow
    if isinstance(values, Values):
        if values.texts is not None:
            numbers = pa.array(values.array, mask=values.array < 0)
            return pa.DictionaryArray.from_arrays(numbers, pa.array(values.texts, pa.string()))
        return pa.array(values.array, mask=values.missing)
    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
    }
    if column.kind in types:
        return pa.array(values, types[column.kind])
    if column.kind == "list":
        return _arrow_lists(pa, values)
    return pa.array([None if v is None else json.dumps(v) for v in values], pa.string())


def _arrow_lists(pa: Any, values: list[Any]) -> Any:  # noqa: ANN401 - the same
    """Lists of integers where all entries are; else of texts, JSON where an entry is none."""
    entries = {type(entry) for value in values if value is not None for entry in value}
    if int in entries <= {int, type(None)}:
        return pa.array(values, pa.list_(pa.int64()))
    texts = [
        None
        if value is None
        else [e if e is None or isinstance(e, str) else json.dumps(e) for e in value]
        for value in values
    ]
    return pa.array(texts, pa.list_(pa.string()))
