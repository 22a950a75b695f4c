"""Calls that move no data: their phases in a model, and how many a second each configuration does."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.comparison import Configuration
from wavetank.model.document.model import Model
from wavetank.model.tables.metadata_table import calls_text, names_text, objects_text, sharing_text
from wavetank.report.tables.table import (
    Cell,
    Column,
    ReportTable,
    estimated,
    id_range,
    number,
    ranks_words,
    text,
)
from wavetank.report.text.words import origins_words
from wavetank.units import format_duration

MAX_PHASES = 300
MAX_ROWS = 400


def metadata_table(model: Model) -> ReportTable | None:
    """The phases of calls that move no data; None without any."""
    if not model.metadata:
        return None
    rows = []
    for phase in model.metadata:
        rate = phase.calls_per_s
        rows.append(
            (
                number(phase.md_id),
                Cell(ranks_words(phase.ranks, model.n_ranks), id_range(phase.ranks)),
                Cell(calls_text(phase), phase.n_calls),
                Cell(objects_text(phase), phase.n_files + phase.n_directories),
                Cell(sharing_text(phase), phase.n_parents),
                text(names_text(phase)),
                number(
                    phase.time_s, None if phase.time_s is None else format_duration(phase.time_s)
                ),
                number(rate, None if rate is None else f"{rate:,.0f}"),
            )
        )
    return ReportTable(
        name="metadata-phases",
        title="Phases of calls that move no data",
        columns=(
            Column("md_id", "Phase", numeric=True),
            Column("ranks", "Ranks"),
            Column("calls", "Calls", wide=True),
            Column("objects", "Files and directories"),
            Column("directories", "In directories", help="who shares them"),
            Column("names", "Names", wide=True, help="* is a number"),
            Column("time_s", "Time", numeric=True, help="in the traced run"),
            Column("calls_per_s", "Calls/s", numeric=True, help="in the traced run"),
        ),
        rows=tuple(rows),
        caption="Calls on files whose data the same rank moves are told with the phases of that data.",
        filterable=len(rows) > 12,
        max_rows=MAX_PHASES,
    )


def call_results_table(configurations: Sequence[Configuration]) -> ReportTable | None:
    """Calls a second by kind on each configuration; None where none is told."""
    rows = tuple(
        (
            text(c.cluster_title),
            text(c.mapping),
            text(call.call),
            number(call.n, f"{call.n:,}"),
            number(None) if call.per_s is None else estimated(call.per_s, lambda v: f"{v:,.0f}"),
            estimated(call.time_s, format_duration),
        )
        for c in configurations
        for call in c.calls
    )
    if not rows:
        return None
    return ReportTable(
        name="call-results",
        title="Calls that move no data, on each configuration",
        columns=(
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("call", "Call"),
            Column("n", "Calls", numeric=True, help="of all ranks"),
            Column("calls_per_s", "Calls/s", numeric=True),
            Column("time_s", "Time", numeric=True, help="in which a rank was at such a call"),
        ),
        rows=rows,
        caption=origins_words(configurations) + ". Median (interval).",
        filterable=True,
        max_rows=MAX_ROWS,
    )
