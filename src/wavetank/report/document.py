"""The report as data for other programs: what ``wavetank report --format json`` writes."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, JsonValue

from wavetank.compare.comparison import Advice, Price, Verdict
from wavetank.document import Document, Record
from wavetank.errors import ReportError, WavetankError
from wavetank.notes import Note

Rows = list[dict[str, JsonValue]]


class ApplicationReport(Record):
    """One application of the campaign."""

    name: str
    verdict: Verdict | None = Field(description="the answer; None where nothing was measured")
    advice: tuple[Advice, ...]
    tables: dict[str, Rows] = Field(
        description="table -> its rows: column -> value, in bytes, seconds and bytes per second; "
        "<column>_low and <column>_high are the ends of its interval. `wavetank schema tables` describes each column"
    )


class Report(Document):
    """All tables of a report, with what a reader must know to judge them."""

    kind: ClassVar[str] = "report"
    error: ClassVar[type[WavetankError]] = ReportError

    campaign: str
    confidence: float = Field(description="of the intervals, e.g. 0.95")
    price: Price | None
    notes: tuple[Note, ...]
    applications: tuple[ApplicationReport, ...]
    tables: dict[str, Rows] = Field(description="of the whole campaign: clusters, measurements")
