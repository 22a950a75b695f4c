"""Sizes, rates and durations as people write them, and back.

Bytes are ints, rates are bytes per second, durations are seconds. "MiB" is binary, "MB" decimal.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator

MIB, GIB = 2**20, 2**30
GB = 10**9
_FACTORS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "p": 10**15,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
    "pi": 2**50,
}
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kmgtp]?i?)b?\s*$", re.IGNORECASE)
_HOW_SIZE = "Write a number of bytes or, e.g., '64 KiB'; units: k, M, G, T, P (decimal), Ki, Mi, Gi, Ti, Pi (binary)"
_RATE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kmgtp]?i?)(b|bit)(?:/s|ps)\s*$", re.IGNORECASE)
_DURATION = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h|d)?\s*$")
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


def parse_size(text: str | int) -> int:
    """Bytes of "64 KiB", "17 GB" or a plain number.

    Raises:
        ValueError: not a size, negative, or not a whole number of bytes.
    """
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise ValueError(f"{text!r} is not a size. {_HOW_SIZE}")
    if isinstance(text, int):
        if text < 0:
            raise ValueError(f"{text} is not a size: it is negative")
        return text
    match = _SIZE.match(text)
    if match is None or match[2].lower() == "i":
        raise ValueError(f"{text!r} is not a size. {_HOW_SIZE}")
    # Exact beyond 2^53 too: no detour by floating point.
    return round(Fraction(match[1]) * _FACTORS[match[2].lower()])


def parse_rate(text: str | int) -> int:
    """Bytes per second of "100 MB/s", "1 Gbit/s" or a plain number of bytes per second.

    Raises:
        ValueError: not a rate, or not positive.
    """
    if isinstance(text, int) and not isinstance(text, bool):
        value = float(text)
    elif (
        isinstance(text, str)
        and (match := _RATE.match(text)) is not None
        and match[2].lower() != "i"
    ):
        value = float(match[1]) * _FACTORS[match[2].lower()]
        if match[3].lower() == "bit":
            value /= 8
    else:
        raise ValueError(f"{text!r} is not a rate. Write, e.g., '100 MB/s' or '1 Gbit/s'")
    if value < 1:
        raise ValueError(f"{text!r} is not a rate: it must be positive")
    return round(value)


def parse_duration(text: str | float) -> float:
    """Seconds of "90 s", "2 min", "1 h" or a plain number of seconds.

    Raises:
        ValueError: not a duration, or negative.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        if not 0 <= text < math.inf:  # not a number is not in the range either
            raise ValueError(
                f"{text} is not a duration: it is {'negative' if text < 0 else 'not finite'}"
            )
        return float(text)
    match = _DURATION.match(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is not a duration. Write, e.g., '90 s' or '2 min'")
    return float(match[1]) * _SECONDS[match[2]]


def format_size(size_bytes: float) -> str:
    """A size for people, in binary units: 27.1 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size_bytes) < 1024:
            return f"{size_bytes:.0f} B" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:.1f} PiB"


def exact_size(size_bytes: int) -> str:
    """Every byte: "8,191 B"; in larger units only where that is exact: "1 MiB", "10 GB"."""
    for unit, factor in (
        ("GiB", 2**30), ("GB", 10**9), ("MiB", 2**20), ("MB", 10**6), ("KiB", 2**10),
    ):  # fmt: skip
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor:,} {unit}"
    return f"{size_bytes:,} B"


def exact_rate(bytes_per_s: int) -> str:
    """A rate without rounding, as people write limits: 40 MB/s, 62.5 MB/s."""
    return _exact_decimal(bytes_per_s, "B/s")


def exact_network_rate(bytes_per_s: int) -> str:
    """A rate of a network without rounding, in bits: 1 Gbit/s."""
    return _exact_decimal(8 * bytes_per_s, "bit/s")


def _exact_decimal(amount: int, unit: str) -> str:
    for prefix, factor in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if amount >= factor:
            whole, rest = divmod(amount, factor)
            decimals = f"{rest:0{len(str(factor)) - 1}d}".rstrip("0")
            return f"{whole:,}{'.' if decimals else ''}{decimals} {prefix}{unit}"
    return f"{amount} {unit}"


def format_rate(bytes_per_s: float) -> str:
    """A transfer rate for people, in decimal units as the field prints them: 104.2 MB/s."""
    for unit in ("B/s", "kB/s", "MB/s", "GB/s"):
        if abs(bytes_per_s) < 1000:
            return f"{bytes_per_s:.1f} {unit}"
        bytes_per_s /= 1000
    return f"{bytes_per_s:.1f} TB/s"


def format_duration(seconds: float) -> str:
    """A duration for people: 350 us, 12 ms, 3.21 s, 2 min 05 s."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 60:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def format_estimate(seconds: float) -> str:
    """A duration that is a guess, no finer than one knows it: 8 s, 55 s, 3 min, 1 h 20 min."""
    if seconds < 10:
        return f"{max(round(seconds), 1)} s"
    if seconds < 57.5:
        return f"{5 * round(seconds / 5)} s"
    minutes = max(round(seconds / 60), 1)
    if minutes < 60:
        return f"{minutes} min"
    minutes = 5 * round(minutes / 5)
    return f"{minutes // 60} h {minutes % 60:02d} min"


Size = Annotated[int, BeforeValidator(parse_size)]
"""A field of a specification that is a size in bytes."""
Rate = Annotated[int, BeforeValidator(parse_rate)]
"""A field of a specification that is a rate in bytes per second."""
Duration = Annotated[float, BeforeValidator(parse_duration)]
"""A field of a specification that is a duration in seconds."""
