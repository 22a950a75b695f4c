"""Loops of several operations in a chunk: a row for each member of one.

Reads a chunk's columns and the signatures of its operations; leaves rows whose ``loop`` is the same number, in turn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavetank.model.compression.blocks import Blocks
from wavetank.model.compression.folded_table import NAMES, STEPS, Columns, Folded, with_columns
from wavetank.model.compression.growing_lists import ListStore
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.native import blocks as block_passes
from wavetank.model.native.survey import Chunk, UInt8Array, UInt32Array, Workspace
from wavetank.trace.schema import BoolArray, Int64Array

FIRST_LOOP = 1 << 40
"""Numbers of loops that are found here begin above those of traces."""
_WINDOW = 192  # operations that are looked at for a period; three bodies of the longest loop
_LONGEST_STRIDE = 1 << 12  # operations that are passed over where no loop begins again and again


class LoopBlocks:
    """Loops of the chunks of one run, one after another.

    Args:
        thresholds: what is a loop.
        calls: by operation code, whether it ticks itself, shape (256,).
        store: of the offsets of members that follow no rule.
    """

    def __init__(self, thresholds: Thresholds, calls: UInt8Array, store: ListStore) -> None:
        self._thresholds, self._calls, self._store = thresholds, calls, store
        self._n_loops = FIRST_LOOP

    def find(self, signature: np.ndarray, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """Ranges that repeat a body of several operations, in whole repetitions, and its length.

        Args:
            signature: of each operation of the chunk.
            low: first operation that is searched.
            high: the one behind the last.
        """
        stride = self._thresholds.recurring_operations
        position = low
        while high - position >= 2 * self._thresholds.loop_repetitions:
            window = min(_WINDOW, high - position)
            period = _find_period(
                signature[position : position + window],
                self._thresholds.loop_operations,
                self._thresholds.recurring_operations,
            )
            if period == 1:
                position += block_passes.matched(signature, position, high, 1) + 1
                continue
            if period:
                matched = block_passes.matched(signature, position, high, period)
                times = matched // period + 1
                if times >= self._thresholds.loop_repetitions:
                    yield position, position + times * period, period
                    position += times * period
                    stride = self._thresholds.recurring_operations
                    continue
            position += stride
            stride = min(2 * stride, _LONGEST_STRIDE)

    def take(
        self,
        chunk: Chunk[Folded],
        code: UInt32Array,
        loop: tuple[int, int, int],
        workspace: Workspace,
        found: Blocks,
    ) -> None:
        """Rows for the loop in operations [low, high): one for each stretch whose members stay regular."""
        low, high, period = loop
        table = chunk.table
        first_ones = slice(low, low + period)
        calls = self._calls[table.op[first_ones]]
        levels = bool((calls != calls[0]).any())  # MPI-IO calls and what they are made of
        shortest = self._thresholds.run_operations if levels else self._thresholds.loop_repetitions
        seen = block_passes.loop_parts(chunk, code, loop, shortest, workspace)
        if seen is None:
            return  # two signatures of one value
        n_rep = (high - low) // period
        irregular, parts = np.zeros(period, dtype=bool), seen.parts
        if int((parts[:, 1] - parts[:, 0]).sum()) * 2 < n_rep:
            if (
                levels
                or (table.view[first_ones] >= 0).any()
                or (table.offset[first_ones] < 0).any()
            ):
                return
            irregular, parts = seen.irregular, np.array([[0, n_rep]])
        bounds = low + parts * period
        rows = self._rows(chunk, bounds, irregular)
        found.add(rows, (bounds[:, :1] + np.arange(period)).ravel())
        edges = np.zeros(high - low + 1, dtype=np.int8)
        edges[bounds[:, 0] - low] += 1
        edges[bounds[:, 1] - low] -= 1
        found.covered[low:high] |= np.cumsum(edges[:-1], dtype=np.int8) > 0

    def _rows(self, chunk: Chunk[Folded], bounds: Int64Array, irregular: BoolArray) -> Folded:
        """The rows of parts of a loop; of operations ``bounds`` each, shape (parts, 2)."""
        table, period = chunk.table, len(irregular)
        heads = (bounds[:, :1] + np.arange(period)).ravel()
        tails = (bounds[:, 1:] - period + np.arange(period)).ravel()
        n = np.repeat((bounds[:, 1] - bounds[:, 0]) // period, period)
        out: Columns = {name: getattr(table, name)[heads] for name in NAMES}
        out["count"] = n
        out["moved"] = n * out["size"] - (table.size[tails] - table.moved[tails])
        for name, step in STEPS:
            column = getattr(table, name)
            out[step] = (column[tails] - column[heads]) // (n - 1)
        out["end_ns"] = table.end_ns[tails]
        out["busy_ns"] = block_passes.busy_of_members(chunk, bounds, period)
        out["loop"] = np.repeat(self._n_loops + 1 + np.arange(len(bounds)), period)
        self._n_loops += len(bounds)
        low, high = bounds[0].tolist()
        for member in np.flatnonzero(irregular).tolist():  # the loop is one part
            offset = table.offset[low + member : high : period]
            out["listed"][member] = self._store.offsets.append(offset)
            out["disp"][member] = out["view_disp"][member] = offset[1] - offset[0]
        return with_columns(table, out)


def _find_period(window: np.ndarray, most: int, recurring: int) -> int:
    """After how many entries the window repeats its beginning; 0 if it does not, or only after more than ``most``.

    The beginning is ``recurring`` entries, or half of the window.
    """
    n = len(window)
    text = window.tobytes()
    head = text[: 8 * min(recurring, n // 2)]
    at = text.find(head, 8)
    while at > 0:
        period, rest = divmod(at, 8)
        if not rest:
            if period > most:
                return 0
            if text[at:] == text[: len(text) - at]:
                return period
        at = text.find(head, at + 1)
    return 0
