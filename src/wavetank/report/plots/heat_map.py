"""Heat map of a model: how many bytes each rank moves when. Which ranks wait, and which do all the work, is seen at once."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import numpy.typing as npt

from wavetank.model.document.model import Model
from wavetank.report.plots import axes as ax
from wavetank.report.plots.model import Axis, extent_of, rank_ticks
from wavetank.report.plots.svg import Plot, new_figure, styled
from wavetank.report.plots.theme import SIZES
from wavetank.units import format_size

N_BINS = 160
MAX_ROWS = 64
"""Of more ranks, neighbours share a row."""
_COLOURS = (SIZES[0], SIZES[2], SIZES[4], SIZES[6], SIZES[9])
_Floats = npt.NDArray[np.float64]


@styled
def heat_map(model: Model, axis: Axis, name: str = "heat") -> Plot:
    """Bytes of each rank over time, or over tick, in five shades up to the most that a cell has."""
    extent = extent_of(model.timeline, axis)
    a_row = -(-model.n_ranks // MAX_ROWS)
    moved = _moved(model, axis, a_row)
    most = float(moved.max(initial=0.0))
    n_rows = len(moved)
    figure = new_figure(8.6, min(5.0, 1.15 + 0.24 * n_rows))
    width = (extent.span[1] - extent.span[0]) / N_BINS
    what = "the moment" if axis == "time" else "the tick"
    plot = Plot(
        name=name,
        title=f"Bytes by rank over {axis}",
        caption=f"Each row is {'a rank' if a_row == 1 else f'{a_row:,} ranks'}; the colour is what it reads and writes at {what}.",
        alt=_alt(moved, a_row),
        figure=figure,
    )
    axes = figure.add_subplot()
    for row, cells in enumerate(moved):
        # What is rounded up may pass the number of colours by a hair.
        shades = np.minimum(np.ceil(len(_COLOURS) * cells / max(most, 1.0)), len(_COLOURS)).astype(
            int
        )
        runs: dict[int, list[tuple[float, float]]] = {}
        at = 0
        for shade, group in groupby(shades.tolist()):
            n = len(list(group))
            if shade:
                left = extent.span[0] + at * width
                runs.setdefault(shade, []).append((left, left + n * width))
            at += n
        first = row * a_row
        last = min(first + a_row, model.n_ranks) - 1
        who = f"rank {first:,}" if first == last else f"ranks {first:,} to {last:,}"
        tip = plot.tip(f"{who}: {format_size(round(float(cells.sum())))}")
        for shade, intervals in sorted(runs.items()):
            axes.add_patch(
                ax.rectangles(intervals, first - 0.5, last + 0.5, _COLOURS[shade - 1], tip)
            )
    axes.set(xlim=extent.span, ylim=(model.n_ranks - 0.5, -0.5), ylabel="rank")
    axes.set_xlabel(extent.label)
    rank_ticks(axes, model.n_ranks)
    axes.grid(visible=False)
    steps = len(_COLOURS)
    ax.legend_above(
        axes,
        {
            f"to {format_size(round(most * (n + 1) / steps))}": colour
            for n, colour in enumerate(_COLOURS)
        },
    )
    return plot


def _moved(model: Model, axis: Axis, a_row: int) -> _Floats:
    """Bytes of each row in each bin; a stretch of operations is spread evenly over its bins."""
    extent = extent_of(model.timeline, axis)
    low, high = extent.span
    moved = np.zeros((-(-model.n_ranks // a_row), N_BINS))
    for point in model.timeline:
        start, end = extent.of(point)
        first, last = (
            min(max(int((at - low) / (high - low) * N_BINS), 0), N_BINS - 1) for at in (start, end)
        )
        moved[point.rank // a_row, first : last + 1] += point.rs * point.count / (last - first + 1)
    return moved


def _alt(moved: _Floats, a_row: int) -> str:
    by_row = moved.sum(axis=1)
    busy = int((by_row > 0).sum())
    rows = "ranks" if a_row == 1 else "rows of ranks"
    return f"{busy:,} of {len(by_row):,} {rows} move data, at most {format_size(round(float(by_row.max(initial=0.0))))} one of them."
