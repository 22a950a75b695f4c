"""Calls the C passes over loops and irregular stretches of a chunk (native/model/blocks.c)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache

import numpy as np

from wavetank.model.native.survey import (
    Chunk,
    Table,
    UInt32Array,
    UInt64Array,
    Workspace,
    address,
    load,
)
from wavetank.model.rules import Rules
from wavetank.trace.schema import BoolArray, FoldTable, Int64Array


class _Loop(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("low", "high", "period", "shortest")),
        ("in_view", ctypes.c_bool),
        ("bent", ctypes.c_void_p),
        ("irregular", ctypes.c_void_p),
        ("n_parts", ctypes.c_int64),
        ("first", ctypes.c_void_p),
        ("stop", ctypes.c_void_p),
    )


class _Stretch(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("asked", "busy_ns")),
        *((name, ctypes.c_bool) for name in ("unknown", "empty", "differs")),
    )


@cache
def _library() -> ctypes.CDLL:
    number, pointer, table = ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(Table)
    return load(
        ("wt_matched", number, [pointer, number, number, number]),
        ("wt_loop", ctypes.c_bool, [table, pointer, ctypes.POINTER(_Loop)]),
        ("wt_part_sums", None, [pointer, pointer, number, number, pointer]),
        ("wt_stretch", None, [table, number, number, ctypes.POINTER(_Stretch)]),
        (
            "wt_parts_by_size", number,
            [pointer, number, ctypes.c_bool, ctypes.c_double, ctypes.c_double, number, pointer],
        ),
    )  # fmt: skip


def matched(signature: UInt64Array, position: int, high: int, period: int) -> int:
    """How many operations from ``position`` on equal the one ``period`` later, which lies before ``high``."""
    found = _library().wt_matched(address(signature), position, high, period)
    return int(found)


@dataclass(frozen=True)
class LoopParts:
    """Where a loop's members stay at equal distances.

    Attributes:
        parts: shape (parts, 2), first repetition of each and the one behind its last.
        irregular: shape (members,), whether the distance of a member's operations changes anywhere.
    """

    parts: Int64Array
    irregular: BoolArray


def loop_parts(
    chunk: Chunk[FoldTable],
    code: UInt32Array,
    loop: tuple[int, int, int],
    shortest: int,
    workspace: Workspace,
) -> LoopParts | None:
    """Look at a loop; None if its repetitions are not of the same calls and sizes.

    Args:
        chunk: the chunk.
        code: by operation, number of what it has in common with others but its size and place.
        loop: first operation, the one behind the last, operations of a repetition; two repetitions or more.
        shortest: repetitions of a part.
        workspace: of arrays.
    """
    low, high, period = loop
    turns = (high - low) // period
    irregular = np.empty(period, dtype=bool)
    bent = workspace.array("bent", turns, np.uint8)
    first, stop = (
        workspace.array(name, turns // shortest + 1, np.int64) for name in ("part", "part_end")
    )
    in_view = bool((chunk.table.view[low : low + period] >= 0).any())
    found = _Loop(
        low, high, period, shortest, in_view, address(bent), address(irregular), 0, address(first), address(stop),
    )  # fmt: skip
    if not _library().wt_loop(chunk.pointers, address(code), ctypes.byref(found)):
        return None
    n = found.n_parts
    return LoopParts(np.stack([first[:n], stop[:n]], axis=1), irregular)


def busy_of_members(chunk: Chunk[FoldTable], bounds: Int64Array, period: int) -> Int64Array:
    """Time that each member of each part of a loop took in all, nanoseconds; the parts' in sequence.

    Args:
        chunk: the chunk.
        bounds: shape (parts, 2), operations of each part.
        period: members.
    """
    sums = np.empty(len(bounds) * period, dtype=np.int64)
    parts = np.ascontiguousarray(bounds, dtype=np.int64)
    _library().wt_part_sums(
        chunk.pointers.busy_ns, address(parts), len(parts), period, address(sums)
    )
    return sums


@dataclass(frozen=True)
class Stretch:
    """Operations in sequence.

    Attributes:
        asked: sum of their sizes, bytes.
        busy_ns: time that they took.
        unknown: whether an offset is not known.
        empty: whether one is of no bytes.
        differs: whether sizes differ.
    """

    asked: int
    busy_ns: int
    unknown: bool
    empty: bool
    differs: bool


def stretch(chunk: Chunk[FoldTable], low: int, high: int) -> Stretch:
    """What operations [low, high) are together."""
    found = _Stretch()
    _library().wt_stretch(chunk.pointers, low, high, ctypes.byref(found))
    return Stretch(found.asked, found.busy_ns, found.unknown, found.empty, found.differs)


def parts_by_size(
    chunk: Chunk[FoldTable], low: int, high: int, rules: Rules, regular: int, workspace: Workspace
) -> list[int]:
    """Bounds, from 0, of parts of operations [low, high) of similar sizes throughout, and of what lies between.

    ``regular``: operations of such a part at least.
    """
    bounds = workspace.array("bounds", high - low + 1, np.int64)
    least, most = rules.similarity or (1.0, 1.0)
    n = _library().wt_parts_by_size(
        chunk.pointers.size + 8 * low, high - low, rules.similarity is None, least, most, regular, address(bounds),
    )  # fmt: skip
    found: list[int] = bounds[:n].tolist()
    return found
