"""Tables as CSV, JSON and Markdown. The terminal's rendering is with the command line, the page's with the report."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any

from wavetank.tables.table import Cell, Column, Definition, Kind, Table, Value, repeated
from wavetank.tables.words import printable

# What Markdown, or the HTML inside it, would take for markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$&])")
_JSON_TYPES: Mapping[Kind, list[str]] = {
    "text": ["string", "null"],
    "integer": ["integer", "null"],
    "number": ["number", "null"],
    "boolean": ["boolean", "null"],
    "list": ["array", "null"],
    "object": ["object", "null"],
    "any": ["string", "number", "boolean", "array", "object", "null"],
}


def csv_text(tables: Sequence[Table], titles: Sequence[str] | None = None) -> str:
    """Tables one after another, each after a line with its title where there are several or titles are given."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for number, table in enumerate(tables):
        if len(tables) > 1 or titles is not None:
            title = table.title if titles is None else titles[number]
            stream.write(f"{'' if number == 0 else chr(10)}# {printable(title)}\n")
        writer.writerow(table.keys)
        writer.writerows([_field(value) for value in row.values()] for row in table.records())
    return stream.getvalue()


def _field(value: Value) -> str | int | float | None:
    """A value in CSV. Lists are joined by semicolons; no spreadsheet takes a text for a formula."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        flat = not isinstance(value, Mapping) and all(
            isinstance(one, str | int | float) for one in value
        )
        value = "; ".join(map(str, value)) if flat else json.dumps(value)
    value = printable(value)
    return f"'{value}" if value[:1] in {"=", "+", "-", "@"} else value


def json_tables(tables: Sequence[Table], extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One object: what ``extra`` has, and key of each table -> its rows.

    Raises:
        ValueError: two of them have the same key.
    """
    check_keys(tables, extra)
    return {**(extra or {}), **{table.key: table.records() for table in tables}}


def check_keys(tables: Sequence[Table], extra: Mapping[str, Any] | None = None) -> None:
    """See that tables which are printed together do not take each other's place in JSON.

    Raises:
        ValueError: two of them, or one and a key of ``extra``, have the same key.
    """
    if twice := repeated([*(extra or {}), *(table.key for table in tables)]):
        raise ValueError(f"two results have the key {', '.join(twice)} in JSON")


def markdown_table(title: str, table: Table) -> list[str]:
    """Heading, rows, and what the caption says: paragraphs."""
    columns = table.columns_shown
    lines = [
        "| " + " | ".join(escaped(column.title) for column in columns) + " |",
        "|" + "|".join("--:" if column.numeric else "---" for column in columns) + "|",
    ]
    lines += [
        "| " + " | ".join(_markdown_cell(cell) for _, cell in table.cells_shown(row)) + " |"
        for row in table.shown
    ]
    notes = [table.caption] if table.caption else []
    if table.n_left_out:
        notes.append(f"{table.n_left_out:,} more rows are in the CSV and JSON output.")
    return [f"### {escaped(title)}", "\n".join(lines), *(escaped(note) for note in notes)]


def _markdown_cell(cell: Cell) -> str:
    told = f"**{escaped(cell.text)}**" if cell.strong else escaped(cell.text)
    return told + (f" ({escaped(cell.lines[0])})" if cell.ends is not None and cell.lines else "")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", printable(text).replace("\n", " "))


def tables_schema(definitions: Iterable[Definition[Any]]) -> dict[str, Any]:
    """JSON Schema of tables in JSON: a property for each, named as in a report."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "wavetank.tables/2",
        "description": "Tables that commands print with --format json, and those of a report: lists of rows. Names of rankings "
        "end in what they rank by.",
        "type": "object",
        "properties": {
            each.name: _rows_schema(each)
            for each in sorted(definitions, key=lambda each: each.name)
        },
    }


def _rows_schema(definition: Definition[Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for column in definition.columns:
        if column.people:
            continue
        properties[column.key] = _column_schema(column)
        for end in ("low", "high") if column.spread else ():
            properties[f"{column.key}_{end}"] = {
                "type": ["number", "null"],
                "description": f"{'lower' if end == 'low' else 'upper'} end of the interval",
            }
    who = f"'wavetank {definition.command}' prints" if definition.command else "commands print"
    each = definition.each
    return {
        "title": definition.title,
        "description": f"{who} it as '{definition.json_key}'",
        "type": "array",
        "items": {
            "type": "object",
            "properties": properties,
            **({} if each is None else {"patternProperties": {each.key: _column_schema(each)}}),
            "required": list(properties),
            "additionalProperties": False,
        },
    }


def _column_schema(column: Column[Any]) -> dict[str, Any]:
    meaning = ", ".join(filter(None, (column.title, column.help)))
    known = {"description": meaning, **({"unit": column.unit} if column.unit else {})}
    return {"type": _JSON_TYPES[column.json_kind], **known}
