"""What calls were given beside bytes and places, by name: flags, modes, communicators, hints, names.

All rows of a trace have the same columns, whatever their call was. What a call was given lies in the columns that it
has no other use for: in ``FoldTable.arg``, of ``MPI_File_open`` in ``size`` and ``offset`` too, and in ``view`` where a
call was on a name. This module alone knows which. All others ask here by the name of what they want to know, and whoever
makes rows has them filled in here. Why columns are shared, and not one for each of these: docs/decisions/0243.

Reads a ``FoldTable``; leaves arrays with an entry for each of its rows, or for each of those that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum, StrEnum
from types import EllipsisType, MappingProxyType
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from wavetank.trace.ops import DATA_KINDS, OPS, OPS_BY_NAME
from wavetank.trace.schema import (
    UNKNOWN,
    BoolArray,
    FoldTable,
    Int32Array,
    Int64Array,
    Level,
    OpKind,
)

Rows = Int64Array | BoolArray | slice | EllipsisType
"""Which rows of a table: their places, a mask, or ``...`` for all."""


class Argument(StrEnum):
    """What ``FoldTable.arg`` says of a call: WT_ARGUMENTS of native/include/wavetank_trace.h, the same in a test."""

    FLAGS = "flags"  # O_* of open
    MPI_MODE = "mpi_mode"  # MPI_MODE_* of MPI_File_open, see MpiMode
    ORIGIN = "origin"  # of a seek: SEEK_SET, SEEK_CUR, SEEK_END
    NEW_SIZE = "new_size"  # of the file, bytes
    LENGTH = "length"  # of the range, bytes
    MODE = "mode"  # permissions: asked about, of a new name, or new ones
    NEW_NAME = "new_name"  # 0: the row of the old name, 1: of the new one
    TIMES_GIVEN = "times_given"  # 0: the time is now
    AT_END = "at_end"  # 1: no entry was left
    HINTS = "hints"  # index into Trace.infos + 1; 0 where it is not known
    ATOMIC = "atomic"  # 0 or 1
    REMOVAL = "removal"  # of unlink: AT_REMOVEDIR in older traces, for what is an rmdir in newer ones; else 0
    COMMUNICATOR = "communicator"  # index into Trace.communicators; UNKNOWN where it is not known
    MEMORY = "memory"  # ``Memory``, or where its gaps are: of reads and writes by MPI-IO


class Memory(IntEnum):
    """How the memory of an MPI-IO call lies by its data type: enum wt_memory, the same in a test."""

    UNKNOWN = 0  # the source does not say
    PLAIN = 1  # of a predefined type without gaps: MPI_BYTE
    WHOLE = 2  # of another type whose bytes fill its extent
    GAPS = 3


MEMORY_VIEW = 4
"""This and more is ``Memory.GAPS`` too; less this it is the view that says where the gaps are: WT_MEMORY_VIEW."""


class MpiMode(IntEnum):
    """MPI_MODE_* of Open MPI and MPICH. Combined by ``|`` they are plain integers."""

    CREATE = 1
    RDONLY = 2
    WRONLY = 4
    RDWR = 8
    DELETE_ON_CLOSE = 16
    EXCL = 64
    APPEND = 128


ARGUMENTS: Mapping[str, Argument] = MappingProxyType(
    {
        "open": Argument.FLAGS,
        "MPI_File_open": Argument.MPI_MODE,
        **dict.fromkeys(("lseek", "MPI_File_seek", "MPI_File_seek_shared"), Argument.ORIGIN),
        **{op.name: Argument.NEW_SIZE for op in OPS.values() if op.kind is OpKind.RESIZE},
        **dict.fromkeys(("sync_file_range", "mmap", "munmap", "msync"), Argument.LENGTH),
        **dict.fromkeys(("access", "mkdir", "mknod", "chmod", "fchmod"), Argument.MODE),
        **dict.fromkeys(("rename", "link", "symlink"), Argument.NEW_NAME),
        **dict.fromkeys(("utime", "futime"), Argument.TIMES_GIVEN),
        "readdir": Argument.AT_END,
        **dict.fromkeys(("MPI_File_set_view", "MPI_File_set_info"), Argument.HINTS),
        "MPI_File_set_atomicity": Argument.ATOMIC,
        "unlink": Argument.REMOVAL,
        **{op.name: Argument.COMMUNICATOR for op in OPS.values() if op.kind is OpKind.SYNC_RANKS},
        **{
            op.name: Argument.MEMORY
            for op in OPS.values()
            if op.level == Level.MPIIO and op.kind in DATA_KINDS
        },
    }
)
"""By the name of a call what ``FoldTable.arg``, and ``FileStep.arg`` of models, says of it. That of all others is 0."""
ON_TWO_NAMES = frozenset(name for name, said in ARGUMENTS.items() if said is Argument.NEW_NAME)
"""Calls of which there are two rows, and two steps: the old name, then the new one."""


def _codes(*arguments: Argument) -> BoolArray:
    """By operation code, whether its argument is one of these, shape (256,)."""
    found = np.zeros(256, dtype=bool)
    found[[OPS_BY_NAME[name].code for name, said in ARGUMENTS.items() if said in arguments]] = True
    found.setflags(write=False)
    return found


_OF: Mapping[Argument, BoolArray] = MappingProxyType({said: _codes(said) for said in Argument})
_MPI_OPEN = OPS_BY_NAME["MPI_File_open"].code


def _said(table: FoldTable, rows: Rows, argument: Argument) -> Int64Array:
    """The argument of rows whose calls were given this one; 0 of the others."""
    return np.where(_OF[argument][table.op[rows]], table.arg[rows], 0)


# --- what calls were given ------------------------------------------------------------------------


def open_flags(table: FoldTable, rows: Rows = ...) -> Int64Array:
    """O_* of ``open``; 0 of other calls."""
    return _said(table, rows, Argument.FLAGS)


def mpi_mode(table: FoldTable, rows: Rows = ...) -> Int64Array:
    """MPI_MODE_* of ``MPI_File_open``, see ``MpiMode``; 0 of other calls."""
    return _said(table, rows, Argument.MPI_MODE)


def seek_origin(table: FoldTable, rows: Rows = ...) -> Int64Array:
    """SEEK_SET (0), SEEK_CUR (1) or SEEK_END (2) of seeks; 0 of other calls."""
    return _said(table, rows, Argument.ORIGIN)


def is_new_name(table: FoldTable, rows: Rows = ...) -> BoolArray:
    """Which rows are of the new name of a rename, link or symlink; that of the old name lies before it."""
    found: BoolArray = _OF[Argument.NEW_NAME][table.op[rows]] & (table.arg[rows] == 1)
    return found


def is_old_of_two_names(table: FoldTable) -> BoolArray:
    """Which rows are of the old name of a call whose row of the new name comes next: both are one call."""
    found: BoolArray = _OF[Argument.NEW_NAME][table.op]
    some = np.flatnonzero(found[:-1])
    pairs = (table.op[some + 1] == table.op[some]) & (table.arg[some] == 0)
    pairs &= table.arg[some + 1] == 1
    found = np.zeros(len(table), dtype=bool)
    found[some[pairs]] = True
    return found


def communicator(table: FoldTable, rows: Rows = ...) -> Int64Array:
    """Index into ``Trace.communicators`` of collectives and ``MPI_File_open``.

    UNKNOWN where it is not recorded, and of other calls.
    """
    op = table.op[rows]
    found: Int64Array = np.where(_OF[Argument.COMMUNICATOR][op], table.arg[rows], UNKNOWN)
    opens = np.flatnonzero(op == _MPI_OPEN)
    if len(opens):
        found[opens] = table.size[rows][opens] - 1
    return found


def hints(table: FoldTable, rows: Rows = ...) -> Int64Array:
    """Index into ``Trace.infos`` of what ``MPI_File_open``, ``_set_view`` and ``_set_info`` were given.

    UNKNOWN where it is not recorded, and of other calls.
    """
    op = table.op[rows]
    found: Int64Array = np.where(_OF[Argument.HINTS][op], table.arg[rows] - 1, UNKNOWN)
    opens = np.flatnonzero(op == _MPI_OPEN)
    if len(opens):
        found[opens] = table.offset[rows][opens]
    return found


def number_given(table: FoldTable, rows: Rows = ...) -> Int64Array:
    """The one number that a call was given, see ``Argument``; 0 where it names hints or says how memory lies."""
    other = _OF[Argument.HINTS] | _OF[Argument.MEMORY]
    return np.where(other[table.op[rows]], 0, table.arg[rows])


def memory(table: FoldTable, rows: Rows = ...) -> Int64Array:
    """``Memory`` of reads and writes by MPI-IO; ``Memory.UNKNOWN`` of other calls."""
    return np.minimum(_said(table, rows, Argument.MEMORY), Memory.GAPS)


def memory_view(table: FoldTable, rows: Rows = ...) -> Int64Array:
    """Index into ``Trace.views`` of reads and writes by MPI-IO from memory with gaps: an item lies as a tile of that view.

    UNKNOWN where there are no gaps or it is not recorded where they are, and of other calls.
    """
    found: Int64Array = np.maximum(_said(table, rows, Argument.MEMORY) - MEMORY_VIEW, UNKNOWN)
    return found


def file_view(table: FoldTable, rows: Rows = ...) -> Int32Array:
    """Index into ``Trace.views``; UNKNOWN without an MPI file view."""
    view: Int32Array = np.maximum(table.view[rows], UNKNOWN)
    return view


def name_number(table: FoldTable, rows: Rows = ...) -> Int32Array:
    """Which of its file's names a call was made on: 0 its own, n the n-th of ``TracedFile.other_names``.

    Of a file that stands for several the number is that of ``wavetank.model.document.file_members.step_name``.
    """
    number: Int32Array = np.maximum(UNKNOWN - table.view[rows], 0)
    return number


# --- rows that are made ---------------------------------------------------------------------------


class MpiOpen(TypedDict):
    """Columns of an ``MPI_File_open`` that it has no other use for."""

    size: int
    offset: int
    arg: int


def mpi_open(mode: int, communicator: int = UNKNOWN, hints: int = UNKNOWN) -> MpiOpen:
    """The columns of an ``MPI_File_open`` that was given these; ``moved`` is the same as ``size``."""
    return MpiOpen(size=communicator + 1, offset=hints, arg=mode)


def takes_hints(hints: int) -> int:
    """``arg`` of an ``MPI_File_set_view`` or ``_set_info`` that was given these hints."""
    return hints + 1


def view_of_name(number: npt.ArrayLike) -> Int32Array:
    """``view`` of calls on a file's names by their numbers, see ``name_number``."""
    return np.asarray(UNKNOWN - np.asarray(number), dtype=np.int32)


