"""Tables on standard output as text, JSON or CSV: the one place where commands print results."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from wavetank.tables.table import Cell, Column, Table

F = TypeVar("F", bound=Callable[..., Any])
MOST_SHOWN = 200
"""Rows of a table that people are shown; JSON and CSV hold all."""


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

    JSON is one object: each table's key holds a list of objects; ``extra`` adds keys to it.
    CSV prints the tables one after another, with a title line each if there are several.

    Raises:
        ValueError: two of them have the same key in JSON, whatever the format.
    """
    from wavetank.tables.formats import check_keys

    check_keys(tables, extra)
    render(tables, output_format, extra)


def render(tables: Sequence[Table], output_format: str, extra: Mapping[str, Any] | None) -> None:
    """Write the tables in a format."""
    from wavetank.tables.formats import csv_text, json_tables

    if output_format == "json":
        click.echo(json.dumps(json_tables(tables, extra), indent=1))
    elif output_format == "csv":
        click.echo(csv_text(tables), nl=False)
    else:
        _print_text(tables)


def _print_text(tables: Sequence[Table]) -> None:
    import shutil

    from rich.console import Console
    from rich.text import Text

    from wavetank.cli.grid import lay_out, wrapped

    # A pipe or a log is not a terminal: nothing wraps there.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    console = Console(highlight=False, markup=False)

    def say(lines: Sequence[str], style: str = "") -> None:
        for line in lines:
            console.print(Text(line, style=style), soft_wrap=True)

    def sentence(text: str) -> None:
        say(wrapped(text, width) if width is not None else [text], "italic")

    for table in tables:
        columns = table.columns_shown
        lines = lay_out(
            [column.title for column in columns],
            [column.numeric for column in columns],
            [
                [_words(column, cell) for column, cell in table.cells_shown(row)]
                for row in table.for_people[:MOST_SHOWN]
            ],
            width,
        )
        say([table.title], "bold")
        say(lines.head, "bold")
        say(lines.body)
        if (left_out := len(table.for_people) - MOST_SHOWN) > 0:
            sentence(f"{left_out:,} more rows are in --format json and csv")
        if table.caption:
            sentence(table.caption)
        say([""])


def _words(column: Column[Any], cell: Cell) -> str:
    """A cell in a line: its text, its interval where there is room, and what a page shows under it."""
    if column.brief or not cell.lines or (cell.ends is None and not column.spread):
        return cell.text
    told = cell.text if cell.ends is None else f"{cell.text} ({cell.lines[0]})"
    return "; ".join((told, *cell.lines[0 if cell.ends is None else 1 :]))
