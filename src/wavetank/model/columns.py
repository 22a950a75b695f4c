"""Helpers for tables that are columns, and the calls of C passes over them (native/model).

Two idioms recur everywhere and have a name here: where runs of equal values start, and how many places each of some counts takes.
The C passes read numpy's columns in place: also narrow ones, and one number that stands for all rows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank import native
from wavetank.errors import NativeError
from wavetank.trace.schema import BoolArray, Int64Array

Numbers = npt.NDArray[Any]
"""A column of whole numbers of any width."""


def starts(*columns: Numbers) -> Int64Array:
    """First index of each run of equal rows."""
    new = np.zeros(len(columns[0]), dtype=bool)
    new[:1] = True
    for column in columns:
        if column.strides != (0,):  # one number stands for all
            new[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(new)


def until(first: Int64Array, end: int) -> Int64Array:
    """Where runs start, and the end of the last one."""
    return np.append(first, end)


def edges_of(counts: Numbers) -> Int64Array:
    """Where each of some counts begins, and the end of the last one."""
    found = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def lengths(first: Int64Array, n: int) -> Int64Array:
    """Of runs that start at ``first``, the last one of which ends at ``n``."""
    return np.diff(first, append=n)


def spread(counts: Numbers) -> tuple[Int64Array, Int64Array]:
    """For each of ``counts[i]`` places: i, and the place within it."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - edges_of(counts)[owner]


def stable_order(key: Numbers) -> Int64Array | None:
    """Rows by ``key``, equal ones as they are; None where they lie so already."""
    if not len(key) or not (key[1:] < key[:-1]).any():
        return None
    if int(key.max()) < 1 << 16 and int(key.min()) >= 0:
        key = key.astype(np.uint16)  # sorted by radix
    return np.argsort(key, kind="stable")


def sums(values: Numbers, group: Numbers, n: int) -> Int64Array:
    """Of each of ``n`` groups the sum of its values, exactly."""
    found = np.zeros(n, dtype=np.int64)
    np.add.at(found, group, values)
    return found


# --- the C passes --------------------------------------------------------------------------------


class Column(ctypes.Structure):
    """``struct column``: the array that it is of must live as long."""

    _fields_ = (("at", ctypes.c_void_p), ("stride", ctypes.c_int64), ("width", ctypes.c_int64))

    @classmethod
    def of(cls, column: Numbers) -> Column:
        """A column as C reads it."""
        return cls(pointer(column), column.strides[0], column.itemsize)


@cache
def library() -> ctypes.CDLL:
    """The C passes.

    Raises:
        NativeError: they are not built, or of another version.
    """
    path = native.find("lib/libwavetank-model.so", "make models")
    found = ctypes.CDLL(str(path))
    at, number = ctypes.c_void_p, ctypes.c_int64
    for name, result, arguments in (
        ("wt_join_singles", at, [at, at]),
        ("wt_cuts", at, [at, at]),
        ("wt_sums", at, [at, at]),
        ("wt_runs", at, [at, at, at]),
        ("wt_fold_orders", None, [at, at, at]),
        ("wt_numbered", number, [at, number, number, at]),
        ("wt_free", None, [at]),
    ):
        if not hasattr(found, name):
            raise NativeError(
                f"{path} is of another version of wavetank: it has no {name}. Build the C parts of native/ again with "
                "'make build/native/.installed' (where build/native is a link, remove the link first)"
            )
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


def pointer(column: Numbers | None) -> int | None:
    """Address of a column."""
    if column is None:
        return None
    address: int = column.__array_interface__["data"][0]
    return address


def from_c(address: int | None, n: int, columns: int) -> Int64Array:
    """Rows of 64-bit numbers that C made, as columns: shape (columns, n). C's own are freed.

    Raises:
        MemoryError: C had none: ``n`` is below 0.
    """
    if n < 0:
        raise MemoryError
    if not n or address is None:
        found: Int64Array = np.zeros((columns, 0), dtype=np.int64)
    else:
        memory = memoryview((ctypes.c_char * (8 * n * columns)).from_address(address))
        found = np.frombuffer(memory, dtype=np.int64).reshape(n, columns).T.copy()
    library().wt_free(address)
    return found


def numbered(*columns: Numbers) -> tuple[Int64Array, Int64Array]:
    """A number for each row, the same for equal rows, and the first row of each number; in the order of first rows."""
    k, n = len(columns), len(columns[0])
    table = np.empty((k, n), dtype=np.int64)
    for place, column in zip(table, columns, strict=True):
        place[:] = column
    out = np.empty((2, n), dtype=np.int64)
    found = library().wt_numbered(pointer(table), k, n, pointer(out))
    if found < 0:
        raise MemoryError
    return out[0], out[1, :found]


def different(column: Numbers) -> Numbers:
    """The different numbers of a column, ascending: np.unique, which has to import numpy.ma first, in linear time."""
    return np.sort(column[numbered(column)[1]])


def distinct(column: Numbers) -> tuple[Int64Array, Int64Array]:
    """The different numbers of a column, ascending, and for each row which of them it is; in time linear in the rows."""
    number, first = numbered(column)
    values = np.asarray(column[first], dtype=np.int64)
    order = np.argsort(values)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return values[order], place[number]


def numbered_lists(values: Numbers, first: Int64Array) -> Int64Array:
    """A number for each list of values, the same for equal ones. ``first``: where lists begin, and the end."""
    n, length = len(first) - 1, np.diff(first)
    if not n:
        return first[:0]
    if (length == length[0]).all():
        return numbered(*values.reshape(n, -1).T)[0]
    known: dict[bytes, int] = {}
    edges, content = first.tolist(), np.ascontiguousarray(values, dtype=np.int64).tobytes()
    return np.array(
        [known.setdefault(content[8 * a : 8 * z], len(known)) for a, z in pairwise(edges)],
        dtype=np.int64,
    )


def chosen(some: Iterable[int] | Mapping[int, bool]) -> BoolArray:
    """By small number, whether it is one of some."""
    found = np.zeros(256, dtype=bool)
    if isinstance(some, Mapping):
        some = [number for number, is_one in some.items() if is_one]
    found[list(some)] = True
    return found
