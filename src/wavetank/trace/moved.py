"""Puts into the rows what is known only later: bytes that nonblocking and split calls really moved.

The tracer records such a call when it is made, with the bytes asked for; the MPI_Status that comes with its
completion may say less (a read past the end of the file).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavetank.trace.decoder import Columns, Decoded
from wavetank.trace.schema import UNKNOWN, Int64Array


@dataclass(frozen=True)
class _Pieces:
    """Parts of rows, in order: ``n`` operations of ``row`` from its ``skipped``-th on."""

    row: Int64Array
    skipped: Int64Array
    n: Int64Array
    unrolled: npt.NDArray[np.bool_]  # out of a loop


def correct_moved(rows: Decoded, moved: Mapping[int, int]) -> Decoded:
    """Split rows at operations that moved less than was asked for; unroll loops that hold such a one.

    Args:
        rows: of one process.
        moved: bytes by number of the operation within the process; numbers that are not there are left alone.

    Returns:
        The same operations, each corrected one a row of its own. Times inside of a split row are means.
    """
    numbers = np.array(sorted(moved), dtype=np.int64)
    columns = rows.columns
    if not len(numbers) or not len(columns["seq"]):
        return rows
    unrolled = _unroll(columns, numbers)
    columns = _cut(columns, unrolled)
    split = _split(columns, numbers)
    columns = _cut(columns, split)
    corrected = np.flatnonzero(
        (columns["count"] == 1) & np.isin(columns["seq"], numbers) & (columns["loop"] == 0)
    )
    columns["moved"][corrected] = [moved[int(n)] for n in columns["seq"][corrected]]
    origin = unrolled.row[split.row]
    first = np.full(len(rows.columns["seq"]), len(origin), dtype=np.int64)
    np.minimum.at(first, origin, np.arange(len(origin)))
    return Decoded(columns, rows.n_folds, first[rows.times_row], rows.times_counts)


def _unroll(columns: Columns, numbers: Int64Array) -> _Pieces:
    """Loops that hold one of the numbers, repetition by repetition; everything else as it is."""
    loop, first, count = columns["loop"], columns["seq"], columns["count"]
    begins = np.flatnonzero(np.append(True, (loop[1:] != loop[:-1]) | (loop[1:] == 0)))
    ends = np.append(begins[1:], len(loop))
    low = first[begins]
    high = low + (ends - begins) * count[begins]
    hit = (loop[begins] > 0) & (
        np.searchsorted(numbers, low) < np.searchsorted(numbers, high, side="left")
    )
    row: list[Int64Array] = []
    skipped: list[Int64Array] = []
    for begin, end, is_hit in zip(begins.tolist(), ends.tolist(), hit.tolist(), strict=True):
        times = int(count[begin]) if is_hit else 1
        row.append(np.tile(np.arange(begin, end, dtype=np.int64), times))
        skipped.append(np.repeat(np.arange(times, dtype=np.int64), end - begin))
    rows, steps = np.concatenate(row), np.concatenate(skipped)
    unrolled = np.repeat(hit, ends - begins)[rows]
    return _Pieces(rows, steps, np.where(unrolled, 1, count[rows]), unrolled)


def _split(columns: Columns, numbers: Int64Array) -> _Pieces:
    """Rows that hold one of the numbers in three: before it, it, behind it."""
    first, count = columns["seq"], columns["count"]
    plain = columns["loop"] == 0
    row = np.searchsorted(first, numbers, side="right") - 1
    inside = (row >= 0) & plain[row] & (numbers < (first + count)[row])
    row, numbers = row[inside], numbers[inside]
    behind = numbers + 1 < (first + count)[row]
    starts = np.unique(np.concatenate([first, numbers, numbers[behind] + 1]))
    row = np.searchsorted(first, starts, side="right") - 1
    following = np.append(starts[1:], first[-1] + count[-1])
    n = np.where(plain[row], np.minimum(following, (first + count)[row]) - starts, count[row])
    return _Pieces(row, starts - first[row], n, np.zeros(len(row), dtype=np.bool_))


def _cut(columns: Columns, pieces: _Pieces) -> Columns:
    row, skipped, n = pieces.row, pieces.skipped, pieces.n
    cut = {name: values[row].copy() for name, values in columns.items()}
    whole = cut["count"].copy()
    split = n < whole
    loop = columns["loop"]
    new = np.append(True, (loop[1:] != loop[:-1]) | (loop[1:] == 0))
    body = np.bincount(np.cumsum(new) - 1)[np.cumsum(new) - 1]  # operations of a repetition
    cut["seq"] += skipped * np.where(split, body[row], 1)
    cut["count"] = n.copy()
    for name, step in (
        ("offset", "disp"), ("view_offset", "view_disp"), ("tick", "tick_step"), ("subtick", "subtick_step"),
    ):  # fmt: skip
        known = cut[name] != UNKNOWN if name.endswith("offset") else np.True_
        cut[name] += np.where(known, skipped * cut[step], 0)
        cut[step] = np.where(split & (n == 1), 0, cut[step])
    at_end = skipped + n == whole
    missing = whole * cut["size"] - cut["moved"]  # of the row's last operation
    cut["moved"] = n * cut["size"] - np.where(at_end, missing, 0)
    length = cut["end_ns"] - cut["start_ns"]
    begin = cut["start_ns"] + length * skipped // whole
    cut["end_ns"] = np.where(split & ~at_end, begin + length * n // whole, cut["end_ns"])
    cut["start_ns"] = np.where(split, begin, cut["start_ns"])
    cut["busy_ns"] = np.where(split, cut["busy_ns"] * n // whole, cut["busy_ns"])
    cut["loop"] = np.where(pieces.unrolled, 0, cut["loop"])
    return cut
