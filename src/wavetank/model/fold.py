"""Folds operations into rows: runs at regular distance, loops of several, irregular stretches as lists.

Reads a FoldTable of any size, or chunks of one; leaves ``Folded`` rows that stand for the same
operations. Tracers fold as they record; importers and events on demand do not. What is
worked on at a time is bounded by ``CHUNK_ROWS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from wavetank.model.compact import Compactor
from wavetank.model.folded import (
    NAMES,
    STEPS,
    BoolArray,
    Columns,
    Folded,
    Lists,
    as_folded,
    joined,
    take,
)
from wavetank.trace.schema import FoldTable, Int64Array

CHUNK_ROWS = 1 << 16
"""Rows folded at a time: 10 MiB of columns, which stay in a core's caches."""
MIN_STEPS = 3
"""Equal steps that make a fold: four operations. Shorter ones are found by whoever needs them."""
WELL_FOLDED = 64
"""Operations a row, on average, from which on a chunk needs no further compaction."""
_SAME = ("op", "file", "handle", "view", "error", "size", "arg")


def fold(
    chunks: FoldTable | Iterable[FoldTable],
    gap_s: float | None = None,
    compactor: Compactor | None = None,
) -> Folded:
    """Fold a table, or the consecutive chunks of one.

    Rows that are folded already stay as they are. Chunks are folded one by one, so that a source
    that makes them as they are asked for needs memory for one chunk and the result only.

    Args:
        chunks: rows in order.
        gap_s: operations with this many seconds between them or more are not folded; None: all are.
        compactor: of loops and irregular stretches; one of the default limits if None.
    """
    gap_ns = None if gap_s is None else gap_s * 1e9
    if isinstance(chunks, Folded) and (len(chunks.lists.offset) or chunks.lists.weaves):
        return chunks
    tables = [chunks] if isinstance(chunks, FoldTable) else chunks
    compactor = compactor or Compactor()
    folded = [
        _fold_chunk(as_folded(part), gap_ns, compactor)
        for table in tables
        for part in _parts(table)
    ]
    lists = compactor.lists()
    return joined(folded, lists) if folded else empty(lists)


def _parts(table: FoldTable) -> Iterator[FoldTable]:
    """Pieces of a table, none of which begins inside a loop."""
    if len(table) <= CHUNK_ROWS:
        yield table
        return
    whole = as_folded(table)
    start = 0
    while start < len(table):
        stop = min(start + CHUNK_ROWS, len(table))
        while stop < len(table) and table.loop[stop] and table.loop[stop] == table.loop[stop - 1]:
            stop += 1
        yield take(whole, slice(start, stop))
        start = stop


def empty(lists: Lists | None = None) -> Folded:
    """A table without rows."""
    types = {
        "op": np.uint8,
        **dict.fromkeys(("rank", "file", "handle", "view", "error", "handle_step"), np.int32),
    }
    columns = {name: np.zeros(0, dtype=types.get(name, np.int64)) for name in NAMES}
    return Folded(**columns, lists=lists or Lists())


def _fold_chunk(
    table: Folded, gap_ns: float | None, compactor: Compactor, weaves: bool = True
) -> Folded:
    n = len(table)
    steps = _steps(table)
    joinable = _joinable(table, gap_ns)
    linked = _linked(table, joinable)
    begin, end = _runs(linked, steps)
    n_rows = n - int((end - begin).sum())
    if n >= compactor.limits.shortest and n < n_rows * WELL_FOLDED:
        refold = partial(_fold_chunk, gap_ns=gap_ns, compactor=compactor, weaves=False)
        found = compactor.compact(
            table, joinable, linked, (begin, end), refold if weaves and gap_ns is None else None
        )
        if found is not None:
            return _around(table, *found, gap_ns)
    return _folded(table, steps, begin, end)


