"""Sizes, ranges and names in words."""

from __future__ import annotations

import kernel_models as km
import pytest

from wavetank.model.tables.application_table import application_table
from wavetank.notes import note
from wavetank.report.plots.sizes import class_label, exact_size, size_class
from wavetank.report.plots.svg import shorten
from wavetank.tables.words import (
    id_range,
    printable,
    ranks_words,
)


@pytest.mark.parametrize(
    ("rs", "expected"),
    # Darshan's bins are closed at their upper end: SIZE_READ_0_100 counts 100, _100_1K counts 101.
    [
        (0, 0),
        (1, 0),
        (100, 0),
        (101, 1),
        (1024, 1),
        (1025, 2),
        (8191, 2),
        (2**20, 4),
        (2**20 + 1, 5),
        (2**30, 8),
        (2**30 + 1, 9),
    ],
)
def test_a_request_size_falls_into_darshans_bin(rs, expected) -> None:
    assert size_class(rs) == expected


def test_bins_are_named_by_their_ends() -> None:
    assert class_label(0) == "up to 100 B"
    assert class_label(4) == "100 KiB \N{EN DASH} 1 MiB"
    assert class_label(9) == "over 1 GiB"


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (8191, "8,191 B"),
        (8192, "8 KiB"),
        (2**20, "1 MiB"),
        (0, "0 B"),
        (312_500_000, "312,500,000 B"),
    ],
)
def test_an_exact_size_keeps_every_byte(size, expected) -> None:
    assert exact_size(size) == expected


def test_ids_are_written_as_ranges() -> None:
    assert id_range([7, 1, 2, 3]) == "1\N{EN DASH}3, 7"
    assert ranks_words([0, 1, 2, 3], 4) == "all"
    assert ranks_words(list(range(0, 100, 2))) == "0\N{EN DASH}98 by 2"
    squares = [rank * rank for rank in range(10)]
    assert ranks_words(squares) == "10 of 0\N{EN DASH}81"


def test_characters_that_would_hide_or_break_something_are_made_visible() -> None:
    assert printable("a\x00b\x1bc\u202ed\udc80") == "a�b�c�d�"
    assert shorten("two\nlines", 20) == "two�lines"


def test_the_application_table_says_what_a_trace_lost() -> None:
    lost = "5 of 9 operations are missing"
    whole = km.abyss(100_000)
    rows = application_table(
        whole.model_copy(update={"notes": (note("lost", "operations", lost),)})
    ).rows
    told = ("trace", "what is missing", f"the trace is PARTIAL: {lost}")
    assert told in [tuple(cell.text for cell in row) for row in rows]
    assert len(application_table(whole).rows) == len(rows) - 1
