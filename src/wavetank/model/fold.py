"""Folds rows of equal operations at regular distance into one, and parts and unfolds them again.

Reads a FoldTable of any size, or chunks of one; leaves a FoldTable that stands for the same
operations. Tracers fold as they record; importers and events on demand do not. What is
worked on at a time is bounded by ``CHUNK_ROWS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

import numpy as np

from wavetank.model.rules import BoolArray
from wavetank.trace.schema import UNKNOWN, FoldTable, Int64Array

CHUNK_ROWS = 1 << 16
"""Rows folded at a time: 10 MiB of columns, which stay in a core's caches."""
MIN_STEPS = 3
"""Equal steps that make a fold: four operations. Shorter ones are found by whoever needs them."""
_SAME = ("op", "file", "handle", "rank", "view", "error", "size", "arg")


def take(table: FoldTable, index: Int64Array | BoolArray) -> FoldTable:
    """Some rows of a table."""
    return FoldTable(
        **{column.name: getattr(table, column.name)[index] for column in fields(FoldTable)}
    )


def fold(chunks: FoldTable | Iterable[FoldTable], gap_s: float | None = None) -> FoldTable:
    """Fold a table, or the consecutive chunks of one.

    Rows that are folds already stay as they are. Chunks are folded one by one, so that a source
    that makes them as they are asked for needs memory for one chunk and the result only.

    Args:
        chunks: rows in order.
        gap_s: operations with this many seconds between them or more are not folded; None: all are.
    """
    gap_ns = None if gap_s is None else gap_s * 1e9
    tables = [chunks] if isinstance(chunks, FoldTable) else chunks
    folded = [_fold_chunk(part, gap_ns) for table in tables for part in _parts(table)]
    if len(folded) == 1:
        return folded[0]
    return FoldTable(
        **{
            column.name: np.concatenate([getattr(part, column.name) for part in folded])
            for column in fields(FoldTable)
        }
    ) if folded else _empty()  # fmt: skip


def _parts(table: FoldTable) -> Iterator[FoldTable]:
    if len(table) <= CHUNK_ROWS:
        yield table
        return
    names = [column.name for column in fields(FoldTable)]
    for start in range(0, len(table), CHUNK_ROWS):
        yield FoldTable(
            **{name: getattr(table, name)[start : start + CHUNK_ROWS] for name in names}
        )


def _empty() -> FoldTable:
    types = {"op": np.uint8, **dict.fromkeys(("rank", "file", "handle", "view", "error"), np.int32)}
    return FoldTable(
        **{
            column.name: np.zeros(0, dtype=types.get(column.name, np.int64))
            for column in fields(FoldTable)
        }
    )


def _fold_chunk(table: FoldTable, gap_ns: float | None) -> FoldTable:
    n = len(table)
    if n <= MIN_STEPS:
        return table
    steps = {
        name: np.diff(getattr(table, name))
        for name in ("offset", "view_offset", "tick", "subtick")
        if name != "view_offset" or bool((table.view >= 0).any())
    }
    steps.setdefault("view_offset", steps["offset"])
    begin, end = _runs(table, steps, gap_ns)
    if not len(begin):
        return table
    # A row for each operation that is not a later one of a run.
    border = np.zeros(n + 1, dtype=np.int8)
    border[begin + 1] += 1
    border[end + 1] -= 1
    first = np.flatnonzero(np.cumsum(border[:n], dtype=np.int8) == 0)
    length = np.diff(first, append=n)
    last = first + length - 1
    several = length > 1
    out = {column.name: getattr(table, column.name)[first] for column in fields(FoldTable)}
    # A row of one operation here may stand for several already.
    out["count"] = np.where(several, length, out["count"])
    out["moved"] = np.where(several, (length - 1) * out["size"] + table.moved[last], out["moved"])
    at = np.minimum(first, n - 2)
    for name, step in (
        ("offset", "disp"),
        ("view_offset", "view_disp"),
        ("tick", "tick_step"),
        ("subtick", "subtick_step"),
    ):
        out[step] = np.where(several, steps[name][at], out[step])
    out["end_ns"] = table.end_ns[last]
    out["busy_ns"] = np.add.reduceat(table.busy_ns, first)
    return FoldTable(**out)


