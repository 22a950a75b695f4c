"""Finds in a chunk of single operations what runs cannot say: loops of several operations, and irregular stretches.

Reads a chunk's columns; leaves one row for each member of a loop and one for each irregular stretch, whose
offsets (and sizes) go to lists. Columns are compared whole: work for an operation is a few comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from wavetank.model.compression.blocks import Blocks
from wavetank.model.compression.folded_table import (
    Folded,
    Interleaving,
    Lists,
    joined,
)
from wavetank.model.compression.growing_lists import ListStore
from wavetank.model.compression.interleaving_joins import join_interleavings
from wavetank.model.compression.interleavings import (
    Interleaver,
    continue_interleaving,
    interleave,
    often,
)
from wavetank.model.compression.list_stripes import Stripes
from wavetank.model.compression.loop_blocks import LoopBlocks
from wavetank.model.compression.stretch_blocks import StretchBlocks
from wavetank.model.compression.unfinished_substreams import union
from wavetank.model.native.substreams import Before, Regions, Unfinished
from wavetank.model.native.survey import (
    Chunk,
    Flag,
    OpKinds,
    Survey,
    Workspace,
)
from wavetank.model.rules import Rules
from wavetank.trace.schema import BoolArray, Int64Array


class Compactor:
    """Compacts the chunks of one run, one after another.

    Args:
        rules: what is worth it, what is similar, which levels communication separates.
        kinds: of operations, what separates them and what may be interleaved; None: nothing.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        kinds: OpKinds | None = None,
    ) -> None:
        self._rules = rules or Rules()
        self.thresholds = self._rules.thresholds
        self.work = self._rules.work
        none = np.zeros(256, dtype=np.uint8)
        self.kinds = kinds or OpKinds(none, none, none, none)
        self._interleavings: list[Interleaving] = []
        self._n_substreams = 0
        self._store = ListStore.with_room(self.work.lists)
        self._stripes = Stripes(self._store)
        self._loops = LoopBlocks(self.thresholds, self.kinds.calls, self._store)
        self._stretches = StretchBlocks(self._rules, self._store)
        self._before: Before | None = None  # of the chunk that is looked at, if that is interleaved
        self._behind: Before | None = None  # its last operation, if that is
        self._unfinished: Unfinished | None = None  # substreams of the last interleaving

    def whole(self, chunks: list[Folded]) -> Folded:
        """The folded chunks as one table, with all lists that their rows point to."""
        return join_interleavings(
            joined(chunks, Lists(interleavings=tuple(self._interleavings))), self._store
        )

    def go_on(
        self, chunk: Chunk[Folded], workspace: Workspace, refold: Callable[[Folded], Folded]
    ) -> Folded | None:
        """The rows of the next chunk, if all of it goes on with the interleaving that the chunk before it ended with."""
        self._before, self._behind = self._behind, None
        before, unfinished = self._before, self._unfinished
        if (
            before is None
            or unfinished is None
            or len(chunk)
            < max(self.thresholds.compacted_operations, self.thresholds.woven_operations)
        ):
            return None
        interleaved = continue_interleaving(
            chunk, unfinished, before, self._interleaver(refold, workspace)
        )
        if interleaved is None:
            return None
        rows, interleaving = interleaved
        self._look_behind(chunk.table)
        return self._numbered(rows, [interleaving])

    def _interleaver(self, refold: Callable[[Folded], Folded], workspace: Workspace) -> Interleaver:
        return Interleaver(
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
    ) -> tuple[list[Folded], Int64Array, BoolArray] | None:
        """Blocks of a chunk: the rows of each, the place of each row's first operation, and which places they cover.

        Args:
            chunk: single operations for the most part.
            survey: of it.
            workspace: of arrays.
            refold: folds rows in order; None: nothing is interleaved.
        """
        n = len(chunk)
        barriers = self._barriers(survey)
        runs = survey.begin, survey.end + 1
        found = Blocks(n)
        if survey.n_linked == n - 1:  # one operation of one size throughout
            for low, high in self._regions(n, barriers, runs, self.thresholds.regular_run):
                self._stretches.take(chunk, low, high, workspace, found)
            return found.all()
        for low, high in self._regions(n, barriers, runs, self.thresholds.loop_operations):
            for loop in self._loops.find(survey.signature, low, high):
                self._loops.take(chunk, survey.code, loop, workspace, found)
        if refold is not None and self.kinds.interleaved.any():
            self._take_interleavings(chunk, survey, self._interleaver(refold, workspace), found)
        code = survey.code
        for low, high in self._regions(
            n, barriers, runs, self.thresholds.regular_run, found.covered
        ):
            change = 1 + np.flatnonzero(code[low + 1 : high] != code[low : high - 1])
            bounds = np.concatenate([[low], low + change, [high]])
            for number in np.flatnonzero(
                np.diff(bounds) >= self.thresholds.compacted_operations
            ).tolist():
                a, b = int(bounds[number]), int(bounds[number + 1])
                self._stretches.take(chunk, a, b, workspace, found)
        return found.all()

    @staticmethod
    def _barriers(survey: Survey) -> Int64Array:
        """Operations that no block holds together with the one before."""
        flags = survey.flags[:-1]
        if survey.n_separating and survey.n_talks:
            separated = (flags & (Flag.JOINABLE | Flag.TALKS)) != Flag.JOINABLE
        elif survey.n_barriers:
            separated = (flags & Flag.JOINABLE) == 0
        else:
            return np.zeros(0, dtype=np.int64)
        return 1 + np.flatnonzero(separated)

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

    # --- interleavings -----------------------------------------------------------------------------------

    def _take_interleavings(
        self, chunk: Chunk[Folded], survey: Survey, by: Interleaver, found: Blocks
    ) -> None:
        """Rows for stretches in which operations of several kinds take turns."""
        regions = self._mixed_regions(survey, found.covered)
        if regions is None:
            return
        table = chunk.table
        interleaved = interleave(chunk, survey, regions, by)
        interleavings, unfinished = interleaved.interleavings, interleaved.unfinished
        if self._before is not None and regions.low[0] == 0 and self._goes_on(self._before, table):
            interleavings[0] = replace(interleavings[0], continues=True)
            if unfinished is not None and self._unfinished is not None and len(interleavings) == 1:
                unfinished = union(unfinished, self._unfinished, self.kinds)
        if regions.high[-1] == len(chunk):
            self._unfinished = unfinished
            self._look_behind(table)
        found.add(self._numbered(interleaved.rows, interleavings), interleaved.at)
        for low, high in zip(regions.low.tolist(), regions.high.tolist(), strict=True):
            found.covered[low:high] = True

    def _numbered(self, rows: Folded, interleavings: list[Interleaving]) -> Folded:
        """Rows of interleavings, whose substreams get the next numbers."""
        first = self._n_substreams
        self._interleavings += [replace(one, first=first + one.first) for one in interleavings]
        self._n_substreams = self._interleavings[-1].first + len(self._interleavings[-1].apart)
        return replace(rows, substream=rows.substream + first)

    def _look_behind(self, table: Folded) -> None:
        """Keep in mind the last operation of a chunk, which is interleaved."""
        op = table.op[-1]
        self._behind = Before(
            int(table.rank[-1]), int(table.tick[-1]), bool(self.kinds.calls[op]), bool(self.kinds.separating[op])
        )  # fmt: skip

    def _goes_on(self, before: Before, table: Folded) -> bool:
        """Whether nothing separates a chunk's first operation from the last one before."""
        call, ticks = bool(self.kinds.calls[table.op[0]]), int(table.tick[0]) - before.tick
        if int(table.rank[0]) != before.rank or call != before.is_call:
            return False
        return ticks == 1 if call else not (ticks > 0 and self.kinds.separating[table.op[0]])

    def _mixed_regions(self, survey: Survey, covered: BoolArray) -> Regions | None:
        """Ranges of single operations with nothing between that separates them, in which their kinds change often."""
        flags, code = survey.flags, survey.code
        separated = (flags[:-1] & Flag.SEPARATED) > 0
        if covered.any():
            separated |= covered[1:] != covered[:-1]
        edges = np.concatenate([[0], 1 + np.flatnonzero(separated), [len(flags)]])
        low, high = edges[:-1], edges[1:]
        some = (
            ((flags[low] & Flag.INTERLEAVABLE) > 0)
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
