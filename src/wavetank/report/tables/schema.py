"""The JSON Schema of tables: each column's kind of values, unit and meaning. Tables of clusters have a column for each cluster."""

from __future__ import annotations

from typing import Any

from wavetank.compare.tables.all import DEFINITIONS as COMPARISON
from wavetank.interfere.tables import DEFINITIONS as STUDY
from wavetank.kernel.document.variant_words import FILES, PHASES
from wavetank.model.tables.approximation_tables import ASSUMPTIONS, QUANTITIES
from wavetank.model.tables.model_tables import DEFINITIONS as MODEL
from wavetank.model.tables.trace_tables import CALLS, DURATIONS, RANKS
from wavetank.report.tables.kernel import DEFINITIONS as KERNEL
from wavetank.report.tables.provenance import MEASUREMENTS, RUNS
from wavetank.tables.formats import tables_schema
from wavetank.tables.table import Definition

DEFINITIONS: tuple[Definition[Any], ...] = (
    *COMPARISON, *STUDY, *MODEL, *KERNEL, MEASUREMENTS, RUNS, QUANTITIES, ASSUMPTIONS, RANKS, CALLS, DURATIONS, FILES, PHASES,
)  # fmt: skip


def schema() -> dict[str, Any]:
    """The schema of all tables, by their name in a report."""
    return tables_schema(DEFINITIONS)
