"""Rankings: place, value with interval, ties, and the other quantities beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from wavetank.compare.comparable import above_words, mark
from wavetank.compare.comparison import Comparison, Place, Ranking
from wavetank.compare.configuration import Configuration
from wavetank.compare.io_parts import io_parts, not_on_disk_words
from wavetank.compare.tables.where import currency_of, where
from wavetank.compare.words import place_words, three_digits
from wavetank.cost.estimate import MEGABYTE
from wavetank.measure.result import cache_words
from wavetank.measure.statistics import Estimate, intervals_words
from wavetank.tables.table import Amount, Cell, Column, Definition, Table, distinct, estimated
from wavetank.tables.words import DASH, few
from wavetank.units import format_duration, format_rate

NO_DATA = Cell("no data", None)
MAX_OTHER_PLACES = 50  # of a ranking by another criterion than the one that was asked for
CRITERIA = {
    "time": "I/O time",
    "cost": "cost of the I/O",
    "ratio": "performance-cost ratio",
}
_PARTS = {
    "data": "calls that move data",
    "metadata": "open, close, stat, rename and the like",
    "flush": "fsync and its kin, and in the flush at the end",
}


@dataclass(frozen=True)
class _Placed:
    comparison: Comparison
    ranking: Ranking
    place: Place
    c: Configuration

    def amount(self, name: str) -> Amount | None:
        """A cost of the configuration."""
        if self.c.cost is None:
            return None
        return Amount(getattr(self.c.cost, name), currency_of(self.comparison))


def _io_time(item: _Placed) -> Cell:
    """The I/O time, and what it leaves in caches under it."""
    cell = estimated(item.c.io_time_s, format_duration, strong=item.ranking.by == "time")
    left = not_on_disk_words(item.c)
    return cell if left is None else replace(cell, lines=(*cell.lines, left))


def _part(name: str) -> Column[_Placed]:
    return Column(
        f"{name}_time_s", name.capitalize(), lambda i: dict(io_parts(i.c))[name], unit="s",
        help=f"of the I/O time, in {_PARTS[name]}", show=format_duration, spread=True, brief=True,
    )  # fmt: skip


def _rate(item: _Placed) -> Estimate | Cell:
    return item.c.rate_bytes_per_s if item.c.moves_data else NO_DATA


def _iops(item: _Placed) -> float | Cell:
    return item.c.iops.median if item.c.moves_data else NO_DATA


def _cost(item: _Placed) -> Cell | Amount:
    amount = item.amount("cost_tot")
    if amount is None:
        missing = item.c.cost_missing
        return Cell(DASH, None, lines=(missing,) if missing else ())
    return amount


def _tied(item: _Placed) -> list[str]:
    by_id = {each.id: each for each in item.comparison.configurations}
    return [
        f"{by_id[other].cluster_title}, {by_id[other].mapping}"
        for other in item.place.ties_with
        if other in by_id
    ]


def _ties(item: _Placed) -> Cell:
    tied = _tied(item)
    told = DASH if not tied else tied[0] if len(tied) == 1 else f"{len(tied)} others"
    return Cell(told, len(tied), lines=few(tied) if len(tied) > 1 else ())


def origin_words(configuration: Configuration) -> str:
    """Where a configuration's numbers come from: "measured under emulated limits, cold caches"; and its mark."""
    return f"{configuration.origin}, {cache_words(configuration.cache)}{mark(configuration)}"


