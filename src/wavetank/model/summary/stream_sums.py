"""What the data operations of each rank on each file come to; by native/model/sums.c, which says what is counted how."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from wavetank.model.columns import Column, from_c, library, pointer
from wavetank.model.events.rows import Rows
from wavetank.model.phases.streams import Around, Streams, around_of
from wavetank.trace.ops import codes_where
from wavetank.trace.schema import Int64Array, OpKind


@dataclass(frozen=True)
class StreamSums:
    """Columns of equal length; a row is one level, file, rank and file view.

    Attributes:
        file, level, rank, view: whose.
        reads, writes: operations.
        sequential, consecutive: operations behind, or right behind, the end of the one before.
        end: highest offset touched + 1, bytes, in the view where there is one; 0 where no place is known.
        known, unknown: operations at known places, and at others.
    """

    file: Int64Array
    level: Int64Array
    rank: Int64Array
    view: Int64Array
    reads: Int64Array
    writes: Int64Array
    sequential: Int64Array
    consecutive: Int64Array
    end: Int64Array
    known: Int64Array
    unknown: Int64Array


_TABLE = ("file", "rank", "view", "count", "size", "moved", "offset", "disp", "view_offset", "view_disp")  # fmt: skip


class _Data(ctypes.Structure):
    _fields_ = (
        ("n", ctypes.c_int64), ("index", ctypes.c_void_p), ("reads", ctypes.c_void_p),
        *((name, Column) for name in ("op", "file", "level", "rank", "view", "count", "size", "moved", "offset", "disp")),
        *((name, Column) for name in ("view_offset", "view_disp", "gap")), ("around", Around),
    )  # fmt: skip


def stream_sums(rows: Rows, data: Streams) -> StreamSums:
    """The sums of all streams."""
    table, around = rows.table, rows.around
    reads = codes_where(lambda op: op.kind == OpKind.READ)
    of = {name: Column.of(getattr(table, name)) for name in ("op", *_TABLE)}
    given = _Data(
        n=len(data), index=pointer(data.in_order), reads=pointer(reads), **of,
        level=Column.of(rows.level), gap=Column.of(around.gap), around=around_of(rows, around.step),
    )  # fmt: skip
    n = ctypes.c_int64()
    found = library().wt_sums(ctypes.byref(given), ctypes.byref(n))
    return StreamSums(*from_c(found, n.value, 11))
