"""What a row of a trace is to the extraction.

A file of its own: most rooms ask for the kind of a row, and need nothing else of the code that finds it.
"""

from __future__ import annotations

from typing import Final

BESIDE_MPI: Final = 4
"""Beside the numbers of ``Level``: POSIX calls of the application on a file that it uses through MPI-IO, too."""
NEXT_DATA = -2
"""A seek's target: where the next data operation through the handle starts."""


class RowKind:
    """What a row is to the extraction.

    Plain numbers and no IntEnum: numpy compares a column of bytes with members of an enum as numbers of eight bytes.
    """

    IGNORED: Final = 0
    DATA: Final = 1  # moved bytes
    EMPTY: Final = 2  # a read or write that succeeded and moved nothing
    NULL_SEEK: Final = 3  # lseek(fd, 0, SEEK_CUR): leaves the pointer where it is
    SEEK: Final = 4
    FILE: Final = 5  # open, close, sync, resize, stat, ..., and data operations that failed
    SYNC_RANKS: Final = 6
