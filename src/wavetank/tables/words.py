"""Quantities in words: with units, intervals and the digits that mean something; ids and ranks as ranges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING

from wavetank.units import exact_size, format_size

if TYPE_CHECKING:
    from wavetank.tables.table import Estimated

DASH = "\N{EN DASH}"
# What XML forbids, control characters, and those that reverse the direction of text around them.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


def money(value: float | Decimal, currency: str) -> str:
    """An amount with the digits that it needs: 12.30 USD, 0.0042 USD."""
    amount = float(value)
    if amount == 0:
        return f"0 {currency}"
    if abs(amount) >= 1:
        return f"{amount:,.2f} {currency}"
    return f"{Decimal(f'{amount:#.3g}'):f} {currency}"  # never 9.77e-05


def count(value: float) -> str:
    """A number without decimals: "1,500"."""
    return f"{value:,.0f}"


def words(value: object) -> str:
    """A plain value for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {words(one)}" for key, one in value.items()) or DASH
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(words, value)) or DASH
    return DASH if value is None else str(value)


def plain_words(value: object) -> str:
    """A plain value with all its digits and without separators: 5e-05 -> "0.00005", True -> "yes", None -> a dash."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and isfinite(value):
        return f"{Decimal(repr(value)):f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain_words(one)}" for key, one in value.items()) or DASH
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(plain_words, value)) or DASH
    return DASH if value is None else str(value)


def short_number(value: float) -> str:
    """1500 -> "1.5 k", 0.02 -> "0.02"."""
    factor, unit = next((f, u) for f, u in _DECIMAL if abs(value) >= f or f == 1)
    return f"{value / factor:.3g} {unit}".strip()


def change(percent: float) -> str:
    """A change with its sign: "+5.3 %", "-25.1 %"."""
    return f"{percent:+.1f} %".replace("-", "\N{MINUS SIGN}")


def range_words(low: float, high: float, show: Callable[[float], str]) -> str:
    """Two values with the unit once: "215-234 ms"; "990 ms to 1.20 s" where the units differ."""
    first, second = show(low), show(high)
    number, _, unit = first.partition(" ")
    if first == second:
        return first
    if first[0] in "+-\N{MINUS SIGN}" or second.partition(" ")[2] != unit:
        return f"{first} to {second}"
    return f"{number}{DASH}{second}"


def interval_text(estimate: Estimated, show: Callable[[float], str]) -> str:
    """The interval alone, "215-234 ms"; nothing where one repetition cannot tell."""
    if estimate.low is None or estimate.high is None:
        return ""
    few = "" if estimate.range_of is None else f", range of {estimate.range_of}"
    return range_words(estimate.low, estimate.high, show) + few


def interval_words(estimate: Estimated, show: Callable[[float], str]) -> str:
    """The interval in parentheses, " (215-234 ms)"."""
    told = interval_text(estimate, show)
    return f" ({told})" if told else ""


def estimate_words(estimate: Estimated, show: Callable[[float], str]) -> str:
    """Median with its interval."""
    return show(estimate.median) + interval_words(estimate, show)


def ranks_text(ranks: Sequence[int]) -> str:
    """Ranks for people: 0-3, 8, 10-30 by 5."""
    return ", ".join(
        f"{first}" if first == last else f"{first}-{last}" + ("" if step == 1 else f" by {step}")
        for first, last, step in ranges(ranks)
    )


def ranks_words(ranks: Sequence[int], n_ranks: int | None = None) -> str:
    """(0, 1, 2, 5) -> "0-2, 5"; all of them -> "all"; many pieces are counted instead."""
    if n_ranks is not None and len(ranks) == n_ranks > 1:
        return "all"
    pieces = id_range(ranks)
    if pieces.count(",") > 5:
        return f"{len(ranks):,} of {min(ranks):,}{DASH}{max(ranks):,}"
    return pieces


def id_range(ids: Iterable[int]) -> str:
    """(1, 2, 3, 7) -> "1-3, 7", with en dashes."""
    return ranks_text(sorted(ids)).replace("-", DASH)


def listed(entries: Sequence[object], at_most: int) -> str:
    """The first entries for a sentence, and how many more there are: "a, b and 3 more"."""
    shown = ", ".join(map(str, entries[:at_most]))
    more = len(entries) - at_most
    return f"{shown} and {more} more" if more > 0 else shown


def few(lines: Sequence[str], at_most: int = 8) -> tuple[str, ...]:
    """The first lines, and how many more there are."""
    if len(lines) <= at_most:
        return tuple(lines)
    return (*lines[:at_most], f"and {len(lines) - at_most:,} more")


def printable(text: str) -> str:
    """The text with characters that cannot or must not be shown made visible."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def size_words(size_bytes: int) -> str:
    """Every byte, and binary units where those are shorter to read: "8,191 B (8.0 KiB)", "1 MiB", "512 B"."""
    exact = exact_size(size_bytes)
    return (
        f"{exact} ({format_size(size_bytes)})"
        if exact.endswith(" B") and size_bytes >= 1024
        else exact
    )


def ranges(numbers: Sequence[int]) -> list[list[int]]:
    """Ascending numbers as ranges: (0, 1, 2, 8, 10, 12) -> [[0, 2, 1], [8, 12, 2]] ([first, last, step])."""
    found: list[list[int]] = []
    position = 0
    while position < len(numbers):
        step = numbers[position + 1] - numbers[position] if position + 1 < len(numbers) else 1
        end = position
        while end + 1 < len(numbers) and numbers[end + 1] - numbers[end] == step:
            end += 1
        if step > 1 and end - position == 1:  # two numbers far apart are no range
            end, step = position, 1
        found.append([numbers[position], numbers[end], step])
        position = end + 1
    return found


_LONGEST = 40  # characters of a list of numbers


def numbers_text(numbers: Sequence[int]) -> str:
    """Numbers as ranges; the first, how many, and the last where that is long."""
    text = ranks_text(numbers)
    if len(text) <= _LONGEST:
        return text
    return (
        f"{text[: text.rindex(', ', 0, _LONGEST // 2)]} ... {numbers[-1]} ({len(numbers)} phases)"
    )


def phases_text(numbers: Sequence[int]) -> str:
    """Phases in a sentence: "phase 7", "phases 1-40"."""
    return f"phase{'s' if len(numbers) > 1 else ''} {numbers_text(numbers)}"
