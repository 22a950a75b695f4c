"""Tables on standard output as text, JSON or CSV: the one place where commands print results."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
Cell = str | int | float | bool | None
MOST_SHOWN = 200
"""Rows of a table that people are shown; JSON and CSV hold all."""


@dataclass(frozen=True)
class Table:
    """A titled table. ``rows`` hold plain values for JSON and CSV; ``shown`` the same for people, where it differs."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    shown: Sequence[Sequence[str]] | None = None
    note: str | None = None
    key: str | None = None  # in JSON; by default the title, lower case with underscores
    shown_columns: Sequence[str] | None = None  # of ``shown``, where they are others


def format_option(command: F) -> F:
    """Add ``--format table|json|csv``, as argument ``output_format``."""
    return click.option(
        "--format", "output_format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True,
        help="How to print tables.",
    )(command)  # fmt: skip


def print_tables(
    tables: Sequence[Table], output_format: str, extra: Mapping[str, Any] | None = None
) -> None:
    """Print tables to standard output.

    JSON is one object: each table's key (its title, lower case with underscores) holds a list of objects;
    ``extra`` adds keys to it. CSV prints the tables one after another, with a title line each if
    there are several.
    """
    if output_format == "json":
        body: dict[str, Any] = dict(extra or {})
        for table in tables:
            key = table.key or table.title.lower().replace(" ", "_").replace("-", "_")
            body[key] = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        click.echo(json.dumps(body, indent=1))
    elif output_format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        for number, table in enumerate(tables):
            if len(tables) > 1:
                click.echo(f"{'' if number == 0 else chr(10)}# {table.title}")
            writer.writerow(table.columns)
            writer.writerows(table.rows)
    else:
        _print_text(tables)


def _print_text(tables: Sequence[Table]) -> None:
    import shutil

    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    # A pipe or a log is not a terminal: never cut a table there.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    console = Console(width=width, highlight=False, soft_wrap=False, markup=False)
    for table in tables:
        grid = RichTable(
            title=Text(table.title, style="bold"), title_justify="left", box=None, pad_edge=False
        )
        for position, column in enumerate(table.shown_columns or table.columns):
            numeric = table.shown_columns is None and all(
                isinstance(row[position], int | float | None) for row in table.rows
            )
            grid.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
        shown = table.shown or table.rows
        for row in shown[:MOST_SHOWN]:
            grid.add_row(*[Text("-" if cell is None else str(cell)) for cell in row])
        console.print(grid)
        if len(shown) > MOST_SHOWN:
            left_out = len(shown) - MOST_SHOWN
            console.print(Text(f"{left_out:,} more rows are in --format json and csv", "italic"))
        if table.note:
            console.print(Text(table.note, style="italic"))
        console.print()
