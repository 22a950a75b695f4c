"""What the plots share: kinds of operations, axes in bytes and seconds, legends, compact marks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path as Shape
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from wavetank.tables.words import short_number

Kind = Literal["read", "write", "other"]
# What a plot can show at most, in its own pixels: finer detail is merged before it is drawn.
N_COLUMNS = 700
_BINARY = ((2**50, "PiB"), (2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def kind_of(iop_type: str) -> Kind:
    """Whether an operation reads or writes, by its name: "preadv", "MPI_File_iwrite"."""
    name = iop_type.lower()
    if "read" in name or "get" in name:
        return "read"
    return "write" if "write" in name or "put" in name else "other"


def bytes_axis(axes: Axes, which: Literal["x", "y"], largest: float) -> None:
    """Ticks in one binary unit, at whole or simple multiples of it."""
    factor, unit = next((f, u) for f, u in _BINARY if largest >= f or f == 1)
    axis = axes.xaxis if which == "x" else axes.yaxis
    step = _nice_step(largest / factor / 5)
    axis.set_major_locator(_Multiples(step * factor))
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: "0" if value == 0 else f"{value / factor:g} {unit}")
    )


def count_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """Ticks at whole numbers, with thousands as k, M."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))


def write_beside(axes: Axes, text: str, end: tuple[float, float]) -> None:
    """A number behind the end of a bar."""
    axes.annotate(text, end, (4, 0), textcoords="offset points", va="center", fontsize=7.5)


def no_ticks(axes: Axes, which: Literal["x", "y"]) -> None:
    """Neither ticks nor grid lines on an axis of names."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_tick_params(length=0)
    axis.set_minor_locator(NullLocator())
    axes.grid(visible=False, axis=which)


def legend_above(axes: Axes, colours: Mapping[str, str]) -> None:
    """A row of colour keys over the plot."""
    handles = [Patch(facecolor=colour, label=label) for label, colour in colours.items()]
    axes.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=min(len(handles), 6),
        borderaxespad=0.2,
        handlelength=1.0,
        handleheight=0.9,
        columnspacing=1.4,
    )


def legend_over_figure(figure: Figure, colours: Mapping[str, str]) -> None:
    """A row of colour keys over all panels."""
    handles = [Patch(facecolor=colour, label=label) for label, colour in colours.items()]
    figure.legend(
        handles=handles,
        loc="outside upper right",
        ncols=min(len(handles), 6),
        handlelength=1.0,
        handleheight=0.9,
        columnspacing=1.4,
    )


def rectangles(
    intervals: Sequence[tuple[float, float]], low: float, high: float, colour: str, url: str | None
) -> PathPatch:
    """Rectangles of equal height as one mark.

    Args:
        intervals: (from, to) along x.
        low: lower edge, y.
        high: upper edge, y.
        colour: fill.
        url: see ``Plot.tip``; None: no tip.
    """
    vertices: list[tuple[float, float]] = []
    for left, right in intervals:
        vertices += [(left, low), (right, low), (right, high), (left, high), (left, low)]
    corners = [Shape.MOVETO, Shape.LINETO, Shape.LINETO, Shape.LINETO, Shape.CLOSEPOLY]
    codes = np.tile(np.asarray(corners, dtype=np.uint8), len(intervals))
    patch = PathPatch(Shape(np.asarray(vertices), codes), facecolor=colour, linewidth=0)
    patch.set_url(url)
    return patch


def merge_columns(
    intervals: Iterable[tuple[float, float]], span: tuple[float, float]
) -> list[tuple[float, float]]:
    """Union of intervals at the resolution of the plot: each at least one column wide.

    Args:
        intervals: (from, to), any order; ``from`` may equal ``to``.
        span: ends of the axis.
    """
    width = max(span[1] - span[0], 1e-12) / N_COLUMNS
    covered: npt.NDArray[np.bool_] = np.zeros(N_COLUMNS + 1, dtype=bool)
    for left, right in intervals:
        first = min(max(int((left - span[0]) / width), 0), N_COLUMNS - 1)
        last = min(max(int(np.ceil((right - span[0]) / width)), first + 1), N_COLUMNS)
        covered[first:last] = True
    edges = np.flatnonzero(np.diff(np.concatenate(([False], covered)).astype(np.int8)))
    return [
        (span[0] + float(left) * width, span[0] + float(right) * width)
        for left, right in edges.reshape(-1, 2)
    ]


class _Multiples(MaxNLocator):
    """Ticks at the multiples of a step."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self.step = step

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """All multiples between the ends."""
        first, last = math.ceil(vmin / self.step), math.floor(vmax / self.step)
        return [n * self.step for n in range(first, last + 1)]


def _nice_step(least: float) -> float:
    """The next of 1, 2, 4, 8 ... (binary units divide by two), or 0.1, 0.2, 0.5 below 1."""
    if least <= 0:
        return 1.0
    if least >= 1:
        return float(2 ** np.ceil(np.log2(least)))
    return next(step for step in (0.05, 0.1, 0.2, 0.5, 1.0) if step >= least or step == 1.0)
