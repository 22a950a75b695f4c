"""Finds in a chunk of single operations what runs cannot say: loops of several operations, and irregular stretches.

Reads a chunk's columns; leaves one row for each member of a loop and one for each irregular stretch, whose
offsets (and sizes) go to lists. Columns are compared whole: work for an operation is a few comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from wavetank.model.folded import (
    NAMES,
    STEPS,
    BoolArray,
    Columns,
    Folded,
    Lists,
    Weave,
    joined,
)  # fmt: skip
from wavetank.model.recurring import (
    HEAD,
    find_equal_runs,
    find_matched,
    find_parts_by_size,
    find_period,
)
from wavetank.model.rules import Rules
from wavetank.model.seeks import SEEK_SET
from wavetank.model.weave import Kinds, weave
from wavetank.trace.schema import UNKNOWN, Int64Array

FIRST_LOOP = 1 << 40
"""Numbers of loops that are found here begin above those of traces."""
_WINDOW = 192  # operations that are looked at for a period; two periods of MAX_MEMBERS and more
_LONGEST_STRIDE = 1 << 12  # operations that are passed over where no loop begins again and again


@dataclass(frozen=True)
class Limits:
    """What is worth compacting.

    Attributes:
        shortest: operations of an irregular stretch, and of what is searched for loops.
        repetitions: of a loop.
        regular: operations of a regular run that stays a row of its own inside an irregular stretch.
        members: operations of a loop's body.
        woven: operations of a stretch that is woven.
    """

    shortest: int = 1024
    repetitions: int = 8
    regular: int = 16
    members: int = 64
    woven: int = 256


@dataclass
class _Found:
    """Rows of one chunk's blocks, with the places of their first operations."""

    rows: list[Folded] = field(default_factory=list)
    at: list[Int64Array] = field(default_factory=list)


