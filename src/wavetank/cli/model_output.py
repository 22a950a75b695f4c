"""Prints a model's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavetank.cli.output import note_rows, print_notes, print_tables

if TYPE_CHECKING:
    from wavetank.model.document.model import Model


def print_model(model: Model, output_format: str) -> None:
    """What the I/O shows and the application, file and phase tables on standard output, warnings on standard error."""
    from wavetank.findings.findings_table import findings_table
    from wavetank.model.tables.approximation_tables import approximation_tables
    from wavetank.model.tables.model_tables import model_tables

    print_tables(
        [
            findings_table(model),
            *approximation_tables(model.approximation),
            *model_tables(model),
        ],
        output_format,
        extra={"notes": note_rows(model.notes)},
    )
    print_notes(model.notes)
