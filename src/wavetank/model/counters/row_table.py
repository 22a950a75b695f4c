"""The rows of a trace that is put together from counters: collected for groups of ranks, then laid out for each rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wavetank.trace.call_details import of_calls
from wavetank.trace.ops import DATA_KINDS, codes_where
from wavetank.trace.schema import UNKNOWN, FoldTable, Int64Array, Level

_IS_MPI = codes_where(lambda op: op.level == Level.MPIIO)
_IS_DATA = codes_where(lambda op: op.kind in DATA_KINDS)


class Entry(NamedTuple):
    """Equal rows of some ranks: that of the p-th of them begins at offset + p * per_rank."""

    first: int  # of the ranks, an index into all groups of ranks
    n_ranks: int
    at_ns: int  # when the first of them began
    op: int
    file: int
    handle: int
    n_each: int
    size: int
    offset: int
    per_rank: int
    disp: int
    arg: int
    communicator: int
    busy_ns: int  # of each row


class RowTable:
    """Collects rows in any order of time."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._ranks: list[int] = []
        self._groups: dict[tuple[int, ...], int] = {}

    def group(self, ranks: Sequence[int]) -> int:
        """Where a group of ranks begins among all groups."""
        key = tuple(ranks)
        if key not in self._groups:
            self._groups[key] = len(self._ranks)
            self._ranks.extend(key)
        return self._groups[key]

    def add(self, entry: Entry) -> None:
        """Rows; of those that begin at the same time on a rank, the one that was added first comes first."""
        self._entries.append(entry)

    def table(self) -> FoldTable:
        """The rows of each rank by time. Operations of a rank take their time one after another."""
        given = np.array(self._entries, dtype=np.int64).reshape(-1, len(Entry._fields))
        n = given[:, Entry._fields.index("n_ranks")]
        entry = np.repeat(np.arange(len(given)), n)
        place = np.arange(len(entry)) - np.repeat(np.cumsum(n) - n, n)
        rank = np.array(self._ranks, dtype=np.int64)[given[entry, 0] + place]
        order = np.lexsort((entry, given[entry, Entry._fields.index("at_ns")], rank))
        rank, place, rows = rank[order], place[order], given[entry[order]]
        columns = {name: rows[:, number] for number, name in enumerate(Entry._fields)}
        columns["offset"] = columns["offset"] + place * columns["per_rank"]
        return _folds(rank, columns)


def _folds(rank: Int64Array, columns: dict[str, Int64Array]) -> FoldTable:
    op, count, size = columns["op"], columns["n_each"], columns["size"]
    new = np.diff(rank, prepend=-1) != 0
    mpi, several = _IS_MPI[op], count > 1
    ticks, subticks = _before(np.where(mpi, count, 0), new), _before(np.where(mpi, 0, count), new)
    last_call = np.maximum.accumulate(np.where(mpi | new, np.arange(len(rank)), 0))
    start = _starts(columns["at_ns"], columns["busy_ns"], new)
    offset = columns["offset"]
    disp = np.where(several, columns["disp"], 0)
    details, given = of_calls(op, columns["arg"], communicator=columns["communicator"])
    return FoldTable(
        rank=rank.astype(np.int32),
        seq=_before(count, new),
        op=op.astype(np.uint8),
        file=columns["file"].astype(np.int32),
        handle=columns["handle"].astype(np.int32),
        count=count,
        size=size,
        moved=np.where(_IS_DATA[op], count * size, size),
        offset=offset,
        disp=disp,
        view=np.full(len(rank), UNKNOWN, dtype=np.int32),
        view_offset=offset.copy(),
        view_disp=disp.copy(),
        tick=ticks,
        subtick=np.where(mpi, 0, subticks - subticks[last_call] if len(rank) else subticks),
        tick_step=(mpi & several).astype(np.int64),
        subtick_step=(~mpi & several).astype(np.int64),
        start_ns=start,
        end_ns=start + columns["busy_ns"],
        busy_ns=columns["busy_ns"],
        error=np.zeros(len(rank), dtype=np.int32),
        given=given,
        details=details,
    )


def _before(values: Int64Array, new: np.ndarray) -> Int64Array:
    """The sum of a rank's values before each row."""
    total = np.cumsum(values) - values
    begin = np.flatnonzero(new)
    found: Int64Array = total - np.repeat(total[begin], np.diff(begin, append=len(values)))
    return found


def _starts(at_ns: Int64Array, busy_ns: Int64Array, new: np.ndarray) -> Int64Array:
    """When each row begins: at its time, or 1 ns after the rank's row before it has ended."""
    found = np.empty_like(at_ns)
    ahead = _before(busy_ns + 1, new)
    begin = np.flatnonzero(new)
    for low, high in zip(begin.tolist(), [*begin[1:].tolist(), len(at_ns)], strict=True):
        mine = slice(low, high)
        found[mine] = np.maximum.accumulate(at_ns[mine] - ahead[mine]) + ahead[mine]
    return found
