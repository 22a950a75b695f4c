"""Names beside points of a plot, none over another; numbers with a key where there is no room for names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from wavetank.report.plots.theme import LIGHT

MOST_NAMES = 12
"""More points are numbered."""
_NEAR = 7.0  # from the point to its name, points of 1/72 inch
_STEPS = (0.0, 11.0, 22.0, 33.0, 44.0)
_DOT = 4.0  # half of a dot with the gap around it


def label_points(
    figure: Figure,
    axes: Axes, at: Sequence[tuple[float, float]], names: Sequence[str], dots: Sequence[tuple[float, float]]
) -> str:  # fmt: skip
    """Write a name, or a number, beside each point.

    Args:
        figure: of the axes.
        axes: with its final limits.
        at: the points, in data coordinates.
        names: of the points.
        dots: all points of the plot, which names should not cover.

    Returns:
        The key of the numbers, "1 NFS, 1PxCN; 2 ..."; empty where names were written.
    """
    figure.draw_without_rendering()  # settles where the axes are
    if len(at) <= MOST_NAMES:
        written = _write(axes, at, names, dots, must=False)
        if written is not None:
            return ""
    numbers = [str(number) for number in range(1, len(at) + 1)]
    _write(axes, at, numbers, dots, must=True)
    return "; ".join(f"{number} {name}" for number, name in zip(numbers, names, strict=True))


def _write(
    axes: Axes,
    at: Sequence[tuple[float, float]],
    names: Sequence[str],
    dots: Sequence[tuple[float, float]],
    *,
    must: bool,
) -> list[Annotation] | None:
    """The names that were written; None, and nothing written, where one finds no room and need not be written."""
    taken = [_around(axes, dot) for dot in dots]
    written: list[Annotation] = []
    for name, point in zip(names, at, strict=True):
        found = _place(axes, name, point, taken)
        if found is None and not must:
            for each in written:
                each.remove()
            return None
        found = found or _annotate(axes, name, point, (_NEAR, 0.0))
        taken.append(found.get_window_extent())
        written.append(found)
    return written


def _place(
    axes: Axes, name: str, point: tuple[float, float], taken: Sequence[Bbox]
) -> Annotation | None:
    for offset in _offsets():
        tried = _annotate(axes, name, point, offset)
        box = tried.get_window_extent()
        inside = axes.bbox.contains(box.x0, box.y0) and axes.bbox.contains(box.x1, box.y1)
        if inside and not any(box.overlaps(other) for other in taken):
            return tried
        tried.remove()
    return None


def _offsets() -> Iterator[tuple[float, float]]:
    """Right of the point and above first, then farther away."""
    for step in _STEPS:
        for side in (_NEAR, -_NEAR):
            for way in (1, -1):
                yield side, way * (6.0 + step)


def _annotate(
    axes: Axes, name: str, point: tuple[float, float], offset: tuple[float, float]
) -> Annotation:
    far = abs(offset[1]) > _NEAR
    return axes.annotate(
        name,
        point,
        offset,
        textcoords="offset points",
        fontsize=7.5,
        ha="left" if offset[0] > 0 else "right",
        va="center",
        arrowprops={"arrowstyle": "-", "color": LIGHT["other"], "linewidth": 0.6, "shrinkA": 1, "shrinkB": 3} if far else None,
    )  # fmt: skip


def _around(axes: Axes, dot: tuple[float, float]) -> Bbox:
    x, y = axes.transData.transform(dot)
    pixels = _DOT * axes.figure.dpi / 72
    return Bbox.from_extents(x - pixels, y - pixels, x + pixels, y + pixels)
