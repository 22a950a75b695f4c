"""Temporal and spatial pattern of a model (P16 figure 4c, P18 figure 3).

Both are drawn from the model's timeline. What is too fine to be seen is merged before it is
drawn, so that ten ranks and ten thousand give a plot of the same size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Shape
from matplotlib.ticker import MaxNLocator

from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase
from wavetank.model.document.timeline import TimelinePoint
from wavetank.model.tables.file_table import names_of
from wavetank.model.tables.model_tables import by_level
from wavetank.report.plots import axes as ax
from wavetank.report.plots.sizes import size_scale
from wavetank.report.plots.svg import Plot, new_figure, short_name, styled
from wavetank.report.plots.theme import LIGHT, SIZES
from wavetank.units import exact_size, format_duration, format_size

Axis = Literal["time", "tick"]
MAX_ROWS = 100  # rows of a temporal pattern: about 4 pixels each on paper and screen
MAX_SHARED_ROWS = 40  # rows that reads and writes can share the height of
MAX_FILES = 6  # panels of a spatial pattern
_N_LEVELS = 240  # rows of pixels of a panel of the spatial pattern


@dataclass(frozen=True)
class Extent:
    """Where points lie on an axis, and what to call it."""

    of: Callable[[TimelinePoint], tuple[float, float]]
    span: tuple[float, float]
    label: str


def has_times(model: Model) -> bool:
    """Whether every point of the timeline and every phase knows when it happened."""
    spans = [(point.start_s, point.end_s) for point in model.timeline]
    spans += [(phase.start_s, phase.end_s) for phase in model.phases]
    return all(start is not None and end is not None for start, end in spans)


@dataclass(frozen=True)
class _Stripe:
    """Ranks that share a row: first to last, of which some may stand for the others."""

    first: int
    last: int


@styled
def temporal_pattern(
    model: Model, axis: Axis, name: str = "temporal", most_shared_rows: int = MAX_SHARED_ROWS
) -> Plot:
    """Operations per rank over time or tick, coloured by request size.

    Reads and writes share a row where there are ``most_shared_rows`` at most, and have a panel each where there are more.
    """
    extent = extent_of(model.timeline, axis)
    stripes = _stripes(model)
    n_rows = min(model.n_ranks, MAX_ROWS)
    kinds = sorted({ax.kind_of(point.iop_type) for point in model.timeline})
    both = "read" in kinds and len(kinds) > 1
    wide = max((stripe.last - stripe.first + 1 for stripe in stripes.values()), default=1)
    apart = both and (wide > 1 or n_rows > most_shared_rows)
    panels: list[list[ax.Kind]] = [kinds]
    if apart:
        panels = [["read"], [kind for kind in kinds if kind != "read"]]
    height = max(n_rows * 0.24, 0.5) if not apart else max(min(n_rows, 20) * 0.12, 0.9) * 2 + 0.4
    figure = new_figure(8.6, min(5.4, 1.15 + height))
    plot = Plot(
        name=name,
        title=f"Temporal pattern over {axis}",
        caption=_temporal_caption(model, both, apart, stripes),
        alt=_temporal_alt(model),
        figure=figure,
    )
    scale = size_scale(point.rs for point in model.timeline)
    groups: dict[tuple[int, str, int], list[TimelinePoint]] = defaultdict(list)
    for point in model.timeline:
        stripe = stripes[point.rank]
        groups[stripe.first, ax.kind_of(point.iop_type), scale.of[point.rs]].append(point)
    for number, shown in enumerate(panels, start=1):
        axes = figure.add_subplot(len(panels), 1, number)
        for (_, kind, size), points in sorted(groups.items()):
            if kind not in shown:
                continue
            stripe = stripes[points[0].rank]
            intervals = ax.merge_columns((extent.of(point) for point in points), extent.span)
            tip = plot.tip(f"{_ranks_of(stripe)}: {_mark_words(kind, points, extent)}")
            low, high = _lane(stripe, kind, shown, n_rows)
            axes.add_patch(ax.rectangles(intervals, low, high, SIZES[size], tip))
        axes.set(xlim=extent.span, ylim=(model.n_ranks - 0.5, -0.5), ylabel="rank")
        rank_ticks(axes, model.n_ranks)
        axes.grid(visible=False, axis="y")
        if number < len(panels):
            axes.tick_params(labelbottom=False)
        else:
            axes.set_xlabel(extent.label)
        if both:
            words = f"{' and '.join(shown)}s" if apart else "reads above, writes below in each row"
            axes.set_title(words, loc="right", fontsize=8, fontweight="normal")
        if number == 1:
            ax.legend_above(axes, {label: SIZES[size] for size, label in scale.labels.items()})
    return plot


def _stripes(model: Model) -> dict[int, _Stripe]:
    """Rank of the timeline -> the row that it is drawn in.

    At most ``MAX_ROWS`` rows. A timeline of very many ranks holds evenly spaced ones, which stand for
    those up to the next; ranks without I/O stay empty.
    """
    shown = sorted({point.rank for point in model.timeline})
    active = {rank for phase in by_level(model)[0] for rank in phase.ph_processid}
    stands_for = max(1, round(len(active | set(shown)) / max(len(shown), 1)))
    width = -(-model.n_ranks // MAX_ROWS)
    stripes = {}
    for position, rank in enumerate(shown):
        following = shown[position + 1] if position + 1 < len(shown) else model.n_ranks
        if stands_for > width:
            stripes[rank] = _Stripe(rank, min(rank + stands_for, following) - 1)
        else:
            first = rank // width * width
            stripes[rank] = _Stripe(first, min(first + width, model.n_ranks) - 1)
    return stripes


@styled
def spatial_pattern(model: Model, axis: Axis, name: str = "spatial") -> Plot:
    """Offset over time or tick, a panel for each of the files with most bytes."""
    by_file: dict[int, list[TimelinePoint]] = defaultdict(list)
    for point in model.timeline:
        if point.offset_first is not None and point.offset_last is not None:
            by_file[point.file_id].append(point)
    chosen = sorted(by_file, key=lambda file_id: (-_bytes(by_file[file_id]), file_id))[:MAX_FILES]
    extent = extent_of(model.timeline, axis)
    n_columns = 1 if len(chosen) < 2 else 2
    n_rows = max(1, -(-len(chosen) // n_columns))
    figure = new_figure(8.6, 0.4 + (2.6 if n_columns == 1 else 1.75) * n_rows)
    names = names_of(model)
    plot = Plot(
        name=name,
        title=f"Spatial pattern over {axis}",
        caption=_spatial_caption(
            len(chosen),
            len(model.files),
            any(point.scattered for file_id in chosen for point in by_file[file_id]),
        ),
        alt="Offset over "
        + f"{axis}: "
        + "; ".join(f"{names[f]}: {_spatial_words(by_file[f])}" for f in chosen),
        figure=figure,
    )
    for position, file_id in enumerate(chosen):
        axes = figure.add_subplot(n_rows, n_columns, position + 1)
        _spatial_panel(axes, plot, names[file_id], by_file[file_id], extent)
        if position >= len(chosen) - n_columns:
            axes.set_xlabel(extent.label)
    shown = {ax.kind_of(point.iop_type) for file_id in chosen for point in by_file[file_id]}
    if chosen:
        keys: dict[str, str] = {
            kind: LIGHT[kind] for kind in ("read", "write", "other") if kind in shown
        }
        ax.legend_over_figure(figure, keys)
    else:
        _say_nothing(figure.add_subplot(), "no offsets in this trace")
    return plot


def _spatial_panel(
    axes: Axes, plot: Plot, file_name: str, points: Sequence[TimelinePoint], extent: Extent
) -> None:
    highest = max(max(_offsets(point)) for point in points)
    top = max(highest * 1.04, 1.0)
    for kind in ("write", "read", "other"):
        members = [point for point in points if ax.kind_of(point.iop_type) == kind]
        if not members:
            continue
        sizes = sorted({point.rs for point in members})
        size = exact_size(sizes[0]) if len(sizes) == 1 else f"{len(sizes)} request sizes"
        count = sum(point.count for point in members)
        text = f"{file_name}: {_n_operations(count, kind)}, {size}, by {_n_ranks(members)}"
        line = PathPatch(
            Shape(*_segments(members, extent, top)),
            fill=False,
            edgecolor=LIGHT[kind],
            # Reads lie over writes, and must not hide them where both go through the same places.
            linewidth=1.2 if kind == "read" else 2.2,
            capstyle="round",
        )
        line.set_url(plot.tip(text))
        axes.add_patch(line)
    axes.set(xlim=extent.span, ylim=(0, top))
    axes.set_title(short_name(file_name, 44))
    ax.bytes_axis(axes, "y", top)


def _segments(
    points: Sequence[TimelinePoint], extent: Extent, top: float
) -> tuple[list[tuple[float, float]], list[int]]:
    """A stroke for each stretch, a dot for one in no order; each that can be told apart at the plot's resolution once."""
    width, height = (extent.span[1] - extent.span[0]) / ax.N_COLUMNS, top / _N_LEVELS
    seen: set[tuple[int, int, int, int]] = set()
    vertices: list[tuple[float, float]] = []
    for point in points:
        (left, right), (first, last) = extent.of(point), _offsets(point)
        # The round end of a stroke of almost no length is a dot.
        right = left + width / 8 if point.scattered else max(right, left + width)
        key = (
            int((left - extent.span[0]) / width),
            int((right - extent.span[0]) / width),
            int(first / height),
            int(last / height),
        )
        if key not in seen:
            seen.add(key)
            vertices += [(left, float(first)), (right, float(last))]
    return vertices, [int(Shape.MOVETO), int(Shape.LINETO)] * (len(vertices) // 2)


def extent_of(points: Sequence[TimelinePoint], axis: Axis) -> Extent:
    """Ends and label of an axis, and where points lie on it."""
    if axis == "time":
        label = "time since the start of the trace (s)"
        of = _times
    else:
        label = "tick (MPI calls before the operation)"
        of = _ticks
    ends = np.asarray([of(point) for point in points] or [(0.0, 1.0)])
    low, high = float(ends.min()), float(ends.max())
    margin = max((high - low) * 0.01, 1e-6 if axis == "time" else 0.5)
    return Extent(of, (max(low - margin, -margin), high + margin), label)


def _times(point: TimelinePoint) -> tuple[float, float]:
    start = point.start_s if point.start_s is not None else 0.0
    return start, point.end_s if point.end_s is not None else start


def _ticks(point: TimelinePoint) -> tuple[float, float]:
    return float(point.tick_first), float(point.tick_last)


def _offsets(point: TimelinePoint) -> tuple[int, int]:
    """Where the stretch begins in the file, and where its last operation ends, bytes."""
    first = point.offset_first if point.offset_first is not None else 0
    last = point.offset_last if point.offset_last is not None else first
    return first, last + point.rs


def _lane(stripe: _Stripe, kind: str, kinds: Sequence[str], n_rows: int) -> tuple[float, float]:
    """Lower and upper edge: reads in the upper half of a row, the rest in the lower one."""
    gap = 0.09 if n_rows <= 40 else 0.0
    low, high = stripe.first - 0.5 + gap, stripe.last + 0.5 - gap
    if "read" not in kinds or len(kinds) == 1:
        return low, high
    middle = (stripe.first + stripe.last) / 2
    return (low, middle) if kind == "read" else (middle, high)


def rank_ticks(axes: Axes, n_ranks: int) -> None:
    """Each rank has a tick where there are few."""
    if n_ranks <= 32:
        axes.set_yticks(range(n_ranks))
        axes.yaxis.set_tick_params(length=0)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: f"{int(value):,}")


