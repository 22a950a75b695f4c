"""Names beside points: every point has one, none covers another."""

from __future__ import annotations

from itertools import combinations

import matplotlib as mpl
import pytest

from wavetank.report.plots.labels import label_points
from wavetank.report.plots.svg import new_figure
from wavetank.report.plots.theme import matplotlib_settings


def labelled(n: int, name: str):
    with mpl.rc_context(matplotlib_settings()):
        figure = new_figure(8.6, 3.4)
        axes = figure.add_subplot()
        axes.set_xlim(0, 1.3)
        axes.set_ylim(0, 0.6)
        points = [(0.2 + 0.06 * i, 0.5 / (1 + i)) for i in range(n)]
        key = label_points(figure, axes, points, [f"{name} {i}" for i in range(n)], points)
        boxes = [text.get_window_extent() for text in axes.texts]
        return key, [text.get_text() for text in axes.texts], boxes, axes.bbox


@pytest.mark.parametrize(
    ("n", "name", "named"),
    [(3, "GlusterFS, 2 data servers, sharded", True), (11, "c", True), (10, "GlusterFS, 2 data servers, 1DFx1F", False),
     (14, "c", False)],
)  # fmt: skip
def test_each_point_has_a_name_or_a_number_and_none_covers_another(n, name, named) -> None:
    key, texts, boxes, inside = labelled(n, name)
    names = [f"{name} {i}" for i in range(n)]
    numbers = [str(i) for i in range(1, n + 1)]
    assert texts == (names if named else numbers)
    assert key == ("" if named else "; ".join(map(" ".join, zip(numbers, names, strict=True))))
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(inside.contains(box.x0, box.y0) for box in boxes)
