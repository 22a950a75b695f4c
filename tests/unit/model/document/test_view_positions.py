"""Where positions of a file view end in the file, also where tiles reach over those behind them."""

from __future__ import annotations

import pytest
from fold_builder import Event, model_of
from hypothesis import given
from hypothesis import strategies as st

from wavetank.model.document.offsets import ViewPositions
from wavetank.trace.schema import FileView

# Columns of three cells of a matrix with seven: cell c of column i is at 2 * (7 * c + i).
COLUMNS = FileView(5, 1, 2, (0, 14, 28), (2, 2, 2))


@st.composite
def tiled(draw: st.DrawFn) -> FileView:
    """A view whose tiles may lie over each other."""
    pieces = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=4))
    offsets, at = [], 0
    for gap, length in pieces:
        offsets.append(at + gap)
        at += gap + length
    return FileView(
        draw(st.integers(0, 3)), 1, draw(st.integers(1, at + 3)), tuple(offsets), tuple(n for _, n in pieces)
    )  # fmt: skip


def places(view: FileView, positions: range) -> list[int]:
    """Each byte by itself: tile, run, byte of the run."""
    inside = [
        offset + n
        for offset, length in zip(view.run_offsets, view.run_lengths, strict=True)
        for n in range(length)
    ]
    return [
        view.displacement + at // len(inside) * view.extent + inside[at % len(inside)]
        for at in positions
    ]


@given(tiled(), st.integers(0, 40), st.integers(1, 40))
def test_the_end_is_behind_the_highest_byte(view: FileView, first: int, size: int) -> None:
    expected = max(places(view, range(first, first + size))) + 1
    assert ViewPositions(view).end(first, first + size) == expected


def test_no_bytes_end_nowhere() -> None:
    assert ViewPositions(COLUMNS).end(4, 4) == 0
    assert ViewPositions(FileView(5, 1, 8, (), ())).end(0, 4) == 0


@given(tiled(), st.integers(0, 9), st.integers(1, 9), st.integers(0, 25), st.integers(1, 6))
def test_a_model_of_calls_through_a_view_knows_how_far_they_reach(
    view: FileView, first: int, size: int, step: int, count: int
) -> None:
    at = [first + number * step for number in range(count)]
    events = [
        Event(
            0, "MPI_File_read_at", offset=places(view, range(position, position + 1))[0],
            size=size, view=0, view_offset=position,
        )
        for position in at
    ]  # fmt: skip
    (file,) = model_of(events, fold=True, views=(view,)).files
    assert file.file_size_highest_offset == 1 + max(
        max(places(view, range(position, position + size))) for position in at
    )


@pytest.mark.parametrize(
    ("n", "end"), [(1, 7), (3, 5 + 28 + 2), (4, 5 + 28 + 2), (6, 5 + 2 + 28 + 2)]
)
def test_a_part_of_a_tile_may_end_before_the_tile_in_front_of_it(n: int, end: int) -> None:
    assert ViewPositions(COLUMNS).end(0, 2 * n) == end
