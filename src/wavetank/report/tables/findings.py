"""What a model's I/O shows, as a table of the report."""

from __future__ import annotations

from wavetank.model.document.model import Model
from wavetank.model.findings.all_findings import model_findings
from wavetank.report.tables.table import Cell, Column, ReportTable, id_range, number, text
from wavetank.units import format_size


def findings_tables(model: Model) -> tuple[ReportTable, ...]:
    """A row for each finding; no table where there is none."""
    rows = tuple(
        (
            text(one.sentence),
            text(one.remedy or "\N{EN DASH}"),
            text(id_range(one.ph_ids) or "\N{EN DASH}"),
            number(one.n_operations, f"{one.n_operations:,}"),
            Cell(format_size(one.moved_bytes), one.moved_bytes),
        )
        for one in model_findings(model)
    )
    if not rows:
        return ()
    return (
        ReportTable(
            name="findings",
            title="What the I/O shows",
            columns=(
                Column("finding", "What", wide=True),
                Column("remedy", "Remedy", wide=True),
                Column("ph_id", "Phases"),
                Column(
                    "n_operations", "Operations", numeric=True, help="or calls that move no data"
                ),
                Column("moved_bytes", "Bytes", numeric=True, help="that these operations move"),
            ),
            rows=rows,
            caption="Computed from the model; nothing of it was measured on a cluster.",
        ),
    )
