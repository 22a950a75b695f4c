"""Plots of an interference study: bandwidth and object times over the interval, slowdowns (method, section 9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from wavetank.compare.interference import Divergence, Interference, Setting, Slowdown
from wavetank.measure.statistics import Estimate
from wavetank.report.plots import axes as ax
from wavetank.report.plots.svg import Plot, new_figure, shorten, styled
from wavetank.report.plots.theme import LIGHT, SERIES
from wavetank.tables.words import estimate_words, interval_words
from wavetank.units import format_duration, format_rate, format_size

Over = Literal["interval", "time ratio"]
MOST_PANELS = 6
MB = 1e6


@dataclass(frozen=True)
class Curve:
    """A quantity over the interval: (x, value, low, high, words) at each setting."""

    name: str
    colour: str
    points: tuple[tuple[float, float, float, float, str], ...]
    style: str = "-"


@styled
def bandwidth(
    found: Interference, settings: Sequence[Setting], over: Over, io: bool, title: str, name: str
) -> Plot:
    """Rates of all groups and their sum over the interval or the time ratio, a panel for each object size.

    Args:
        found: the study.
        settings: of one cluster and mapping, all groups together.
        over: the horizontal axis.
        io: rates while the groups transfer; else over all the time.
        title: of the plot.
        name: unique in the report.
    """
    what = "while they transfer" if io else "over all the time, pauses included"
    parts = [d for d in found.divergences if _is_of(d, settings) and d.over == over]
    plot, panels = _panels(settings, name, title, "")
    plot.caption = (
        f"Bandwidth of each group and of all, {what}; bars are intervals."
        + (" The line with its band is where the bandwidths part." if io and parts else "")
        + f" {_origin(found)}."
    )
    plot.alt = "; ".join(_words_of(setting, over, io) for setting in settings)
    for axes, (size, here) in zip(panels, _by_size(settings), strict=True):
        for curve in _bandwidth_curves(here, over, io):
            _draw(axes, plot, curve)
        for divergence in parts:
            if io and divergence.object_bytes == size and divergence.at is not None:
                axes.axvspan(
                    divergence.low or 0, divergence.high or 0, color=LIGHT["good"], alpha=0.15, lw=0
                )
                axes.axvline(divergence.at, color=LIGHT["good"], linewidth=1.4)
        _x_axis(axes, [_x(setting, over) for setting in here], over, found.swept or "")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("bandwidth (MB/s)")
    _legend(plot, [*(g.group for g in settings[0].groups), "combined"])
    return plot


@styled
def object_times(found: Interference, settings: Sequence[Setting], title: str, name: str) -> Plot:
    """Median, 95th and 99th percentile of the time of an object, of each group over the interval."""
    plot, panels = _panels(settings, name, title, "")
    plot.caption = (
        "Time of single objects: medians solid, 95th percentiles dashed, 99th percentiles dotted. "
        f"{_origin(found)}."
    )
    plot.alt = "; ".join(
        f"{group.group} at {_interval(setting.interval_s)}: median {format_duration(group.latency.p50_s)}, "
        f"99 % {format_duration(group.latency.p99_s)}"
        for setting in settings
        for group in setting.groups
        if group.latency is not None
    )
    for axes, (_, here) in zip(panels, _by_size(settings), strict=True):
        for curve in _latency_curves(here):
            _draw(axes, plot, curve)
        _x_axis(axes, [_x(setting, "interval") for setting in here], "interval", found.swept or "")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_duration(value)))
        axes.yaxis.set_minor_locator(NullLocator())
    panels[0].set_ylabel("time of an object")
    _legend(plot, [g.group for g in settings[0].groups])
    return plot


@styled
def slowdown_matrix(found: Interference, pairs: Sequence[Slowdown], title: str, name: str) -> Plot:
    """Slowdown of each group (row) beside each other one (column)."""
    groups = [group.name for group in found.groups]
    figure = new_figure(8.6, 0.5 + 0.5 * len(groups))
    axes = figure.add_subplot()
    plot = Plot(
        name=name,
        title=title,
        caption="Time of the group on the left beside the one above / its time alone, with its "
        f"interval. 1 is no slowdown. {_origin(found)}.",
        alt="; ".join(f"{s.group} beside {s.beside[0]}: {s.slowdown.median:.2f}" for s in pairs),
        figure=figure,
    )
    most = max((s.slowdown.median for s in pairs), default=1.0)
    for each in pairs:
        row, column = groups.index(each.group), groups.index(each.beside[0])
        strength = max(each.slowdown.median - 1, 0) / max(most - 1, 0.5)
        cell = axes.fill_between(
            [column - 0.5, column + 0.5], row - 0.5, row + 0.5, color=LIGHT["write"],
            alpha=0.04 + 0.5 * min(strength, 1), linewidth=0,
        )  # fmt: skip
        median, interval = (
            f"{each.slowdown.median:.2f}",
            interval_words(each.slowdown, "{:.2f}".format),
        )
        cell.set_urls([plot.tip(f"{each.group} beside {each.beside[0]}: {median}{interval}")])
        axes.annotate(
            median, (column, row), (0, 3 if interval else 0),
            textcoords="offset points", ha="center", va="center", fontsize=10,
        )  # fmt: skip
        if interval:
            axes.annotate(
                interval.strip(), (column, row), (0, -9), textcoords="offset points", ha="center",
                va="center", fontsize=7, color=LIGHT["muted"],
            )  # fmt: skip
    names = [shorten(group, 16) for group in groups]
    axes.set_xticks(range(len(groups)), names)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(groups)), names)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.grid(visible=False)
    for which in ("x", "y"):
        ax.no_ticks(axes, "x" if which == "x" else "y")
    return plot


@styled
def offset_graph(found: Interference, slowdowns: Sequence[Slowdown], title: str, name: str) -> Plot:
    """Slowdown of each group over the start of one of them."""
    figure = new_figure(8.6, 3.0)
    axes = figure.add_subplot()
    plot = Plot(
        name=name,
        title=title,
        caption=f"Time of one run of each group / its time alone, over the start of {found.moved} after "
        f"the others (negative: before them). {_origin(found)}.",
        alt="; ".join(
            f"{s.group} at {s.offset_s:g} s: {s.slowdown.median:.2f}"
            for s in slowdowns
            if s.offset_s is not None
        ),
        figure=figure,
    )
    groups = list(dict.fromkeys(s.group for s in slowdowns))
    for position, group in enumerate(groups):
        here = sorted((s for s in slowdowns if s.group == group), key=lambda s: s.offset_s or 0)
        points = tuple(
            (
                s.offset_s or 0.0,
                *_ends(s.slowdown, 1.0),
                f"{group}, {s.offset_s:g} s: "
                + estimate_words(s.slowdown, lambda value: f"{value:.2f}"),
            )
            for s in here
        )
        _draw(axes, plot, Curve(group, SERIES[position % len(SERIES)], points))
    axes.axhline(1, color=LIGHT["muted"], linewidth=0.9)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.9), max(high, 1.3))  # noise is not to look like a slowdown
    axes.set(xlabel=f"start of {shorten(found.moved or '', 40)} after the others (s)")
    axes.set_ylabel("slowdown")
    _legend(plot, groups)
    return plot


def _panels(
    settings: Sequence[Setting], name: str, title: str, caption: str
) -> tuple[Plot, list[Axes]]:
    sizes = _by_size(settings)
    figure = new_figure(8.6, 2.9)
    axes = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for panel, (size, _) in zip(axes, sizes, strict=True):
        if size is not None:
            panel.set_title(f"objects of {format_size(size)}")
    return Plot(name=name, title=title, caption=caption, alt="", figure=figure), list(axes)


def _by_size(settings: Sequence[Setting]) -> list[tuple[int | None, list[Setting]]]:
    sizes = list(dict.fromkeys(setting.object_bytes for setting in settings))[:MOST_PANELS]
    return [(size, [s for s in settings if s.object_bytes == size]) for size in sizes]


def _bandwidth_curves(settings: Sequence[Setting], over: Over, io: bool) -> Iterable[Curve]:
    for index, group in enumerate(settings[0].groups):
        rates = [
            s.groups[index].io_rate_bytes_per_s if io else s.groups[index].rate_bytes_per_s
            for s in settings
        ]
        yield _curve(group.group, SERIES[index % len(SERIES)], settings, rates, over)
    combined = [s.combined_io_bytes_per_s if io else s.combined_bytes_per_s for s in settings]
    yield _curve("combined", LIGHT["other"], settings, combined, over, "--")


def _curve(
    name: str,
    colour: str,
    settings: Sequence[Setting],
    estimates: Sequence[Estimate | None],
    over: Over,
    style: str = "-",
) -> Curve:
    points = [
        (
            _x(s, over),
            *_ends(e, MB),
            f"{name}, {_interval(s.interval_s)}: {estimate_words(e, format_rate)}",
        )
        for s, e in zip(settings, estimates, strict=True)
        if e is not None
    ]
    return Curve(name, colour, tuple(sorted(points)), style)


def _latency_curves(settings: Sequence[Setting]) -> Iterable[Curve]:
    kinds = (("median", "-", "p50_s"), ("95 %", "--", "p95_s"), ("99 %", ":", "p99_s"))
    for index, group in enumerate(settings[0].groups):
        found = [(s, s.groups[index].latency) for s in settings]
        for label, style, field in kinds:
            points = []
            for setting, latency in found:
                if latency is not None:
                    value: float = getattr(latency, field)
                    words = f"{group.group}, {_interval(setting.interval_s)}, {label}: "
                    words += format_duration(value)
                    points.append((_x(setting, "interval"), value, value, value, words))
            colour = SERIES[index % len(SERIES)]
            yield Curve(f"{group.group} {label}", colour, tuple(sorted(points)), style)


def _draw(axes: Axes, plot: Plot, curve: Curve) -> None:
    if not curve.points:
        return
    x, y, low, high, words = zip(*curve.points, strict=True)
    axes.plot(x, y, color=curve.colour, linewidth=1.4, linestyle=curve.style)
    axes.vlines(x, low, high, colors=curve.colour, linewidths=1.0, alpha=0.7)
    dots = axes.scatter(x, y, s=16, color=curve.colour, zorder=3)
    dots.set_urls([plot.tip(text) for text in words])


def _x(setting: Setting, over: Over) -> float:
    value = setting.interval_s if over == "interval" else setting.time_ratio
    return value or 0.0


def _x_axis(axes: Axes, values: Sequence[float], over: Over, swept: str) -> None:
    """Zero and several powers of ten: linear to the smallest value, logarithmic beyond."""
    positive = sorted({value for value in values if value > 0})
    if not positive:
        return
    axes.set_xscale("symlog", linthresh=positive[0], linscale=0.6)
    axes.xaxis.set_major_locator(FixedLocator(_apart([0.0, *positive])))
    axes.xaxis.set_minor_locator(NullLocator())
    show = _interval if over == "interval" else (lambda value: f"{value or 0:.2g}")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: show(value)))
    axes.set_xlim(left=0)
    axes.set_xlabel(
        f"interval of {shorten(swept, 24)}" if over == "interval" else "interval / time per object"
    )


def _apart(values: Sequence[float]) -> list[float]:
    """Ticks that do not touch: each at least 1.8 times the one before."""
    kept: list[float] = []
    for value in values:
        if not kept or kept[-1] == 0 or value >= 1.8 * kept[-1]:
            kept.append(value)
    return kept


def _ends(estimate: Estimate, scale: float) -> tuple[float, float, float]:
    low = estimate.median if estimate.low is None else estimate.low
    high = estimate.median if estimate.high is None else estimate.high
    return estimate.median / scale, low / scale, high / scale


def _interval(value: float | None) -> str:
    return "0" if not value else _short(format_duration(value))


def _short(words: str) -> str:
    """2.00 s -> 2 s."""
    number, _, unit = words.partition(" ")
    trimmed = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{trimmed} {unit}"


def _is_of(divergence: Divergence, settings: Sequence[Setting]) -> bool:
    return (divergence.cluster, divergence.mapping) == (settings[0].cluster, settings[0].mapping)


def _words_of(setting: Setting, over: Over, io: bool) -> str:
    where = "" if setting.object_bytes is None else f"{format_size(setting.object_bytes)}, "
    x = _interval(setting.interval_s) if over == "interval" else f"{setting.time_ratio or 0:.2f}"
    groups = []
    for group in setting.groups:
        value = group.io_rate_bytes_per_s if io else group.rate_bytes_per_s
        groups.append(f"{group.group} {'nothing' if value is None else format_rate(value.median)}")
    return f"{where}{over} {x}: {', '.join(groups)}"


def _legend(plot: Plot, names: Sequence[str]) -> None:
    colours = {
        name: LIGHT["other"] if name == "combined" else SERIES[position % len(SERIES)]
        for position, name in enumerate(names)
    }
    ax.legend_over_figure(plot.figure, colours)


def _origin(found: Interference) -> str:
    return (found.origin or "not measured").capitalize()
