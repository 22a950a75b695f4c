"""Where ordered MPI-IO calls (MPI_File_write_ordered and its kin) read and write.

No rank knows that while the program runs: the calls' places lie in a row, by rank, behind what all ranks have
moved by the shared pointer before. The trace of all ranks together tells it. Reads the rows of all ranks; leaves
the ordered ones with offsets. What a file's shared pointer cannot be followed through (MPI_MODE_APPEND, seeks
from the current position or the end, calls that failed) stays unknown until the next MPI_File_seek_shared or view.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wavetank.trace.arguments import MpiMode
from wavetank.trace.ops import DATA_KINDS, OPS, OPS_BY_NAME
from wavetank.trace.schema import UNKNOWN, FileView, FoldTable, Int64Array, Level

_OPEN = OPS_BY_NAME["MPI_File_open"].code
_VIEW = OPS_BY_NAME["MPI_File_set_view"].code
_SEEK = OPS_BY_NAME["MPI_File_seek_shared"].code
_ORDERED = [
    op.code
    for op in OPS.values()
    if op.level == Level.MPIIO and op.kind in DATA_KINDS and "ordered" in op.name
]
_SHARED = [
    op.code
    for op in OPS.values()
    if op.level == Level.MPIIO and op.kind in DATA_KINDS and "shared" in op.name
]


@dataclass(frozen=True)
class _Calls:
    """Calls of one rank that move the shared pointer of one open file, in order."""

    row: Int64Array
    step: Int64Array  # which operation of the row


def place_ordered_calls(
    folds: FoldTable, views: Sequence[FileView], communicators: Sequence[tuple[int, ...]]
) -> FoldTable:
    """Fill in the offsets of ordered calls, where they can be told."""
    if not np.isin(folds.op, _ORDERED).any():
        return folds
    columns = {name: getattr(folds, name).copy() for name in ("offset", "disp", "view_offset", "view_disp")}  # fmt: skip
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)  # row: (step, place in the view)
    for members, handles in _opened_together(folds, communicators):
        calls = [_calls(folds, rank, handle) for rank, handle in zip(members, handles, strict=True)]
        _follow(folds, calls, found)
    for row, places in found.items():
        _fill(folds, columns, views, row, places)
    return replace(folds, **columns)


def without_races(folds: FoldTable) -> FoldTable:
    """The rows without the places of calls by the shared pointer: which rank gets which is another run's matter."""
    raced = np.isin(folds.op, _SHARED)
    if not raced.any():
        return folds
    return replace(
        folds,
        offset=np.where(raced, UNKNOWN, folds.offset),
        view_offset=np.where(raced, UNKNOWN, folds.view_offset),
        disp=np.where(raced, 0, folds.disp),
        view_disp=np.where(raced, 0, folds.view_disp),
    )


def _opened_together(
    folds: FoldTable, communicators: Sequence[tuple[int, ...]]
) -> list[tuple[tuple[int, ...], list[int]]]:
    """Each collective open: its ranks in the order of the communicator, and their handles."""
    opens = np.flatnonzero((folds.op == _OPEN) & (folds.error == 0))
    given = folds.given[opens]
    communicator = folds.details.communicator[given]
    told = communicator != UNKNOWN
    told &= folds.details.mpi_mode[given] & MpiMode.APPEND == 0
    seen: dict[tuple[int, int, int], int] = defaultdict(int)
    groups: dict[tuple[int, int, int], dict[int, int]] = defaultdict(dict)
    for row, on in zip(opens[told].tolist(), communicator[told].tolist(), strict=True):
        rank, file = int(folds.rank[row]), int(folds.file[row])
        number = seen[rank, file, on]
        seen[rank, file, on] += 1
        groups[file, on, number][rank] = int(folds.handle[row])
    return [
        (communicators[on], [handles[rank] for rank in communicators[on]])
        for (_, on, _), handles in groups.items()
        if set(handles) == set(communicators[on])
    ]


