"""What calls are given beside bytes, a place and a file view: what the one number says that each may be given.

In a trace the number is in the column of its meaning, see ``schema.CallDetails``, and in steps of models and kernels in the
field of that name. The files of a trace and the plan of a replay keep it as it is: ARGUMENTS says of each call what it means.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import EllipsisType, MappingProxyType

import numpy as np

from wavetank.trace.ops import DATA_KINDS, OPS, OPS_BY_NAME
from wavetank.trace.schema import BoolArray, FoldTable, Int64Array, Level, OpKind

Rows = Int64Array | BoolArray | slice | EllipsisType
"""Which rows of a table: their places, a mask, or ``...`` for all."""


class Argument(StrEnum):
    """What the number of a call says: WT_ARGUMENTS of native/include/wavetank_trace.h, the same in a test.

    The first ones have the names of the columns of ``CallDetails`` that they go to.
    """

    FLAGS = "flags"  # O_* of open
    MPI_MODE = "mpi_mode"  # MPI_MODE_* of MPI_File_open, see MpiMode
    ORIGIN = "origin"  # of a seek: SEEK_SET, SEEK_CUR, SEEK_END
    NEW_SIZE = "new_size"  # of the file, bytes
    LENGTH = "length"  # of the range, bytes
    MODE = "mode"  # permissions: asked about, of a new name, or new ones
    NEW_NAME = "new_name"  # 0: the row of the old name, 1: of the new one
    TIMES_GIVEN = "times_given"  # 0: the time is now
    AT_END = "at_end"  # 1: no entry was left
    ATOMIC = "atomic"  # 0 or 1
    # In the files of a trace only:
    HINTS = "hints"  # their number + 1; 0 where it is not known
    COMMUNICATOR = "communicator"  # its number; -1 where it is not known
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
        **dict.fromkeys(("open", "fcntl"), Argument.FLAGS),
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
        **{op.name: Argument.COMMUNICATOR for op in OPS.values() if op.kind is OpKind.SYNC_RANKS},
        **{
            op.name: Argument.MEMORY
            for op in OPS.values()
            if op.level == Level.MPIIO and op.kind in DATA_KINDS
        },
    }
)
"""By the name of a call what its number says of it, and which field of a step it is in. That of all others is 0."""
ON_TWO_NAMES = frozenset(name for name, said in ARGUMENTS.items() if said is Argument.NEW_NAME)
"""Calls of which there are two rows, and two steps: the old name, then the new one."""


def is_new_name(table: FoldTable, rows: Rows = ...) -> BoolArray:
    """Which rows are of the new name of a rename, link or symlink; that of the old name lies before it."""
    found: BoolArray = table.details.new_name[table.given[rows]] == 1
    return found


def is_old_of_two_names(table: FoldTable) -> BoolArray:
    """Which rows are of the old name of a call whose row of the new name comes next: both are one call."""
    found: BoolArray = np.isin(table.op, [OPS_BY_NAME[name].code for name in ON_TWO_NAMES])
    some = np.flatnonzero(found[:-1])
    new = is_new_name(table)
    pairs = (table.op[some + 1] == table.op[some]) & ~new[some] & new[some + 1]
    found = np.zeros(len(table), dtype=bool)
    found[some[pairs]] = True
    return found
