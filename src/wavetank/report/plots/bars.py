"""Bars of what was measured, by cluster and mapping.

Whiskers are intervals, dots single repetitions. Sources: P16 figures 6 and 7, P18 figure 4 (rate),
P15 figures 2 and 5 (cost).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from wavetank.compare.configuration import Configuration
from wavetank.compare.io_parts import io_parts
from wavetank.measure.statistics import Estimate
from wavetank.report.plots import axes as ax
from wavetank.report.plots.svg import Plot, new_figure, shorten_apart, styled
from wavetank.report.plots.theme import LIGHT, SERIES
from wavetank.tables.words import estimate_words, money, short_number
from wavetank.units import format_duration, format_rate

MAX_BARS = 40  # configurations in one plot; the tables hold all of them
_BAR_IN = 0.2  # height of a bar, inches


@dataclass(frozen=True)
class Quantity:
    """Something to draw a bar of.

    Attributes:
        name: for the plot's name.
        title: for people.
        label: of the axis, with unit.
        of: its estimate; None where it is not known.
        show: a value for people.
        scale: what an axis value is divided by.
        computed: whether it is computed from measurements and prices, not measured itself.
        parts: names and estimates of what it is the sum of, drawn one after the other; None: of nothing.
    """

    name: str
    title: str
    label: str
    of: Callable[[Configuration], Estimate | None]
    show: Callable[[float], str]
    scale: float = 1.0
    computed: bool = False
    parts: Callable[[Configuration], Sequence[tuple[str, Estimate | None]]] | None = None


RATE = Quantity("rate", "Transfer rate", "MB/s", lambda c: c.rate_bytes_per_s, format_rate, 1e6)
READ_RATE = Quantity("read", "Read rate", "MB/s", lambda c: c.read_bytes_per_s, format_rate, 1e6)
WRITE_RATE = Quantity(
    "write", "Write rate", "MB/s", lambda c: c.write_bytes_per_s, format_rate, 1e6
)
IO_TIME = Quantity(
    "io-time", "I/O time", "s", lambda c: c.io_time_s, format_duration, parts=io_parts
)
_SHADES: dict[str, tuple[float, str]] = {
    "data": (0.9, ""),
    "metadata": (0.3, ""),
    "flush": (0.55, "////"),
}
"""Of a part of a bar: how opaque it is, and its hatching."""


def cost_quantity(currency: str, configurations: Sequence[Configuration]) -> Quantity:
    """Cost of one run of the application's I/O (P15 eq. 5); of a thousand where it is small."""
    largest = max((c.cost.cost_tot.median for c in configurations if c.cost), default=0.0)
    small = largest < 0.05
    return Quantity(
        "cost",
        "Cost of the I/O",
        f"{currency} per 1,000 runs" if small else currency,
        lambda c: c.cost.cost_tot if c.cost else None,
        lambda value: money(value, currency),
        1e-3 if small else 1.0,
        computed=True,
    )


@styled
def bars(
    configurations: Sequence[Configuration], quantities: Sequence[Quantity], name: str
) -> Plot:
    """Bars by cluster (rows) and mapping (colours), a panel for each quantity.

    Args:
        configurations: of one application, in the order to be shown.
        quantities: one or two panels, side by side.
        name: see ``Plot``.
    """
    shown = configurations[:MAX_BARS]
    clusters = list(dict.fromkeys(c.cluster for c in shown))
    mappings = sorted({c.mapping for c in shown})
    positions = _positions(shown, clusters, mappings)
    colours = {m: SERIES[i % len(SERIES)] for i, m in enumerate(mappings)}
    found = [_Bar(c, y, colours[c.mapping]) for c, y in zip(shown, positions, strict=True)]
    height = 0.62 + _BAR_IN * (len(shown) + 0.7 * len(clusters))
    figure = new_figure(8.6, max(height, 1.5))
    panels = np.atleast_1d(figure.subplots(1, len(quantities), sharey=True))
    plot = Plot(
        name=name,
        title=" and ".join(
            q.title if i == 0 else _inside(q.title) for i, q in enumerate(quantities)
        ),
        caption=_bars_caption(shown, len(configurations), quantities[0]),
        alt="; ".join(_bars_alt(shown, quantity) for quantity in quantities),
        figure=figure,
    )
    for panel, quantity in zip(panels, quantities, strict=True):
        for bar in found:
            _draw(panel, plot, quantity, bar)
        _draw_uncertainty(panel, quantity, found)
        _value_axis(panel, quantity, [q for c in shown if (q := quantity.of(c))])
        if len(quantities) > 1:
            panel.set_title(quantity.title)
    _name_clusters(panels[0], found)
    for panel in panels:
        ax.no_ticks(panel, "y")
    if len(mappings) > 1:
        ax.legend_over_figure(figure, colours)
    _key_of_parts(figure, quantities, shown)
    return plot


