"""A comparison as plain rows: what the terminal, CSV and JSON show."""

from __future__ import annotations

from wavetank.campaign.call_table import call_rows
from wavetank.campaign.rows import Cell, Rows
from wavetank.campaign.run_tables import baseline_rows, run_rows
from wavetank.campaign.search_table import dropped_rows
from wavetank.campaign.trust_tables import own_time_rows, trust_rows
from wavetank.campaign.use_table import use_rows
from wavetank.campaign.what_if_tables import certificate_rows, gain_rows, not_turned_rows
from wavetank.compare.comparison import Comparison, Configuration, Cost, Standing
from wavetank.compare.effects import effects_shown, left_out_words, turn_words
from wavetank.compare.io_parts import io_parts, not_on_disk_words
from wavetank.compare.words import place_range, show, three_digits
from wavetank.measure.statistics import Estimate
from wavetank.units import format_duration, format_rate, format_size


def ranking_rows(comparison: Comparison) -> list[Rows]:
    """The ranking that was asked for, a table per application."""
    by_id = {each.id: each for each in comparison.configurations}
    currency = comparison.price.currency if comparison.price else ""
    tables = []
    for ranking in comparison.rankings:
        if ranking.by != comparison.rank_by:
            continue
        rows: list[list[Cell]] = []
        shown = []
        with_calls = not all(by_id[place.configuration].moves_data for place in ranking.places)
        for place in ranking.places:
            each = by_id[place.configuration]
            rows.append(
                [
                    place.best, place.worst, each.cluster, each.cluster_title, each.mapping,
                    each.n_instances, each.io_time_s.median, each.io_time_s.low,
                    each.io_time_s.high, each.rate_bytes_per_s.median, each.iops.median,
                    each.usage_percent.median if each.usage_percent else None,
                    each.cost.cost_tot.median if each.cost else None,
                    each.cost.perf_cost.median if each.cost else None,
                    "; ".join(place.ties_with), each.id in comparison.pareto, each.origin,
                    *(None if part is None else part.median for _, part in io_parts(each)),
                    each.not_on_disk_bytes,
                    each.calls_per_s.median if each.calls_per_s else None,
                ]
            )  # fmt: skip
            shown.append(_shown_place(place_range(place), each, bool(place.ties_with), currency))
            if with_calls:
                calls = each.calls_per_s
                shown[-1].insert(_CALLS_AT, "-" if calls is None else f"{calls.median:,.0f}")
        tables.append(
            Rows(
                f"Ranking of {ranking.application} by {ranking.by}",
                (
                    "place_best",
                    "place_worst",
                    "cluster",
                    "title",
                    "mapping",
                    "instances",
                    "io_time_s",
                    "io_time_low_s",
                    "io_time_high_s",
                    "rate_bytes_per_s",
                    "iops",
                    "usage_percent",
                    "cost",
                    "perf_cost",
                    "ties_with",
                    "pareto",
                    "origin",
                    "data_time_s",
                    "metadata_time_s",
                    "flush_time_s",
                    "not_on_disk_bytes",
                    "calls_per_s",
                ),
                rows,
                (
                    *RANKING_SHOWN[:_CALLS_AT],
                    *(["calls/s"] if with_calls else []),
                    *RANKING_SHOWN[_CALLS_AT:],
                ),
                shown,
            )
        )
    return tables


RANKING_SHOWN = (
    "place", "cluster", "mapping", "instances", "I/O time", "data", "metadata", "flush", "rate", "IOPS", "of peak", "cost of a run",
    "MB/s per unit", "",
)  # fmt: skip


_CALLS_AT = RANKING_SHOWN.index("of peak")
"""Where calls a second are shown, of applications that move no data."""


def _shown_place(place: str, each: Configuration, tied: bool, currency: str) -> list[str]:
    return [
        place,
        each.cluster_title,
        each.mapping,
        str(each.n_instances),
        show(each.io_time_s, "time"),
        *("-" if part is None else format_duration(part.median) for _, part in io_parts(each)),
        format_rate(each.rate_bytes_per_s.median) if each.moves_data else "no data",
        f"{each.iops.median:.0f}" if each.moves_data else "no data",
        f"{each.usage_percent.median:.0f} %" if each.usage_percent else "-",
        f"{three_digits(each.cost.cost_tot.median)} {currency}" if each.cost else "-",
        three_digits(each.cost.perf_cost.median) if each.cost and each.moves_data else "-",
        "; ".join(filter(None, ("tie" if tied else None, not_on_disk_words(each)))),
    ]


SMALL_SHARE = 0.01
"""People see the phases with at least this share of the bytes; JSON and CSV hold all."""


