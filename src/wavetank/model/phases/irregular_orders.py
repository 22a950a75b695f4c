"""Irregular orders: several operations that alternate without a repeating order. Each becomes a stream of its own.

Reads ``DataRows``; leaves rows in which each such operation lies together. The order stays in the programs, which go by
the rows of the trace. What counts is the order of the calls, not where they go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wavetank.model.compression.folded_table import Folded, interleavings_of, taken_apart
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.events.streams import COLUMNS, DataRows, first_operations
from wavetank.trace.schema import BoolArray, Int64Array


@dataclass(frozen=True)
class _Turns:
    """Like operations in a row: rows [start, stop) of ``DataRows``. Columns of equal length."""

    start: Int64Array
    stop: Int64Array
    chain: Int64Array  # number of the rows without a boundary between them
    symbol: Int64Array  # call and handle; loops have numbers of their own
    n: Int64Array  # operations
    weight: Int64Array  # turns that it counts as

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Spans:
    """Irregular orders: rows [start, stop) of ``DataRows``."""

    start: Int64Array
    stop: Int64Array

    def __len__(self) -> int:
        return len(self.start)

    def of_row(self, n: int) -> Int64Array:
        """The irregular order that each of n rows is in; -1 for none."""
        index = np.arange(n)
        span = np.searchsorted(self.start, index, side="right") - 1
        return np.where((span >= 0) & (index < self.stop[np.maximum(span, 0)]), span, -1)


def find_irregular_orders(
    data: DataRows, separated: BoolArray, table: Folded, thresholds: Thresholds
) -> Spans:
    """Ranges of one stream in which several operations alternate without a repeating order.

    Args:
        data: operations by stream.
        separated: shape (rows - 1,), whether a boundary lies between a row and the next.
        table: all rows, of which some may be substreams of interleavings.
        thresholds: what is an irregular order.
    """
    none = np.zeros(0, dtype=np.int64)
    turns = _candidates(_turns(data, separated, table, thresholds), thresholds)
    if not len(turns):
        return Spans(none, none)
    ordered, long = _orders(turns, thresholds)
    interleaved = turns.weight > 1
    ordered[interleaved] = long[interleaved] = False
    new = np.append(True, turns.chain[1:] != turns.chain[:-1])
    # Between what is long lie segments; in each an irregular order reaches from the first stretch without order to the last.
    border = new | long
    border[1:] |= long[:-1]
    segment = np.cumsum(border) - 1
    loose = ~ordered & ~long
    begins = loose & (border | ~np.append(False, loose[:-1]))
    start = np.flatnonzero(begins)
    if not len(start):
        start = none
    stretch = np.cumsum(begins) - 1
    weight = np.bincount(stretch[loose], weights=turns.weight[loose], minlength=len(start))
    seeds = np.flatnonzero(weight >= thresholds.mix_turns)
    last = np.full(len(start), -1, dtype=np.int64)
    last[stretch[loose]] = np.flatnonzero(loose)  # the last one stays
    first_turn, last_turn = start[seeds], last[seeds]
    of_segment = segment[first_turn]
    turns_of = np.bincount(segment[~long], weights=turns.weight[~long])
    many = np.flatnonzero(turns_of >= thresholds.mix_most_turns)
    edges = np.append(np.flatnonzero(border), len(turns))
    first_turn = np.concatenate([first_turn, edges[many]])
    last_turn = np.concatenate([last_turn, edges[many + 1] - 1])
    of_segment = np.concatenate([of_segment, many])
    chosen = np.unique(of_segment)
    low = np.full(len(edges), len(turns), dtype=np.int64)
    high = np.full(len(edges), -1, dtype=np.int64)
    np.minimum.at(low, of_segment, first_turn)
    np.maximum.at(high, of_segment, last_turn)
    start, stop = turns.start[low[chosen]], turns.stop[high[chosen]]
    for number in range(len(start)):
        start[number] = _reach(data, separated, int(start[number]), -1, thresholds)
        stop[number] = _reach(data, separated, int(stop[number]) - 1, 1, thresholds) + 1
    return Spans(start, stop)


def _reach(
    data: DataRows, separated: BoolArray, edge: int, way: int, thresholds: Thresholds
) -> int:
    """The last row of an irregular order on one side: single operations beside it belong to it, unless a regular run begins with them."""
    for row in range(edge + way, edge + way * thresholds.mix_turns, way):
        behind, two = row + way, row + 2 * way
        if (
            not 0 <= behind < len(data)
            or separated[min(row, row - way)]
            or separated[min(row, behind)]
        ):
            return row - way
        if (data.block[row] >= 0) or data.count[row] > 1 or data.op[row] != data.op[behind]:
            return row - way
        near, _ = _ends(data, behind, way)
        if data.count[behind] > 1:
            step = int(data.disp[behind])
        elif 0 <= two < len(data) and not separated[min(behind, two)]:
            step = way * (_ends(data, two, way)[0] - near)
        else:
            return row - way
        if way * (near - int(data.offset[row])) == step:
            return row - way
    return edge


def _ends(data: DataRows, row: int, way: int) -> tuple[int, int]:
    """Offsets of a row's operation that comes first on this way, and of its last one."""
    ends = int(data.offset[row]), int(data.offset[row] + (data.count[row] - 1) * data.disp[row])
    return ends if way > 0 else (ends[1], ends[0])


