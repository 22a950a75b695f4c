"""What a Darshan DXT log does not say and yet implies: requests at the end of a file, offsets, closed streams.

Reads the operations of a log, in the order in which they ended within each rank; leaves them corrected. What each
function takes for granted is in its text, and the importer tells the user how often it was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from wavetank.trace.fold import SingleOperations
from wavetank.trace.ops import OPS_BY_NAME, codes_where
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array, Level, OpKind

_READ = OPS_BY_NAME["read"].code
ON_MPI = codes_where(lambda op: op.level == Level.MPIIO)
_COLLECTIVE = codes_where(lambda op: op.collective)
_READS = codes_where(lambda op: op.kind is OpKind.READ)


def without_closed_streams(
    events: SingleOperations, closed_ns: Mapping[tuple[int, int], int]
) -> tuple[SingleOperations, int]:
    """Leave out what went through the descriptor of a stream after the stream was closed; and how many those were.

    Darshan learns a stream's descriptor from fileno() and does not forget it in fclose(): reads and writes of
    whatever has the same number later (a socket of the MPI library) come out as operations on the file.

    Args:
        events: operations.
        closed_ns: by (file, rank) when the last stream on the file was closed, ns, for files that were opened as
            streams only; rank -1 stands for all ranks.
    """
    stale = np.zeros(len(events), dtype=bool)
    for (file, rank), closed in closed_ns.items():
        mine = (events.file == file) & ~ON_MPI[events.op] & (events.start_ns >= closed)
        stale |= mine if rank < 0 else mine & (events.rank == rank)
    n = int(stale.sum())
    return (some(events, ~stale), n) if n else (events, 0)


def with_whole_requests(events: SingleOperations) -> tuple[SingleOperations, int]:
    """Give short reads at the end of a file the size that was asked for; and how many those were.

    Darshan records the bytes that a read moved. A read that is shorter than the one before it, goes on where that
    one ended, and is followed by a read of nothing at its end met the end of the file: it is taken to have asked
    for as much as the one before it.
    """
    reads = events.op == _READ
    at_end = reads & (events.moved == 0)
    if not at_end.any():
        return events, 0
    key = events.rank.astype(np.int64) * (int(events.file.max()) + 1) + events.file
    index = np.flatnonzero(reads & np.isin(key, key[at_end]))
    index = index[np.argsort(key[index], kind="stable")]
    key, size, offset = key[index], events.moved[index], events.offset[index]
    # Of each operation, whether it goes on where the one before it on the file ended.
    follows = np.zeros(len(index), dtype=bool)
    follows[1:] = (key[1:] == key[:-1]) & (offset[1:] == offset[:-1] + size[:-1])
    ends = np.flatnonzero((size == 0) & follows)
    ends = ends[(ends > 1) & follows[ends - 1] & (size[ends - 1] > 0)]
    ends = ends[size[ends - 2] >= size[ends - 1]]
    asked = events.size.copy()
    short = ends[size[ends - 2] > size[ends - 1]]
    asked[index[short - 1]] = size[short - 2]
    asked[index[ends]] = size[ends - 2]
    return replace(events, size=asked), len(short)


def with_offsets_from_below(
    events: SingleOperations, undecided: Mapping[bool, BoolArray]
) -> tuple[SingleOperations, int]:
    """Fill in unknown offsets of independent MPI-IO operations, and say how many those were.

    Darshan built on Open MPI records no offsets at MPI-IO level. An independent operation during which its rank
    moved just as many bytes the same way, by POSIX operations that follow on each other, moved those bytes.

    Args:
        events: operations.
        undecided: by kind (write: True) and file, whether operations that count as independent may be collective ones.
    """
    unknown = events.offset == UNKNOWN
    if not unknown.any():
        return events, 0
    on_mpi, reads = ON_MPI[events.op], _READS[events.op]
    wanted = on_mpi & unknown & (events.size > 0)
    wanted &= ~_COLLECTIVE[events.op]
    wanted &= ~np.where(reads, undecided[False][events.file], undecided[True][events.file])
    if not wanted.any():
        return events, 0
    key = events.rank.astype(np.int64) * (int(events.file.max()) + 1) + events.file
    index = np.flatnonzero(np.isin(key, key[wanted]))
    index = index[np.argsort(key[index], kind="stable")]
    key, mpi = key[index], on_mpi[index]
    # POSIX operations end before the MPI-IO call that they are part of: the next one of the rank on the file.
    call = np.searchsorted(np.flatnonzero(mpi), np.arange(len(index)))
    calls = index[mpi]
    below = np.flatnonzero(~mpi & (call < len(calls)))
    of = call[below]
    below, of = below[key[below] == key[mpi][of]], of[key[below] == key[mpi][of]]
    inside = events.start_ns[index[below]] >= events.start_ns[calls[of]]
    below, of = index[below[inside]], of[inside]
    moved = np.bincount(of, weights=events.size[below], minlength=len(calls))
    same_way = np.bincount(of, weights=reads[below] == reads[calls[of]], minlength=len(calls))
    low = np.full(len(calls), np.iinfo(np.int64).max)
    high = np.full(len(calls), -1)
    np.minimum.at(low, of, events.offset[below])
    np.maximum.at(high, of, events.offset[below] + events.size[below])
    size: Int64Array = events.size[calls]
    told = wanted[calls] & (moved == size) & (high - low == size)
    told &= same_way == np.bincount(of, minlength=len(calls))
    offset = events.offset.copy()
    offset[calls[told]] = low[told]
    return replace(events, offset=offset), int(told.sum())


def some(events: SingleOperations, which: BoolArray) -> SingleOperations:
    """The operations for which ``which`` is true."""
    return events if which.all() else events.taken(np.flatnonzero(which))
