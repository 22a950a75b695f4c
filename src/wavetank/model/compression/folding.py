"""Folds operations into rows: runs at regular distance, loops of several, irregular stretches as lists.

Reads a FoldTable of any size, or chunks of one; leaves ``Folded`` rows that stand for the same
operations. Tracers fold as they record; importers and events on demand do not. What is
worked on at a time is bounded by ``WorkLimits.chunk_rows``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from wavetank.model.compression.compactor import Compactor
from wavetank.model.compression.folded_table import (
    NAMES,
    STEPS,
    Columns,
    Folded,
    Lists,
    as_folded,
    joined,
    take,
    with_columns,
)
from wavetank.model.native.survey import Chunk, Survey, Workspace, survey
from wavetank.trace.schema import NOTHING_GIVEN, BoolArray, FoldTable, Int64Array


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
    if isinstance(chunks, Folded) and (len(chunks.lists.offset) or chunks.lists.interleavings):
        return chunks
    tables = [chunks] if isinstance(chunks, FoldTable) else chunks
    compactor = compactor or Compactor()
    workspace = Workspace()
    folded = [
        _fold_chunk(as_folded(part), gap_ns, compactor, workspace)
        for table in tables
        for part in _parts(table, compactor.work.chunk_rows)
        if len(part)
    ]
    return compactor.whole(folded) if folded else empty()


def _parts(table: FoldTable, n_rows: int) -> Iterator[FoldTable]:
    """Pieces of a table of so many rows, none of which begins inside a loop."""
    if len(table) <= n_rows:
        yield table
        return
    whole = as_folded(table)
    start = 0
    while start < len(table):
        stop = min(start + n_rows, len(table))
        while stop < len(table) and table.loop[stop] and table.loop[stop] == table.loop[stop - 1]:
            stop += 1
        yield take(whole, slice(start, stop))
        start = stop


def empty() -> Folded:
    """A table without rows."""
    types = {
        "op": np.uint8,
        **dict.fromkeys(
            ("rank", "file", "handle", "view", "error", "handle_step", "given"), np.int32
        ),
    }
    columns = {name: np.zeros(0, dtype=types.get(name, np.int64)) for name in NAMES}
    return Folded(**columns, lists=Lists(), details=NOTHING_GIVEN)


def _fold_chunk(
    table: Folded,
    gap_ns: float | None,
    compactor: Compactor,
    workspace: Workspace,
    interleavings: bool = True,
) -> Folded:
    n = len(table)
    chunk = Chunk(table)
    refold = partial(
        _fold_chunk, gap_ns=gap_ns, compactor=compactor, workspace=workspace.inner(), interleavings=False,
    )  # fmt: skip
    if interleavings and gap_ns is None:
        rows = compactor.go_on(chunk, workspace, refold)
        if rows is not None:
            return rows
    thresholds = compactor.thresholds
    surveyed = partial(
        survey, kinds=compactor.kinds, gap_ns=gap_ns, workspace=workspace, equal_steps=thresholds.equal_steps
    )  # fmt: skip
    found = surveyed(chunk)
    begin, end = found.begin, found.end
    n_rows = n - int((end - begin).sum())
    if n >= thresholds.compacted_operations and n < n_rows * thresholds.folded_operations:
        blocks = compactor.compact(
            chunk, found, workspace, refold if interleavings and gap_ns is None else None
        )
        if blocks is not None:
            del chunk, found, begin, end  # as large as the rows
            return _around(table, *blocks, surveyed)
    return _folded(table, begin, end)


def _around(
    table: Folded,
    rows: list[Folded],
    at: Int64Array,
    covered: BoolArray,
    surveyed: Callable[..., Survey],
) -> Folded:
    """The blocks' rows, and between them what lies there, folded as it stands; in order, and put together once."""
    left = np.flatnonzero(~covered)
    if len(left):
        rest = take(table, left)
        apart = np.append(np.diff(left) > 1, False)
        found = surveyed(Chunk(rest), apart=apart)
        first = left[_row_starts(len(rest), found.begin, found.end)]
        rows, at = [_folded(rest, found.begin, found.end), *rows], np.concatenate([first, at])
    in_order = bool((at[1:] >= at[:-1]).all())
    return joined(rows, table.lists, None if in_order else np.argsort(at, kind="stable"))


def _row_starts(n: int, begin: Int64Array, end: Int64Array) -> Int64Array:
    """First operations of the rows: all that are not a later one of a run."""
    if not len(begin):
        return np.arange(n)
    # Runs do not overlap: what lies behind one begins where the next run's first operation may be, too.
    stops = np.append(0, end + 1)
    starts = np.append(begin, n)
    gaps = starts - stops
    loose = np.repeat(stops - (np.cumsum(gaps) - gaps), gaps) + np.arange(int(gaps.sum()))
    return np.sort(np.concatenate([begin, loose]))


def _folded(table: Folded, begin: Int64Array, end: Int64Array) -> Folded:
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
    second = np.minimum(first + 1, n - 1)
    for name, step in STEPS:
        values = getattr(table, name)
        out[step] = np.where(several, values[second] - values[first], out[step])
    out["end_ns"] = table.end_ns[last]
    out["busy_ns"] = np.add.reduceat(table.busy_ns, first)
    return with_columns(table, out)
