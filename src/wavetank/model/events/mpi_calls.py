"""The MPI library's own calls: in which MPI-IO call a POSIX call was made, and which files only the library uses.

Reads rows without loops, in the order of a rank's calls.
"""

from __future__ import annotations

import numpy as np

from wavetank.model.columns import edges_of, lengths, numbered, starts
from wavetank.model.events.codes import LEVEL, OPENS
from wavetank.model.events.loop_layout import BEFORE, Around, LeftOut
from wavetank.model.events.row_kinds import BESIDE_MPI
from wavetank.model.rules import Rules
from wavetank.trace.schema import (
    UNKNOWN,
    BoolArray,
    FoldTable,
    Int64Array,
    Level,
    UInt8Array,
    without_repetition,
)


def inside_calls(table: FoldTable) -> Int64Array:
    """The MPI-IO call of the same rank that each POSIX call was made in; -1 for none.

    Rows are in the order of their ends (traces) or of their starts (importers): the call is the next MPI-IO row or the one before.
    It contains the POSIX call in time; or it had begun, and so counted as a tick, before the POSIX call, and ended after it.
    """
    level = LEVEL[table.op]
    calls, posix = np.flatnonzero(level == Level.MPIIO), np.flatnonzero(level == Level.POSIX)
    if not len(calls) or not len(posix):
        return np.broadcast_to(np.int64(-1), len(table))
    inside = np.full(len(table), -1, dtype=np.int64)
    position = np.searchsorted(calls, posix)
    timed = table.start_ns != UNKNOWN
    for candidate in (np.maximum(position - 1, 0), np.minimum(position, len(calls) - 1)):
        call = calls[candidate]
        contains = (table.rank[call] == table.rank[posix]) & (timed[call] & timed[posix])
        contains &= table.start_ns[call] <= table.start_ns[posix]
        contains &= table.end_ns[posix] <= table.end_ns[call]
        inside[posix[contains]] = call[contains]
    exists = position < len(calls)
    following, posix = calls[position[exists]], posix[exists]
    begun = (table.rank[following] == table.rank[posix]) & (
        table.tick[posix] > table.tick[following]
    )
    inside[posix[begun]] = following[begun]
    return inside


def levels_of(table: FoldTable, inside: Int64Array, rules: Rules) -> UInt8Array:
    """The level of each row; ``BESIDE_MPI`` of POSIX calls of the application on files that it uses through MPI-IO, too.

    Whose a POSIX call is, its open says: the application's is made outside of all MPI-IO calls, and so are all that go through
    it. Calls on names, and those of logs that have no opens, stay the MPI library's.

    Args:
        table: the rows.
        inside: the MPI-IO call that each row was made in, -1 for none.
        rules: which levels are modelled.
    """
    level = LEVEL[table.op]
    if rules.levels and set(rules.levels) != {Level.POSIX, Level.MPIIO}:
        return level
    n_files = int(table.file.max(initial=-1)) + 2
    of_mpi = np.zeros(n_files, dtype=bool)
    of_mpi[table.file[(level == Level.MPIIO) & (table.file >= 0)]] = True
    some = np.flatnonzero(of_mpi[table.file] & (level == Level.POSIX) & (table.handle >= 0))
    opened = OPENS[table.op[some]]
    if not opened.any():
        return level
    outside = inside[some] < 0
    key, first = numbered(table.rank[some], table.file[some], table.handle[some])
    own = np.zeros(len(first), dtype=bool)
    own[key[opened & outside]] = True
    own[key[~outside]] = False
    level[some[own[key]]] = BESIDE_MPI
    return level


def with_left_out(inside: Int64Array, around: Around) -> Int64Array:
    """The same of contracted loops: before what is left out calls lie in each other as in the repetition before."""
    edge = np.flatnonzero(around.edge == BEFORE)
    if not around.contracts or inside.strides == (0,):
        return without_repetition(inside)
    before = edge - np.bincount(around.loop[edge])[around.loop[edge]]
    inside[edge] = np.where(inside[before] < 0, -1, inside[before] + edge - before)
    return without_repetition(inside)


def library_files(table: FoldTable, inside: Int64Array) -> BoolArray:
    """Files that only the MPI library uses (locks, shared pointers), by number; the last entry is for none."""
    n_files = int(table.file.max(initial=-1)) + 1
    found = np.zeros(n_files + 1, dtype=bool)
    if inside.strides == (0,):
        return found
    on_file = table.file >= 0
    within = inside >= 0
    found[:-1] = np.bincount(table.file[on_file & within], minlength=n_files) > 0
    found[:-1] &= np.bincount(table.file[on_file & ~within], minlength=n_files) == 0
    return found


def counted_before(table: FoldTable, around: Around, which: BoolArray) -> Int64Array:
    """Operations of the rows ``which`` of the rank before the first one of each row."""
    n = np.where(which, table.count, 0)
    before = edges_of(n)[:-1]
    left_out = LeftOut(around, slice(None), before, counted=which)
    if len(left_out.rows):
        more = np.zeros(len(table), dtype=np.int64)
        np.add.at(more, left_out.rows, left_out.n)
        before = before + np.cumsum(more)
    first = starts(table.rank)
    return before - np.repeat(before[first], lengths(first, len(table)))


def communication_before(table: FoldTable, around: Around) -> Int64Array:
    """Ticks that were not MPI-IO calls of the rank, before each row."""
    calls = LEVEL[table.op] == Level.MPIIO
    if not calls.any():
        return table.tick
    return without_repetition(table.tick - counted_before(table, around, calls))