def phase_rows(comparison: Comparison) -> Rows:
    """Rate, IOPS and time of every phase on every configuration."""
    rows: list[list[Cell]] = []
    shown = []
    left_out = set()
    for each in comparison.configurations:
        for phase in each.phases:
            rate = phase.rate_bytes_per_s
            rows.append(
                [
                    each.application, each.cluster, each.cluster_title, each.mapping, phase.ph_id,
                    phase.operation, phase.file_name, phase.rs, phase.weight_bytes, rate.median, rate.low,
                    rate.high, phase.iops.median, phase.time_s.median,
                    phase.usage_percent.median if phase.usage_percent else None, each.origin,
                ]
            )  # fmt: skip
            if phase.weight_bytes < SMALL_SHARE * each.weight_bytes:
                left_out.add((each.application, phase.ph_id))
                continue
            shown.append(
                [
                    each.application, each.cluster_title, each.mapping, str(phase.ph_id),
                    phase.operation, phase.file_name, f"{phase.rs} B",
                    format_size(phase.weight_bytes), show_rate(rate),
                    f"{phase.iops.median:.0f}", show(phase.time_s, "time"),
                    f"{phase.usage_percent.median:.0f} %" if phase.usage_percent else "-",
                ]
            )  # fmt: skip
    return Rows(
        "Phases",
        (
            "application", "cluster", "title", "mapping", "ph_id", "operation", "file", "rs",
            "weight_bytes", "rate_bytes_per_s", "rate_low", "rate_high", "iops", "time_s",
            "usage_percent", "origin",
        ),
        rows,
        (
            "application", "cluster", "mapping", "phase", "operation", "file", "request",
            "bytes", "rate", "IOPS", "time", "of peak",
        ),
        shown,
        f"{len(left_out)} phases with less than 1 % of the bytes are in --format json and csv"
        if left_out
        else None,
    )  # fmt: skip


def show_rate(of: Estimate) -> str:
    """A rate with its interval."""
    if of.low is None or of.high is None:
        return format_rate(of.median)
    return f"{format_rate(of.median)} [{format_rate(of.low)} to {format_rate(of.high)}]"


def effect_rows(comparison: Comparison) -> Rows:
    """What each knob does, and what several at once do."""
    words = comparison.words_of
    rows: list[list[Cell]] = [
        [
            each.application, each.knob, each.before, each.after, bool(each.turns), each.first,
            each.second, words(each.first), words(each.second), each.rate_change_percent.median,
            each.rate_change_percent.low, each.rate_change_percent.high, each.clear,
        ]
        for each in comparison.effects
    ]  # fmt: skip
    shown = [
        [
            turn_words(each), words(each.first), words(each.second),
            f"{each.rate_change_percent.median:+.1f} %", _interval(each.rate_change_percent),
            "told apart" if each.clear else "cannot be told apart",
        ]
        for each in effects_shown(comparison)
    ]  # fmt: skip
    return Rows(
        "Effects",
        (
            "application", "knob", "before", "after", "several_knobs", "first", "second",
            "first_title", "second_title", "rate_change_percent", "low", "high", "clear",
        ),
        rows,
        ("change", "from", "to", "rate", "interval", ""),
        shown,
        left_out_words(comparison),
    )  # fmt: skip


def _interval(change: Estimate) -> str:
    if change.low is None or change.high is None:
        return "-"
    return f"{change.low:+.1f} to {change.high:+.1f} %"


def cost_rows(comparison: Comparison) -> Rows:
    """Cost per run and its parts."""
    rows: list[list[Cell]] = []
    shown = []
    currency = comparison.price.currency if comparison.price else ""
    for each in comparison.configurations:
        cost = each.cost
        if cost is None:
            continue
        rows.append(
            [
                each.application, each.cluster, each.cluster_title, each.mapping, each.instance_type,
                cost.n_instances, str(cost.price_inst_per_h), cost.cost_var.median,
                str(cost.cost_fix), cost.cost_tot.median, cost.cost_tot.low, cost.cost_tot.high,
                str(cost.billed), None if cost.deployment is None else str(cost.deployment),
                cost.perf_cost.median, cost.perf_cost.low, cost.perf_cost.high,
                None if cost.idle is None else str(cost.idle), " + ".join(cost.counted) or None,
                cost.cost_storage.median if cost.cost_storage else None,
            ]
        )  # fmt: skip
        shown.append(
            [
                each.application, each.cluster_title, each.mapping,
                f"{cost.n_instances} x {each.instance_type}",
                f"{cost.price_inst_per_h} {currency}/h", show(cost.cost_tot, "cost", currency),
                f"{three_digits(float(cost.cost_fix) + _by_time(cost))} {currency}",
                f"{three_digits(float(cost.billed))} {currency}",
                _standing(cost, "deployment", currency), _standing(cost, "idle", currency),
                show(cost.perf_cost, "ratio", currency),
            ]
        )  # fmt: skip
    return Rows(
        "Cost",
        (
            "application", "cluster", "title", "mapping", "instance_type", "instances", "price_per_h",
            "cost_var", "cost_fix", "cost_tot", "cost_low", "cost_high", "billed", "deployment",
            "perf_cost", "perf_cost_low", "perf_cost_high", "idle", "counted", "cost_storage",
        ),
        rows,
        (
            "application", "cluster", "mapping", "instances", "price", "cost of a run",
            "of it storage", "bill of a run", "deployment", "idle", "performance-cost ratio",
        ),
        shown,
    )  # fmt: skip


