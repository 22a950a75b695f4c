"""Classes of request sizes, the same in every plot and table: Darshan's bins."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wavetank.units import exact_size, format_size

_KIB = 1024
_MIB = 1024 * _KIB
# Darshan's POSIX_SIZE_* counters: upper ends of the bins, bytes (darshan-posix-log-format.h).
_ENDS = (100, _KIB, 10 * _KIB, 100 * _KIB, _MIB, 4 * _MIB, 10 * _MIB, 100 * _MIB, 1024 * _MIB)
N_CLASSES = len(_ENDS) + 1
MAX_EXACT = 6  # different sizes that are still told apart by colour


@dataclass(frozen=True)
class Operations:
    """Data operations of one kind and size."""

    kind: str  # "read" or "write"
    rs: int  # request size, bytes
    count: int


def size_class(rs: int) -> int:
    """Index of the bin that a request size falls into, from 0."""
    return bisect_right(_ENDS, rs - 1) if rs > 0 else 0


def class_label(index: int) -> str:
    """The bin's range for people."""
    if index == 0:
        return f"up to {_ENDS[0]} B"
    if index == N_CLASSES - 1:
        return f"over {_short(_ENDS[-1])}"
    return f"{_short(_ENDS[index - 1])} \N{EN DASH} {_short(_ENDS[index])}"


@dataclass(frozen=True)
class Scale:
    """Which colour stands for which request size.

    Attributes:
        of: request size, bytes -> index of its colour, 0 (small) to 9 (large).
        labels: index -> what it stands for.
    """

    of: Mapping[int, int]
    labels: Mapping[int, str]


def size_scale(sizes: Iterable[int]) -> Scale:
    """A colour per request size where there are few, else per class; larger is always higher."""
    different = sorted(set(sizes))
    classes = {rs: size_class(rs) for rs in different}
    if len(different) <= MAX_EXACT:
        of: dict[int, int] = {}
        apart = 2 if 2 * len(different) <= N_CLASSES else 1  # neighbours that the eye tells apart
        for position, rs in enumerate(different):
            lowest = max(of.values(), default=-apart) + apart
            highest = N_CLASSES - 1 - apart * (len(different) - 1 - position)
            of[rs] = min(max(classes[rs], lowest), highest)
        return Scale(of, {index: exact_size(rs) for rs, index in of.items()})
    return Scale(classes, {index: class_label(index) for index in sorted(set(classes.values()))})


def _short(size_bytes: int) -> str:
    return format_size(size_bytes).replace(".0 ", " ")
