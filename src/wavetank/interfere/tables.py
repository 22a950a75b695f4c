"""An interference study as plain rows: what the terminal, CSV and JSON show."""

from __future__ import annotations

from wavetank.campaign.rows import Cell, Rows
from wavetank.campaign.tables import advice_rows, not_measured_rows
from wavetank.compare.comparison import Comparison
from wavetank.compare.interference import GroupRates, Interference, Setting, Slowdown
from wavetank.interfere.advice import at_words, neighbours_words, offset_words, slowdown_words
from wavetank.measure.statistics import Estimate
from wavetank.units import format_duration, format_rate, format_size

DASH = "\N{EN DASH}"


def all_study_rows(comparison: Comparison, found: Interference) -> list[Rows]:
    """Every table of a study that has something to say."""
    tables = [
        setting_rows(comparison, found),
        latency_rows(comparison, found),
        slowdown_rows(comparison, found),
        divergence_rows(comparison, found),
        advice_rows(comparison),
        not_measured_rows(comparison),
    ]
    return [table for table in tables if table.rows]


def setting_rows(comparison: Comparison, found: Interference) -> Rows:
    """The rates of every group in every setting."""
    columns = (
        "point", "cluster", "title", "mapping", "object_bytes", "interval_s", "time_ratio", "offset_s",
        "group", "instance", "clients", "rate_bytes_per_s", "rate_low", "rate_high",
        "io_rate_bytes_per_s", "io_rate_low", "io_rate_high", "combined_bytes_per_s",
        "combined_io_bytes_per_s", "objects", "object_s", "repetitions", "window_s", "alignment_s",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    shown = []
    for setting in found.settings:
        for group in setting.groups:
            rate, io_rate = group.rate_bytes_per_s, group.io_rate_bytes_per_s
            rows.append(
                [
                    setting.point, setting.cluster, comparison.title_of(setting.cluster), setting.mapping, setting.object_bytes,
                    setting.interval_s, setting.time_ratio, setting.offset_s, group.group,
                    group.instance, group.n_clients, *_three(rate), *_three(io_rate),
                    _median(setting.combined_bytes_per_s),
                    _median(setting.combined_io_bytes_per_s), group.objects, group.object_s,
                    setting.n_repetitions, setting.window_s, setting.alignment_s,
                ]
            )  # fmt: skip
            shown.append(
                [
                    *_where(comparison, setting), _varied(setting), _name(setting, group), _rate(rate), _rate(io_rate),
                    _rate(setting.combined_bytes_per_s), str(group.objects),
                ]
            )  # fmt: skip
    return Rows(
        "Rates",
        columns,
        rows,
        (
            "run",
            "cluster",
            "mapping",
            "objects of",
            "varied",
            "group",
            "rate",
            "while transferring",
            "combined",
            "objects",
        ),
        shown,
        note="rate: bytes / time, pauses included; while transferring: clients * bytes / time in "
        "operations. Both in the time in which all groups are active.",
    )


def latency_rows(comparison: Comparison, found: Interference) -> Rows:
    """Times of single objects."""
    columns = (
        "point", "cluster", "title", "mapping", "object_bytes", "interval_s", "offset_s", "group",
        "instance", "p50_s", "p95_s", "p99_s", "max_s",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    shown = []
    for setting in found.settings:
        for group in setting.groups:
            latency = group.latency
            if latency is None:
                continue
            times = (latency.p50_s, latency.p95_s, latency.p99_s, latency.max_s)
            rows.append(
                [
                    setting.point, setting.cluster, comparison.title_of(setting.cluster), setting.mapping, setting.object_bytes,
                    setting.interval_s, setting.offset_s, group.group, group.instance, *times,
                ]
            )  # fmt: skip
            shown.append(
                [
                    *_where(comparison, setting),
                    _varied(setting),
                    _name(setting, group),
                    *map(format_duration, times),
                ]
            )
    return Rows(
        "Time of an object",
        columns,
        rows,
        (
            "run", "cluster", "mapping", "objects of", "varied", "group", "50 %", "95 %", "99 %",
            "longest",
        ),
        shown,
    )  # fmt: skip


def slowdown_rows(comparison: Comparison, found: Interference) -> Rows:
    """Time together / time alone."""
    columns = (
        "cluster", "title", "mapping", "object_bytes", "group", "instance", "beside", "interval_s",
        "offset_s", "slowdown", "slowdown_low", "slowdown_high", "measured_by", "alone", "together",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    shown = []
    for each in found.slowdowns:
        rows.append(
            [
                each.cluster, comparison.title_of(each.cluster), each.mapping, each.object_bytes, each.group, each.instance,
                " and ".join(each.beside), each.interval_s, each.offset_s, *_three(each.slowdown),
                each.measured_by, each.alone, each.together,
            ]
        )  # fmt: skip
        show = format_rate if each.measured_by == "rate" else format_duration
        varied = "" if each.interval_s is None else f"interval {_interval(each.interval_s)}"
        if each.offset_s is not None:
            varied = f"{found.moved} {offset_words(each.offset_s)}"
        shown.append(
            [
                comparison.title_of(each.cluster), each.mapping, _size(each.object_bytes), *_names(each),
                varied or DASH, slowdown_words(each.slowdown),
                show(each.alone), show(each.together), each.measured_by,
            ]
        )  # fmt: skip
    return Rows(
        "Slowdown",
        columns,
        rows,
        (
            "cluster", "mapping", "objects of", "group", "beside", "varied", "slowdown", "alone",
            "together", "by",
        ),
        shown,
        note="time together / time alone; by rate: rate alone / rate together.",
    )  # fmt: skip


def divergence_rows(comparison: Comparison, found: Interference) -> Rows:
    """Where curves part."""
    columns = (
        "cluster", "title", "mapping", "object_bytes", "first", "second", "over", "at", "low", "high",
        "change_percent", "why_not", "measured_below", "measured_above",
    )  # fmt: skip
    rows: list[list[Cell]] = [
        [
            each.cluster, comparison.title_of(each.cluster), each.mapping, each.object_bytes, each.first, each.second, each.over,
            each.at, each.low, each.high, each.change_percent, each.why_not,
            each.measured_below, each.measured_above,
        ]
        for each in found.divergences
    ]  # fmt: skip
    shown = [
        [
            comparison.title_of(each.cluster), each.mapping, _size(each.object_bytes),
            f"{each.first} and {each.second}", each.over, at_words(each),
            neighbours_words(each),
            DASH if each.change_percent is None else f"{each.change_percent:+.0f} %",
            each.why_not or "",
        ]
        for each in found.divergences
    ]  # fmt: skip
    return Rows(
        "Where the bandwidths part",
        columns,
        rows,
        (
            "cluster",
            "mapping",
            "objects of",
            "groups",
            "over",
            "at",
            "measured at",
            "change",
            "why not",
        ),
        shown,
    )


def _names(each: Slowdown) -> tuple[str, str]:
    """The group and those beside it; two of the same are told apart by numbers."""
    beside = " and ".join(each.beside)
    if each.group not in each.beside:
        return each.group, beside
    return f"{each.group} ({each.instance + 1})", f"{beside} ({2 - each.instance})"


def _name(setting: Setting, group: GroupRates) -> str:
    alike = [each for each in setting.groups if each.group == group.group]
    return group.group if len(alike) == 1 else f"{group.group} ({group.instance + 1})"


def _where(comparison: Comparison, setting: Setting) -> list[str]:
    title = comparison.title_of(setting.cluster)
    return [setting.point, title, setting.mapping, _size(setting.object_bytes)]


def _varied(setting: Setting) -> str:
    if setting.offset_s is not None:
        return offset_words(setting.offset_s)
    if setting.interval_s is None:
        return DASH
    ratio = "" if setting.time_ratio is None else f" (ratio {setting.time_ratio:.2f})"
    return f"interval {_interval(setting.interval_s)}{ratio}"


def _interval(interval_s: float) -> str:
    return "0" if interval_s == 0 else format_duration(interval_s)


def _size(size: int | None) -> str:
    return DASH if size is None else format_size(size)


def _rate(of: Estimate | None) -> str:
    if of is None:
        return DASH
    if of.low is None or of.high is None:
        return format_rate(of.median)
    return f"{format_rate(of.median)} ({of.low / 1e6:.1f}\N{EN DASH}{of.high / 1e6:.1f})"


def _median(of: Estimate | None) -> float | None:
    return None if of is None else of.median


def _three(of: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if of is None else (of.median, of.low, of.high)
