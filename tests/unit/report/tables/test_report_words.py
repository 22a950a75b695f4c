"""Sizes, ranges and names in words."""

from __future__ import annotations

import kernel_models as km
import pytest

from wavetank.measure.statistics import Estimate
from wavetank.model.tables.application_table import application_table
from wavetank.report.plots.sizes import class_label, exact_size, size_class, size_scale
from wavetank.report.plots.svg import short_name, shorten
from wavetank.tables.words import (
    change,
    id_range,
    interval_words,
    money,
    printable,
    range_words,
    ranks_words,
)
from wavetank.units import format_duration


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


def test_few_request_sizes_have_a_colour_each_even_within_one_bin() -> None:
    scale = size_scale([8191, 4096, 8191])
    assert scale.of[4096] < scale.of[8191]
    assert dict(scale.labels) == {scale.of[4096]: "4 KiB", scale.of[8191]: "8,191 B"}


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 50])
@pytest.mark.parametrize("first", [1, 2**31])
def test_larger_requests_never_have_a_lower_colour(count, first) -> None:
    sizes = [first + 3 * k for k in range(count)]
    of = size_scale(sizes).of
    assert [of[rs] for rs in sizes] == sorted(of[rs] for rs in sizes)
    assert all(0 <= index < 10 for index in of.values())


def test_a_range_names_a_shared_unit_once() -> None:
    assert range_words(0.215, 0.234, format_duration) == "215\N{EN DASH}234 ms"
    assert range_words(0.990, 1.2, format_duration) == "990 ms to 1.20 s"
    assert range_words(-5.0, 3.0, change) == "\N{MINUS SIGN}5.0 % to +3.0 %"


def test_one_repetition_has_no_interval() -> None:
    alone = Estimate(median=1.0, low=None, high=None, values=(1.0,))
    assert interval_words(alone, format_duration) == ""


def test_small_amounts_keep_their_digits() -> None:
    assert money(0.000107, "USD") == "0.000107 USD"
    assert money(0.0001, "USD") == "0.000100 USD"
    assert money(12.3, "EUR") == "12.30 EUR"


def test_ids_are_written_as_ranges() -> None:
    assert id_range([7, 1, 2, 3]) == "1\N{EN DASH}3, 7"
    assert ranks_words([0, 1, 2, 3], 4) == "all"
    assert ranks_words(list(range(0, 100, 2))) == "0\N{EN DASH}98 by 2"
    squares = [rank * rank for rank in range(10)]
    assert ranks_words(squares) == "10 of 0\N{EN DASH}81"


def test_a_long_name_keeps_both_ends() -> None:
    assert shorten("reads_of_sample_1.fastq", 11) == "reads…fastq"
    assert len(shorten("x" * 500, 20)) == 20
    assert short_name("/very/long/folder/name/out.dat", 10) == "out.dat"


def test_characters_that_would_hide_or_break_something_are_made_visible() -> None:
    assert printable("a\x00b\x1bc\u202ed\udc80") == "a�b�c�d�"
    assert shorten("two\nlines", 20) == "two�lines"


def test_the_application_table_says_what_a_trace_lost() -> None:
    lost = "5 of 9 operations are missing"
    whole = km.abyss(100_000)
    rows = application_table(whole.model_copy(update={"lost": (lost,)})).rows
    told = ("trace", "what is missing", f"the trace is PARTIAL: {lost}")
    assert told in [tuple(cell.text for cell in row) for row in rows]
    assert len(application_table(whole).rows) == len(rows) - 1
