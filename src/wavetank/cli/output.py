"""Tables on standard output as text, JSON or CSV: the one place where commands print results."""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import click
from click.core import ParameterSource

from wavetank.errors import UsageError
from wavetank.nearest import did_you_mean

if TYPE_CHECKING:
    from wavetank.cli.grid import TableLines
    from wavetank.notes import Note
    from wavetank.tables.table import Cell, Column, Definition, Table

Prints: TypeAlias = "Callable[[], Iterable[Definition[Any]]]"
F = TypeVar("F", bound=Callable[..., Any])
MOST_SHOWN = 200
"""Rows of a table that people are shown; JSON and CSV hold all."""
_ALONE = "wavetank.table"  # in the context of a command: the table that is asked for
_DECLARED = "wavetank.tables"  # and those that it may print


def prints(tables: Prints | None, *, answers: bool = False) -> Callable[[F], F]:
    """Add ``--format table|json|csv``, as argument ``output_format``, and ``--table NAME``, which ``print_tables`` obeys.

    With a table alone the format is CSV where none is given.

    Args:
        answers: the command prints an answer of one screen, format ``answer``, and everything with ``--full``, which is
            format ``table``; with ``--brief``, the answer's first line alone.
        tables: gives what the command may print, so that a wrong name is refused before it does anything; None: that
            depends on what it is given.
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def printing(
            *arguments: object, table_alone: str | None, output_format: str, **others: object
        ) -> object:
            context = click.get_current_context()
            context.meta[_DECLARED] = tables
            if table_alone is not None:
                _see_that_it_is_known(table_alone, tables)
                context.meta[_ALONE] = table_alone
                if context.get_parameter_source("output_format") is ParameterSource.DEFAULT:
                    output_format = "csv"
            return command(*arguments, output_format=output_format, **others)

        alone = click.option(
            "--table", "table_alone", metavar="NAME",
            help="Print this table alone, as CSV where no format is given. Names are the keys in JSON.",
        )  # fmt: skip
        choices, usual = ["table", "json", "csv"], "table"
        if answers:
            choices, usual = ["answer", "brief", *choices], "answer"
            for flag, value, text in (
                ("--brief", "brief", "Print the answer's first line alone."),
                ("--full", "table", "Print everything; on a terminal, in a pager."),
            ):
                option = click.option(
                    flag, "output_format", flag_value=value, default=usual, help=text
                )
                printing = option(printing)
        formats = click.option(
            "--format", "output_format", type=click.Choice(choices), default=usual, show_default=True,
            help="How to print tables.",
        )  # fmt: skip
        return cast(F, formats(alone(printing)))

    return decorate


def _see_that_it_is_known(name: str, tables: Prints | None) -> None:
    """Before the command does anything.

    Raises:
        UsageError: this command, or none, prints a table of this name. Names may go on, as those of rankings by what they rank by.
    """
    from wavetank.cli.table_schema import DEFINITIONS

    if not any(each.is_key(name) for each in DEFINITIONS):
        known = {each.json_key for each in DEFINITIONS}
        raise UsageError(
            f"--table: no command prints a table {name!r}.{did_you_mean(name, known)} 'wavetank schema tables' has them all"
        )
    if tables is None:
        return
    declared = tuple(tables())
    if not any(each.is_key(name) for each in declared):
        own = list(dict.fromkeys(each.json_key for each in declared))
        raise UsageError(
            f"--table: this command prints no table {name!r}.{did_you_mean(name, own)} Its tables are: {', '.join(own)}"
        )


def note_rows(notes: Iterable[Note]) -> list[dict[str, str]]:
    """Notes as JSON: kind, subject and text of each."""
    return [{"kind": n.kind, "subject": n.subject, "text": str(n)} for n in notes]


def print_notes(notes: Iterable[Note]) -> None:
    """Print notes to standard error, losses as warnings."""
    for each in notes:
        click.echo(f"{'wavetank: warning' if each.kind == 'lost' else 'note'}: {each}", err=True)


def print_tables(
    tables: Sequence[Table], output_format: str, extra: Mapping[str, Any] | None = None
) -> None:
    """Print tables to standard output.

    JSON is one object: each table's key holds a list of objects; ``extra`` adds keys to it.
    CSV prints the tables one after another, with a title line each if there are several.
    Where the command was asked for one table alone, it is printed without others and without ``extra``.

    A table that the command may print, and that has no rows this time, is printed with its header alone.

    Raises:
        ValueError: two of them have the same key in JSON, whatever the format; or the command does not declare one of them.
        UsageError: none of them is the one that was asked for.
    """
    from wavetank.tables.formats import check_keys

    check_keys(tables, extra)
    context = click.get_current_context(silent=True)
    name = None if context is None else context.meta.get(_ALONE)
    declared: Prints | None = None if context is None else context.meta.get(_DECLARED)
    definitions = None if declared is None else tuple(declared())
    if definitions is not None and (new := _not_of(tables, definitions)):
        raise ValueError(f"the command does not declare what it prints: {', '.join(new)}")
    if name is not None:
        tables, extra = [_named(name, tables, definitions or ())], None
    render(tables, output_format, extra)


def _not_of(tables: Sequence[Table], definitions: Sequence[Definition[Any]]) -> list[str]:
    """Keys of tables that are of no such kind."""
    keys = (table.key for table in tables)
    return [key for key in keys if not any(each.is_key(key) for each in definitions)]


def _named(name: str, tables: Sequence[Table], definitions: Sequence[Definition[Any]]) -> Table:
    by_key = {table.key: table for table in tables}
    if name in by_key:
        return by_key[name]
    printed = f"This command printed: {', '.join(by_key)}"
    for each in definitions:
        if each.json_key == name:
            click.echo(f"note: --table: {name!r} has no rows. {printed}", err=True)
            return each.table([])
    raise UsageError(
        f"--table: there is no table {name!r} here.{did_you_mean(name, by_key)} {printed}"
    )


def render(tables: Sequence[Table], output_format: str, extra: Mapping[str, Any] | None) -> None:
    """Write the tables in a format."""
    from wavetank.tables.formats import csv_text, json_tables

    if output_format == "json":
        click.echo(json.dumps(json_tables(tables, extra), indent=1))
    elif output_format == "csv":
        click.echo(csv_text(tables), nl=False)
    else:
        _print_text(tables)


def say(text: str) -> None:
    """Print a sentence to standard output, beside tables; on a terminal it breaks between words."""
    from wavetank.cli.grid import broken

    click.echo(text if (width := terminal_width()) is None else broken(text, width))


def terminal_width() -> int | None:
    """Width of standard output, characters; None: a pipe or a file, where nothing wraps."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_lines(lines: Iterable[str]) -> None:
    """Print an answer; on a terminal its first line is bold."""
    first, *others = lines
    click.secho(first, bold=True)
    for line in others:
        click.echo(line)