RANKING: Definition[_Placed] = Definition(
    "ranking",
    "Ranking",
    (
        Column("by", "By", lambda i: i.ranking.by, machine=True),
        Column("place", "Place", lambda i: Cell(place_words(i.place), i.place.best, strong=i.place.best == 1),
               kind="integer", help="a range where others are tied with it", people=True),
        Column("place_best", "First place", lambda i: i.place.best, kind="integer", machine=True),
        Column("place_worst", "Last place", lambda i: i.place.worst, kind="integer", machine=True),
        *where(lambda i: i.c),
        Column("instances", "Instances", lambda i: i.c.n_instances, kind="integer"),
        Column("io_time_s", "I/O time", _io_time, unit="s", help="in all I/O calls", spread=True, drawn="time"),
        _part("data"), _part("metadata"), _part("flush"),
        Column("not_on_disk_bytes", "Left in caches", lambda i: i.c.not_on_disk_bytes, unit="B", machine=True,
               help="written, and perhaps not on disk at the end"),
        Column("rate_bytes_per_s", "Rate", _rate, unit="B/s", spread=True, drawn="rate", brief=True),
        Column("iops", "IOPS", _iops, unit="1/s"),
        Column("calls_per_s", "Calls/s", lambda i: i.c.calls_per_s, unit="1/s", spread=True, brief=True,
               help="calls that move no data, over the I/O time"),
        Column("usage_percent", "Usage", lambda i: i.c.usage_percent, unit="%", spread=True, brief=True,
               show=lambda value: f"{value:.0f} %", help="of the storage's peak"),
        Column("cost_tot", "Cost of the I/O", _cost, unit="currency", spread=True, drawn="cost", brief=True, help="P15 eq. 5"),
        Column("runs_per_unit", "Runs per unit", lambda i: i.c.cost.runs_per_unit if i.c.cost else None,
               kind="number", show=three_digits, spread=True, brief=True, help="that one unit of the currency pays for"),
        Column("perf_cost", "Rate per unit", lambda i: i.c.cost.perf_cost if i.c.cost and i.c.moves_data else None,
               kind="number", show=lambda ratio: format_rate(ratio * MEGABYTE), spread=True, drawn="ratio", brief=True,
               help="P15 eq. 8: MB/s per currency unit"),
        Column("tied", "Tied with", _ties, help="what was measured cannot tell them apart", people=True),
        Column("ties_with", "Tied with", lambda i: list(i.place.ties_with), kind="list", machine=True,
               help="configurations that what was measured cannot tell apart from this one"),
        Column("pareto", "Nothing better", lambda i: i.c.id in i.comparison.pareto, kind="boolean", machine=True,
               help="no configuration is better in both time and cost"),
        Column("n_repetitions", "Runs", lambda i: i.c.n_repetitions, kind="integer"),
        Column("origin", "Origin", lambda i: Cell(origin_words(i.c), i.c.origin)),
        Column("cache", "Cache", lambda i: i.c.cache, machine=True),
        Column("comparable", "Comparable", lambda i: i.c.comparable, kind="boolean", machine=True,
               help="with hardware: not in guests whose system calls decide"),
    ),
    goes_on=True,
)  # fmt: skip


def ranking_table(comparison: Comparison, ranking: Ranking) -> Table:
    """One ranking of one application."""
    by_id = {each.id: each for each in comparison.configurations}
    members = [by_id[place.configuration] for place in ranking.places]
    same_origin = len({origin_words(each) for each in members}) <= 1
    changes: dict[str, Any] = {
        key: {"machine": True}
        for key, unknown in {
            "application": True,
            "origin": same_origin,
            "perf_cost": ranking.by != "ratio",
            "calls_per_s": any(each.moves_data for each in members),
            "usage_percent": all(each.usage_percent is None for each in members),
            **{
                f"{name}_time_s": all(dict(io_parts(each))[name] is None for each in members)
                for name in _PARTS
            },
        }.items()
        if unknown
    }
    currency = currency_of(comparison)
    unit = currency or "unit"
    changes["runs_per_unit"] = {"title": f"Runs per {unit}"}
    changes["perf_cost"] = {**changes.get("perf_cost", {}), "title": f"Rate per {unit}"}
    above = above_words(ranking, members)
    origins = "".join({f"{origin_words(each).capitalize()}. " for each in members if same_origin})
    return RANKING.table(
        [
            _Placed(comparison, ranking, place, each)
            for place, each in zip(ranking.places, members, strict=True)
        ],
        name=f"ranking-{ranking.by}",
        title=f"By {CRITERIA[ranking.by]}",
        caption=origins
        + f"Medians with {intervals_words([each.n_repetitions for each in members], comparison.confidence)}. "
        "Tied: what was measured cannot tell them apart." + (f" {above}" if above else ""),
        max_rows=None if ranking.by == comparison.rank_by else MAX_OTHER_PLACES,
        columns=changes,
    )


def ranking_tables(comparison: Comparison) -> list[Table]:
    """The ranking that was asked for, a table per application."""
    asked = [each for each in comparison.rankings if each.by == comparison.rank_by]
    return [
        replace(
            ranking_table(comparison, ranking),
            title=f"Ranking of {ranking.application} by {ranking.by}",
            key=key,
        )
        for ranking, key in zip(asked, distinct(map(_key, asked)), strict=True)
    ]


def _key(ranking: Ranking) -> str:
    name = f"ranking of {ranking.application} by {ranking.by}"
    return name.lower().replace(" ", "_").replace("-", "_")
