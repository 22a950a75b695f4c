"""What a search dropped, as plain rows."""

from __future__ import annotations

from wavetank.campaign.rows import Cell, Rows
from wavetank.compare.comparison import Comparison
from wavetank.compare.words import dropped_words
from wavetank.units import format_duration


def dropped_rows(comparison: Comparison) -> Rows:
    """Configurations that did not reach the final, with all that was measured of them."""
    search = comparison.search
    rows: list[list[Cell]] = []
    shown = []
    for each in () if search is None else search.last_dropped_first():
        title, times_s = comparison.title_of(each.cluster), each.io_times_s
        rows.append(
            [
                each.application, each.cluster, title, each.mapping, each.round, each.place, each.of,
                len(times_s), "; ".join(map(repr, times_s)), each.first_s,
            ]
        )  # fmt: skip
        shown.append(
            [
                each.application, title, each.mapping, str(each.round),
                ", ".join(map(format_duration, times_s)), dropped_words(each, search.by if search else "time"),
            ]
        )  # fmt: skip
    return Rows(
        "Dropped by the search",
        (
            "application", "cluster", "title", "mapping", "round", "place", "of", "measurements",
            "io_times_s", "first_s",
        ),
        rows,
        ("application", "cluster", "mapping", "round", "I/O times", "why"),
        shown,
        "No difference to these was tested: any of them may be as good as a finalist",
    )  # fmt: skip
