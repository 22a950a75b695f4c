"""The report as Markdown for a wiki or an issue, and as CSV and JSON for other programs.

CSV and JSON hold all rows in base units (bytes, seconds, bytes per second), with the ends of each
interval; Markdown holds what the page shows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from wavetank.compare.comparison import Advice
from wavetank.report.document import ApplicationReport, Report
from wavetank.report.gather import Campaign
from wavetank.report.page.content import ApplicationPart, Page, make_page
from wavetank.report.page.study_part import PLAIN_TABLES, StudyPart
from wavetank.report.plots.svg import printable
from wavetank.report.tables.table import Cell, ReportTable, Value

# What Markdown, or the HTML inside it, would take for markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$&])")


def markdown(campaign: Campaign) -> str:
    """The report as Markdown."""
    page = make_page(campaign)
    parts = [f"# {_escaped(page.title)}", " · ".join(_escaped(fact) for fact in page.facts)]
    for application in page.applications:
        parts += _advice(application)
    if page.study is not None:
        parts += _study(page.study)
    if page.notes:
        parts += [
            "## Before using these numbers",
            "\n".join(f"- {_escaped(n)}" for n in page.notes),
        ]
    for title, table in _tables(page):
        if table.name not in _MACHINE_TABLES:
            parts += _markdown_table(title, table)
    return "\n\n".join(parts) + "\n"


def csv_text(campaign: Campaign) -> str:
    """All tables, one after another, each after a line with its title."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for number, (title, table) in enumerate(_tables(make_page(campaign))):
        stream.write(f"{'' if number == 0 else chr(10)}# {printable(title)}\n")
        rows = list(_records(table))
        writer.writerow(rows[0] if rows else [column.key for column in table.columns])
        writer.writerows([_safe(value) for value in row.values()] for row in rows)
    return stream.getvalue()


def json_text(campaign: Campaign) -> str:
    """Advice, notes and all tables as one JSON object."""
    page = make_page(campaign)
    return Report(
        provenance=page.comparison.provenance,
        campaign=page.title,
        confidence=page.comparison.confidence,
        price=page.price,
        notes=tuple(page.notes),
        applications=tuple(
            ApplicationReport(
                name=application.name,
                advice=tuple(application.advice),
                tables={table.name: list(_records(table)) for table in _of(application)},
            )
            for application in page.applications
        )
        + (() if page.study is None else (_study_report(page.title, page.study),)),
        tables={table.name: list(_records(table)) for table in _of_all(page)},
    ).to_json()


_MACHINE_TABLES = frozenset(
    {"measurements", "phase-results", *(f"study-{name}" for name in PLAIN_TABLES)}
)


def _tables(page: Page) -> Iterator[tuple[str, ReportTable]]:
    """Every table with a title that says which application it is about."""
    for application in page.applications:
        for table in _of(application):
            yield f"{application.name}: {table.title}", table
    if page.study is not None:
        for table in page.study.plain_tables:
            yield table.title, table
    for table in _of_all(page):
        yield table.title, table


def _study_report(title: str, study: StudyPart) -> ApplicationReport:
    return ApplicationReport(
        name=title,
        advice=study.advice,
        tables={table.name: list(_records(table)) for table in study.plain_tables},
    )


def _study(study: StudyPart) -> list[str]:
    parts = ["## What the groups do to each other"]
    parts.append("\n".join(f"- {_escaped(group)}" for group in study.groups))
    parts += [_advice_line(advice) for advice in study.advice]
    for table in study.tables:
        parts += _markdown_table(table.title, table)
    return parts


def _of(application: ApplicationPart) -> list[ReportTable]:
    tables = [*application.rankings]
    optional = (
        application.whole_run,
        application.baseline,
        application.phase_results,
        application.call_results,
        application.use,
        application.own_runs,
        application.own_times,
        application.cost_parts,
        application.other_costs,
        application.effects,
    )
    tables += [table for table in optional if table is not None]
    tables += application.what_if
    model = application.model
    if model is not None:
        tables += model.tables
        tables += [table for table in (model.ior, model.mdtest) if table is not None]
    return tables


def _of_all(page: Page) -> list[ReportTable]:
    tables = [each for each in (page.not_measured, page.dropped) if each is not None]
    return [*tables, *page.clusters, page.measurements]


def _records(table: ReportTable) -> Iterator[dict[str, Value]]:
    """A row as machines want it: key -> value, with the ends of intervals beside their medians."""
    with_ends = {
        column.key
        for position, column in enumerate(table.columns)
        if any(row[position].ends is not None for row in table.rows)
    }
    for row in table.rows:
        record: dict[str, Value] = {}
        for column, cell in zip(table.columns, row, strict=True):
            record[column.key] = cell.value
            if column.key in with_ends:
                record[f"{column.key}_low"], record[f"{column.key}_high"] = cell.ends or (
                    None,
                    None,
                )
        yield record


def _safe(value: Value) -> Value:
    """A value that no spreadsheet takes for a formula: a file may be called "=cmd|..."."""
    if not isinstance(value, str):
        return value
    value = printable(value)
    return f"'{value}" if value[:1] in {"=", "+", "-", "@"} else value


def _advice(application: ApplicationPart) -> list[str]:
    parts = [f"## {_escaped(application.name)}"]
    parts += [_advice_line(advice) for advice in application.advice]
    if application.origin:
        parts.append(f"*{_escaped(application.origin)}.*")
    return parts


def _advice_line(advice: Advice) -> str:
    evidence = "".join(f"\n  - {_escaped(line)}" for line in advice.evidence)
    return f"- {_escaped(advice.sentence)}{evidence}"


def _markdown_table(title: str, table: ReportTable) -> list[str]:
    columns = table.columns_shown
    lines = [
        "| " + " | ".join(_escaped(column.title) for column in columns) + " |",
        "|" + "|".join("--:" if column.numeric else "---" for column in columns) + "|",
    ]
    lines += [
        "| " + " | ".join(_cell(cell) for _, cell in table.cells_shown(row)) + " |"
        for row in table.shown
    ]
    notes = [table.caption] if table.caption else []
    if table.n_left_out:
        notes.append(f"{table.n_left_out:,} more rows are in the CSV and JSON output.")
    return [f"### {_escaped(title)}", "\n".join(lines), *(_escaped(note) for note in notes)]


def _cell(cell: Cell) -> str:
    words = f"**{_escaped(cell.text)}**" if cell.strong else _escaped(cell.text)
    return words + (f" ({_escaped(cell.lines[0])})" if cell.ends is not None and cell.lines else "")


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", printable(text).replace("\n", " "))