def _name_clusters(axes: Axes, found: Sequence[_Bar]) -> None:
    """A name in the middle of each cluster's bars."""
    rows: dict[str, list[float]] = {}
    titles = {}
    for bar in found:
        rows.setdefault(bar.configuration.cluster, []).append(bar.y)
        titles[bar.configuration.cluster] = bar.configuration.cluster_title
    names = shorten_apart([titles[cluster] for cluster in rows], 40)
    axes.set_yticks([float(np.mean(ys)) for ys in rows.values()], names)
    axes.yaxis.set_tick_params(labelcolor=LIGHT["ink"])
    positions = [bar.y for bar in found]
    low, high = min(positions, default=0.0) - 0.8, max(positions, default=0.0) + 0.8
    room = max(0.0, 3.0 - (high - low)) / 2  # a lone bar is no thicker than many
    axes.set_ylim(high + room, low - room)


def _positions(
    shown: Sequence[Configuration], clusters: Sequence[str], mappings: Sequence[str]
) -> list[float]:
    """Row of each bar: clusters in order, their mappings side by side, a gap between clusters."""
    keys = sorted(
        range(len(shown)),
        key=lambda i: (clusters.index(shown[i].cluster), mappings.index(shown[i].mapping)),
    )
    rows = [0.0] * len(shown)
    for rank, index in enumerate(keys):
        rows[index] = rank + 0.7 * clusters.index(shown[index].cluster)
    return rows


@dataclass(frozen=True)
class _Bar:
    """A bar to be drawn."""

    configuration: Configuration
    y: float
    colour: str


def _draw(axes: Axes, plot: Plot, quantity: Quantity, bar: _Bar) -> None:
    configuration, y = bar.configuration, bar.y
    estimate = quantity.of(configuration)
    if estimate is None:
        axes.annotate(
            "not known",
            (0, y),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=LIGHT["muted"],
        )
        return
    url = plot.tip(
        f"{label(configuration)}: {estimate_words(estimate, quantity.show)}{_parts_words(quantity, configuration)} "
        f"({configuration.n_repetitions} repetitions, {_origin([configuration], quantity)})"
    )
    left = 0.0
    for name, length in _stretches(quantity, configuration, estimate):
        opaque, hatch = _SHADES[name]
        body = axes.barh(
            y, length / quantity.scale, 0.84, left, color=bar.colour, alpha=opaque, hatch=hatch,
            edgecolor=LIGHT["paper"], linewidth=0,
        )[0]  # fmt: skip
        body.set_url(url)
        left += length / quantity.scale
    ax.write_beside(
        axes, _three_digits(estimate.median / quantity.scale), (_end(estimate) / quantity.scale, y)
    )


def _known_parts(quantity: Quantity, configuration: Configuration) -> list[tuple[str, Estimate]]:
    parts = () if quantity.parts is None else quantity.parts(configuration)
    return [(name, part) for name, part in parts if part is not None]


def _stretches(
    quantity: Quantity, configuration: Configuration, whole: Estimate
) -> list[tuple[str, float]]:
    """Of a bar: its parts, as shares of its length; medians of parts need not add up to the whole's."""
    parts = _known_parts(quantity, configuration)
    total = sum(part.median for _, part in parts)
    if total <= 0:
        return [("data", whole.median)]
    return [(name, whole.median * part.median / total) for name, part in parts]


def _parts_words(quantity: Quantity, configuration: Configuration) -> str:
    parts = _known_parts(quantity, configuration)
    words = ", ".join(f"{name} {quantity.show(part.median)}" for name, part in parts)
    return f", of it {words}" if len(parts) > 1 else ""


