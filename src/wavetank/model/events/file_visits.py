"""Visits of files that are used alike: all that a rank does with one of them before it turns to another one.

Reads the rows of a trace; leaves what each visit does: where its opens are, how far it goes, whether it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.columns import different
from wavetank.trace.schema import UNKNOWN, BoolArray, FoldTable, Int32Array, Int64Array


@dataclass(frozen=True)
class Visits:
    """Rows of families, by family, rank and time: ``start`` says where in ``rows`` each visit begins."""

    rows: Int64Array
    number: Int64Array  # of each of these rows' visit
    start: Int64Array


def visits_of(table: FoldTable, group: Int64Array) -> Visits:
    """The visits of families.

    Args:
        table: rows of all ranks, each rank's in order.
        group: of each file, and of -1, the number of its family; -1: none.
    """
    rows = np.flatnonzero(group[table.file] >= 0)
    n_ranks = int(table.rank.max(initial=0)) + 1
    key = group[table.file[rows]] * n_ranks + table.rank[rows]
    order = np.argsort(key, kind="stable")
    rows, key = rows[order], key[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (key[1:] != key[:-1]) | (table.file[rows[1:]] != table.file[rows[:-1]])
    return Visits(rows, np.cumsum(new) - 1, np.flatnonzero(new))


def highest_offsets(table: FoldTable, visits: Visits, moves: BoolArray, n_files: int) -> Int64Array:
    """Highest offset touched + 1 of each file, bytes.

    Args:
        table: rows of all ranks.
        visits: of its files.
        moves: of each operation's code, whether it moves data.
        n_files: that the rows may name.
    """
    rows = visits.rows[_moving(table, visits, moves)]
    count, size, disp = table.count[rows], table.size[rows], table.disp[rows]
    first = table.offset[rows]
    last = first + (count - 1) * disp
    end = last + table.moved[rows] - (count - 1) * size
    end = np.maximum(end, np.where(count > 1, np.maximum(first, last - disp) + size, 0))
    highest = np.zeros(n_files, dtype=np.int64)
    np.maximum.at(highest, table.file[rows], np.where(first == UNKNOWN, 0, end))
    return highest


def are_sequential(
    table: FoldTable, visits: Visits, moves: BoolArray, of_visit: Int64Array, n_families: int
) -> BoolArray:
    """By family, whether each operation begins where the one before it in the visit ended.

    Args:
        table: rows of all ranks.
        visits: of its files.
        moves: of each operation's code, whether it moves data.
        of_visit: each visit's family.
        n_families: how many there are.
    """
    moving = _moving(table, visits, moves)
    rows, number = visits.rows[moving], visits.number[moving]
    count, size = table.count[rows], table.size[rows]
    last = table.offset[rows] + (count - 1) * table.disp[rows]
    end = last + table.moved[rows] - (count - 1) * size
    inside = (count == 1) | (table.disp[rows] == size)
    follows = np.ones(len(rows), dtype=bool)
    follows[1:] = (number[1:] != number[:-1]) | (table.offset[rows[1:]] == end[:-1])
    good = inside & follows & (table.offset[rows] != UNKNOWN) & (table.loop[rows] == 0)
    found = np.ones(n_families, dtype=bool)
    found[of_visit[number[~good]]] = False
    return found


def _moving(table: FoldTable, visits: Visits, moves: BoolArray) -> BoolArray:
    rows = visits.rows
    moving: BoolArray = moves[table.op[rows]]
    moving &= (table.error[rows] == 0) & (table.moved[rows] > 0)
    return moving


def handles_of_visits(
    table: FoldTable, visits: Visits, through: BoolArray, group: Int64Array
) -> Int32Array:
    """Handles of all rows; of families the number of the open within its visit, the lowest that is not in use.

    So the opens of all visits are alike. Numbers above all others keep them apart from those of other files.

    Args:
        table: rows of all ranks.
        visits: of its files.
        through: which rows of visits are opens, or calls on what is open.
        group: of each file the number of its family.
    """
    rows, number = visits.rows[through], visits.number[through]
    handles = table.handle.copy()
    base = int(table.handle.max(initial=0)) + 1
    # Neighbours in a visit that go through another open are few, but for visits of several opens.
    changes = np.flatnonzero(
        (number[1:] == number[:-1]) & (handles[rows[1:]] != handles[rows[:-1]])
    )
    slot = np.zeros(len(rows), dtype=np.int64)
    bounds = np.searchsorted(number, different(number[changes])[:, None] + [0, 1])
    for low, high in bounds.tolist():
        slot[low:high] = _open_slots(handles[rows[low:high]].tolist())
    apart = group[table.file[rows]] * (int(slot.max(initial=0)) + 1)
    handles[rows] = base + apart + slot
    names = visits.rows[~through]  # calls on names are through none, and take no number
    handles[names] = base + group[table.file[names]] * (int(slot.max(initial=0)) + 1)
    return handles


def _open_slots(handles: list[int]) -> list[int]:
    """For each call of a visit the lowest number that is not in use when its open begins."""
    last = {handle: place for place, handle in enumerate(handles)}
    slot: dict[int, int] = {}
    found = []
    for place, handle in enumerate(handles):
        if handle not in slot:
            taken = {slot[other] for other in slot if last[other] >= place}
            slot[handle] = next(n for n in range(len(taken) + 1) if n not in taken)
        found.append(slot[handle])
    return found
