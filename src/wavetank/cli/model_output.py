"""Prints a model's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wavetank.cli.output import Table, print_tables

if TYPE_CHECKING:
    from wavetank.model.document.model import Model
    from wavetank.model.tables.table import ModelTable


def as_table(table: ModelTable) -> Table:
    """A table of a model as it is printed."""
    return Table(
        table.title, table.columns, table.rows, table.shown, table.note, table.key, table.shown_columns
    )  # fmt: skip


def print_model(model: Model, output_format: str) -> None:
    """The application, file and phase tables and what the I/O shows on standard output, warnings on standard error."""
    from wavetank.model.tables.model_tables import model_tables

    print_tables(
        [as_table(table) for table in model_tables(model)],
        output_format,
        extra={"warnings": list(model.warnings)},
    )
    for warning in model.warnings:
        click.echo(f"note: {warning}", err=True)