Renumber = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Numbers of one process to those of all; what is not described becomes UNKNOWN."""


def renumber(
    columns: dict[str, npt.NDArray[Any]], communicators: Renumber, hints: Renumber, views: Renumber
) -> None:
    """Give communicators, hints and views of memory of some rows other numbers, in their columns."""
    op = columns["op"]
    gaps = _OF[Argument.MEMORY][op] & (columns["arg"] >= MEMORY_VIEW)
    if gaps.any():
        view = views(np.where(gaps, columns["arg"] - MEMORY_VIEW, UNKNOWN))
        said = np.where(view == UNKNOWN, Memory.GAPS, MEMORY_VIEW + view.astype(np.int64))
        columns["arg"] = np.where(gaps, said, columns["arg"])
    ordering = _OF[Argument.COMMUNICATOR][op]
    if ordering.any():
        columns["arg"] = np.where(
            ordering, communicators(np.where(ordering, columns["arg"], UNKNOWN)), columns["arg"]
        )
    opens, takes = op == _MPI_OPEN, _OF[Argument.HINTS][op]
    if not opens.any() and not takes.any():
        return
    on = communicators(np.where(opens, columns["size"] - 1, UNKNOWN)) + 1
    columns["size"] = np.where(opens, on, columns["size"])
    columns["moved"] = np.where(opens, on, columns["moved"])
    given = hints(np.where(opens, columns["offset"], np.where(takes, columns["arg"] - 1, UNKNOWN)))
    columns["offset"] = np.where(opens, given, columns["offset"])
    columns["arg"] = np.where(takes, given + 1, columns["arg"])
