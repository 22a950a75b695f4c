"""Heat map of a model: bytes by rank and time."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
import report_examples

from wavetank.report.plots import heat_map as heat
from wavetank.report.plots.heat_map import MAX_ROWS, heat_map
from wavetank.report.plots.svg import inline_svg

SVG = "{http://www.w3.org/2000/svg}"


def tips(plot) -> list[str]:
    root = ET.fromstring(inline_svg(plot))
    return [element.text or "" for element in root.iter(f"{SVG}title")]


def test_each_rank_has_its_bytes_and_only_ranks_that_move_some_have_marks() -> None:
    model = report_examples.abyss()
    moved = dict.fromkeys(range(model.n_ranks), 0)
    for point in model.timeline:
        moved[point.rank] += point.rs * point.count
    found = set(tips(heat_map(model, "time")))
    assert len(found) == sum(of > 0 for of in moved.values())
    assert {text.partition(":")[0] for text in found} == {
        f"rank {r}" for r, of in moved.items() if of
    }


def test_ten_thousand_ranks_share_rows_and_the_plot_stays_small() -> None:
    plot = heat_map(report_examples.many_ranks(10_000, 10_000), "tick")
    named = {text.partition(":")[0] for text in tips(plot)}
    assert len(named) <= MAX_ROWS and "ranks 0 to 156" in named
    assert len(inline_svg(plot)) < 200_000


def test_the_busiest_cell_has_the_last_colour_though_five_times_it_over_it_is_more_than_five(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bytes_of_cell = float.fromhex("0x1.ea2991c71c71cp+19")
    assert 5 * bytes_of_cell / bytes_of_cell > 5
    model = report_examples.abyss()
    full = np.full((model.n_ranks, heat.N_BINS), bytes_of_cell)
    monkeypatch.setattr(heat, "_moved", lambda model, axis, a_row: full)
    assert len(tips(heat_map(model, "time"))) == model.n_ranks
