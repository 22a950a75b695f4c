"""The JSON Schema of tables: each column's kind of values, unit and meaning. Tables of clusters have a column for each cluster."""

from __future__ import annotations

from typing import Any

from wavetank.campaign.measurement_table import MEASUREMENTS as STORED
from wavetank.cli import (
    campaign_tables,
    cluster_bill,
    cluster_cloud,
    cluster_cost,
    cluster_plan,
    cluster_tables,
    doctor,
    document_tables,
    fit,
    instance_tables,
    interfere,
    service_tables,
    space_tables,
    summary,
)
from wavetank.compare.tables.all import DEFINITIONS as COMPARISON
from wavetank.compare.tables.check import CHECK
from wavetank.findings.findings_table import FINDINGS
from wavetank.interfere.tables import DEFINITIONS as STUDY
from wavetank.kernel.document.variant_words import DEFINITIONS as VARIANT
from wavetank.kernel.tables import fidelity, kernel, lines, results
from wavetank.measure.tables import DEFINITIONS as MEASUREMENT
from wavetank.model.comparison.difference_table import DIFFERENCES
from wavetank.model.tables.approximation_tables import ASSUMPTIONS, QUANTITIES
from wavetank.model.tables.model_tables import DEFINITIONS as MODEL
from wavetank.model.tables.trace_tables import CALLS, DURATIONS, RANKS, TRACE
from wavetank.report.tables.provenance import MEASUREMENTS, RUNS
from wavetank.tables.formats import tables_schema
from wavetank.tables.table import Definition

_COMMANDS = (
    campaign_tables, cluster_bill, cluster_cloud, cluster_cost, cluster_plan, cluster_tables, doctor, fit, instance_tables, interfere,
    document_tables, service_tables, space_tables, summary,
)  # fmt: skip
DEFINITIONS: tuple[Definition[Any], ...] = (
    *COMPARISON, CHECK, STORED, *STUDY, FINDINGS, *MODEL, MEASUREMENTS, RUNS, QUANTITIES, ASSUMPTIONS, DIFFERENCES, TRACE, RANKS, CALLS,
    DURATIONS,
    *(each for part in (lines, kernel, results, fidelity, *_COMMANDS) for each in part.DEFINITIONS), *VARIANT, *MEASUREMENT,
)  # fmt: skip


def schema() -> dict[str, Any]:
    """The schema of all tables, by their name in a report."""
    return tables_schema(DEFINITIONS)
