"""Tables of what was measured: rankings, phases, effects, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wavetank.compare.comparison import (
    Comparison,
    Configuration,
    Effect,
    Ranking,
)
from wavetank.compare.effects import effects_shown
from wavetank.compare.io_parts import io_parts, not_on_disk_words
from wavetank.compare.words import dropped_words
from wavetank.measure.statistics import Estimate, intervals_words
from wavetank.report.tables.table import (
    Cell,
    Column,
    ReportTable,
    estimated,
    few,
    number,
    ranks_words,
    text,
)
from wavetank.report.text.words import change, money, origins_words, place_words, rate, short_number
from wavetank.units import exact_size, format_duration, format_size

NO_DATA = Cell("no data", None)
MAX_PHASE_ROWS = 400
MAX_OTHER_PLACES = 100  # of a ranking by another criterion than the one that was asked for
MAX_EFFECT_ROWS = 200
CRITERIA = {
    "time": "I/O time",
    "cost": "cost of a run",
    "ratio": "performance-cost ratio",
}


IO_PARTS = {
    "data": "calls that move data",
    "metadata": "open, close, stat, rename and the like",
    "flush": "fsync and its kin, and in the flush at the end",
}


def _io_time(c: Configuration, scale: float | None, *, strong: bool) -> Cell:
    """The I/O time, and what it leaves in caches under it."""
    cell = estimated(c.io_time_s, format_duration, scale, strong=strong)
    left = not_on_disk_words(c)
    return cell if left is None else replace(cell, lines=(*cell.lines, left))


def ranking_table(comparison: Comparison, ranking: Ranking) -> ReportTable:
    """One ranking: place, value with interval, ties, and the other quantities beside it."""
    by_id = {c.id: c for c in comparison.configurations}
    currency = comparison.price.currency if comparison.price is not None else ""
    members = [by_id[place.configuration] for place in ranking.places]
    times = _scale([c.io_time_s for c in members])
    costs = _scale([c.cost.cost_tot for c in members if c.cost is not None])
    ratios = _scale([c.cost.perf_cost for c in members if c.cost is not None])
    rates = _scale([c.rate_bytes_per_s for c in members])
    same_origin = len({_origin_words(c) for c in members}) <= 1
    rows = []
    for place, c in zip(ranking.places, members, strict=True):
        tied = [_short_label(by_id[other]) for other in place.ties_with if other in by_id]
        rows.append(
            (
                Cell(place_words(place), place.best, strong=place.best == 1),
                text(c.cluster_title),
                text(c.mapping),
                _io_time(c, times, strong=ranking.by == "time"),
                *(
                    number(None)
                    if part is None
                    else replace(estimated(part, format_duration), lines=())  # room for the others
                    for _, part in io_parts(c)
                ),
                Cell(not_on_disk_words(c) or "\N{EN DASH}", c.not_on_disk_bytes),
                estimated(c.rate_bytes_per_s, rate, rates) if c.moves_data else NO_DATA,
                number(c.iops.median, f"{c.iops.median:,.0f}") if c.moves_data else NO_DATA,
                number(None)
                if c.calls_per_s is None
                else estimated(c.calls_per_s, lambda v: f"{v:,.0f}"),
                estimated(c.usage_percent, lambda v: f"{v:.0f} %")
                if c.usage_percent is not None
                else number(None),
                estimated(
                    c.cost.cost_tot,
                    lambda v: money(v, currency),
                    costs,
                    strong=ranking.by == "cost",
                )
                if c.cost is not None
                else Cell("\N{EN DASH}", None, lines=(c.cost_missing,) if c.cost_missing else ()),
                estimated(c.cost.perf_cost, short_number, ratios, strong=ranking.by == "ratio")
                if c.cost is not None and c.moves_data
                else number(None),
                Cell(_tied_words(tied), len(tied), lines=few(tied) if len(tied) > 1 else ()),
                number(c.n_repetitions),
                text(_origin_words(c)),
            )
        )
    asked = ranking.by == comparison.rank_by
    return ReportTable(
        name=f"ranking-{ranking.by}",
        title=f"By {CRITERIA[ranking.by]}",
        columns=(
            Column("place", "Place", numeric=True, help="a range where others are tied with it"),
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping", help="process mapping"),
            Column("io_time_s", "I/O time", numeric=True, help="in all I/O calls"),
            *(
                Column(
                    f"{name}_time_s",
                    name.capitalize(),
                    numeric=True,
                    help=f"of the I/O time, in {what}",
                    machine=all(dict(io_parts(c))[name] is None for c in members),
                )
                for name, what in IO_PARTS.items()
            ),
            Column(
                "not_on_disk_bytes",
                "Left in caches",
                help="written, and perhaps not on disk at the end",
                machine=True,  # people read it under the I/O time
            ),
            Column("rate_bytes_per_s", "Rate", numeric=True),
            Column("iops", "IOPS", numeric=True),
            Column(
                "calls_per_s",
                "Calls/s",
                numeric=True,
                help="calls that move no data, over the I/O time",
                machine=any(c.moves_data for c in members),
            ),
            Column(
                "usage_percent",
                "Usage",
                numeric=True,
                help="of the storage's peak",
                machine=all(c.usage_percent is None for c in members),
            ),
            Column("cost_tot", "Cost of a run", numeric=True, help="P15 eq. 5"),
            Column("perf_cost", f"MB/s per {currency}", numeric=True, help="P15 eq. 8"),
            Column("ties_with", "Tied with", help="what was measured cannot tell them apart"),
            Column("n_repetitions", "Runs", numeric=True),
            Column("origin", "Origin", machine=same_origin),
        ),
        rows=tuple(rows),
        caption="".join({f"{_origin_words(c).capitalize()}. " for c in members if same_origin})
        + f"Medians with {intervals_words([c.n_repetitions for c in members], comparison.confidence)}. "
        "Tied: what was measured cannot tell them apart.",
        filterable=len(rows) > 12,
        max_rows=None if asked else MAX_OTHER_PLACES,
    )


def phase_results_table(configurations: Sequence[Configuration]) -> ReportTable:
    """Rate, IOPS and time of each phase on each configuration."""
    rows = [
        (
            text(c.cluster_title),
            text(c.mapping),
            number(phase.ph_id),
            text(phase.file_name),
            text(phase.operation),
            Cell(exact_size(phase.rs), phase.rs),
            Cell(ranks_words(phase.ranks), len(phase.ranks)),
            Cell(format_size(phase.weight_bytes), phase.weight_bytes),
            estimated(phase.rate_bytes_per_s, rate),
            estimated(phase.iops, lambda v: f"{v:,.0f}"),
            estimated(phase.time_s, format_duration),
            estimated(phase.usage_percent, lambda v: f"{v:.0f} %")
            if phase.usage_percent is not None
            else number(None),
        )
        for c in configurations
        for phase in c.phases
    ]
    return ReportTable(
        name="phase-results",
        title="Phases on each configuration",
        columns=(
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("ph_id", "Phase", numeric=True),
            Column("file_name", "File", wide=True),
            Column("operation", "Operations"),
            Column("rs", "rs", numeric=True, help="request size"),
            Column("ranks", "Ranks"),
            Column("weight_bytes", "Weight", numeric=True),
            Column("rate_bytes_per_s", "Rate", numeric=True, help="BW_CH: weight / time"),
            Column("iops", "IOPS", numeric=True),
            Column("time_s", "Time", numeric=True),
            Column("usage_percent", "Usage", numeric=True, help="of the file system's peak"),
        ),
        rows=tuple(rows),
        caption=origins_words(configurations) + ". Median (interval).",
        filterable=True,
        max_rows=MAX_PHASE_ROWS,
    )


def _origins_of(comparison: Comparison, application: str) -> str:
    return origins_words(c for c in comparison.configurations if c.application == application)


def sorted_effects(comparison: Comparison, application: str) -> list[Effect]:
    """An application's effects, those of one knob together, in the order in which knobs appear.

    Those that people are shown come first.
    """
    found = [effect for effect in comparison.effects if effect.application == application]
    shown = {(effect.first, effect.second) for effect in effects_shown(comparison)}
    knobs = list(dict.fromkeys(effect.knob for effect in found))
    return sorted(
        found,
        key=lambda e: (
            (e.first, e.second) not in shown, bool(e.turns), knobs.index(e.knob), e.before, e.after,
        ),
    )  # fmt: skip


def effects_table(comparison: Comparison, application: str) -> ReportTable:
    """What one knob does, and what several do together, with the intervals."""
    titles = {c.id: _short_label(c) for c in comparison.configurations}
    n_shown = sum(effect.application == application for effect in effects_shown(comparison))
    rows = [
        (
            text(effect.knob),
            text(effect.before),
            text(effect.after),
            text(" → ".join(titles.get(c, c) for c in (effect.first, effect.second))),
            estimated(effect.rate_change_percent, change),
            Cell("told apart" if effect.clear else "cannot be told apart", effect.clear),
            Cell("no" if effect.turns else "one knob", not effect.turns),
        )
        for effect in sorted_effects(comparison, application)
    ]
    return ReportTable(
        name="effects",
        title="What a change does",
        columns=(
            Column("knob", "Knob"),
            Column("before", "From"),
            Column("after", "To"),
            Column("between", "Between"),
            Column("rate_change_percent", "Change of rate", numeric=True),
            Column("clear", "Verdict"),
            Column("separable", "Separable", help="whether one knob made it"),
        ),
        rows=tuple(rows),
        caption="Two configurations that differ in nothing else; pairs that differ in several knobs are shown "
        "against the baseline, and all of them are in CSV and JSON. "
        f"Computed from rates that were {_origins_of(comparison, application).lower()}.",
        filterable=len(rows) > 8,
        max_rows=min(n_shown, MAX_EFFECT_ROWS),
    )


def not_measured_table(comparison: Comparison) -> ReportTable:
    """Parts of the plan without a result, and why."""
    return ReportTable(
        name="not-measured",
        title="Planned and not measured",
        columns=(
            Column("application", "Application"),
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("reason", "Reason", wide=True),
        ),
        rows=tuple(
            (
                text(part.application),
                text(comparison.title_of(part.cluster)),
                text(part.mapping),
                text(part.reason),
            )
            for part in comparison.not_measured
        ),
        filterable=len(comparison.not_measured) > 8,
    )


def dropped_table(comparison: Comparison) -> ReportTable | None:
    """What a search dropped, and why; None where nothing was."""
    search = comparison.search
    if search is None or not search.dropped:
        return None
    return ReportTable(
        name="dropped",
        title="Dropped by the search",
        columns=(
            Column("application", "Application"),
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("round", "After round"),
            Column("io_times", "I/O times", wide=True),
            Column("reason", "Why", wide=True),
        ),
        rows=tuple(
            (
                text(each.application),
                text(comparison.title_of(each.cluster)),
                text(each.mapping),
                number(each.round),
                text(", ".join(map(format_duration, each.io_times_s))),
                text(dropped_words(each, search.by)),
            )
            for each in search.last_dropped_first()
        ),
        caption="No difference to these was tested: any of them may be as good as a finalist.",
        filterable=len(search.dropped) > 8,
    )


def own_runs_table(
    comparison: Comparison, configurations: Sequence[Configuration]
) -> ReportTable | None:
    """The kernel judged by the application's own runs (method, section 6); None without any."""
    by_id = {c.id: c for c in configurations}
    rows = tuple(
        (
            text(by_id[each.configuration].cluster_title),
            text(by_id[each.configuration].mapping),
            number(each.ph_id),
            number(each.kernel_bytes_per_s, rate(each.kernel_bytes_per_s)),
            number(each.application_bytes_per_s, rate(each.application_bytes_per_s)),
            number(each.error_percent, f"{each.error_percent:.1f} %", strong=True),
            number(each.kernel_s, format_duration(each.kernel_s)),
            number(each.application_s, format_duration(each.application_s)),
        )
        for each in comparison.own_runs
        if each.configuration in by_id
    )
    if not rows:
        return None
    return ReportTable(
        name="own-runs",
        title="Kernel against the application's own run",
        columns=(
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("ph_id", "Phase", numeric=True),
            Column("kernel_bytes_per_s", "Kernel", numeric=True, help="BW_CH, median"),
            Column("application_bytes_per_s", "Application", numeric=True, help="BW_MD"),
            Column("error_percent", "Error", numeric=True, help="100 * |BW_CH - BW_MD| / BW_MD"),
            Column("kernel_s", "Kernel's time", numeric=True),
            Column("application_s", "Application's time", numeric=True, help="in I/O"),
        ),
        rows=rows,
        caption="How far the kernel's rates lie from what the application itself reached on the "
        "same cluster: the error of the method here.",
        filterable=len(rows) > 12,
    )


def _origin_words(configuration: Configuration) -> str:
    return f"{configuration.origin}, {configuration.cache} cache"


def _scale(estimates: Sequence[Estimate]) -> float:
    return max((e.high if e.high is not None else e.median for e in estimates), default=0.0) * 1.02


def _short_label(configuration: Configuration) -> str:
    return f"{configuration.cluster_title}, {configuration.mapping}"


def _tied_words(tied: Sequence[str]) -> str:
    if not tied:
        return "\N{EN DASH}"
    return tied[0] if len(tied) == 1 else f"{len(tied)} others"
