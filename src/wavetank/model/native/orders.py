"""Calls the C passes over orders: numbers of one to eight bytes, one for each operation (native/model/steps.c)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank.model.native.survey import UInt32Array, address, load
from wavetank.trace.schema import Int64Array

_FEW = 32  # WT_FEW in native/model/model.h
_TOO_NARROW = -2  # WT_TOO_NARROW


class _Steps(ctypes.Structure):
    _fields_ = (
        ("symbol_of", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("n_symbols", "base")),
        ("steps", ctypes.c_void_p),
        ("width", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("few", "slots", "number")),
        ("n_slots", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("symbol", "times")),
        ("n_different", ctypes.c_int64),
    )


@cache
def _library() -> ctypes.CDLL:
    number, pointer, width = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int
    return load(
        (
            "wt_join_steps", number,
            [pointer, number, width, ctypes.c_bool, ctypes.POINTER(_Steps)],
        ),
        ("wt_lay_symbols", number, [pointer, number, width, *[pointer] * 5, width]),
        ("wt_find", number, [pointer, number, number, width, number, number]),
        ("wt_translate", number, [pointer, number, width, pointer, pointer, width]),
        ("wt_tally", None, [pointer, number, width, pointer, number]),
        ("wt_first_come", number, [pointer, number, width, pointer, number, pointer]),
    )  # fmt: skip


def narrow(most: int) -> type[np.uint8 | np.uint16 | np.uint32]:
    """The narrowest type for numbers from 0 to ``most``."""
    return np.uint8 if most < 1 << 8 else np.uint16 if most < 1 << 16 else np.uint32


def join_steps(
    order: npt.NDArray[Any], symbol_of: UInt32Array, base: int = 0
) -> tuple[npt.NDArray[Any], Int64Array, Int64Array]:
    """Steps that operations in order make, neighbours of one symbol joined.

    Args:
        order: numbers, uint8 or uint32.
        symbol_of: by number; 0 is left out.
        base: number of the first of the different steps; the others follow, as they come.

    Returns:
        A number for each step; the symbol and the operations of each of the different steps, by number.
    """
    order, symbol_of = np.ascontiguousarray(order), np.ascontiguousarray(symbol_of, dtype=np.uint32)
    n_symbols = int(symbol_of.max(initial=0)) + 1
    n_slots, width = 1 << 12, narrow(base + 1)
    while True:
        few = np.zeros(_FEW * n_symbols, dtype=np.int32)
        slots, number = np.zeros(n_slots, dtype=np.uint64), np.empty(n_slots, dtype=np.int32)
        symbol, times = (np.empty(n_slots // 2, dtype=np.int64) for _ in range(2))
        steps = np.empty(len(order), dtype=width)
        found = _Steps(
            address(symbol_of), n_symbols, base, address(steps), steps.itemsize, address(few), address(slots), address(number),
            n_slots, address(symbol), address(times),
        )  # fmt: skip
        made = _library().wt_join_steps(
            address(order), len(order), order.itemsize, bool(symbol_of.all()), ctypes.byref(found)
        )
        if made >= 0:
            n = found.n_different
            return steps[:made], symbol[:n], times[:n]
        if made == _TOO_NARROW:
            width = np.uint16 if steps.itemsize == 1 else np.uint32
        else:
            n_slots *= 8


def lay_symbols(
    order: npt.NDArray[Any], of_substream: Sequence[tuple[Int64Array, Int64Array]], most: int
) -> npt.NDArray[Any]:
    """The symbol of each operation in order.

    Args:
        order: the substream of each operation, uint8 or uint32.
        of_substream: by substream the symbols of its operations, and how many of them each is of.
        most: the largest symbol.
    """
    order = np.ascontiguousarray(order)
    symbols = np.concatenate([symbol for symbol, _ in of_substream]).astype(np.uint32)
    lengths = np.concatenate([length for _, length in of_substream]).astype(np.int64)
    n = np.array([len(symbol) for symbol, _ in of_substream], dtype=np.int64)
    if not np.array_equal(
        np.add.reduceat(lengths, np.cumsum(n) - n), tally(order, len(of_substream))
    ):
        raise ValueError("substreams have more or fewer operations than symbols")
    run = np.cumsum(n) - n
    left = lengths[run]
    found = np.empty(len(order), dtype=narrow(most))
    _library().wt_lay_symbols(
        address(order), len(order), order.itemsize, address(symbols), address(lengths), address(run), address(left), address(found),
        found.itemsize,
    )  # fmt: skip
    return found


def find(numbers: npt.NDArray[Any], at: int, n: int, low: int, high: int) -> int:
    """Where in [low, high) the ``n`` numbers from ``at`` on come first; -1 if nowhere."""
    if not 0 <= at <= at + n <= len(numbers) or not 0 <= low <= high <= len(numbers):
        raise IndexError("places outside of the numbers")
    numbers = np.ascontiguousarray(numbers)
    place: int = _library().wt_find(address(numbers), low, high, numbers.itemsize, at, n)
    return place


def translated(
    numbers: npt.NDArray[Any], to: npt.NDArray[Any], width: type[np.generic]
) -> npt.NDArray[Any]:
    """``to[numbers]``, of an unsigned type of up to four bytes."""
    numbers, to = np.ascontiguousarray(numbers), np.ascontiguousarray(to, dtype=np.uint32)
    found = np.empty(len(numbers), dtype=width)
    _library().wt_translate(
        address(numbers),
        len(numbers),
        numbers.itemsize,
        address(to),
        address(found),
        found.itemsize,
    )
    return found


def tally(numbers: npt.NDArray[Any], n_different: int) -> Int64Array:
    """How often each number below ``n_different`` comes; there are no others."""
    numbers = np.ascontiguousarray(numbers)
    counts = np.zeros(n_different, dtype=np.int64)
    _library().wt_tally(
        address(numbers), len(numbers), numbers.itemsize, address(counts), len(counts)
    )
    return counts


def first_come(numbers: npt.NDArray[Any], counts: Int64Array) -> Int64Array:
    """The different numbers in the order in which they first come; ``counts`` is their tally."""
    numbers = np.ascontiguousarray(numbers)
    seen = np.zeros(len(counts), dtype=np.uint8)
    different = np.empty(int(np.count_nonzero(counts)), dtype=np.int64)
    _library().wt_first_come(
        address(numbers), len(numbers), numbers.itemsize, address(seen), len(different), address(different)
    )  # fmt: skip
    return different