def _key_of_parts(
    figure: Figure, quantities: Sequence[Quantity], shown: Sequence[Configuration]
) -> None:
    """What the shades of bars stand for, under all panels."""
    names = dict.fromkeys(name for q in quantities for c in shown for name, _ in _known_parts(q, c))
    if len(names) < 2:
        return
    handles = [
        Patch(facecolor=LIGHT["muted"], alpha=_SHADES[name][0], hatch=_SHADES[name][1], edgecolor=LIGHT["paper"],
              linewidth=0, label=name)
        for name in names
    ]  # fmt: skip
    figure.legend(
        handles=handles,
        loc="outside lower right",
        ncols=len(handles),
        handlelength=1.6,
        columnspacing=1.4,
    )


def _end(estimate: Estimate) -> float:
    """Where everything that is drawn of it ends."""
    return max(v for v in (estimate.median, estimate.high, *estimate.values) if v is not None)


def _draw_uncertainty(axes: Axes, quantity: Quantity, found: Sequence[_Bar]) -> None:
    """Whiskers of all bars and dots of all repetitions, as few marks in the file."""
    known = [(q, bar.y) for bar in found if (q := quantity.of(bar.configuration)) is not None]
    ranges = [(e.low, e.high, y) for e, y in known if e.low is not None and e.high is not None]
    if ranges:
        low, high, at = (np.asarray(column) for column in zip(*ranges, strict=True))
        axes.hlines(
            at, low / quantity.scale, high / quantity.scale, LIGHT["ink"], linewidth=1.1, zorder=5
        )
        ends = np.concatenate((low, high)) / quantity.scale
        axes.plot(ends, np.tile(at, 2), "|", color=LIGHT["ink"], markersize=7, zorder=5)
    dots = [(value, y) for e, y in known if len(e.values) > 1 for value in e.values]
    if dots:
        values, at = (np.asarray(column) for column in zip(*dots, strict=True))
        axes.plot(
            values / quantity.scale,
            at + 0.27,  # below the whisker, which with few repetitions has the same ends
            "o",
            markersize=2.2,
            markerfacecolor=LIGHT["ink"],
            markeredgewidth=0,
            zorder=6,
        )


def _value_axis(axes: Axes, quantity: Quantity, estimates: Sequence[Estimate]) -> None:
    axes.set_xlabel(quantity.label)
    values = [v / quantity.scale for e in estimates for v in (e.median, e.low, e.high) if v]
    axes.set_xlim(0, max(values, default=1.0) * 1.22)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5) if values else FixedLocator([0]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _bare(value)))


def _bare(value: float) -> str:
    """A number of three digits without unit."""
    if value == 0:
        return "0"
    if abs(value) >= 1e5:
        return short_number(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _three_digits(value: float) -> str:
    """A value beside its bar: 48.0, 0.300."""
    if value == 0 or abs(value) >= 100:
        return _bare(value)
    return f"{value:#.3g}"


def label(configuration: Configuration) -> str:
    """A configuration's name for people, without its application."""
    return f"{configuration.cluster_title}, {configuration.mapping}"


def _bars_caption(shown: Sequence[Configuration], n_all: int, quantity: Quantity) -> str:
    text = "Median; whiskers: interval; dots: single repetitions. "
    text += f"{_origin(shown, quantity).capitalize()}."
    if len(shown) < n_all:
        text += f" The first {len(shown)} of {n_all} configurations by rank."
    return text


def _origin(configurations: Sequence[Configuration], quantity: Quantity) -> str:
    """Where the numbers come from."""
    origins = " and ".join(sorted({c.origin for c in configurations}))
    return f"computed from prices and what was {origins}" if quantity.computed else origins


def _bars_alt(shown: Sequence[Configuration], quantity: Quantity) -> str:
    parts = [
        f"{label(c)} {estimate_words(estimate, quantity.show)}"
        for c in shown[:12]
        if (estimate := quantity.of(c))
    ]
    return f"{quantity.title}: " + "; ".join(parts)


def _inside(title: str) -> str:
    return title if title.startswith("I/O") else title[0].lower() + title[1:]
