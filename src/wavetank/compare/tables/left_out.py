"""Advice, and what has no result: what a search dropped, what was not measured, each with its reason."""

from __future__ import annotations

from wavetank.compare.comparison import Advice, Comparison, NotMeasured
from wavetank.compare.search_record import Dropped
from wavetank.compare.tables.where import application_column
from wavetank.compare.words import dropped_words
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.units import format_duration

ADVICE: Definition[Advice] = Definition(
    "advice",
    "Advice",
    (
        application_column(lambda i: i.application),
        Column("about", "About", lambda i: i.about, machine=True),
        Column("sentence", "Advice", lambda i: i.sentence, wide=True),
        Column(
            "evidence", "Numbers behind it", lambda i: list(i.evidence), kind="list", machine=True
        ),
    ),
)

NOT_MEASURED: Definition[tuple[Comparison, NotMeasured]] = Definition(
    "not-measured",
    "Planned and not measured",
    (
        application_column(lambda i: i[1].application),
        Column("cluster", "Cluster's name", lambda i: i[1].cluster, machine=True),
        Column("title", "Cluster", lambda i: i[0].title_of(i[1].cluster), wide=True),
        Column("mapping", "Mapping", lambda i: i[1].mapping),
        Column("reason", "Reason", lambda i: i[1].reason, wide=True),
    ),
)

_Left = tuple[Comparison, Dropped]


def _times(item: _Left) -> Cell:
    times = item[1].io_times_s
    return Cell(", ".join(map(format_duration, times)), list(times))


def _why(item: _Left) -> str:
    comparison, each = item
    return dropped_words(each, comparison.search.by if comparison.search else "time")


DROPPED: Definition[_Left] = Definition(
    "dropped",
    "Dropped by the search",
    (
        application_column(lambda i: i[1].application),
        Column("cluster", "Cluster's name", lambda i: i[1].cluster, machine=True),
        Column("title", "Cluster", lambda i: i[0].title_of(i[1].cluster), wide=True),
        Column("mapping", "Mapping", lambda i: i[1].mapping),
        Column("round", "After round", lambda i: i[1].round, kind="integer"),
        Column("place", "Place", lambda i: i[1].place, kind="integer", machine=True),
        Column("of", "Of so many", lambda i: i[1].of, kind="integer", machine=True),
        Column("io_times_s", "I/O times", _times, kind="list", wide=True),
        Column("first_s", "I/O time of the first", lambda i: i[1].first_s, unit="s", machine=True),
        Column("reason", "Why", _why, wide=True),
    ),
    key="dropped_by_the_search",
)


def advice_table(comparison: Comparison) -> Table:
    """The advice, a sentence a row, with the numbers behind it."""
    return ADVICE.table(comparison.advice)


def not_measured_table(comparison: Comparison) -> Table:
    """Parts of the plan without a result, and why."""
    return NOT_MEASURED.table((comparison, each) for each in comparison.not_measured)


def dropped_table(comparison: Comparison) -> Table:
    """What a search dropped, and why."""
    search = comparison.search
    return DROPPED.table(
        [(comparison, each) for each in ([] if search is None else search.last_dropped_first())],
        caption="No difference to these was tested: any of them may be as good as a finalist.",
    )
