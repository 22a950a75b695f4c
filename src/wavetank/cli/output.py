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
    """
    from wavetank.tables.formats import csv_text, json_tables

    if output_format == "json":
        click.echo(json.dumps({**(extra or {}), **json_tables(tables)}, indent=1))
    elif output_format == "csv":
        click.echo(csv_text(tables), nl=False)
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
        for column in table.columns_shown:
            grid.add_column(
                Text(column.title), justify="right" if column.numeric else "left", overflow="fold"
            )
        for row in table.for_people[:MOST_SHOWN]:
            grid.add_row(*[Text(_words(column, cell)) for column, cell in table.cells_shown(row)])
        console.print(grid)
        if (left_out := len(table.for_people) - MOST_SHOWN) > 0:
            console.print(Text(f"{left_out:,} more rows are in --format json and csv", "italic"))
        if table.caption:
            console.print(Text(table.caption, style="italic"))
        console.print()


def _words(column: Column[Any], cell: Cell) -> str:
    """A cell in a line: its text, its interval where there is room, and what a page shows under it."""
    if column.brief or not cell.lines or (cell.ends is None and not column.spread):
        return cell.text
    told = cell.text if cell.ends is None else f"{cell.text} ({cell.lines[0]})"
    return "; ".join((told, *cell.lines[0 if cell.ends is None else 1 :]))
