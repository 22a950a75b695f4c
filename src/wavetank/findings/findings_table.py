"""What a model's I/O shows.

A file of its own, as each table is: the findings are computed in a room that knows nothing of tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.findings.finding import Finding
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import DASH, numbers_text

FINDINGS: Definition[Finding] = Definition(
    "findings",
    "What the I/O shows",
    (
        Column("severity", "Severity", lambda i: i.severity),
        Column("kind", "Kind", lambda i: i.kind),
        Column("finding", "What", lambda i: i.sentence, wide=True),
        Column("remedy", "Remedy", lambda i: i.remedy, wide=True),
        Column("paste", "Line to paste", lambda i: i.paste, wide=True),
        Column("share_of_time", "Of the I/O time", lambda i: i.share_of_time, unit="share"),
        Column("phases", "Phases", lambda i: Cell(numbers_text(i.ph_ids) or DASH, list(i.ph_ids)), kind="list"),
        Column("n_operations", "Operations", lambda i: i.n_operations, kind="integer", help="or calls that move no data"),
        Column("moved_bytes", "Bytes", lambda i: i.moved_bytes, unit="B", help="that these operations move"),
        Column("share_of_operations", "Of all operations", lambda i: i.share_of_operations, unit="share", machine=True),
        Column("share_of_bytes", "Of all bytes", lambda i: i.share_of_bytes, unit="share", machine=True),
    ),
)  # fmt: skip


def findings_table(findings: Sequence[Finding]) -> Table:
    """A row for each of all findings on an application, with its numbers and its remedy."""
    return FINDINGS.table(
        findings,
        caption="Computed from the model; nothing of it was measured on a cluster."
        if findings
        else "None of the patterns that are known to be slow (docs/reference/findings.md).",
    )