def _around(
    table: Folded, rows: Folded, at: Int64Array, covered: BoolArray, gap_ns: float | None
) -> Folded:
    """The blocks' rows, and between them what lies there, folded as it stands; in order."""
    left = np.flatnonzero(~covered)
    if not len(left):
        return take(rows, np.argsort(at, kind="stable"))
    rest = take(table, left)
    steps = _steps(rest)
    linked = _linked(rest, _joinable(rest, gap_ns)) & (np.diff(left) == 1)
    begin, end = _runs(linked, steps)
    first = left[_row_starts(len(rest), begin, end)]
    order = np.argsort(np.concatenate([first, at]), kind="stable")
    return take(joined([_folded(rest, steps, begin, end), rows], table.lists), order)


def _steps(table: Folded) -> dict[str, Int64Array]:
    """Differences of neighbours in what is regular in a run."""
    steps = {name: np.diff(getattr(table, name)) for name in ("offset", "tick", "subtick")}
    in_view = bool((table.view >= 0).any())
    return {**steps, "view_offset": np.diff(table.view_offset) if in_view else steps["offset"]}


def _row_starts(n: int, begin: Int64Array, end: Int64Array) -> Int64Array:
    """First operations of the rows: all that are not a later one of a run."""
    if not len(begin):
        return np.arange(n)
    border = np.zeros(n + 1, dtype=np.int8)
    border[begin + 1] += 1
    border[end + 1] -= 1
    return np.flatnonzero(np.cumsum(border[:n], dtype=np.int8) == 0)


def _folded(
    table: Folded, steps: dict[str, Int64Array], begin: Int64Array, end: Int64Array
) -> Folded:
    """A row for each run, from operation ``begin`` to ``end``, and for each operation in none."""
    n = len(table)
    if not len(begin):
        return table
    first = _row_starts(n, begin, end)
    length = np.diff(first, append=n)
    last = first + length - 1
    several = length > 1
    out: Columns = {name: getattr(table, name)[first] for name in NAMES}
    # A row of one operation here may stand for several already.
    out["count"] = np.where(several, length, out["count"])
    out["moved"] = np.where(several, (length - 1) * out["size"] + table.moved[last], out["moved"])
    at = np.minimum(first, n - 2)
    for name, step in STEPS:
        out[step] = np.where(several, steps[name][at], out[step])
    out["end_ns"] = table.end_ns[last]
    out["busy_ns"] = np.add.reduceat(table.busy_ns, first)
    return Folded(**out, lists=table.lists)


def _joinable(table: Folded, gap_ns: float | None) -> BoolArray:
    """Whether each operation and the next are whole single ones of a rank, with no pause between: shape (n - 1,)."""
    single = table.count == 1
    if table.loop.any():
        single &= table.loop == 0
    joinable: BoolArray = single[1:] & single[:-1]
    joinable &= table.moved[:-1] == table.size[:-1]
    joinable &= table.rank[1:] == table.rank[:-1]
    if gap_ns is not None:
        joinable &= table.start_ns[1:] - table.end_ns[:-1] < gap_ns
    return joinable


def _linked(table: Folded, joinable: BoolArray) -> BoolArray:
    """Whether each operation may be in one row with the next: shape (n - 1,)."""
    linked = joinable.copy()
    for name in _SAME:
        column = getattr(table, name)
        linked &= column[1:] == column[:-1]
    return linked


def _runs(linked: BoolArray, steps: dict[str, Int64Array]) -> tuple[Int64Array, Int64Array]:
    """First and last operation of each run that is folded."""
    goes_on = linked[1:] & linked[:-1]
    for step in {id(column): column for column in steps.values()}.values():
        goes_on &= step[1:] == step[:-1]
    edges = np.flatnonzero(goes_on[1:] != goes_on[:-1]) + 1
    if len(goes_on):
        edges = np.concatenate(
            [[0] if goes_on[0] else [], edges, [len(goes_on)] if goes_on[-1] else []]
        )
    first, stop = edges[0::2].astype(np.int64), edges[1::2].astype(np.int64)
    folded = stop - first + 1 >= MIN_STEPS
    begin, end = first[folded], stop[folded] + 1
    # Neighbouring runs share an operation; it belongs to the first of them.
    begin[1:] += begin[1:] == end[:-1]
    return begin, end
