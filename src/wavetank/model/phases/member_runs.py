"""The members of a rank's part in a phase where loops and lists take part in it: their runs.

Reads ``DataRows``; leaves each member's runs without unfolding loops that repeat the pattern, and
lists as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavetank.model.document.access_runs import Repetitions, RunArrays, canonical
from wavetank.model.events.streams import DataRows
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array

Members = tuple[
    tuple[int, ...], tuple[int, ...], tuple[Repetitions, ...], tuple[Repetitions, ...] | None
]
_NAMES = ("count", "size", "moved", "offset", "disp", "view_offset", "view_disp")


def members_of(data: DataRows, low: int, high: int, row: int, end_row: int, period: int) -> Members:
    """Operation, handle, runs and runs in the view of each pattern member of operations [low, high)."""
    first, _ = data.locate(np.arange(low, low + period))
    ops, slots = tuple(data.op[first].tolist()), tuple(data.slot[first].tolist())
    stretch = _one_stretch(data, low, high, row, end_row) if period == 1 else None
    if stretch is not None:
        return ops, slots, (Repetitions.of(stretch),), None
    found: list[list[dict[str, Int64Array]]] = [[] for _ in range(period)]
    for begin, stop, block in _segments(data, low, high, row, end_row):
        at = begin - low
        if block >= 0 and data.block_members[block] == period:
            start = int(data.block_start[block])
            for member in range(period):
                of_row = {
                    name: getattr(data, name)[start + member : start + member + 1]
                    for name in _NAMES
                }
                if data.listed[start + member] >= 0:
                    of_row = _listed(data, start + member, start + member + 1)
                found[(at + member) % period].append(of_row)
            continue
        if block >= 0 and (tiled := _tiles(data, block, period)):
            for member in range(period):
                found[(at + member) % period].append(tiled[member])
            continue
        single = _singles(data, begin, stop)
        for member in range(period):
            skipped = (member - at) % period
            found[member].append({name: column[skipped::period] for name, column in single.items()})
    joined = [_one_after_another(parts) for parts in found]
    # Lists of any length stay as they are: nothing in them is regular.
    lists = any(
        len(part["count"]) and part["disp"].strides == (0,) for parts in found for part in parts
    )
    runs = [runs_of(member, "offset", "disp", lists=lists) for member in joined]
    if data.view[row] == UNKNOWN:
        return ops, slots, tuple(map(Repetitions.of, runs)), None
    views = [runs_of(member, "view_offset", "view_disp", lists=lists) for member in joined]
    return ops, slots, tuple(map(Repetitions.of, runs)), tuple(map(Repetitions.of, views))


def _one_after_another(parts: list[dict[str, Int64Array]]) -> dict[str, Int64Array]:
    """Columns of all parts; one number stands for a column that is one in all of them."""
    n = sum(len(part["offset"]) for part in parts)
    same = {  # columns that are others in all parts
        name: other
        for name, other in (("moved", "size"), ("view_offset", "offset"))
        if all(part[name] is part[other] for part in parts)
    }
    joined: dict[str, Int64Array] = {}
    for name in _NAMES:
        columns = [part[name] for part in parts if len(part["offset"])]
        if name in same:
            joined[name] = joined[same[name]]
        elif all(c.strides == (0,) and c[0] == columns[0][0] for c in columns):
            joined[name] = np.broadcast_to(columns[0][0], n)
        else:
            joined[name] = np.concatenate(columns)
    return joined


def _segments(
    data: DataRows, low: int, high: int, row: int, end_row: int
) -> Iterator[tuple[int, int, int]]:
    """Operations [low, high) in segments: each block whole, and what lies between; the block's number or -1."""
    position = low
    for block in np.unique(data.block[row : end_row + 1]).tolist():
        if block < 0:
            continue
        start = int(data.block_start[block])
        first = int(data.first_op[start])
        stop = first + int(data.block_members[block] * data.count[start])
        if first > position:
            yield position, first, -1
        yield first, stop, block
        position = stop
    if high > position:
        yield position, high, -1


def _listed(data: DataRows, row: int, stop: int) -> dict[str, Int64Array]:
    """The operations of rows [row, stop) whose offsets, and sizes if they are listed, are neighbours in the lists."""
    n = int(data.count[row:stop].sum())
    offset = data.lists.offset[data.listed[row] :][:n]
    sized = data.sized[row]
    size = data.lists.size[sized:][:n] if sized >= 0 else np.broadcast_to(data.size[row], n)
    moved = size
    last = data.last_moved[row:stop]
    ends = np.cumsum(data.count[row:stop]) - 1
    if (last != size[ends]).any():
        moved = size.copy()
        moved[ends] = last
    one, zero = np.broadcast_to(np.int64(1), n), np.broadcast_to(np.int64(0), n)
    return {
        "count": one, "size": size, "moved": moved, "offset": offset, "disp": zero,
        "view_offset": offset, "view_disp": zero,
    }  # fmt: skip


