"""Plots that help to choose: time against cost, and what one change does.

Both show every value with its interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from wavetank.compare.comparison import Comparison, Effect
from wavetank.compare.configuration import Configuration
from wavetank.compare.effects import MAPPING, turn_words
from wavetank.compare.words import origins_words
from wavetank.measure.result import Measurement
from wavetank.measure.statistics import Estimate
from wavetank.model.document.model import Model
from wavetank.report.plots import axes as ax
from wavetank.report.plots.bars import Quantity, cost_quantity, label
from wavetank.report.plots.labels import label_points
from wavetank.report.plots.svg import Plot, new_figure, shorten_apart, styled
from wavetank.report.plots.theme import LIGHT
from wavetank.tables.words import change as change_words
from wavetank.tables.words import estimate_words
from wavetank.units import format_duration

MAX_EFFECTS = 30  # rows of a plot


@dataclass(frozen=True)
class _Point:
    """A configuration on the plane of time and cost, in the units of the axes."""

    name: str
    words: str
    time: Estimate
    cost: Estimate
    on_front: bool


@styled
def pareto(
    configurations: Sequence[Configuration], comparison: Comparison, currency: str, name: str
) -> Plot:
    """I/O time against cost, with the front on which no configuration is better in both."""
    quantity = cost_quantity(currency, configurations)
    points = sorted(
        (
            _point(c, c.cost.cost_tot, quantity, c.id in comparison.pareto)
            for c in configurations
            if c.cost is not None
        ),
        key=lambda point: point.time.median,
    )
    front = [point for point in points if point.on_front]
    figure = new_figure(8.6, 3.4)
    axes = figure.add_subplot()
    plot = Plot(
        name=name,
        title="Time and cost",
        caption="Each dot is a configuration with its intervals. Blue: by medians no other is better in both. "
        f"{origins_words(configurations)}; costs are computed.",
        alt="On the front: " + "; ".join(point.words for point in front),
        figure=figure,
    )
    line = [(point.time.median, point.cost.median) for point in front]
    axes.plot(*zip(*line, strict=True), color=LIGHT["accent"], linewidth=1.2, zorder=1)
    _crosses(axes, plot, points, on_front=False)
    _crosses(axes, plot, points, on_front=True)
    axes.set(xlabel="I/O time (s)", ylabel=f"cost ({quantity.label})")
    axes.set_xlim(0, 1.12 * max(_ends([point.time for point in points])[1]))
    axes.set_ylim(0, 1.15 * max(_ends([point.cost for point in points])[1]))
    dots = [(point.time.median, point.cost.median) for point in points]
    key = label_points(figure, axes, line, shorten_apart([point.name for point in front], 36), dots)
    if key:
        plot.caption += f" On the front: {key}."
    return plot


def _point(c: Configuration, cost: Estimate, quantity: Quantity, on_front: bool) -> _Point:
    words = f"{label(c)}: {estimate_words(c.io_time_s, format_duration)}"
    scaled = cost.model_copy(
        update={
            "median": cost.median / quantity.scale,
            "low": None if cost.low is None else cost.low / quantity.scale,
            "high": None if cost.high is None else cost.high / quantity.scale,
        }
    )
    words += f", {estimate_words(cost, quantity.show)}"
    return _Point(label(c), words, c.io_time_s, scaled, on_front)


def _crosses(axes: Axes, plot: Plot, points: Sequence[_Point], *, on_front: bool) -> None:
    """Dots, and the intervals of both quantities through them."""
    shown = [point for point in points if point.on_front == on_front]
    colour = LIGHT["accent" if on_front else "other"]
    style: dict[str, Any] = {"colors": colour, "linewidths": 1.0, "alpha": 0.8, "zorder": 2}
    x = [point.time.median for point in shown]
    y = [point.cost.median for point in shown]
    axes.hlines(y, *_ends([point.time for point in shown]), **style)
    axes.vlines(x, *_ends([point.cost for point in shown]), **style)
    dots = axes.scatter(x, y, s=34 if on_front else 22, color=colour, zorder=3)
    dots.set_urls([plot.tip(point.words) for point in shown])


def _ends(estimates: Sequence[Estimate]) -> tuple[list[float], list[float]]:
    """Lower and upper ends; the median where there is no interval."""
    return (
        [e.median if e.low is None else e.low for e in estimates],
        [e.median if e.high is None else e.high for e in estimates],
    )


@styled
def kernel_times(
    configurations: Sequence[Configuration],
    measurements: Sequence[Measurement],
    model: Model,
    name: str,
) -> Plot:
    """Time that one run of the kernel takes, against the traced run of the application.

    Source: P15 figure 7 (execution time of IOR against that of BT-IO).
    """
    elapsed: dict[tuple[str, str], list[float]] = {}
    for each in measurements:
        elapsed.setdefault((each.cluster, each.mapping), []).append(each.result.elapsed_s)
    # A configuration may have been measured under another name of its cluster.
    shown = [c for c in configurations if (c.cluster, c.mapping) in elapsed][:MAX_EFFECTS]
    times = [float(np.median(elapsed[c.cluster, c.mapping])) for c in shown]
    application_s = model.elapsed_s if model.elapsed_s is not None else float("nan")
    figure = new_figure(8.6, 0.75 + 0.24 * (len(shown) + 1))
    axes = figure.add_subplot()
    words = f"The application ran {format_duration(application_s)} when it was traced"
    plot = Plot(
        name=name,
        title="Kernel and application",
        caption=f"Time of one run. {words}, on {model.provenance.host.hostname}; kernels "
        f"leave out its computation. Kernels: {origins_words(shown).lower()}.",
        alt=f"{words}; kernels: "
        + "; ".join(f"{label(c)} {format_duration(t)}" for c, t in zip(shown, times, strict=True)),
        figure=figure,
    )
    rows = [(f"{model.application}, traced run", application_s, "other")]
    rows += [(label(c), time, "accent") for c, time in zip(shown, times, strict=True)]
    for row, (words, time, colour) in enumerate(rows):
        bar = axes.barh(row, time, 0.66, color=LIGHT[colour])[0]
        bar.set_url(plot.tip(f"{words}: {format_duration(time)}"))
        ax.write_beside(axes, format_duration(time), (time, row))
    axes.set_yticks(range(len(rows)), shorten_apart([words for words, _, _ in rows], 48))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("s")
    axes.margins(x=0.12)
    ax.no_ticks(axes, "y")
    return plot


@styled
def effects(found: Sequence[Effect], comparison: Comparison, name: str) -> Plot:
    """Change of the application's rate by one knob, each with its interval."""
    by_id = {c.id: c for c in comparison.configurations}
    shown = found[:MAX_EFFECTS]
    figure = new_figure(8.6, 0.62 + 0.26 * max(len(shown), 2))
    axes = figure.add_subplot()
    plot = Plot(
        name=name,
        title="Change of the transfer rate",
        caption="Between two configurations that differ in nothing else, or in what is named. "
        "Filled: told apart. Hollow: cannot be told apart. Computed from rates that "
        f"were {origins_words(by_id[e.first] for e in shown if e.first in by_id).lower()}."
        + (f" The first {len(shown)} of {len(found)}." if len(found) > len(shown) else ""),
        alt="; ".join(_effect_words(effect, by_id) for effect in shown),
        figure=figure,
    )
    for row, effect in enumerate(shown):
        change = effect.rate_change_percent
        colour = LIGHT["accent"] if effect.clear else LIGHT["other"]
        if change.low is not None and change.high is not None:
            axes.plot(
                [change.low, change.high],
                [row, row],
                color=colour,
                linewidth=2,
                solid_capstyle="round",
            )
        dot = axes.scatter(
            change.median,
            row,
            s=32,
            linewidths=1.4,
            edgecolors=colour,
            facecolors=colour if effect.clear else LIGHT["paper"],
            zorder=3,
        )
        dot.set_urls([plot.tip(_effect_words(effect, by_id))])
    axes.axvline(0, color=LIGHT["muted"], linewidth=0.9)
    axes.set_yticks(range(len(shown)), shorten_apart([_effect_label(e, by_id) for e in shown], 60))
    axes.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _percent(value)))
    axes.margins(x=0.08)
    ax.no_ticks(axes, "y")
    return plot


def _effect_label(effect: Effect, by_id: Mapping[str, Configuration]) -> str:
    """What is turned, and what stays: "mapping 1PxCN → 2PxCN · NFS"."""
    first = by_id.get(effect.first)
    label = turn_words(effect).replace(" -> ", " → ")
    if first is None or any(turn.knob == MAPPING for turn in effect.turns):
        return label
    return f"{label} · {first.cluster_title if effect.knob == MAPPING else first.mapping}"


def _effect_words(effect: Effect, by_id: Mapping[str, Configuration]) -> str:
    change = estimate_words(effect.rate_change_percent, change_words)
    return f"{_effect_label(effect, by_id)}: {change}"


def _percent(value: float) -> str:
    return "0" if abs(value) < 1e-9 else f"{value:+.0f} %".replace("-", "\N{MINUS SIGN}")