def _turns(data: DataRows, separated: BoolArray, table: Folded, thresholds: Thresholds) -> _Turns:
    n = len(data)
    # From 0: a call through an open. From -1 down to -n: one of at most n loops. Below: an interleaving.
    symbol = (data.slot.astype(np.int64) << 8) | data.op
    weight = np.ones(n, dtype=np.int64)
    looped = data.block >= 0
    if looped.any():
        symbol = np.where(looped, -1 - data.block, symbol)
    if table.lists.interleavings:
        substreams = taken_apart(table)[data.row]
        symbol = np.where(substreams, -1 - n - interleavings_of(table)[data.row], symbol)
        weight[substreams] = thresholds.mix_turns
    new = np.append(True, separated | (symbol[1:] != symbol[:-1]))
    chain = np.cumsum(np.append(True, separated)) - 1
    start = np.flatnonzero(new)
    return _Turns(
        start, np.append(start[1:], n), chain[start], symbol[start], np.add.reduceat(data.count, start), weight[start]
    )  # fmt: skip


def _candidates(turns: _Turns, thresholds: Thresholds) -> _Turns:
    """Those of the chains with enough turns for an irregular order."""
    if not len(turns):
        return turns
    per_chain = np.bincount(turns.chain, weights=turns.weight)
    some = per_chain[turns.chain] >= thresholds.mix_turns
    return _Turns(**{name: column[some] for name, column in vars(turns).items()})


def _orders(turns: _Turns, thresholds: Thresholds) -> tuple[BoolArray, BoolArray]:
    """Which turns are part of an order, and of a long one."""
    n = len(turns)
    ordered, long = thresholds.mix_order, thresholds.mix_long_order
    border = np.zeros((2, n + 1), dtype=np.int64)
    operations = np.concatenate([[0], np.cumsum(turns.n)])
    key = (turns.symbol.astype(np.uint64) << np.uint64(20)) ^ turns.n.astype(np.uint64)
    key *= np.uint64(0x9E3779B97F4A7C15)
    key ^= turns.chain.astype(np.uint64)
    for period in range(2, min(thresholds.mix_period, n // 2) + 1):
        equal = key[period:] == key[:-period]
        if np.count_nonzero(equal) < period:
            continue
        edges = np.flatnonzero(np.diff(equal, prepend=False, append=False))
        first, stop = edges[0::2], edges[1::2]
        some = stop - first >= period
        first, stop = first[some], stop[some] + period
        size = operations[stop] - operations[first]
        for row, least in enumerate((ordered, long)):
            np.add.at(border[row], first[size >= least], 1)
            np.subtract.at(border[row], stop[size >= least], 1)
    within = np.cumsum(border[:, :n], axis=1) > 0
    return within[0] | (turns.n >= ordered), within[1] | (turns.n >= long)


def loops_inside(data: DataRows, spans: Spans) -> Int64Array:
    """Blocks of ``data`` that lie in irregular orders: they have to be unfolded before these are split."""
    if not len(spans) or not len(data.block_start):
        return np.zeros(0, dtype=np.int64)
    found: Int64Array = np.flatnonzero(spans.of_row(len(data))[data.block_start] >= 0)
    return found


def apart(data: DataRows, spans: Spans) -> DataRows:
    """Rows with each operation of an irregular order as a stream of its own. No loop may lie in one."""
    span = spans.of_row(len(data))
    inside = span >= 0
    symbol = (data.slot.astype(np.int64) << 8) | data.op
    # Before an irregular order 0, in it 1, after it 2: of each of them, and its operations in sequence.
    section = 2 * np.searchsorted(spans.start, np.arange(len(data)), side="right") - inside
    order = np.lexsort((np.where(inside, symbol, 0), section, data.stream))
    block = data.block[order]
    start = np.flatnonzero((block >= 0) & (np.diff(block, prepend=-1) != 0))
    renumbered = np.full(len(data.block_start) + 1, -1)
    renumbered[block[start]] = np.arange(len(start))
    columns = {name: getattr(data, name)[order] for name in COLUMNS}
    columns["block"] = renumbered[block]
    columns["block_start"], columns["block_members"] = start, data.block_members[block[start]]
    key = np.stack([data.stream, section, np.where(inside, symbol, 0)])[:, order]
    columns["stream"] = np.cumsum(np.append(False, (key[:, 1:] != key[:, :-1]).any(axis=0)))
    columns["first_op"] = first_operations(columns["count"], columns["block"], start)
    return replace(data, **columns)