def _calls(folds: FoldTable, rank: int, handle: int) -> _Calls:
    rows = np.flatnonzero(
        (folds.rank == rank)
        & (folds.handle == handle)
        & np.isin(folds.op, [*_ORDERED, *_SHARED, _SEEK, _VIEW])
    )
    row = np.repeat(rows, folds.count[rows])
    first = np.cumsum(folds.count[rows]) - folds.count[rows]
    step = np.arange(len(row)) - np.repeat(first, folds.count[rows])
    order = np.argsort(folds.seq[row] + step * operations_per_repetition(folds)[row], kind="stable")
    return _Calls(row[order], step[order])


def _follow(
    folds: FoldTable, calls: Sequence[_Calls], found: dict[int, list[tuple[int, int]]]
) -> None:
    """Move the pointer through the collective calls; between them each rank's own calls add their sizes."""
    at = [0] * len(calls)
    pointer: int | None = 0
    while True:
        moved = 0
        for i, of_rank in enumerate(calls):
            while at[i] < len(of_rank.row) and folds.op[of_rank.row[at[i]]] in _SHARED:
                moved += int(folds.size[of_rank.row[at[i]]])
                at[i] += 1
        if any(i == len(of_rank.row) for i, of_rank in zip(at, calls, strict=True)):
            return
        rows = [int(of_rank.row[i]) for i, of_rank in zip(at, calls, strict=True)]
        ops = {int(folds.op[row]) for row in rows}
        if len(ops) > 1:  # a rank's trace is not whole
            return
        if ops == {_VIEW}:
            pointer = 0 if all(folds.offset[row] != UNKNOWN for row in rows) else None
        elif ops == {_SEEK}:
            target = int(folds.view_offset[rows[0]])
            pointer = None if target == UNKNOWN or folds.error[rows[0]] else target
        elif any(folds.error[row] for row in rows):
            pointer = None
        elif pointer is not None:
            pointer += moved
            for i, row in enumerate(rows):
                found[row].append((int(calls[i].step[at[i]]), pointer))
                pointer += int(folds.size[row])
        at = [i + 1 for i in at]


def _fill(
    folds: FoldTable,
    columns: dict[str, Int64Array],
    views: Sequence[FileView],
    row: int,
    places: list[tuple[int, int]],
) -> None:
    """Offsets of a row whose operations are all known to lie at one distance; others stay unknown."""
    if len(places) != folds.count[row]:
        return
    in_view = np.array([place for _, place in sorted(places)], dtype=np.int64)
    view = int(folds.view[row])
    in_file = in_view if view == UNKNOWN else file_offsets(views[view], in_view)
    for first, step, values in (
        ("offset", "disp", in_file),
        ("view_offset", "view_disp", in_view),
    ):
        steps = np.diff(values)
        if len(steps) and (steps != steps[0]).any():
            return
        columns[first][row] = values[0]
        columns[step][row] = steps[0] if len(steps) else 0


def file_offsets(view: FileView, in_view: Int64Array) -> Int64Array:
    """Places in the file of bytes of a view."""
    lengths = np.array(view.run_lengths, dtype=np.int64)
    before = np.cumsum(lengths) - lengths
    tile, rest = np.divmod(in_view, int(lengths.sum()))
    run = np.searchsorted(before, rest, side="right") - 1
    starts = np.array(view.run_offsets, dtype=np.int64)
    places: Int64Array = view.displacement + tile * view.extent + starts[run] + rest - before[run]
    return places


def operations_per_repetition(folds: FoldTable) -> Int64Array:
    """Operations in a repetition of each row's loop; 1 outside of loops."""
    new = (folds.loop[1:] != folds.loop[:-1]) | (folds.rank[1:] != folds.rank[:-1])
    first = np.flatnonzero(np.append(True, new | (folds.loop[1:] == 0)))
    length = np.diff(first, append=len(folds))
    return np.repeat(length, length)
