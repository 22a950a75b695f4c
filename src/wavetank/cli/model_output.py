"""Prints a model's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavetank.cli.output import note_rows, print_notes, print_tables

if TYPE_CHECKING:
    from wavetank.model.document.model import Model
    from wavetank.tables.table import Table


def described(model: Model) -> tuple[str, list[Table]]:
    """Why its I/O is slow, in a sentence; what the I/O shows, and the application, file and phase tables."""
    from wavetank.findings.all_findings import all_findings
    from wavetank.findings.answer import why_slow
    from wavetank.findings.findings_table import findings_table
    from wavetank.model.tables.approximation_tables import approximation_tables
    from wavetank.model.tables.model_tables import model_tables

    findings = all_findings(model)
    tables = [
        findings_table(findings),
        *approximation_tables(model.approximation),
        *model_tables(model),
    ]
    return why_slow(model, findings), tables


def print_model(model: Model, output_format: str) -> None:
    """Its tables on standard output, warnings on standard error."""
    answer, tables = described(model)
    print_tables(tables, output_format, extra={"answer": answer, "notes": note_rows(model.notes)})
    print_notes(model.notes)
