"""Finds in a chunk of single operations what runs cannot say: loops of several operations, and irregular stretches.

Reads a chunk's columns; leaves one row for each member of a loop and one for each irregular stretch, whose
offsets (and sizes) go to lists. Columns are compared whole: work for an operation is a few comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from wavetank.model.compression.folded_table import (
    NAMES,
    STEPS,
    Columns,
    Folded,
    Lists,
    Weave,
    joined,
)
from wavetank.model.compression.growing_lists import ListStore
from wavetank.model.compression.list_stripes import Stripes
from wavetank.model.compression.open_strands import union
from wavetank.model.compression.recurrence import find_period
from wavetank.model.compression.weave_joins import join_weaves
from wavetank.model.compression.weaves import Weaver, often, weave, weave_on
from wavetank.model.native import blocks as block_passes
from wavetank.model.native.blocks import Stretch
from wavetank.model.native.strands import Before, Going, Regions
from wavetank.model.native.survey import (
    JOINABLE,
    PARTED,
    TALKS,
    WEAVABLE,
    Chunk,
    OpKinds,
    Survey,
    UInt32Array,
    Workspace,
)
from wavetank.model.rules import Rules
from wavetank.trace.schema import BoolArray, Int64Array

FIRST_LOOP = 1 << 40
"""Numbers of loops that are found here begin above those of traces."""
_WINDOW = 192  # operations that are looked at for a period; three bodies of the longest loop
_LONGEST_STRIDE = 1 << 12  # operations that are passed over where no loop begins again and again


@dataclass
class _Found:
    """Rows of one chunk's blocks, with the places of their first operations."""

    rows: list[Folded] = field(default_factory=list)
    at: list[Int64Array] = field(default_factory=list)


