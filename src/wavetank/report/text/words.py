"""Quantities in words: with units, intervals and the digits that mean something."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal

from wavetank.compare.comparison import Configuration, Place
from wavetank.measure.statistics import Estimate
from wavetank.units import format_rate


def rate(bytes_per_s: float) -> str:
    """A transfer rate, decimal units."""
    return format_rate(bytes_per_s)


def money(value: float | Decimal, currency: str) -> str:
    """An amount with the digits that it needs: 12.30 USD, 0.0042 USD."""
    amount = float(value)
    if amount == 0:
        return f"0 {currency}"
    if abs(amount) >= 1:
        return f"{amount:,.2f} {currency}"
    return f"{Decimal(f'{amount:#.3g}'):f} {currency}"  # never 9.77e-05


def range_words(low: float, high: float, show: Callable[[float], str]) -> str:
    """Two values with the unit once: "215-234 ms"; "990 ms to 1.20 s" where the units differ."""
    first, second = show(low), show(high)
    number, _, unit = first.partition(" ")
    if first == second:
        return first
    if first[0] in "+-\N{MINUS SIGN}" or second.partition(" ")[2] != unit:
        return f"{first} to {second}"
    return f"{number}\N{EN DASH}{second}"


def change(percent: float) -> str:
    """A change with its sign: "+5.3 %", "-25.1 %"."""
    return f"{percent:+.1f} %".replace("-", "\N{MINUS SIGN}")


def interval_words(estimate: Estimate, show: Callable[[float], str]) -> str:
    """In parentheses, " (215-234 ms)"; nothing where one repetition cannot tell."""
    if estimate.low is None or estimate.high is None:
        return ""
    few = "" if estimate.range_of is None else f", range of {estimate.range_of}"
    return f" ({range_words(estimate.low, estimate.high, show)}{few})"


def estimate_words(estimate: Estimate, show: Callable[[float], str]) -> str:
    """Median with its interval."""
    return show(estimate.median) + interval_words(estimate, show)


def origins_words(configurations: Iterable[Configuration]) -> str:
    """Where numbers come from, for a caption: "Measured under emulated limits"."""
    return " and ".join(sorted({c.origin for c in configurations})).capitalize()


def place_words(place: Place) -> str:
    """A place, "1"; or "1-3" where what was measured does not tell."""
    return str(place.best) if place.best == place.worst else f"{place.best}\N{EN DASH}{place.worst}"


_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


def short_number(value: float) -> str:
    """1500 -> "1.5 k", 0.02 -> "0.02"."""
    factor, unit = next((f, u) for f, u in _DECIMAL if abs(value) >= f or f == 1)
    return f"{value / factor:.3g} {unit}".strip()
