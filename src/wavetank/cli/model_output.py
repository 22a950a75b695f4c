"""Prints a model's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavetank.cli.output import note_rows, print_notes, print_tables

if TYPE_CHECKING:
    from wavetank.model.document.model import Model
    from wavetank.tables.table import Table


def tables_of_model(model: Model) -> list[Table]:
    """What the I/O shows; the application, file and phase tables."""
    from wavetank.findings.findings_table import findings_table
    from wavetank.model.tables.approximation_tables import approximation_tables
    from wavetank.model.tables.model_tables import model_tables

    return [
        findings_table(model),
        *approximation_tables(model.approximation),
        *model_tables(model),
    ]


def answer_of(model: Model) -> str:
    """Why its I/O is slow, in a sentence."""
    from wavetank.findings.all_findings import all_findings
    from wavetank.findings.answer import why_slow

    return why_slow(model, all_findings(model))


def print_model(model: Model, output_format: str) -> None:
    """Its tables on standard output, warnings on standard error."""
    print_tables(
        tables_of_model(model),
        output_format,
        extra={"answer": answer_of(model), "notes": note_rows(model.notes)},
    )
    print_notes(model.notes)
