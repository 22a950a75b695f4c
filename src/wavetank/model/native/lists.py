"""Calls the C passes over lists of operations without regularity, and over turns that they take (native/model/steps.c)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank.model.native.survey import address, load
from wavetank.trace.schema import Int64Array


class _Turns(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in ("list_of", "offset", "sizes", "size", "direction", "next", "ends", "counts")
    )


@cache
def _library() -> ctypes.CDLL:
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    return load(
        ("wt_gather", None, [pointer, pointer, number, pointer]),
        ("wt_scatter", None, [pointer, pointer, number, pointer]),
        ("wt_sums", None, [pointer, pointer, number, pointer]),
        ("wt_sequential", None, [pointer, pointer, number, number, pointer]),
        ("wt_sequential_turns", None, [pointer, number, ctypes.c_int, ctypes.POINTER(_Turns)]),
        ("wt_highest", number, [pointer, pointer, number, number]),
    )  # fmt: skip


@dataclass(frozen=True)
class Stretches:
    """Stretches of columns: the address of each one's first number, and how many there are."""

    place: Int64Array
    length: Int64Array
    kept: tuple[Int64Array, ...]  # the columns

    @classmethod
    def of(cls, column: Int64Array, first: Int64Array, length: Int64Array) -> Stretches:
        """Stretches [first, first + length) of one column."""
        column = np.ascontiguousarray(column, dtype=np.int64)
        inside = (first >= 0) & (length >= 0) & (first + length <= len(column))
        if not inside.all():
            raise IndexError("a row points behind its list")
        return cls(
            column.ctypes.data + 8 * first, np.ascontiguousarray(length, dtype=np.int64), (column,)
        )

    def gather(self, to: Int64Array) -> None:
        """Copy them, in sequence."""
        if int(self.length.sum()) != len(to):
            raise ValueError(f"{int(self.length.sum())} numbers do not fit {len(to)} places")
        _library().wt_gather(
            address(self.place), address(self.length), len(self.length), address(to)
        )

    def scatter(self, addresses: Int64Array) -> None:
        """Copy each to its address."""
        if len(addresses) != len(self.length):
            raise ValueError(f"{len(addresses)} places for {len(self.length)} stretches")
        _library().wt_scatter(
            address(self.place), address(self.length), len(self.length), address(addresses)
        )

    def sums(self) -> Int64Array:
        """The sum of each."""
        found = np.empty(len(self.length), dtype=np.int64)
        _library().wt_sums(address(self.place), address(self.length), len(found), address(found))
        return found


def sequential(offset: Int64Array, size: Int64Array | int) -> tuple[int, int]:
    """Operations behind the first that begin at or behind the end of the one before, and right behind it."""
    sizes, one = _sizes(size)
    offset = np.ascontiguousarray(offset)
    counts = np.zeros(2, dtype=np.int64)
    _library().wt_sequential(address(offset), address(sizes), one, len(offset), address(counts))
    return int(counts[0]), int(counts[1])


def highest(offset: Int64Array, size: Int64Array | int) -> int:
    """The largest offset + size, at least 0."""
    sizes, one = _sizes(size)
    offset = np.ascontiguousarray(offset)
    return int(_library().wt_highest(address(offset), address(sizes), one, len(offset)))


def _sizes(size: Int64Array | int) -> tuple[Int64Array | None, int]:
    return (np.ascontiguousarray(size), 0) if isinstance(size, np.ndarray) else (None, int(size))


@dataclass(frozen=True)
class TurnList:
    """Offsets, and sizes or the one size, of a substream's operations, bytes; operations of one direction follow on each other."""

    offset: Int64Array
    size: Int64Array | int
    direction: int


def sequential_turns(
    order: npt.NDArray[Any], list_of: npt.NDArray[np.int32], lists: Sequence[TurnList], ends: Int64Array
) -> Int64Array:  # fmt: skip
    """The counts of ``sequential`` where lists take turns: shape (lists, 2), all operations.

    Args:
        order: the substream of each operation, uint8 or uint32.
        list_of: by substream a list from 0, or -1.
        lists: by number.
        ends: by direction the end of the operation before; set to that of the last one.
    """
    n = len(lists)
    kept = [(np.ascontiguousarray(one.offset), *_sizes(one.size), one.direction) for one in lists]
    offsets = (ctypes.c_void_p * n)(*(address(offset) for offset, *_ in kept))
    sizes = (ctypes.c_void_p * n)(*(address(size) for _, size, _, _ in kept))
    one_size = np.array([one for _, _, one, _ in kept], dtype=np.int64)
    direction = np.array([of for *_, of in kept], dtype=np.int64)
    following, counts = np.zeros(n, dtype=np.int64), np.zeros((n, 2), dtype=np.int64)
    turns = _Turns(
        address(list_of), ctypes.addressof(offsets), ctypes.addressof(sizes), address(one_size), address(direction),
        address(following), address(ends), address(counts),
    )  # fmt: skip
    _library().wt_sequential_turns(address(order), len(order), order.itemsize, ctypes.byref(turns))
    return counts