def _print_text(tables: Sequence[Table]) -> None:
    lines = list(_styled(tables, terminal_width()))
    if sys.stdout.isatty() and len(lines) > shutil.get_terminal_size().lines:
        os.environ.setdefault("LESS", "RFX")  # with styles
        click.echo_via_pager("\n".join(lines))
        return
    for line in lines:
        click.echo(line)


def _styled(tables: Sequence[Table], width: int | None) -> Iterator[str]:
    for table in tables:
        lines = text_of(table, width)
        for line in (*lines.title, *lines.head):
            yield click.style(line, bold=True)
        yield from lines.body
        for line in lines.notes:
            yield click.style(line, italic=True)
        yield ""


def text_of(table: Table, width: int | None) -> TableLines:
    """The lines of a table for people; ``width`` of the terminal in characters, None: nothing wraps."""
    from wavetank.cli.grid import TableLines, lay_out, wrapped

    def lines(text: str) -> list[str]:
        parts = text.split("\n") if width is None else wrapped(text, width)
        return [part.rstrip() for part in parts]

    columns = table.columns_shown
    grid = lay_out(
        [column.title for column in columns],
        [column.numeric for column in columns],
        [
            [_words(column, cell) for column, cell in table.cells_shown(row)]
            for row in table.for_people[:MOST_SHOWN]
        ],
        width,
    )
    left_out = len(table.for_people) - MOST_SHOWN
    more = f"{left_out:,} more rows are in --format json and csv" if left_out > 0 else ""
    others = (
        f"Not shown at this width: {', '.join(grid.left_out)}. --format csv has all"
        if grid.left_out
        else ""
    )
    notes = [line for text in (others, more, table.caption) if text for line in lines(text)]
    return TableLines(grid.head, grid.body, grid.left_out, tuple(lines(table.title)), tuple(notes))


def _words(column: Column[Any], cell: Cell) -> str:
    """A cell in a line: its text, its interval where there is room, and what a page shows under it."""
    if column.brief or not cell.lines or (cell.ends is None and not column.spread):
        return cell.text
    told = cell.text if cell.ends is None else f"{cell.text} ({cell.lines[0]})"
    return "; ".join((told, *cell.lines[0 if cell.ends is None else 1 :]))
