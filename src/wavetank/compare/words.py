"""Estimates, places and configurations in words, the same in advice and in every table."""

from __future__ import annotations

import math
from collections.abc import Iterable

from wavetank.cluster.guests.hypervisors import INCOMPARABLE
from wavetank.compare.comparable import marks_words
from wavetank.compare.comparison import Criterion, Place
from wavetank.compare.configuration import Configuration
from wavetank.compare.search_record import Dropped
from wavetank.cost.estimate import MEGABYTE
from wavetank.measure.statistics import Estimate
from wavetank.tables.words import DASH
from wavetank.units import format_duration, format_rate


def show(of: Estimate, by: Criterion, currency: str = "") -> str:
    """An estimate with its interval, in the unit of its criterion."""
    median = show_value(of.median, by, currency)
    if of.low is None or of.high is None:
        return f"{median} (one repetition)"
    low, high = show_value(of.low, by, currency), show_value(of.high, by, currency)
    few = "" if of.range_of is None else f", range of {of.range_of}"
    return f"{median} [{low} to {high}{few}]"


def show_value(value: float, by: Criterion, currency: str = "") -> str:
    """One value, in the unit of its criterion."""
    if by == "time":
        return format_duration(value)
    if by == "cost":
        return f"{three_digits(value)} {currency}".rstrip()
    return ratio_words(value, currency)


def ratio_words(value: float, currency: str) -> str:
    """A performance-cost ratio (P15 eq. 8), which is in MB/s per currency unit: "484 GB/s per USD"."""
    return f"{format_rate(value * MEGABYTE)} per {currency or 'unit'}"


def three_digits(value: float) -> str:
    """A number with three significant digits, never in powers of ten: 0.000198, 12.3, 484,000."""
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def place_words(place: Place) -> str:
    """A place, "1"; or "1-3" where what was measured does not tell."""
    return str(place.best) if place.best == place.worst else f"{place.best}{DASH}{place.worst}"


def origins_words(configurations: Iterable[Configuration]) -> str:
    """Where numbers come from, for a caption: "Measured under emulated limits"; and which are not comparable."""
    found = list(configurations)
    return " and ".join(sorted({c.origin for c in found})).capitalize() + marks_words(found)


def configuration_words(configuration: Configuration) -> str:
    """A configuration for people: its cluster's title and its mapping."""
    return f"{configuration.cluster_title} with {configuration.mapping}"


def dropped_words(each: Dropped, by: Criterion) -> str:
    """Why a search dropped a configuration: "place 9 of 10 by time after 1 measurement; the first had 0.73 s"."""
    n = len(each.io_times_s)
    times = "1 measurement" if n == 1 else f"{n} measurements"
    said = (
        f"place {each.place} of {each.of} by {by} after {times}; "
        f"the first had {format_duration(each.first_s)}"
    )
    if not each.comparable:
        return f"{said}; its numbers are {INCOMPARABLE}"
    if each.incomparable_kept:
        before = f"{each.incomparable_kept} that went on {'is' if each.incomparable_kept == 1 else 'are'}"
        return f"{said}; {before} {INCOMPARABLE}, and this one is comparable"
    return said
