"""Irregular stretches of one operation in a chunk: a row for each, whose offsets (and sizes) go to lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from wavetank.model.compression.blocks import Blocks
from wavetank.model.compression.folded_table import NAMES, Columns, Folded, with_columns
from wavetank.model.compression.growing_lists import ListStore
from wavetank.model.native import blocks as block_passes
from wavetank.model.native.blocks import Stretch
from wavetank.model.native.survey import Chunk, Workspace
from wavetank.model.rules import Rules


class StretchBlocks:
    """Stretches of the chunks of one run, one after another.

    Args:
        rules: what is similar, and how long a stretch is.
        store: of the lists.
    """

    def __init__(self, rules: Rules, store: ListStore) -> None:
        self._rules, self._store = rules, store

    def take(
        self, chunk: Chunk[Folded], low: int, high: int, workspace: Workspace, found: Blocks
    ) -> None:
        """A row for each irregular stretch of one operation in [low, high)."""
        table = chunk.table
        if table.view[low] >= 0 or table.error[low] or table.moved[high - 1] == 0:
            return
        whole = block_passes.stretch(chunk, low, high)
        if whole.empty or whole.unknown:
            return
        bounds = [0, high - low]
        if whole.differs:
            bounds = block_passes.parts_by_size(
                chunk, low, high, self._rules, self._rules.thresholds.regular_run, workspace
            )
        for first, stop in pairwise(bounds):
            a, b = low + first, low + stop
            if b - a >= self._rules.thresholds.compacted_operations:
                part = whole if b - a == high - low else block_passes.stretch(chunk, a, b)
                found.add(self._row(table, a, b, part), np.array([a]))
                found.covered[a:b] = True

    def _row(self, table: Folded, low: int, high: int, what: Stretch) -> Folded:
        n = high - low
        last = high - 1
        out: Columns = {name: getattr(table, name)[low : low + 1].copy() for name in NAMES}
        out["count"] = np.array([n])
        out["moved"] = np.array([what.asked - int(table.size[last] - table.moved[last])])
        out["disp"] = out["view_disp"] = table.offset[low + 1 : low + 2] - out["offset"]
        for name, step in (("tick", "tick_step"), ("subtick", "subtick_step")):
            column = getattr(table, name)
            out[step] = np.array([(column[last] - column[low]) // (n - 1)])
        out["end_ns"] = table.end_ns[last : last + 1].copy()
        out["busy_ns"] = np.array([what.busy_ns])
        out["listed"] = np.array([self._store.offsets.append(table.offset[low:high])])
        if what.differs:
            out["sized"] = np.array([self._store.sizes.append(table.size[low:high])])
        return with_columns(table, out)
