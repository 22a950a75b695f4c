"""Rates of a characterisation over request sizes: a panel for each of IOzone's tests, a line for each node.

Source: P18 section 3.1. Local file systems are lines with dots, the global mount is dashed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from wavetank.errors import UsageError
from wavetank.measure.characterisation import TESTS, Characterisation, StorageRate, Test
from wavetank.report.plots import axes as ax
from wavetank.report.plots.svg import Plot, new_figure, save, shorten, styled
from wavetank.report.plots.theme import SERIES
from wavetank.units import format_rate, format_size

MB = 1e6
MAX_LABELS = 6  # of request sizes under a panel


def check_plot_name(path: Path) -> None:
    """See that a plot can be written under this name.

    Raises:
        UsageError: neither .svg nor .png.
    """
    if path.suffix not in (".svg", ".png"):
        raise UsageError(f"{path}: a plot is written as .svg or .png")


def save_rates(found: Characterisation, path: Path) -> None:
    """Write the plot as a file of its own.

    Raises:
        UsageError: neither .svg nor .png.
        ReportError: it cannot be written.
    """
    check_plot_name(path)
    save(rates_by_size(found), path, "svg" if path.suffix == ".svg" else "png")


@styled
def rates_by_size(found: Characterisation) -> Plot:
    """Four panels with the same sizes; each has rates of its own, as a warm reread is far above the others."""
    places = list(dict.fromkeys((each.where, each.node) for each in found.storage))
    colours = {place: SERIES[i % len(SERIES)] for i, place in enumerate(places)}
    figure = new_figure(8.6, 5.0)
    panels = figure.subplots(2, 2, sharex=True)
    plot = Plot(
        name="characterisation",
        title=f"Storage of {found.cluster} ({found.instance_type}, {found.origin})",
        caption="One process, buffered calls; writes count until they are on disk, read is cold, reread warm.",
        alt="; ".join(
            f"{test} {each.node} {each.where} {format_size(each.rs)}: {format_rate(each.bytes_per_s)}"
            for test in TESTS
            for each in found.storage
            if each.test == test
        ),
        figure=figure,
    )
    for panel, test in zip(np.ravel(panels), TESTS, strict=True):
        for place, colour in colours.items():
            _line(panel, plot, _of(found, test, place), colour)
        panel.set_title(test)
    _size_axis(np.ravel(panels)[-1], sorted({each.rs for each in found.storage}))
    for panel in np.ravel(panels):
        panel.set_ylim(bottom=0)
    for row in panels:
        row[0].set_ylabel("MB/s")
    names = {f"{node}, {where}": colours[where, node] for where, node in places}
    ax.legend_over_figure(figure, {shorten(name, 40): colour for name, colour in names.items()})
    return plot


def _of(found: Characterisation, test: Test, place: tuple[str, str]) -> list[StorageRate]:
    return [each for each in found.storage if (each.where, each.node) == place and each.test == test]  # fmt: skip


def _line(axes: Axes, plot: Plot, rates: list[StorageRate], colour: str) -> None:
    if not rates:
        return
    sizes, speeds = [each.rs for each in rates], [each.bytes_per_s / MB for each in rates]
    dashes = "-" if rates[0].where == "local" else "--"
    axes.plot(sizes, speeds, dashes, color=colour, linewidth=1.2)
    tips = [
        plot.tip(f"{each.node}, {each.where}, {each.test} by {each.rs:,} B: {format_rate(each.bytes_per_s)}, {each.iops:,.0f} IOPS")
        for each in rates
    ]  # fmt: skip
    axes.scatter(sizes, speeds, s=14, color=colour, urls=tips)


def _size_axis(axes: Axes, sizes: list[int]) -> None:
    axes.set_xscale("log", base=2)
    shown: list[int] = []
    for size in sizes:
        if not shown or size >= shown[-1] * max(3.0, (sizes[-1] / sizes[0]) ** (1 / MAX_LABELS)):
            shown.append(size)
    axes.xaxis.set_major_locator(FixedLocator([float(size) for size in shown]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_size(int(value))))
    axes.xaxis.set_minor_locator(NullLocator())
