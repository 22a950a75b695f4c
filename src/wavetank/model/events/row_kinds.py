"""What a row of a trace is to the extraction."""

from __future__ import annotations

from enum import IntEnum

NEXT_DATA = -2
"""A seek's target: where the next data operation through the handle starts."""


class RowKind(IntEnum):
    """What a row is to the extraction."""

    IGNORED = 0
    DATA = 1  # moved bytes
    EMPTY = 2  # a read or write that succeeded and moved nothing
    NULL_SEEK = 3  # lseek(fd, 0, SEEK_CUR): leaves the pointer where it is
    SEEK = 4
    FILE = 5  # open, close, sync, resize, stat, ..., and data operations that failed
    SYNC_RANKS = 6
