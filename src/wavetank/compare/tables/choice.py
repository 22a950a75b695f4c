"""What decides between configurations, in as few columns as carry the verdict: the table that is read first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from wavetank.compare.comparison import Comparison, Place, Ranking
from wavetank.compare.configuration import Configuration
from wavetank.compare.month import month_of
from wavetank.compare.tables.where import currency_of
from wavetank.compare.words import place_words, three_digits
from wavetank.tables.table import Cell, Column, Definition, Table, estimated
from wavetank.tables.words import DASH, range_words
from wavetank.units import format_duration


@dataclass(frozen=True)
class _Placed:
    comparison: Comparison
    place: Place
    c: Configuration
    several: bool  # mappings
    baseline: Configuration | None  # that the verdict compares with

    def is_baseline(self) -> bool:
        return self.baseline is not None and self.c.id == self.baseline.id


def _configuration(item: _Placed) -> Cell:
    words = f"{item.c.cluster_title}, {item.c.mapping}" if item.several else item.c.cluster_title
    return Cell(words, item.c.id, strong=item.place.best == 1)


def _io_time(item: _Placed) -> Cell:
    """With its interval beside it, in few words."""
    of = item.c.io_time_s
    cell = estimated(of, format_duration)
    if of.low is None or of.high is None:
        return replace(cell, ends=(of.median, of.median), lines=("1 run",))
    ends = range_words(of.low, of.high, format_duration)
    return replace(cell, lines=(ends,))


def _against(item: _Placed) -> Cell:
    """I/O time of the configuration that the verdict compares with, over that of this one."""
    if item.baseline is None or item.is_baseline():
        return Cell(DASH if item.baseline is None else "baseline", None)
    run, time_s = item.c.run, item.c.io_time_s.median
    if run is None or not run.told_apart or not time_s:
        return Cell("tied", None)
    times = item.baseline.io_time_s.median / time_s
    return Cell(f"{times:.2f} x", times)


def _saved(item: _Placed) -> Cell:
    run = item.c.run
    if run is None or run.saved_percent is None or item.is_baseline():
        return Cell(DASH, None)
    return Cell(f"{run.saved_percent:.1f} %" if run.told_apart else "tied", run.saved_percent)


def _run_cost(item: _Placed) -> Cell:
    found = item.c.run.cost if item.c.run is not None else None
    return Cell(DASH, None) if found is None else Cell(three_digits(found.median), found.median)


def _month(item: _Placed) -> Cell:
    """Of the whole runs, all instances rented for each of them; of the I/O alone where that is not known."""
    runs = item.comparison.runs_per_month
    found = None if runs is None else month_of(item.c, runs)
    if found is None:
        return Cell(DASH, None)
    cost = found.runs_alone or found.io
    return Cell(three_digits(cost.median), cost.median)


def _io_cost(item: _Placed) -> Cell:
    found = item.c.cost.cost_tot if item.c.cost is not None else None
    return Cell(DASH, None) if found is None else Cell(three_digits(found.median), found.median)


CHOICE: Definition[_Placed] = Definition(
    "choice",
    "Choice",
    (
        Column("place", "Place", lambda i: Cell(place_words(i.place), i.place.best, strong=i.place.best == 1), kind="integer"),
        Column("configuration", "Configuration", _configuration, wide=True),
        Column("io_time_s", "I/O time", _io_time, unit="s", spread=True, drawn="choice"),
        Column("times_as_fast", "I/O speed", _against, kind="number", help="against the baseline"),
        Column("run_saved_percent", "Run saved", _saved, unit="%", help="of the whole run, computed"),
        Column("run_cost", "Cost of a run", _run_cost, unit="currency", help="of the whole run, computed"),
        Column("month", "Cost of a month", _month, unit="currency", help="of the whole runs, computed"),
        Column("io_cost", "Cost of the I/O", _io_cost, unit="currency", help="computed"),
    ),
)  # fmt: skip


def choice_table(comparison: Comparison, ranking: Ranking, most: int | None = None) -> Table:
    """The configurations of one application, best first, with what tells against changing to them.

    Args:
        comparison: of all applications.
        ranking: of one of them.
        most: rows; the baseline has one of them wherever it is placed. None: all.
    """
    by_id = {each.id: each for each in comparison.configurations}
    verdict = comparison.verdict_of(ranking.application)
    baseline = None if verdict is None or verdict.baseline is None else by_id[verdict.baseline]
    members = [by_id[place.configuration] for place in ranking.places]
    several = len({each.mapping for each in members}) > 1
    items = [
        _Placed(comparison, place, each, several, baseline)
        for place, each in zip(ranking.places, members, strict=True)
    ]
    if most is not None and len(items) > most:
        first = items[:most]
        rest = [each for each in items[most:] if each.is_baseline()]
        items = [*first[: most - len(rest)], *rest]
    currency = currency_of(comparison) or "currency"
    whole = any(each.run is not None and each.run.cost is not None for each in members)
    runs = comparison.runs_per_month
    hidden = {
        "times_as_fast": baseline is None,
        "run_saved_percent": all(each.run is None or each.run.saved_percent is None for each in members),
        "run_cost": not whole or runs is not None,
        "month": runs is None,
        "io_cost": whole or runs is not None or all(each.cost is None for each in members),
    }  # fmt: skip
    changes: dict[str, Any] = {
        "run_cost": {"title": f"{currency} a run"},
        "month": {"title": f"{currency} a month"},
        "io_cost": {"title": f"{currency} of the I/O"},
    }
    for key, is_hidden in hidden.items():
        if is_hidden:
            changes[key] = {**changes.get(key, {}), "machine": True}
    return CHOICE.table(items, title="Ranking", columns=changes)
