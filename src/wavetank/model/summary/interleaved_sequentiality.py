"""Darshan's counts where several calls of one direction take turns on a file, as substreams of an interleaving.

Reads data rows and the interleavings that they are of; leaves the counts of each such group of rows, in the order of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.compression.folded_table import Folded, interleavings_of, taken_apart
from wavetank.model.events.streams import DataRows
from wavetank.model.native.lists import TurnList, sequential_turns
from wavetank.trace.schema import BoolArray, Int64Array

_NO_END = np.iinfo(np.int64).max


@dataclass(frozen=True)
class InterleavedGroups:
    """Groups of rows that take turns: columns of equal length.

    Attributes:
        low: first place of each group in the order that was given.
        high: behind its last one.
        offset: of the first operation in the run, bytes.
        end: of the last one.
        sequential: operations behind the first that begin at or behind the end of the one before.
        consecutive: of these, right behind it.
    """

    low: Int64Array
    high: Int64Array
    offset: Int64Array
    end: Int64Array
    sequential: Int64Array
    consecutive: Int64Array

    def covers(self, n: int) -> BoolArray:
        """By place, whether it is in a group."""
        border = np.zeros(n + 1, dtype=np.int64)
        border[self.low] += 1
        border[self.high] -= 1
        inside: BoolArray = np.cumsum(border[:n]) > 0
        return inside


def interleaved_groups(
    data: DataRows, order: Int64Array, key: Int64Array, table: Folded
) -> InterleavedGroups | None:
    """The groups, None where there are none.

    Args:
        data: operations by stream.
        order: its rows by key, and then as in the table.
        key: of each, file and direction.
        table: all rows.
    """
    if not table.lists.interleavings:
        return None
    row = data.row[order]
    interleaving = np.where(taken_apart(table)[row], interleavings_of(table)[row], -1)
    substream = table.substream[row]
    new = (key[1:] != key[:-1]) | (interleaving[1:] != interleaving[:-1]) | (interleaving[1:] < 0)
    low = np.flatnonzero(np.append(True, new))
    high = np.append(low[1:], len(order))
    several = (interleaving[low] >= 0) & (substream[low] != substream[high - 1])
    low, high = low[several], high[several]
    if not len(low):
        return None
    found = np.empty((4, len(low)), dtype=np.int64)
    of_interleaving = interleaving[low]
    for number in np.unique(of_interleaving).tolist():
        some = np.flatnonzero(of_interleaving == number)
        found[:, some] = _of_interleaving(
            data, table, number, [order[a:b] for a, b in zip(low[some], high[some], strict=True)]
        )
    return InterleavedGroups(low, high, *found)


def _of_interleaving(
    data: DataRows, table: Folded, number: int, groups: list[Int64Array]
) -> Int64Array:
    """Offset, end and counts of groups of rows of one interleaving: shape (4, groups)."""
    interleaving = table.lists.interleavings[number]
    list_of = np.full(len(interleaving.apart), -1, dtype=np.int32)
    lists: list[TurnList] = []
    group_of: list[int] = []
    for group, rows in enumerate(groups):
        substream = table.substream[data.row[rows]] - interleaving.first
        for one in np.unique(substream).tolist():
            list_of[one] = len(lists)
            lists.append(_turn_list(data, rows[substream == one], group))
            group_of.append(group)
    ends = np.full(len(groups), _NO_END)
    counts = sequential_turns(interleaving.order, list_of, lists, ends)
    found = np.zeros((4, len(groups)), dtype=np.int64)
    found[1] = ends
    np.add.at(found[2], group_of, counts[:, 0])
    np.add.at(found[3], group_of, counts[:, 1])
    found[0] = _first_offsets(interleaving.order, list_of, lists, group_of, len(groups))
    return found


def _turn_list(data: DataRows, rows: Int64Array, group: int) -> TurnList:
    """Offsets and sizes of a substream's operations."""
    row = int(rows[0])
    n = int(data.count[row])
    full = data.last_moved[row] == _last_size(data, row)
    if len(rows) == 1 and data.listed[row] >= 0 and full:
        sized = data.sized[row]
        size = data.lists.size[sized:][:n] if sized >= 0 else int(data.size[row])
        return TurnList(data.lists.offset[data.listed[row] :][:n], size, group)
    count = data.count[rows]
    index = np.repeat(rows, count)
    within = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    sizes = data.sizes(index, within)
    sizes[np.cumsum(count) - 1] = data.last_moved[rows]
    return TurnList(data.offsets(index, within), sizes, group)


def _last_size(data: DataRows, row: int) -> int:
    at = np.array([row])
    return int(data.sizes(at, data.count[at] - 1)[0])


def _first_offsets(
    order: np.ndarray,
    list_of: np.ndarray,
    lists: list[TurnList],
    group_of: list[int],
    n_groups: int,
) -> Int64Array:
    """Of each group, the offset of the operation that comes first."""
    found = np.zeros(n_groups, dtype=np.int64)
    missing = set(range(n_groups))
    low, high = 0, 1 << 10
    while missing:
        part = list_of[order[low:high]]
        seen, first = np.unique(part, return_index=True)
        for one in seen[np.argsort(first)].tolist():
            if one >= 0 and group_of[one] in missing:
                missing.remove(group_of[one])
                found[group_of[one]] = lists[one].offset[0]
        low, high = high, 4 * high
    return found
