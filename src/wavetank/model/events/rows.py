"""A trace's rows made ready for the extraction: without loops, and what each of them is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wavetank.model.columns import different
from wavetank.model.events.codes import MOVES_DATA, SEEKS, SYNCS
from wavetank.model.events.handles import find_seeks, find_slots
from wavetank.model.events.loop_layout import Around, lay_out
from wavetank.model.events.mpi_calls import (
    communication_before,
    inside_calls,
    levels_of,
    library_files,
    with_left_out,
)
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.rules import Rules
from wavetank.trace.schema import (
    UNKNOWN,
    FoldTable,
    Int32Array,
    Int64Array,
    Level,
    UInt8Array,
)


@dataclass(frozen=True)
class Rows:
    """All rows in rank order, with what is derived for each of them. No row is in a loop.

    Attributes:
        table: the rows.
        around: contracted loops around them: operations of some rows are left out.
        kind: ``RowKind``.
        level: of the call, or BESIDE_MPI.
        slot: which open of the file, lowest number not in use.
        inside: row of the MPI-IO call that a POSIX call was made in; -1 for the others.
        target: of seeks: where they lead, NEXT_DATA where the handle's next data operation starts.
        library_files: index of those of the trace's files that only the MPI library used, whose rows are IGNORED.
    """

    table: FoldTable
    around: Around
    kind: UInt8Array
    level: UInt8Array
    slot: Int32Array
    inside: Int64Array
    target: Int64Array
    library_files: Int64Array

    @cached_property
    def n(self) -> Int64Array:
        """Operations that each row stands for, with those like its that are left out before it."""
        table, around = self.table, self.around
        return table.count + around.gap if around.contracts else table.count

    @cached_property
    def moved(self) -> Int64Array:
        """Bytes that these moved."""
        table, around = self.table, self.around
        return table.moved + around.gap * table.size if around.contracts else table.moved

    @cached_property
    def communication(self) -> Int64Array:
        """Communication calls of the rank before each row."""
        return communication_before(self.table, self.around)

    def launched(self, rank: Int64Array | Int32Array, start_ns: Int64Array) -> Int64Array:
        """When what each entry belongs to began: its own start, or the first of all ranks that use MPI.

        0 throughout where all ranks use MPI, one rank is all there is, or times are unknown: ticks
        order operations then.

        Args:
            rank: of each entry.
            start_ns: of each entry.
        """
        calls = (self.kind == RowKind.SYNC_RANKS) | (self.level == Level.MPIIO)
        ticking = np.isin(rank, different(self.table.rank[(self.table.tick > 0) | calls]))
        several = len(rank) > 0 and bool((rank != rank[0]).any())
        if not several or ticking.all() or (start_ns == UNKNOWN).any():
            return np.zeros(len(rank), dtype=np.int64)
        first = int(start_ns[ticking].min()) if ticking.any() else 0
        return np.where(ticking, first, start_ns)


def prepare(table: FoldTable, rules: Rules, *, whole: bool = False) -> Rows:
    """The rows of a trace.

    Args:
        table: in rank order.
        rules: of the extraction.
        whole: whether all repetitions of all loops are laid out.
    """
    table, around = lay_out(table, rules, whole=whole)
    kind = _kinds(table)
    inside = with_left_out(inside_calls(table), around)
    of_library = library_files(table, inside)
    if of_library.any():
        kind[of_library[table.file]] = RowKind.IGNORED
    level = levels_of(table, inside, rules)
    kind, target = find_seeks(table, around, kind, level)
    return Rows(
        table=table,
        around=around,
        kind=kind,
        level=level,
        slot=find_slots(table, level),
        inside=inside,
        target=target,
        library_files=np.flatnonzero(of_library),
    )


def _kinds(table: FoldTable) -> UInt8Array:
    of_code = np.full(256, RowKind.FILE, dtype=np.uint8)
    of_code[SEEKS], of_code[MOVES_DATA] = RowKind.SEEK, RowKind.DATA
    kind = of_code[table.op]
    kind[(kind == RowKind.DATA) & (table.moved <= 0)] = RowKind.EMPTY
    if table.error.any():
        kind[table.error != 0] = RowKind.FILE
    kind[table.file < 0] = RowKind.IGNORED
    kind[SYNCS[table.op]] = RowKind.SYNC_RANKS
    return kind