def _by_time(cost: Cost) -> float:
    """Of volumes and managed file systems."""
    return cost.cost_storage.median if cost.cost_storage else 0.0


def _standing(cost: Cost, name: Standing, currency: str) -> str:
    """What instances cost while no phase is under way, and whether that is in the total."""
    amount = cost.deployment if name == "deployment" else cost.idle
    if amount is None:
        return "-"
    counted = " (counted)" if name in cost.counted else ""
    return f"{three_digits(float(amount))} {currency}{counted}"


def other_cost_rows(comparison: Comparison) -> Rows:
    """The same runs by other price tables: spot instead of on demand."""
    rows: list[list[Cell]] = []
    shown = []
    for each in comparison.configurations:
        for other in each.other_costs:
            total, ratio = other.cost_tot, other.perf_cost
            rows.append(
                [
                    each.application, each.cluster, each.cluster_title, each.mapping, other.table,
                    str(other.date), other.purchase, other.currency, total.median if total else None,
                    total.low if total else None, total.high if total else None,
                    ratio.median if ratio else None, other.missing,
                ]
            )  # fmt: skip
            shown.append(
                [
                    each.application, each.cluster_title, each.mapping, other.table, str(other.date),
                    other.purchase, show(total, "cost", other.currency) if total else "-",
                    show(ratio, "ratio", other.currency) if ratio else other.missing or "-",
                ]
            )  # fmt: skip
    return Rows(
        "Cost by other price tables",
        (
            "application", "cluster", "title", "mapping", "table", "date", "purchase", "currency",
            "cost_tot", "cost_low", "cost_high", "perf_cost", "missing",
        ),
        rows,
        (
            "application", "cluster", "mapping", "table", "date", "purchase", "cost of a run",
            "performance-cost ratio",
        ),
        shown,
    )  # fmt: skip


def own_run_rows(comparison: Comparison) -> Rows:
    """Kernels against the application's own runs."""
    rows: list[list[Cell]] = []
    shown = []
    for each in comparison.own_runs:
        rows.append(
            [
                each.configuration, comparison.words_of(each.configuration), each.ph_id, each.kernel_bytes_per_s,
                each.application_bytes_per_s, each.error_percent, each.kernel_s,
                each.application_s,
            ]
        )  # fmt: skip
        shown.append(
            [
                comparison.words_of(each.configuration), str(each.ph_id), format_rate(each.kernel_bytes_per_s),
                format_rate(each.application_bytes_per_s), f"{each.error_percent:.1f} %",
                format_duration(each.kernel_s), format_duration(each.application_s),
            ]
        )  # fmt: skip
    return Rows(
        "Kernel against application",
        (
            "configuration", "title", "ph_id", "kernel_bytes_per_s", "application_bytes_per_s",
            "error_percent", "kernel_s", "application_s",
        ),
        rows,
        (
            "configuration", "phase", "kernel", "application", "error", "kernel's time",
            "application's I/O time",
        ),
        shown,
    )  # fmt: skip


def advice_rows(comparison: Comparison) -> Rows:
    """The advice, a sentence a row, with the numbers behind it."""
    return Rows(
        "Advice",
        ("application", "about", "sentence", "evidence"),
        [
            [each.application, each.about, each.sentence, " | ".join(each.evidence)]
            for each in comparison.advice
        ],
        ("application", "advice"),
        [[each.application, each.sentence] for each in comparison.advice],
    )


def not_measured_rows(comparison: Comparison) -> Rows:
    """What has no result, and why."""
    missing = [(each, comparison.title_of(each.cluster)) for each in comparison.not_measured]
    return Rows(
        "Not measured",
        ("application", "cluster", "title", "mapping", "reason"),
        [
            [each.application, each.cluster, title, each.mapping, each.reason]
            for each, title in missing
        ],
        ("application", "cluster", "mapping", "reason"),
        [[each.application, title, each.mapping, each.reason] for each, title in missing],
    )


def all_rows(comparison: Comparison) -> list[Rows]:
    """Every table, in the order in which they are read; empty ones left out."""
    tables = [
        *ranking_rows(comparison),
        run_rows(comparison),
        baseline_rows(comparison),
        phase_rows(comparison),
        call_rows(comparison),
        use_rows(comparison),
        cost_rows(comparison),
        other_cost_rows(comparison),
        effect_rows(comparison),
        own_run_rows(comparison),
        trust_rows(comparison),
        own_time_rows(comparison),
        gain_rows(comparison),
        certificate_rows(comparison),
        not_turned_rows(comparison),
        advice_rows(comparison),
        dropped_rows(comparison),
        not_measured_rows(comparison),
    ]
    return [table for table in tables if table.rows]
