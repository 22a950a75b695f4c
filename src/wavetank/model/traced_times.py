"""The times of a run out of its trace's rows: elapsed, and at I/O calls."""

from __future__ import annotations

import numpy as np

from wavetank.model.row_kind import RowKind
from wavetank.model.rows import Rows
from wavetank.model.run_times import RunTimes
from wavetank.trace.schema import UNKNOWN

_IO = (RowKind.DATA, RowKind.EMPTY, RowKind.NULL_SEEK, RowKind.SEEK, RowKind.FILE)


def run_times_of_rows(rows: Rows, elapsed_s: float | None) -> RunTimes:
    """Of a trace: all I/O calls that the application made, those that the MPI library made inside of them left out."""
    table = rows.table
    io = np.isin(rows.kind, _IO) & (rows.inside < 0)
    timed = io & (table.start_ns != UNKNOWN)
    if not io.any() or not timed[io].all():
        return RunTimes(elapsed_s=elapsed_s, io_s=None, io_rank=None, with_metadata=False)
    busy_ns = np.bincount(table.rank[io], weights=table.busy_ns[io])
    rank = int(busy_ns.argmax())
    return RunTimes(
        elapsed_s=elapsed_s, io_s=float(busy_ns[rank]) * 1e-9, io_rank=rank, with_metadata=True
    )