def _ranks_of(stripe: _Stripe) -> str:
    if stripe.first == stripe.last:
        return f"rank {stripe.first:,}"
    return f"ranks {stripe.first:,} to {stripe.last:,}"


def _mark_words(kind: str, points: Sequence[TimelinePoint], extent: Extent) -> str:
    sizes = sorted({point.rs for point in points})
    of_size = (
        exact_size(sizes[0])
        if len(sizes) == 1
        else f"{exact_size(sizes[0])} to {exact_size(sizes[-1])}"
    )
    ends = np.asarray([extent.of(point) for point in points])
    when = (
        f"from {ends.min():.2f} s to {ends.max():.2f} s"
        if extent.of is _times
        else f"tick {ends.min():.0f} to {ends.max():.0f}"
    )
    count = sum(point.count for point in points)
    return f"{_n_operations(count, kind)} of {of_size}, {format_size(_bytes(points))}, {when}"


def _temporal_caption(model: Model, both: bool, apart: bool, stripes: Mapping[int, _Stripe]) -> str:
    width = max((stripe.last - stripe.first + 1 for stripe in stripes.values()), default=1)
    text = "Each row is a rank" if width == 1 else f"Each row is {width:,} ranks"
    text += "; a mark is a stretch of operations, coloured by request size."
    if both:
        text += (
            " Reads are in the upper panel, writes in the lower one."
            if apart
            else " Reads are in the upper half of a row, writes in the lower half."
        )
    if len(stripes) < model.app_np:
        text += f" {len(stripes):,} evenly spaced ranks stand for {model.app_np:,} that do I/O."
    return text


