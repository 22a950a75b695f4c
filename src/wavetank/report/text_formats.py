"""The report as Markdown for a wiki or an issue, and as CSV and JSON for other programs.

CSV and JSON hold all rows in base units (bytes, seconds, bytes per second), with the ends of each
interval; Markdown holds what the page shows.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator

from wavetank.report.gather import Campaign
from wavetank.report.page import ApplicationPart, Page, make_page
from wavetank.report.svg import printable
from wavetank.report.tables import Cell, ReportTable, Value

# What Markdown, or the HTML inside it, would take for markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$&])")


def markdown(campaign: Campaign) -> str:
    """The report as Markdown."""
    page = make_page(campaign)
    parts = [f"# {_escaped(page.title)}", " · ".join(_escaped(fact) for fact in page.facts)]
    for application in page.applications:
        parts += _advice(application)
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
    body = {
        "schema": "wavetank.report/1",
        "provenance": page.comparison.provenance.model_dump(mode="json"),
        "campaign": page.title,
        "confidence": page.comparison.confidence,
        "price": None if page.price is None else page.price.model_dump(mode="json"),
        "notes": page.notes,
        "applications": [
            {
                "name": application.name,
                "advice": [advice.model_dump(mode="json") for advice in application.advice],
                "tables": {table.name: list(_records(table)) for table in _of(application)},
            }
            for application in page.applications
        ],
        "tables": {table.name: list(_records(table)) for table in _of_all(page)},
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


_MACHINE_TABLES = frozenset({"measurements", "phase-results"})


def _tables(page: Page) -> Iterator[tuple[str, ReportTable]]:
    """Every table with a title that says which application it is about."""
    for application in page.applications:
        for table in _of(application):
            yield f"{application.name}: {table.title}", table
    for table in _of_all(page):
        yield table.title, table


def _of(application: ApplicationPart) -> list[ReportTable]:
    tables = [*application.rankings]
    optional = (
        application.phase_results,
        application.cost_parts,
        application.other_costs,
        application.effects,
    )
    tables += [table for table in optional if table is not None]
    model = application.model
    if model is not None:
        tables += model.tables
        tables += () if model.ior is None else (model.ior,)
    return tables


def _of_all(page: Page) -> list[ReportTable]:
    tables = [] if page.not_measured is None else [page.not_measured]
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
    for advice in application.advice:
        evidence = "".join(f"\n  - {_escaped(line)}" for line in advice.evidence)
        parts.append(f"- {_escaped(advice.sentence)}{evidence}")
    if application.origin:
        parts.append(f"*{_escaped(application.origin)}.*")
    return parts


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
    return words + (f" ({_escaped(cell.lines[0])})" if cell.ends is not None else "")


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", printable(text).replace("\n", " "))