class Compactor:
    """Compacts the chunks of one run, one after another.

    Args:
        limits: what is worth it.
        rules: what is similar; which levels communication parts.
        parting: by operation code, whether communication parts its operations.
        calls: by operation code, whether it is a tick itself: an MPI-IO call.
        kinds: what may be woven; None: nothing.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        rules: Rules | None = None,
        parting: BoolArray | None = None,
        calls: BoolArray | None = None,
        kinds: Kinds | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._rules = rules or Rules()
        none = np.zeros(256, dtype=bool)
        self._parting = none if parting is None else parting
        self._calls = none if calls is None else calls
        self._kinds = kinds
        self._weaves: list[Weave] = []
        self._n_strands = 0
        self._offsets: list[Int64Array] = []
        self._sizes: list[Int64Array] = []
        self._n_offsets = self._n_sizes = 0
        self._n_loops = FIRST_LOOP

    def lists(self) -> Lists:
        """All offsets and sizes that rows of the chunks so far point to."""
        if not self._offsets and not self._weaves:
            return Lists()
        offsets = np.concatenate([np.zeros(0, dtype=np.int64), *self._offsets])
        self._offsets = [offsets]
        sizes = np.concatenate(self._sizes) if self._sizes else np.zeros(0, dtype=np.int64)
        self._sizes = [sizes]
        return Lists(offsets, sizes, tuple(self._weaves))

    def compact(
        self,
        table: Folded,
        joinable: BoolArray,
        linked: BoolArray,
        runs: tuple[Int64Array, Int64Array],
        refold: Callable[[Folded], Folded] | None = None,
    ) -> tuple[Folded, Int64Array, BoolArray] | None:
        """Blocks of a chunk: their rows, the place of each row's first operation, and which places they cover.

        Args:
            table: single operations for the most part.
            joinable: shape (rows - 1,), whether each and the next may be in one block.
            linked: likewise, in one row.
            runs: first and last operations of the runs.
            refold: folds rows in order; None: nothing is woven.
        """
        n = len(table)
        barrier = ~joinable
        if self._parting[table.op].any():
            barrier |= self._talks(table)
        runs = runs[0], runs[1] + 1
        found = _Found()
        covered = np.zeros(n, dtype=bool)
        if linked.all():  # one operation of one size throughout
            for low, high in self._regions(n, barrier, runs, self.limits.regular):
                self._take_stretches(table, low, high, found, covered)
            return self._all(found, table, covered)
        key = _key(table)
        signature = (key ^ table.size.astype(np.uint64)) * np.uint64(0xC2B2AE3D27D4EB4F)
        for low, high in self._regions(n, barrier, runs, self.limits.members):
            for a, b, period in self._loops(signature, low, high):
                self._take_loop(table, a, b, period, found, covered)
        if refold is not None and self._kinds is not None:
            self._take_weaves(table, key, self._kinds, refold, found, covered)
        for low, high in self._regions(n, barrier, runs, self.limits.regular, covered):
            change = 1 + np.flatnonzero(key[low + 1 : high] != key[low : high - 1])
            bounds = np.concatenate([[low], low + change, [high]])
            for number in np.flatnonzero(np.diff(bounds) >= self.limits.shortest).tolist():
                a, b = int(bounds[number]), int(bounds[number + 1])
                self._take_stretches(table, a, b, found, covered)
        return self._all(found, table, covered)

    @staticmethod
    def _all(
        found: _Found, table: Folded, covered: BoolArray
    ) -> tuple[Folded, Int64Array, BoolArray] | None:
        if not found.rows:
            return None
        return joined(found.rows, table.lists), np.concatenate(found.at), covered

    def _talks(self, table: Folded) -> BoolArray:
        """Whether communication lies between an operation and the next."""
        found: BoolArray = np.diff(table.tick) - self._calls[table.op[:-1]] > 0
        return found

    def _regions(
        self,
        n: int,
        barrier: BoolArray,
        runs: tuple[Int64Array, Int64Array],
        regular: int,
        covered: BoolArray | None = None,
    ) -> list[tuple[int, int]]:
        """Ranges of operations without barriers, runs of ``regular`` operations and what is covered."""
        edges = [np.array([0, n]), 1 + np.flatnonzero(barrier)]
        some = runs[1] - runs[0] >= regular
        edges += [runs[0][some], runs[1][some]]
        if covered is not None:
            edges.append(1 + np.flatnonzero(covered[1:] != covered[:-1]))
        bounds = np.unique(np.concatenate(edges))
        low, high = bounds[:-1], bounds[1:]
        kept = high - low >= self.limits.shortest
        kept &= ~np.isin(low, runs[0][some])
        if covered is not None:
            kept &= ~covered[low]
        return list(zip(low[kept].tolist(), high[kept].tolist(), strict=True))

    # --- loops ------------------------------------------------------------------------------------

    def _loops(self, signature: np.ndarray, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """Ranges that repeat a body of several operations, in whole repetitions, and its length."""
        stride = HEAD
        position = low
        while high - position >= 2 * self.limits.repetitions:
            window = min(_WINDOW, high - position)
            period = find_period(signature[position : position + window], self.limits.members)
            if period == 1:
                position += find_matched(signature, position, high, 1) + 1
                continue
            if period:
                matched = find_matched(signature, position, high, period)
                times = matched // period + 1
                if times >= self.limits.repetitions:
                    yield position, position + times * period, period
                    position += times * period
                    stride = HEAD
                    continue
            position += stride
            stride = min(2 * stride, _LONGEST_STRIDE)

    def _take_loop(
        self, table: Folded, low: int, high: int, period: int, found: _Found, covered: BoolArray
    ) -> None:
        """Rows for the loop in operations [low, high): one for each stretch whose members stay regular."""
        heads, tails = slice(low, high - period), slice(low + period, high)
        for name in ("op", "file", "handle", "view", "error", "arg", "size"):
            column = getattr(table, name)
            if not np.array_equal(column[heads], column[tails]):
                return  # two signatures of one value
        n_rep = (high - low) // period
        step = table.offset[tails] - table.offset[heads]
        change = step[period:] != step[:-period]
        in_view = bool((table.view[low : low + period] >= 0).any())
        if in_view:
            view_step = table.view_offset[tails] - table.view_offset[heads]
            change |= view_step[period:] != view_step[:-period]
        irregular = np.zeros(period, dtype=bool)
        parts = [(0, n_rep)]
        if change.any():
            # Member by member: reductions along short rows are slow.
            changes = [change[member::period] for member in range(period)]
            parts = find_equal_runs(~np.logical_or.reduce(changes), self.limits.repetitions)
            if sum(stop - first for first, stop in parts) * 2 < n_rep:
                if in_view or (table.offset[low : low + period] < 0).any():
                    return
                irregular = np.array([member.any() for member in changes])
                parts = [(0, n_rep)]
        for first, stop in parts:
            a, b = low + first * period, low + stop * period
            found.rows.append(self._loop_rows(table, a, b, irregular))
            found.at.append(a + np.arange(period))
            covered[a:b] = True

    def _loop_rows(self, table: Folded, low: int, high: int, irregular: BoolArray) -> Folded:
        period = len(irregular)
        heads, tails = slice(low, low + period), slice(high - period, high)
        n = (high - low) // period
        self._n_loops += 1
        out: Columns = {name: getattr(table, name)[heads].copy() for name in NAMES}
        out["count"] = np.full(period, n)
        out["moved"] = n * out["size"] - (table.size[tails] - table.moved[tails])
        for name, step in STEPS:
            column = getattr(table, name)
            out[step] = (column[tails] - column[heads]) // (n - 1)
        out["end_ns"] = table.end_ns[tails]
        busy = table.busy_ns
        out["busy_ns"] = np.array([busy[at:high:period].sum() for at in range(low, low + period)])
        out["loop"] = np.full(period, self._n_loops)
        for member in np.flatnonzero(irregular).tolist():
            offset = table.offset[low + member : high : period]
            out["listed"][member] = self._list_offsets(offset)
            out["disp"][member] = out["view_disp"][member] = offset[1] - offset[0]
        return Folded(**out, lists=table.lists)

    # --- irregular stretches ----------------------------------------------------------------------

    def _take_stretches(
        self, table: Folded, low: int, high: int, found: _Found, covered: BoolArray
    ) -> None:
        """A row for each irregular stretch of one operation in [low, high)."""
        if (
            table.view[low] >= 0
            or table.error[low]
            or (table.size[low:high] == 0).any()
            or (table.offset[low:high] < 0).any()
            or table.moved[high - 1] == 0
            or any((column[low:high] != column[low]).any() for column in _same(table))
        ):
            return
        size = table.size[low:high]
        bounds = [0, high - low]
        if (size != size[0]).any():
            bounds = find_parts_by_size(size, self._rules, self.limits.regular)
        for a, b in pairwise(bounds):
            if b - a >= self.limits.shortest:
                found.rows.append(self._stretch(table, low + a, low + b))
                found.at.append(np.array([low + a]))
                covered[low + a : low + b] = True

    def _stretch(self, table: Folded, low: int, high: int) -> Folded:
        n = high - low
        last = high - 1
        out: Columns = {name: getattr(table, name)[low : low + 1].copy() for name in NAMES}
        out["count"] = np.array([n])
        size = table.size[low:high]
        out["moved"] = np.array([int(size.sum()) - int(table.size[last] - table.moved[last])])
        out["disp"] = out["view_disp"] = table.offset[low + 1 : low + 2] - out["offset"]
        for name, step in (("tick", "tick_step"), ("subtick", "subtick_step")):
            column = getattr(table, name)
            out[step] = np.array([(column[last] - column[low]) // (n - 1)])
        out["end_ns"] = table.end_ns[last : last + 1]
        out["busy_ns"] = np.array([table.busy_ns[low:high].sum()])
        out["listed"] = np.array([self._list_offsets(table.offset[low:high])])
        if (size != size[0]).any():
            out["sized"] = np.array([self._n_sizes])
            self._sizes.append(size.copy())
            self._n_sizes += n
        return Folded(**out, lists=table.lists)

    # --- weaves -----------------------------------------------------------------------------------

    def _take_weaves(
        self,
        table: Folded,
        key: np.ndarray,
        kinds: Kinds,
        refold: Callable[[Folded], Folded],
        found: _Found,
        covered: BoolArray,
    ) -> None:
        """Rows for stretches in which operations of several kinds take turns."""
        regions = self._mixed_regions(table, key, kinds, covered)
        if not regions:
            return
        rows, at, weaves = weave(
            table, regions, kinds, self._rules, self.limits.regular, refold, self._store
        )
        first = self._n_strands
        columns = {name: getattr(rows, name) for name in NAMES}
        columns["strand"] = rows.strand + first
        self._weaves += [Weave(first + one.first, one.order, one.apart) for one in weaves]
        self._n_strands += weaves[-1].first + len(weaves[-1].apart)
        found.rows.append(Folded(**columns, lists=table.lists))
        found.at.append(at)
        for low, high in regions:
            covered[low:high] = True

    def _mixed_regions(
        self, table: Folded, key: np.ndarray, kinds: Kinds, covered: BoolArray
    ) -> list[tuple[int, int]]:
        """Ranges of single operations with nothing between that parts them, in which their kinds change often."""
        can = kinds.woven[table.op] & ~covered
        for column, plain in (
            (table.count, 1),
            (table.loop, 0),
            (table.error, 0),
            (table.view, UNKNOWN),
        ):
            if (other := column != plain).any():
                can &= ~other
        if (unknown := table.offset < 0).any():
            can &= ~unknown
        still = table.moved <= 0
        if still.any():
            can &= ~still | (kinds.seeks[table.op] & (table.arg == SEEK_SET))
        parted = can[1:] != can[:-1]
        if table.rank[0] != table.rank[-1]:
            parted |= table.rank[1:] != table.rank[:-1]
        ranks = table.rank[0] != table.rank[-1]
        if ranks or table.tick[0] != table.tick[-1] or kinds.calls[table.op].any():
            call, ticks = kinds.calls[table.op], np.diff(table.tick)
            parted |= (call[1:] != call[:-1]) | (call[1:] & (ticks != 1))
            parted |= ~call[1:] & (ticks > 0) & self._parting[table.op[1:]]
        edges = np.concatenate([[0], 1 + np.flatnonzero(parted), [len(can)]])
        low, high = edges[:-1], edges[1:]
        some = can[low] & (high - low >= self.limits.woven)
        least = 1 / (4 * self.limits.regular)
        return [
            (a, b)
            for a, b in zip(low[some].tolist(), high[some].tolist(), strict=True)
            if np.count_nonzero(key[a + 1 : b] != key[a : b - 1]) >= least * (b - a)
        ]

    def _store(self, offsets: Int64Array, sizes: Int64Array) -> tuple[int, int]:
        """Where in the lists these are put."""
        places = self._n_offsets, self._n_sizes
        self._offsets.append(offsets)
        self._sizes.append(sizes)
        self._n_offsets += len(offsets)
        self._n_sizes += len(sizes)
        return places

    def _list_offsets(self, offsets: Int64Array) -> int:
        start = self._n_offsets
        self._offsets.append(offsets.copy())
        self._n_offsets += len(offsets)
        return start


def _same(table: Folded) -> tuple[np.ndarray, ...]:
    """What operations of one stretch have in common, but their sizes."""
    return table.op, table.file, table.handle, table.view, table.error, table.arg


def _key(table: Folded) -> np.ndarray:
    """A number for all that operations of one stretch have in common, but their sizes."""
    key = table.op.astype(np.uint64)
    for column in _same(table)[1:]:
        if len(column) and (column != column[0]).any():
            key *= np.uint64(0x9E3779B97F4A7C15)  # first: 66 ^ 4 is 67 ^ 5
            key ^= key >> np.uint64(29)
            key ^= column.astype(np.uint64)
    return key