def _neighbours(data: DataRows, row: int, end_row: int) -> BoolArray:
    """Whether a row of [row, end_row] goes on in the lists where the one before it ends."""
    at = slice(row, end_row + 1)
    listed, sized, count = data.listed[at], data.sized[at], data.count[at]
    size = data.size[at]
    found = np.zeros(len(listed), dtype=bool)
    found[1:] = (listed[:-1] >= 0) & (listed[1:] == listed[:-1] + count[:-1])
    both = (sized[:-1] >= 0) & (sized[1:] == sized[:-1] + count[:-1])
    found[1:] &= both | ((sized[:-1] < 0) & (sized[1:] < 0) & (size[1:] == size[:-1]))
    return found


def _tiles(data: DataRows, block: int, period: int) -> list[dict[str, Int64Array]]:
    """A block's operations by member of a pattern of which each repetition holds several; runs of each repetition.

    Nothing where repetitions differ in more than one displacement, or their places are not those in the file.
    """
    start, k = int(data.block_start[block]), int(data.block_members[block])
    rows = slice(start, start + k)
    disp, size, offset = data.disp[rows], data.size[rows], data.offset[rows]
    if (
        k % period
        or (disp != disp[0]).any()
        or (data.listed[rows] >= 0).any()
        or (data.last_moved[rows] != size).any()
        or (offset == UNKNOWN).any()
        or (data.view[rows] != UNKNOWN).any()
    ):
        return []
    times, step = int(data.count[start]), int(disp[0])
    ones, zeros = np.ones(k // period, dtype=np.int64), np.zeros(k // period, dtype=np.int64)
    found = []
    for member in range(period):
        of = slice(member, None, period)
        runs = canonical(ones, size[of], size[of], offset[of], zeros)
        one = len(runs) == 1
        if one and int(runs.count[0]) > 1 and int(runs.count[0]) * int(runs.disp[0]) != step:
            one = False
        if one:  # repetitions go on where the one before ends
            inner = int(runs.count[0])
            columns = (
                runs.count * times, runs.size, runs.moved * times, runs.offset,
                runs.disp if inner > 1 else np.full(1, step, dtype=np.int64),
            )  # fmt: skip
        else:
            shift = np.repeat(np.arange(times, dtype=np.int64) * step, len(runs))
            columns = (
                np.tile(runs.count, times), np.tile(runs.size, times), np.tile(runs.moved, times),
                np.tile(runs.offset, times) + shift, np.tile(runs.disp, times),
            )  # fmt: skip
        of_member = dict(zip(_NAMES[:5], columns, strict=True))
        found.append({**of_member, "view_offset": columns[3], "view_disp": columns[4]})
    return found


def _singles(data: DataRows, low: int, high: int) -> dict[str, Int64Array]:
    """Operations [low, high), one by one."""
    row, within = data.locate(np.arange(low, high))
    size = data.sizes(row, within)
    offset = data.offsets(row, within)
    view_offset = np.where(
        (offset == UNKNOWN) | (data.listed[row] >= 0),
        offset,
        data.view_offset[row] + within * data.view_disp[row],
    )
    last = within == data.count[row] - 1
    zero = np.zeros(len(row), dtype=np.int64)
    return {
        "count": np.ones(len(row), dtype=np.int64), "size": size,
        "moved": np.where(last, data.last_moved[row], size), "offset": offset, "disp": zero,
        "view_offset": view_offset, "view_disp": zero,
    }  # fmt: skip


def _one_stretch(data: DataRows, low: int, high: int, row: int, end_row: int) -> RunArrays | None:
    """The runs of whole rows of which some are listed, the lists as they are; None if they are none such."""
    listed = data.listed[row : end_row + 1] >= 0
    whole = data.first_op[row] == low and data.first_op[end_row] + data.count[end_row] == high
    if not listed.any() or not whole or (data.block[row : end_row + 1] >= 0).any():
        return None
    parts: list[dict[str, Int64Array]] = []
    goes_on = _neighbours(data, row, end_row)
    edges = np.flatnonzero(np.append(True, (listed[1:] | listed[:-1]) & ~goes_on[1:]))
    for first, stop in zip(edges.tolist(), [*edges[1:].tolist(), len(listed)], strict=True):
        if listed[first]:
            parts.append(_listed(data, row + first, row + stop))
        else:
            at = slice(row + first, row + stop)
            runs = canonical(*(getattr(data, name)[at] for name in _NAMES[:5]))
            parts.append({name: getattr(runs, name) for name in _NAMES[:5]})
    if len(parts) == 1:
        return RunArrays(**{name: parts[0][name] for name in _NAMES[:5]})
    return RunArrays(
        **{name: np.concatenate([part[name] for part in parts]) for name in _NAMES[:5]}
    )


def runs_of(
    rows: dict[str, Int64Array], offset: str, disp: str, *, lists: bool = False
) -> RunArrays:
    """The runs of a member's rows, in the file or in its view; those of lists as they are."""
    if lists:
        return RunArrays(rows["count"], rows["size"], rows["moved"], rows[offset], rows[disp])
    if rows["offset"][0] == UNKNOWN:
        zeros = np.zeros_like(rows["offset"])
        runs = canonical(rows["count"], rows["size"], rows["moved"], zeros, zeros)
        return RunArrays(
            runs.count, runs.size, runs.moved, np.full_like(runs.offset, UNKNOWN), runs.disp
        )
    return canonical(rows["count"], rows["size"], rows["moved"], rows[offset], rows[disp])
