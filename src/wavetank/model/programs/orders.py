"""Orders in their normal form: entries of (symbol, count) in which a symbol may be a body of entries, a loop.

Why loops and no grammar (Sequitur), which is as exact and often shorter: a program is read by people, and performed. A loop is
a count and a body. A rule of a grammar that stands for two of another would have to be turned into counts again.

Why no form for orders without order: they are orders in which no loop pays. How they are found: native/model/order.c.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from wavetank.model.columns import from_c, library, pointer
from wavetank.trace.schema import Int64Array


class LoopsApartError(Exception):
    """What contracted loops leave out fits no loop of an order: all repetitions must be laid out."""


@dataclass(frozen=True)
class Orders:
    """Sequences of (symbol, count), folded.

    Attributes:
        entries: shape (2, n): symbols, from ``n_symbols`` on bodies; and how often each comes.
        root: where the entries of each sequence begin, and the end.
        bodies: shape (2, bodies): where the entries of each begin, and how many they are. They hold bodies of lower numbers only.
        n_symbols: that are no bodies.
    """

    entries: Int64Array
    root: Int64Array
    bodies: Int64Array
    n_symbols: int


class _Orders(ctypes.Structure):
    _fields_ = (
        ("n_symbols", ctypes.c_int64),
        ("n_sequences", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("first", "symbol", "count", "extra")),
    )


class _Folded(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("n_entries", "n_bodies", "n_kept", "status")),
        *((name, ctypes.c_void_p) for name in ("entries", "kept", "bodies")),
    )


_NO_LOOP = 2


def fold(
    first: Int64Array, symbol: Int64Array, count: Int64Array, left_out: Int64Array, n_symbols: int
) -> Orders:
    """Folds sequences.

    Args:
        first: where each begins, and the end.
        symbol: of each entry, below ``n_symbols``; neighbours differ.
        count: how often it comes.
        left_out: operations of a loop that are left out before it.
        n_symbols: how many symbols there are.

    Raises:
        LoopsApartError: what is left out fits no loop.
    """
    narrow, counts = symbol.astype(np.int32), np.ascontiguousarray(count)
    extra = left_out if left_out.any() else None
    given = _Orders(
        n_symbols, len(first) - 1, pointer(first), pointer(narrow), pointer(counts), pointer(extra)
    )
    root, found = np.empty(len(first), dtype=np.int64), _Folded()
    library().wt_fold_orders(ctypes.byref(given), pointer(root), ctypes.byref(found))
    if found.status == _NO_LOOP:
        raise LoopsApartError
    if found.status:
        raise MemoryError
    roots = from_c(found.entries, found.n_entries, 3)[:2]
    kept = from_c(found.kept, found.n_kept, 3)[:2]
    bodies = from_c(found.bodies, found.n_bodies, 4)[:2]
    bodies[0] += found.n_entries
    return Orders(np.concatenate([roots, kept], axis=1), root, bodies, n_symbols)
