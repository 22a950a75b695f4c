"""Tables on standard output as text, JSON or CSV: the one place where commands print results."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from wavetank.errors import UsageError
from wavetank.nearest import did_you_mean

if TYPE_CHECKING:
    from wavetank.tables.table import Cell, Column, Table

F = TypeVar("F", bound=Callable[..., Any])
MOST_SHOWN = 200
"""Rows of a table that people are shown; JSON and CSV hold all."""
_ALONE = "wavetank.table"  # in the context of a command: the table that is asked for


def format_option(command: F) -> F:
    """Add ``--format table|json|csv``, as argument ``output_format``, and ``--table NAME``, which ``print_tables`` obeys.

    With a table alone the format is CSV where none is given.
    """

    @functools.wraps(command)
    def printing(
        *arguments: object, table_alone: str | None, output_format: str, **others: object
    ) -> object:
        context = click.get_current_context()
        if table_alone is not None:
            _see_that_it_is_known(table_alone)
            context.meta[_ALONE] = table_alone
            if context.get_parameter_source("output_format") is ParameterSource.DEFAULT:
                output_format = "csv"
        return command(*arguments, output_format=output_format, **others)

    alone = click.option(
        "--table", "table_alone", metavar="NAME",
        help="Print this table alone, as CSV where no format is given. Names are the keys in JSON.",
    )  # fmt: skip
    formats = click.option(
        "--format", "output_format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True,
        help="How to print tables.",
    )  # fmt: skip
    return cast(F, formats(alone(printing)))


def _see_that_it_is_known(name: str) -> None:
    """Before the command does anything.

    Raises:
        UsageError: no command prints a table of this name. Names may go on, as those of rankings by what they rank by.
    """
    from wavetank.cli.table_schema import DEFINITIONS

    known = {each.json_key for each in DEFINITIONS}
    if name not in known and not name.startswith(tuple(f"{each}_" for each in known)):
        raise UsageError(
            f"--table: no command prints a table {name!r}.{did_you_mean(name, known)} 'wavetank schema tables' has them all"
        )


def print_tables(
    tables: Sequence[Table], output_format: str, extra: Mapping[str, Any] | None = None
) -> None:
    """Print tables to standard output.

    JSON is one object: each table's key holds a list of objects; ``extra`` adds keys to it.
    CSV prints the tables one after another, with a title line each if there are several.
    Where the command was asked for one table alone, it is printed without others and without ``extra``.

    Raises:
        ValueError: two of them have the same key in JSON, whatever the format.
        UsageError: none of them is the one that was asked for.
    """
    from wavetank.tables.formats import check_keys

    check_keys(tables, extra)
    context = click.get_current_context(silent=True)
    name = None if context is None else context.meta.get(_ALONE)
    if name is not None:
        tables, extra = [_named(name, tables)], None
    render(tables, output_format, extra)


def _named(name: str, tables: Sequence[Table]) -> Table:
    by_key = {table.key: table for table in tables}
    if name not in by_key:
        raise UsageError(
            f"--table: there is no table {name!r} here.{did_you_mean(name, by_key)} This command printed: {', '.join(by_key)}"
        )
    return by_key[name]


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