def _temporal_alt(model: Model) -> str:
    """What the phases say of ranks, bytes and when; a timeline may hold only some of the ranks."""
    own, _ = by_level(model)
    parts = []
    for kind in ("read", "write"):
        phases = [phase for phase in own if _share(phase, kind) > 0]
        if not phases:
            continue
        ranks = {rank for phase in phases for rank in phase.ph_processid}
        weight = round(sum(phase.ph_weight * _share(phase, kind) for phase in phases))
        words = f"{kind}s: {format_size(weight)} by {len(ranks):,} rank{'s' * (len(ranks) != 1)}"
        starts = [phase.start_s for phase in phases if phase.start_s is not None]
        ends = [phase.end_s for phase in phases if phase.end_s is not None]
        if starts and ends:
            words += f" between {format_duration(min(starts))} and {format_duration(max(ends))}"
        parts.append(words)
    return f"{model.n_ranks:,} ranks; " + ("; ".join(parts) or "none does I/O") + "."


def _share(phase: Phase, kind: str) -> float:
    """The part of a phase's bytes that operations of one kind move."""
    of_kind = sum(one.rs for one in phase.pattern if ax.kind_of(one.iop_type) == kind)
    return of_kind / max(sum(one.rs for one in phase.pattern), 1)


def _spatial_caption(n_shown: int, n_files: int, scattered: bool) -> str:
    text = "Offset in the file; blue strokes are reads, orange strokes are writes."
    if scattered:
        text += " Dots are places of operations in no order, evenly chosen where there are many."
    if n_shown < n_files:
        text += f" The {n_shown} files with most bytes of {n_files:,}."
    return text


def _spatial_words(points: Sequence[TimelinePoint]) -> str:
    kinds = sorted({ax.kind_of(point.iop_type) for point in points})
    lowest = min(min(_offsets(point)) for point in points)
    highest = max(max(_offsets(point)) for point in points)
    span = f"{format_size(lowest)} to {format_size(highest)}"
    return f"{' and '.join(kinds)} by {_n_ranks(points)}, offsets {span}"


def _n_operations(n: int, kind: str) -> str:
    return f"{n:,} {kind} operation{'' if n == 1 else 's'}"


def _n_ranks(points: Sequence[TimelinePoint]) -> str:
    n = len({point.rank for point in points})
    return f"{n:,} rank{'' if n == 1 else 's'}"


def _bytes(points: Sequence[TimelinePoint]) -> int:
    return sum(point.rs * point.count for point in points)


def _say_nothing(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=LIGHT["muted"])
