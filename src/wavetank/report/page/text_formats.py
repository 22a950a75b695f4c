"""The report as Markdown for a wiki or an issue, and as CSV and JSON for other programs.

CSV and JSON hold all rows in base units (bytes, seconds, bytes per second), with the ends of each
interval; Markdown holds what the page shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from wavetank.compare.comparison import Advice
from wavetank.report.document import ApplicationReport, Report, Rows
from wavetank.report.gather import Campaign
from wavetank.report.page.content import ApplicationPart, Page, make_page
from wavetank.report.page.study_part import StudyPart
from wavetank.tables import formats
from wavetank.tables.formats import escaped, markdown_table
from wavetank.tables.table import Table, repeated


def markdown(campaign: Campaign) -> str:
    """The report as Markdown."""
    page = make_page(campaign)
    parts = [f"# {escaped(page.title)}", " · ".join(escaped(fact) for fact in page.facts)]
    for application in page.applications:
        parts += _advice(application)
    if page.study is not None:
        parts += _study(page.study)
    if page.notes:
        parts += [
            "## Before using these numbers",
            "\n".join(f"- {escaped(n)}" for n in page.notes),
        ]
    for title, table in _tables(page):
        if table.name not in _NOT_IN_MARKDOWN and not table.name.startswith("study-"):
            parts += markdown_table(title, table)
    return "\n\n".join(parts) + "\n"


_NOT_IN_MARKDOWN = frozenset({"measurements", "phase-results"})


def csv_text(campaign: Campaign) -> str:
    """All tables, one after another, each after a line with its title."""
    named = list(_tables(make_page(campaign)))
    return formats.csv_text([table for _, table in named], [title for title, _ in named])


def json_text(campaign: Campaign) -> str:
    """Advice, notes and all tables as one JSON object."""
    page = make_page(campaign)
    parts = [
        ApplicationReport(
            name=each.name,
            verdict=each.verdict,
            advice=(*each.why, *each.advice),
            tables=_records(_of(each)),
        )
        for each in page.applications
    ]
    if page.study is not None:
        study = page.study
        parts.append(
            ApplicationReport(
                name=page.title, verdict=None, advice=study.advice, tables=_records(study.tables)
            )
        )
    return Report(
        provenance=page.comparison.provenance,
        campaign=page.title,
        confidence=page.comparison.confidence,
        price=page.price,
        notes=page.comparison.notes,
        applications=tuple(parts),
        tables=_records(_of_all(page)),
    ).to_json()


def _records(tables: Iterable[Table]) -> dict[str, Rows]:
    tables = list(tables)
    if twice := repeated(table.name for table in tables):
        raise ValueError(f"two tables of the report have the name {', '.join(twice)}")
    # What a table holds is what JSON can hold; pydantic's type says the same in other words.
    return {table.name: cast(Rows, table.records()) for table in tables}


def _tables(page: Page) -> Iterator[tuple[str, Table]]:
    """Every table with a title that says which application it is about."""
    for application in page.applications:
        for table in _of(application):
            yield f"{application.name}: {table.title}", table
    if page.study is not None:
        for table in page.study.tables:
            yield table.title, table
    for table in _of_all(page):
        yield table.title, table


def _study(study: StudyPart) -> list[str]:
    parts = ["## What the groups do to each other"]
    parts.append("\n".join(f"- {escaped(group)}" for group in study.groups))
    parts += [_advice_line(advice) for advice in study.advice]
    for table in study.tables:
        parts += markdown_table(table.title, table)
    return parts


def _of(application: ApplicationPart) -> list[Table]:
    tables = [ranking.table for ranking in application.rankings]
    optional = (
        application.whole_run,
        application.baseline,
        application.phase_results,
        application.call_results,
        application.use,
        application.own_times,
        application.cost_parts,
        application.month,
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


def _of_all(page: Page) -> list[Table]:
    check = None if page.check is None else page.check.table
    tables = [each for each in (check, page.not_measured, page.dropped) if each is not None]
    return [*tables, *page.clusters, page.measurements]


def _advice(application: ApplicationPart) -> list[str]:
    parts = [f"## {escaped(application.name)}"]
    if application.verdict is not None:
        parts += [escaped(application.verdict.sentence), escaped(application.verdict.run)]
    parts += [_advice_line(advice) for advice in (*application.why, *application.advice)]
    if application.origin:
        parts.append(f"*{escaped(application.origin)}.*")
    return parts


def _advice_line(advice: Advice) -> str:
    evidence = "".join(f"\n  - {escaped(line)}" for line in advice.evidence)
    severity = f"{advice.severity}: " if advice.severity else ""
    paste = f" `{advice.paste}`" if advice.paste else ""
    return f"- {severity}{escaped(advice.sentence)}{paste}{evidence}"