def _runs(
    table: FoldTable, steps: dict[str, Int64Array], gap_ns: float | None
) -> tuple[Int64Array, Int64Array]:
    """First and last operation of each run that is folded."""
    linked: BoolArray = table.moved[:-1] == table.size[:-1]
    linked &= (table.count[1:] == 1) & (table.count[:-1] == 1)
    for name in _SAME:
        column = getattr(table, name)
        linked &= column[1:] == column[:-1]
    if gap_ns is not None:
        linked &= table.start_ns[1:] - table.end_ns[:-1] < gap_ns
    goes_on = linked[1:] & linked[:-1]
    for step in {id(column): column for column in steps.values()}.values():
        goes_on &= step[1:] == step[:-1]
    start = np.flatnonzero(np.concatenate([[True], ~goes_on]))
    n_steps = np.diff(start, append=len(linked))
    folded = n_steps >= MIN_STEPS
    # Neighbouring runs share an operation; it belongs to the first of them.
    shared = np.zeros(len(start), dtype=np.int64)
    shared[1:] = folded[:-1]
    begin = (start + shared)[folded]
    end = (start + n_steps)[folded]
    return begin, end


def part_rows(table: FoldTable, mask: BoolArray, n_first: Int64Array) -> FoldTable:
    """Part rows after their first ``n_first`` operations (0 < n_first < count where mask)."""
    index = np.repeat(np.arange(len(table)), 1 + mask)
    second = np.zeros(len(index), dtype=bool)
    second[1:] = index[1:] == index[:-1]
    first = np.zeros(len(index), dtype=bool)
    first[:-1] = second[1:]
    out = {column.name: getattr(table, column.name)[index] for column in fields(FoldTable)}
    n_before = n_first[index]
    total = out["count"].copy()
    skipped = np.where(second, n_before, 0)
    out["count"] = np.where(second, total - n_before, np.where(first, n_before, total))
    full = n_before * out["size"]
    out["moved"] = np.where(
        second, out["moved"] - full, np.where(first, np.minimum(full, out["moved"]), out["moved"])
    )
    _shift(out, skipped)
    known = out["start_ns"] != UNKNOWN
    busy = out["busy_ns"] // np.maximum(total, 1)
    out["busy_ns"] = np.where(
        second,
        busy * out["count"],
        np.where(first, out["busy_ns"] - busy * (total - n_before), out["busy_ns"]),
    )
    # Where the two touch in time is not recorded: the shares of the operations stand for it.
    border = out["start_ns"] + (out["end_ns"] - out["start_ns"]) * n_before // np.maximum(total, 1)
    start, end = out["start_ns"].copy(), out["end_ns"].copy()
    out["start_ns"] = np.where(second & known, border, start)
    out["end_ns"] = np.where(first & known, border, end)
    return FoldTable(**out)


def _shift(out: dict[str, Int64Array], skipped: Int64Array) -> None:
    """Move rows forward by operations that another row took."""
    known = out["offset"] != UNKNOWN
    out["offset"] = np.where(known, out["offset"] + skipped * out["disp"], out["offset"])
    out["view_offset"] = np.where(
        known, out["view_offset"] + skipped * out["view_disp"], out["view_offset"]
    )
    out["seq"] = out["seq"] + skipped
    out["tick"] = out["tick"] + skipped * out["tick_step"]
    out["subtick"] = out["subtick"] + skipped * out["subtick_step"]
    out["disp"] = np.where(out["count"] == 1, 0, out["disp"])
    out["view_disp"] = np.where(out["count"] == 1, 0, out["view_disp"])


def unfold_rows(table: FoldTable, mask: BoolArray) -> FoldTable:
    """Make rows of single operations out of folded ones."""
    repeats = np.where(mask, table.count, 1)
    index = np.repeat(np.arange(len(table)), repeats)
    position = np.arange(len(index)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    unfolded = mask[index]
    out = {column.name: getattr(table, column.name)[index] for column in fields(FoldTable)}
    total = out["count"]
    last = position == total - 1
    out["moved"] = np.where(
        unfolded,
        np.where(last, out["moved"] - (total - 1) * out["size"], out["size"]),
        out["moved"],
    )
    out["count"] = np.where(unfolded, 1, total)
    span = out["end_ns"] - out["start_ns"]
    known = unfolded & (out["start_ns"] != UNKNOWN)
    start = out["start_ns"].copy()
    out["start_ns"] = np.where(known, start + span * position // total, start)
    out["end_ns"] = np.where(known, start + span * (position + 1) // total, out["end_ns"])
    out["busy_ns"] = np.where(unfolded, out["busy_ns"] // total, out["busy_ns"])
    _shift(out, np.where(unfolded, position, 0))
    return FoldTable(**out)
