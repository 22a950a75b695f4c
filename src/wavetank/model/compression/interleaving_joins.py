"""Interleavings of neighbouring chunks as one: the substreams of one file and call in sequence.

Reads and leaves a ``Folded`` table. So what follows has as many rows to look at as there are substreams, not chunks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wavetank.model.compression.folded_table import (
    NAMES,
    Columns,
    Folded,
    Interleaving,
    Lists,
    interleavings_of,
    take,
    with_columns,
)
from wavetank.model.compression.growing_lists import ListStore
from wavetank.trace.schema import BoolArray, Int64Array


def join_interleavings(table: Folded, store: ListStore) -> Folded:
    """The table with interleavings that go on from chunk to chunk as one, and their rows joined where they go on.

    Args:
        table: of all chunks; its lists are still in ``store``.
        store: of them; empty behind it.
    """
    interleavings = table.lists.interleavings
    if not any(interleaving.continues for interleaving in interleavings):
        return _with_lists(table, store)
    keys = _keys(table)
    order = np.arange(len(table))
    substream = table.substream.copy()
    interleaving_of = interleavings_of(table)
    bounds = np.searchsorted(
        interleaving_of[table.substream >= 0], np.arange(len(interleavings) + 1)
    )
    rows_of = np.flatnonzero(table.substream >= 0)
    made: list[Interleaving] = []
    first = 0
    for chain in _chains(interleavings, keys):
        low, high = interleavings[chain[0]].first, _end(interleavings[chain[-1]])
        different, number = np.unique(keys[low:high], axis=0, return_inverse=True)
        number = number.reshape(-1)
        rows = rows_of[bounds[chain[0]] : bounds[chain[-1] + 1]]
        new = number[table.substream[rows] - low]
        turn = np.argsort(new, kind="stable")
        order[rows] = rows[turn]
        substream[rows] = first + new[turn]
        small = np.uint8 if len(different) <= 256 else np.uint32
        ones = [interleavings[at] for at in chain]
        orders = [
            number[one.first - low : _end(one) - low].astype(small).take(one.order) for one in ones
        ]
        some = np.zeros(len(different), dtype=np.int64)
        some[number] = np.arange(low, high)
        apart, stray = (
            np.concatenate([getattr(interleavings[at], name) for at in chain])[some - low]
            for name in ("apart", "stray")
        )
        made.append(Interleaving(first, np.concatenate(orders), apart, stray))
        first += len(different)
    moved = take(table, order)
    columns = {name: getattr(moved, name) for name in NAMES}
    columns["substream"] = substream
    return _joined_rows(
        replace(with_columns(moved, columns), lists=Lists(interleavings=tuple(made))), store
    )


def _end(interleaving: Interleaving) -> int:
    return interleaving.first + len(interleaving.apart)


def _keys(table: Folded) -> Int64Array:
    """What the operations of each substream have in common: file; call, handle and what else it was given where it is one of several."""
    rows = np.flatnonzero(table.substream >= 0)
    head = rows[np.flatnonzero(np.diff(table.substream[rows], prepend=-1))]
    apart = np.concatenate([interleaving.apart for interleaving in table.lists.interleavings])
    stray = np.concatenate([interleaving.stray for interleaving in table.lists.interleavings])
    of_file = (table.file[head], apart)
    of_call = (table.op[head], table.handle[head], table.given[head], stray)
    return np.stack([*of_file, *(np.where(apart, column, 0) for column in of_call)], axis=1).astype(
        np.int64
    )


def _chains(interleavings: tuple[Interleaving, ...], keys: Int64Array) -> list[list[int]]:
    """Interleavings that go on from one to the next, and take the same files apart."""
    chains: list[list[int]] = []
    apart: dict[int, int] = {}
    for at, interleaving in enumerate(interleavings):
        mine = dict(keys[interleaving.first : _end(interleaving), :2].tolist())
        if interleaving.continues and all(
            apart.get(file, how) == how for file, how in mine.items()
        ):
            chains[-1].append(at)
            apart.update(mine)
        else:
            chains.append([at])
            apart = mine
    return chains


def _joined_rows(table: Folded, store: ListStore) -> Folded:
    """Neighbours of one substream as one row where they are lists, or one run goes on in the next."""
    goes_on = _goes_on(table, store)
    start = np.flatnonzero(np.append(True, ~goes_on))
    stop = np.append(start[1:], len(table))
    last = stop - 1
    several = stop - start > 1
    out: Columns = {name: getattr(table, name)[start] for name in NAMES}
    for name in ("count", "moved", "busy_ns"):
        out[name] = np.add.reduceat(getattr(table, name), start)
    out["end_ns"] = table.end_ns[last]
    pairs = np.maximum(out["count"] - 1, 1)
    for name in ("tick", "subtick"):
        step = f"{name}_step"
        end = getattr(table, name)[last] + (table.count[last] - 1) * getattr(table, step)[last]
        out[step] = np.where(several, (end - out[name]) // pairs, out[step])
    table = _with_lists(table, store, again=not _lie_together(table, goes_on))
    out["listed"], out["sized"] = table.listed[start], table.sized[start]
    return with_columns(table, out)


def _with_lists(table: Folded, store: ListStore, *, again: bool = False) -> Folded:
    """The table with its lists; ``again``: put behind each other in the order of the rows."""
    if not again and store.offsets.is_one and store.sizes.is_one:
        lists = Lists(store.offsets.all(), store.sizes.all(), table.lists.interleavings)
        return replace(table, lists=lists)
    places, columns = [], []
    for where, values in ((table.listed, store.offsets), (table.sized, store.sizes)):
        some = where >= 0
        n = table.count[some]
        at = np.full(len(table), -1, dtype=np.int64)
        at[some] = np.cumsum(n) - n
        gathered = np.empty(int(n.sum()), dtype=np.int64)
        values.stretches(where[some], n).gather(gathered)
        values.clear()
        places.append(at)
        columns.append(gathered)
    lists = Lists(columns[0], columns[1], table.lists.interleavings)
    return replace(table, listed=places[0], sized=places[1], lists=lists)


def _lie_together(table: Folded, goes_on: BoolArray) -> bool:
    """Whether lists that become one are neighbours already."""
    for name in ("listed", "sized"):
        where = getattr(table, name)
        some = goes_on & (where[:-1] >= 0)
        if (where[1:][some] != (where + table.count)[:-1][some]).any():
            return False
    return True


def _goes_on(table: Folded, store: ListStore) -> BoolArray:
    """Whether each row is of the substream of the one before and goes on with it: shape (rows - 1,)."""
    listed, sized = table.listed >= 0, table.sized >= 0
    asked = table.count * table.size
    asked[sized] = store.sizes.stretches(table.sized[sized], table.count[sized]).sums()
    full = table.moved == asked
    found: BoolArray = (table.substream[1:] >= 0) & (table.substream[1:] == table.substream[:-1])
    found &= full[:-1] & (table.loop[1:] == 0) & (table.loop[:-1] == 0)
    one_size = ~sized[1:] & ~sized[:-1] & (table.size[1:] == table.size[:-1])
    same = (listed[1:] & listed[:-1]) & (one_size | (sized[1:] & sized[:-1]))
    run = ~listed & (table.count > 1)
    run_on = run[1:] & run[:-1] & one_size & (table.disp[1:] == table.disp[:-1])
    run_on &= table.offset[1:] == (table.offset + table.count * table.disp)[:-1]
    for name in ("op", "handle", "given"):
        column = getattr(table, name)
        found &= column[1:] == column[:-1]
    found &= same | run_on
    return found
