"""Checks and mends a trace's rows before the extraction: what cannot be is refused, with the row.

Readers leave good tables; importers of foreign logs and damaged traces may not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wavetank.errors import ModelError
from wavetank.model.events.loop_layout import take
from wavetank.trace.schema import BoolArray, FoldTable, Trace


def in_order(table: FoldTable) -> FoldTable:
    """The rows by rank and sequence number, as the extraction needs them."""
    rank, seq = table.rank, table.seq
    backward = (rank[1:] < rank[:-1]) | ((rank[1:] == rank[:-1]) & (seq[1:] < seq[:-1]))
    return take(table, np.lexsort((seq, rank))) if backward.any() else table


def mended(table: FoldTable, trace: Trace) -> tuple[FoldTable, list[str]]:
    """The table, and sentences about what was mended in it.

    Raises:
        ModelError: a row that no run can have made.
    """
    n = len(table)
    if not n:
        return table, []
    impossible: tuple[tuple[BoolArray, str], ...] = (
        (table.count < 1, "stands for no operation"),
        ((table.rank < 0) | (table.rank >= trace.n_ranks), f"is of a rank outside 0 to {trace.n_ranks - 1}"),
        (table.file >= len(trace.files), "is on a file that the trace does not name"),
        (table.view >= len(trace.views), "is in a file view that the trace does not hold"),
        ((table.details.memory_view >= len(trace.views))[table.given], "has memory that the trace does not hold"),
        ((table.size < 0) | (table.moved < 0), "moves fewer than 0 bytes"),
        ((table.offset < -1) & (table.moved > 0), "begins before its file"),
        (
            (table.count > 1)
            & ((table.moved < (table.count - 1) * table.size) | (table.moved > table.count * table.size)),
            "moves other bytes than its operations can",
        ),
    )  # fmt: skip
    for wrong, what in impossible:
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ModelError(
                f"the trace is damaged: operation {int(table.seq[row])} of rank {int(table.rank[row])} {what}. "
                "Trace the program again, or leave out the damaged part"
            )
    more = table.moved > table.size
    more &= table.count == 1
    if not more.any():
        return table, []
    size = np.where(more, table.moved, table.size)
    return replace(table, size=size), [
        f"{int(more.sum())} operations moved more bytes than they asked for, or their request is not recorded: "
        "what they moved stands for their request size"
    ]
