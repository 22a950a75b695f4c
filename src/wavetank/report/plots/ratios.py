"""Rates as multiples of the baseline's, with the published multiples beside them (P12 figure 4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from wavetank.papers.ratios import Ratio
from wavetank.report.plots import axes as ax
from wavetank.report.plots.svg import Plot, new_figure, shorten, styled
from wavetank.report.plots.theme import LIGHT, SERIES
from wavetank.tables.words import estimate_words

MAX_BARS = 40
"""In a panel; the table holds all of them."""
_BAR_IN = 0.3
_NAME = 32


@styled
def ratio_bars(rows: Sequence[Ratio], source: str) -> Plot:
    """A panel for each application: bars of what was measured, and a mark where the paper has one.

    Args:
        rows: of all applications, at least one.
        source: of the published numbers, in words.
    """
    applications = list(dict.fromkeys(row.configuration.application for row in rows))
    panels = [
        [row for row in rows if row.configuration.application == name][:MAX_BARS]
        for name in applications
    ]
    height = 1.2 + _BAR_IN * max(map(len, panels))
    figure = new_figure(8.6, max(height, 1.9))
    base = next((row.configuration.cluster_title for row in rows if row.is_baseline), "the baseline")  # fmt: skip
    plot = Plot(
        name="ratios",
        title=f"Rates against {base}",
        caption=f"Medians; whiskers: interval; diamonds: {source}.",
        alt="; ".join(_words(row) for row in rows),
        figure=figure,
    )
    found = np.atleast_1d(figure.subplots(1, len(panels)))
    for axes, shown, name in zip(found, panels, applications, strict=True):
        _panel(axes, plot, shown)
        axes.set_title(shorten(name, _NAME))
        axes.set_xlabel(f"times the rate of {shorten(base, _NAME)}")
    handles = [Patch(facecolor=SERIES[0], label="measured here"), _diamond([], [], label="published")]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper right", ncols=2, handlelength=1.2)
    return plot


def _panel(axes: Axes, plot: Plot, rows: Sequence[Ratio]) -> None:
    largest = 1.0
    for y, row in enumerate(rows):
        times = 1.0 if row.times is None else row.times.median
        ends = (times, times)
        body = axes.barh(y, times, 0.66, color=LIGHT["other"] if row.is_baseline else SERIES[0])[0]
        body.set_url(plot.tip(_words(row)))
        if row.times is not None and row.times.low is not None and row.times.high is not None:
            ends = (row.times.low, row.times.high)
            axes.plot(ends, (y, y), "|-", color=LIGHT["ink"], linewidth=1.1, markersize=7, zorder=5)
        if row.published is not None and not row.is_baseline:
            axes.add_line(_diamond([row.published], [y]))
        reach = max(times, ends[1], row.published or 0.0)
        largest = max(largest, reach)
        axes.annotate(
            f"{times:.2f}",
            (reach, y),
            (8, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
    axes.axvline(1, color=LIGHT["muted"], linewidth=0.8, zorder=4)
    axes.set_xlim(0, largest * 1.25)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(
        range(len(rows)), [shorten(row.configuration.cluster_title, _NAME) for row in rows]
    )
    axes.yaxis.set_tick_params(labelcolor=LIGHT["ink"])
    ax.no_ticks(axes, "y")


def _diamond(x: Sequence[float], y: Sequence[float], label: str | None = None) -> Line2D:
    return Line2D(
        x, y, marker="D", linestyle="none", markersize=6, markerfacecolor=LIGHT["paper"],
        markeredgecolor=SERIES[1], markeredgewidth=1.6, zorder=6, label=label,
    )  # fmt: skip


def _words(row: Ratio) -> str:
    configuration = row.configuration
    name = f"{configuration.application}, {configuration.cluster_title}, {configuration.mapping}"
    if row.is_baseline:
        return f"{name}: the baseline"
    measured = "no time" if row.times is None else estimate_words(row.times, lambda value: f"{value:.2f} times")  # fmt: skip
    return f"{name}: {measured}" + (
        "" if row.published is None else f", published {row.published:g} times"
    )
