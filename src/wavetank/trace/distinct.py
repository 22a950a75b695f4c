"""Rows of a table without repetition; by native/decode/texts.c, in time linear in the rows."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from wavetank import native
from wavetank.trace.schema import Int64Array


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native.find("lib/libwavetank-trace-decode.so", "read traces")))
    library.wt_first_equal.restype = ctypes.c_int64
    library.wt_first_equal.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    return library


def first_equal(numbers: npt.NDArray[np.uint64]) -> Int64Array:
    """For each number the place of the first one that is equal to it."""
    numbers = np.ascontiguousarray(numbers, dtype=np.uint64)
    first = np.empty(len(numbers), dtype=np.int64)
    status = _library().wt_first_equal(numbers.ctypes.data, len(numbers), first.ctypes.data)
    if status != 0:
        raise MemoryError
    return first


def distinct_rows(columns: Sequence[npt.NDArray[np.integer]]) -> tuple[Int64Array, Int64Array]:
    """The different rows of a table of some columns, and for each row which of them it is.

    By a 64-bit hash of the rows, which is compared far faster than the rows; checked afterwards. In the order of hashes.

    Returns:
        shapes (different rows, columns) and (rows,)
    """
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed ^= column.astype(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    first = first_equal(mixed)
    if any((column[first] != column).any() for column in columns):  # two rows of one hash
        table = np.stack([column.astype(np.int64) for column in columns], axis=1)
        distinct, inverse = np.unique(table, axis=0, return_inverse=True)
        return distinct, inverse.reshape(-1)
    places = np.flatnonzero(first == np.arange(len(first)))
    places = places[np.argsort(mixed[places])]
    number = np.empty(len(mixed), dtype=np.int64)
    number[places] = np.arange(len(places))
    found = np.empty((len(places), len(columns)), dtype=np.int64)
    for at, column in enumerate(columns):
        found[:, at] = column[places]
    return found, number[first]


def first_places(numbers: Int64Array) -> Int64Array:
    """Where each number comes first; numbers are 0 to the highest, and each comes."""
    found = np.empty(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
    found[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return found
