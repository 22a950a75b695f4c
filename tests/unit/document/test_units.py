"""Sizes, rates and durations as people write them."""

from __future__ import annotations

import pytest

from wavetank.units import (
    format_duration,
    format_estimate,
    format_rate,
    format_size,
    parse_duration,
    parse_rate,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("64 KiB", 65536),
        ("17 GB", 17 * 10**9),
        ("1.5 MiB", 1572864),
        ("0", 0),
        (8191, 8191),
        ("9007199254740993", 2**53 + 1),
    ],
)
def test_binary_and_decimal_units_are_told_apart(text: str | int, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [("1 Gbit/s", 125_000_000), ("100 MB/s", 10**8), ("1 MiB/s", 2**20), ("8 kbit/s", 1000)],
)
def test_rates_in_bits_are_eight_times_smaller(text: str, bytes_per_s: int) -> None:
    assert parse_rate(text) == bytes_per_s


@pytest.mark.parametrize(
    ("text", "seconds"), [("2 min", 120), ("90", 90), ("250 ms", 0.25), (3, 3)]
)
def test_durations(text: str | int, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "-1", "3 bananas", "1 i", "nan", "1e5", -5, True])
def test_what_is_no_size_is_refused_with_the_text(text: str | int) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["100", "0 MB/s", "fast", "1 GB", 0, -3])
def test_what_is_no_rate_is_refused(text: str | int) -> None:
    with pytest.raises(ValueError, match="rate"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["soon", "-1 s", -0.5])
def test_what_is_no_duration_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_text_for_people_uses_binary_sizes_and_decimal_rates() -> None:
    assert format_size(27_120_000) == "25.9 MiB"  # 27120000 / 2^20 = 25.863
    assert format_rate(104_200_000) == "104.2 MB/s"
    assert format_duration(125) == "2 min 05 s"
    assert format_duration(0.00035) == "350 us"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.2, "1 s"),
        (7.6, "8 s"),
        (58.85, "1 min"),
        (52.6, "55 s"),
        (170, "3 min"),
        (4750, "1 h 20 min"),
        (3599, "1 h 00 min"),
    ],
)
def test_an_estimate_is_no_finer_than_one_knows_it(seconds, shown):
    assert format_estimate(seconds) == shown