class Compactor:
    """Compacts the chunks of one run, one after another.

    Args:
        rules: what is worth it, what is similar, which levels communication parts.
        kinds: of operations, what parts them and what may be woven; None: nothing.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        kinds: OpKinds | None = None,
    ) -> None:
        self._rules = rules or Rules()
        self.thresholds = self._rules.thresholds
        none = np.zeros(256, dtype=np.uint8)
        self.kinds = kinds or OpKinds(none, none, none, none)
        self._weaves: list[Weave] = []
        self._n_strands = 0
        self._store = ListStore()
        self._stripes = Stripes(self._store)
        self._n_loops = FIRST_LOOP
        self._before: Before | None = None  # of the chunk that is looked at, if that is woven
        self._behind: Before | None = None  # its last operation, if that is
        self._going: Going | None = None  # strands of the last weave

    def whole(self, chunks: list[Folded]) -> Folded:
        """The folded chunks as one table, with all lists that their rows point to."""
        return join_weaves(joined(chunks, Lists(weaves=tuple(self._weaves))), self._store)

    def go_on(
        self, chunk: Chunk[Folded], workspace: Workspace, refold: Callable[[Folded], Folded]
    ) -> Folded | None:
        """The rows of the next chunk, if all of it goes on with the weave that the chunk before it ended with."""
        self._before, self._behind = self._behind, None
        before, going = self._before, self._going
        if (
            before is None
            or going is None
            or len(chunk)
            < max(self.thresholds.compacted_operations, self.thresholds.woven_operations)
        ):
            return None
        woven = weave_on(chunk, going, before, self._weaver(refold, workspace))
        if woven is None:
            return None
        rows, weave = woven
        self._look_behind(chunk.table)
        return self._numbered(rows, [weave])

    def _weaver(self, refold: Callable[[Folded], Folded], workspace: Workspace) -> Weaver:
        return Weaver(
            self.kinds,
            self._rules,
            refold,
            self._store,
            self._stripes,
            workspace,
        )

    def compact(
        self,
        chunk: Chunk[Folded],
        survey: Survey,
        workspace: Workspace,
        refold: Callable[[Folded], Folded] | None = None,
    ) -> tuple[Folded, Int64Array, BoolArray] | None:
        """Blocks of a chunk: their rows, the place of each row's first operation, and which places they cover.

        Args:
            chunk: single operations for the most part.
            survey: of it.
            workspace: of arrays.
            refold: folds rows in order; None: nothing is woven.
        """
        table, n = chunk.table, len(chunk)
        barriers = self._barriers(survey)
        runs = survey.begin, survey.end + 1
        found = _Found()
        covered = np.zeros(n, dtype=bool)
        if survey.n_linked == n - 1:  # one operation of one size throughout
            for low, high in self._regions(n, barriers, runs, self.thresholds.regular_run):
                self._take_stretches(chunk, low, high, workspace, found, covered)
            return self._all(found, table, covered)
        for low, high in self._regions(n, barriers, runs, self.thresholds.loop_operations):
            for a, b, period in self._loops(survey.signature, low, high):
                self._take_loop(chunk, survey.code, (a, b, period), workspace, found, covered)
        if refold is not None and self.kinds.woven.any():
            self._take_weaves(chunk, survey, self._weaver(refold, workspace), found, covered)
        code = survey.code
        for low, high in self._regions(n, barriers, runs, self.thresholds.regular_run, covered):
            change = 1 + np.flatnonzero(code[low + 1 : high] != code[low : high - 1])
            bounds = np.concatenate([[low], low + change, [high]])
            for number in np.flatnonzero(
                np.diff(bounds) >= self.thresholds.compacted_operations
            ).tolist():
                a, b = int(bounds[number]), int(bounds[number + 1])
                self._take_stretches(chunk, a, b, workspace, found, covered)
        return self._all(found, table, covered)

    @staticmethod
    def _all(
        found: _Found, table: Folded, covered: BoolArray
    ) -> tuple[Folded, Int64Array, BoolArray] | None:
        if not found.rows:
            return None
        rows = found.rows[0] if len(found.rows) == 1 else joined(found.rows, table.lists)
        return rows, np.concatenate(found.at), covered

    @staticmethod
    def _barriers(survey: Survey) -> Int64Array:
        """Operations that no block holds together with the one before."""
        flags = survey.flags[:-1]
        if survey.n_parting and survey.n_talks:
            parted = (flags & (JOINABLE | TALKS)) != JOINABLE
        elif survey.n_barriers:
            parted = (flags & JOINABLE) == 0
        else:
            return np.zeros(0, dtype=np.int64)
        return 1 + np.flatnonzero(parted)

    def _regions(
        self,
        n: int,
        barriers: Int64Array,
        runs: tuple[Int64Array, Int64Array],
        regular: int,
        covered: BoolArray | None = None,
    ) -> list[tuple[int, int]]:
        """Ranges of operations without barriers, runs of ``regular`` operations and what is covered."""
        edges = [np.array([0, n]), barriers]
        some = runs[1] - runs[0] >= regular
        edges += [runs[0][some], runs[1][some]]
        if covered is not None:
            edges.append(1 + np.flatnonzero(covered[1:] != covered[:-1]))
        bounds = np.unique(np.concatenate(edges))
        low, high = bounds[:-1], bounds[1:]
        kept = high - low >= self.thresholds.compacted_operations
        kept &= ~np.isin(low, runs[0][some])
        if covered is not None:
            kept &= ~covered[low]
        return list(zip(low[kept].tolist(), high[kept].tolist(), strict=True))

    # --- loops ------------------------------------------------------------------------------------

    def _loops(self, signature: np.ndarray, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """Ranges that repeat a body of several operations, in whole repetitions, and its length."""
        stride = self.thresholds.recurring_operations
        position = low
        while high - position >= 2 * self.thresholds.loop_repetitions:
            window = min(_WINDOW, high - position)
            period = find_period(
                signature[position : position + window],
                self.thresholds.loop_operations,
                self.thresholds.recurring_operations,
            )
            if period == 1:
                position += block_passes.matched(signature, position, high, 1) + 1
                continue
            if period:
                matched = block_passes.matched(signature, position, high, period)
                times = matched // period + 1
                if times >= self.thresholds.loop_repetitions:
                    yield position, position + times * period, period
                    position += times * period
                    stride = self.thresholds.recurring_operations
                    continue
            position += stride
            stride = min(2 * stride, _LONGEST_STRIDE)

    def _take_loop(
        self,
        chunk: Chunk[Folded],
        code: UInt32Array,
        loop: tuple[int, int, int],
        workspace: Workspace,
        found: _Found,
        covered: BoolArray,
    ) -> None:
        """Rows for the loop in operations [low, high): one for each stretch whose members stay regular."""
        low, high, period = loop
        table = chunk.table
        first_ones = slice(low, low + period)
        calls = self.kinds.calls[table.op[first_ones]]
        levels = bool((calls != calls[0]).any())  # MPI-IO calls and what they are made of
        shortest = self.thresholds.run_operations if levels else self.thresholds.loop_repetitions
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
        found.rows.append(self._loop_rows(chunk, bounds, irregular))
        found.at.append((bounds[:, :1] + np.arange(period)).ravel())
        edges = np.zeros(high - low + 1, dtype=np.int8)
        edges[bounds[:, 0] - low] += 1
        edges[bounds[:, 1] - low] -= 1
        covered[low:high] |= np.cumsum(edges[:-1], dtype=np.int8) > 0

    def _loop_rows(self, chunk: Chunk[Folded], bounds: Int64Array, irregular: BoolArray) -> Folded:
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
        return Folded(**out, lists=table.lists)

    # --- irregular stretches ----------------------------------------------------------------------

    def _take_stretches(
        self,
        chunk: Chunk[Folded],
        low: int,
        high: int,
        workspace: Workspace,
        found: _Found,
        covered: BoolArray,
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
                chunk, low, high, self._rules, self.thresholds.regular_run, workspace
            )
        for first, stop in pairwise(bounds):
            a, b = low + first, low + stop
            if b - a >= self.thresholds.compacted_operations:
                part = whole if b - a == high - low else block_passes.stretch(chunk, a, b)
                found.rows.append(self._stretch(table, a, b, part))
                found.at.append(np.array([a]))
                covered[a:b] = True

    def _stretch(self, table: Folded, low: int, high: int, what: Stretch) -> Folded:
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
        return Folded(**out, lists=table.lists)

    # --- weaves -----------------------------------------------------------------------------------

    def _take_weaves(
        self, chunk: Chunk[Folded], survey: Survey, by: Weaver, found: _Found, covered: BoolArray
    ) -> None:
        """Rows for stretches in which operations of several kinds take turns."""
        regions = self._mixed_regions(survey, covered)
        if regions is None:
            return
        table = chunk.table
        woven = weave(chunk, survey, regions, by)
        weaves, going = woven.weaves, woven.going
        if self._before is not None and regions.low[0] == 0 and self._goes_on(self._before, table):
            weaves[0] = replace(weaves[0], goes_on=True)
            if going is not None and self._going is not None and len(weaves) == 1:
                going = union(going, self._going, self.kinds)
        if regions.high[-1] == len(chunk):
            self._going = going
            self._look_behind(table)
        found.rows.append(self._numbered(woven.rows, weaves))
        found.at.append(woven.at)
        for low, high in zip(regions.low.tolist(), regions.high.tolist(), strict=True):
            covered[low:high] = True

    def _numbered(self, rows: Folded, weaves: list[Weave]) -> Folded:
        """Rows of weaves, whose strands get the next numbers."""
        first = self._n_strands
        columns = {name: getattr(rows, name) for name in NAMES}
        columns["strand"] = rows.strand + first
        self._weaves += [replace(one, first=first + one.first) for one in weaves]
        self._n_strands = self._weaves[-1].first + len(self._weaves[-1].apart)
        return Folded(**columns, lists=rows.lists)

    def _look_behind(self, table: Folded) -> None:
        """Keep in mind the last operation of a chunk, which is woven."""
        op = table.op[-1]
        self._behind = Before(
            int(table.rank[-1]), int(table.tick[-1]), bool(self.kinds.calls[op]), bool(self.kinds.parting[op])
        )  # fmt: skip

    def _goes_on(self, before: Before, table: Folded) -> bool:
        """Whether nothing parts a chunk's first operation from the last one before."""
        call, ticks = bool(self.kinds.calls[table.op[0]]), int(table.tick[0]) - before.tick
        if int(table.rank[0]) != before.rank or call != before.is_call:
            return False
        return ticks == 1 if call else not (ticks > 0 and self.kinds.parting[table.op[0]])

    def _mixed_regions(self, survey: Survey, covered: BoolArray) -> Regions | None:
        """Ranges of single operations with nothing between that parts them, in which their kinds change often."""
        flags, code = survey.flags, survey.code
        parted = (flags[:-1] & PARTED) > 0
        if covered.any():
            parted |= covered[1:] != covered[:-1]
        edges = np.concatenate([[0], 1 + np.flatnonzero(parted), [len(flags)]])
        low, high = edges[:-1], edges[1:]
        some = (
            ((flags[low] & WEAVABLE) > 0)
            & ~covered[low]
            & (high - low >= self.thresholds.woven_operations)
        )
        low, high = low[some], high[some]
        least = often(self.thresholds)
        some = [
            np.count_nonzero(code[a + 1 : b] != code[a : b - 1]) >= least * (b - a)
            for a, b in zip(low.tolist(), high.tolist(), strict=True)
        ]
        return Regions(low[some], high[some]) if any(some) else None
