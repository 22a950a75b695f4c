"""The exact sequence of operations behind folds, as columns: one entry for each operation.

Reads a ``FoldTable``; leaves ``Events``. Times stay with folds: only the clocks of the logical kind,
offsets and sizes are exact for each operation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.trace.schema import UNKNOWN, FoldTable, Int32Array, Int64Array, UInt8Array
from wavetank.trace.shared_pointer import operations_per_repetition


@dataclass(frozen=True)
class Events:
    """Single operations, columns of equal length, sorted by (rank, seq). Units as in ``FoldTable``."""

    rank: Int32Array
    seq: Int64Array
    op: UInt8Array
    file: Int32Array
    handle: Int32Array
    size: Int64Array
    moved: Int64Array
    offset: Int64Array
    view: Int32Array
    view_offset: Int64Array
    tick: Int64Array
    subtick: Int64Array
    given: Int32Array  # row of ``details`` of the folds
    error: Int32Array
    fold: Int64Array  # index of the row that each comes from

    def __len__(self) -> int:
        return len(self.rank)


def unfold(folds: FoldTable) -> Events:
    """Every operation of every fold, in order.

    Memory: about 100 bytes an operation.
    """
    fold = np.repeat(np.arange(len(folds), dtype=np.int64), folds.count)
    step = np.arange(len(fold), dtype=np.int64) - np.repeat(
        np.cumsum(folds.count) - folds.count, folds.count
    )
    seq = folds.seq[fold] + step
    if folds.loop.any():
        seq = folds.seq[fold] + step * operations_per_repetition(folds)[fold]
        order = np.lexsort((seq, folds.rank[fold]))
        fold, step, seq = fold[order], step[order], seq[order]
    last = step == folds.count[fold] - 1
    size = folds.size[fold]
    moved = np.where(last, folds.moved[fold] - (folds.count[fold] - 1) * size, size)
    return Events(
        rank=folds.rank[fold],
        seq=seq,
        op=folds.op[fold],
        file=folds.file[fold],
        handle=(folds.handle[fold] + step * folds.handle_step[fold]).astype(np.int32),
        size=size,
        moved=moved,
        offset=_along(folds.offset, folds.disp, fold, step),
        view=folds.view[fold],
        view_offset=_along(folds.view_offset, folds.view_disp, fold, step),
        tick=folds.tick[fold] + step * folds.tick_step[fold],
        subtick=folds.subtick[fold] + step * folds.subtick_step[fold],
        given=folds.given[fold],
        error=folds.error[fold],
        fold=fold,
    )


def _along(first: Int64Array, disp: Int64Array, fold: Int64Array, step: Int64Array) -> Int64Array:
    """Offsets of the steps of each fold; UNKNOWN stays UNKNOWN."""
    start = first[fold]
    return np.where(start == UNKNOWN, UNKNOWN, start + step * disp[fold])
