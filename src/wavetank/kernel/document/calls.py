"""Which calls a replay performs, and what stands in for those that it does not know.

The list is compared with the C program's (native/replay/calls.h) in the tests.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from wavetank.model.document.program import FileStep
from wavetank.model.events.file_identity import NAMED_OPS
from wavetank.trace import arguments

COPIES = frozenset({"copy_file_range", "copy_file_range_to", "sendfile", "sendfile_to"})
"""Two calls of a kernel each: the side that is read, then the side that is written."""
POSIX_DATA = COPIES | {
    "read", "write", "readv", "writev", "pread", "pwrite", "preadv", "pwritev", "aio_read", "aio_write",
}  # fmt: skip
POSIX_FILE = frozenset(
    {
        "open", "close", "lseek", "fsync", "fdatasync", "aio_fsync", "sync_file_range", "ftruncate", "truncate",
        "fallocate", "stat", "fstat", "access", "unlink", "rename", "link", "symlink", "mkdir", "rmdir", "mknod", "readdir",
        "readlink", "chmod", "fchmod", "chown", "fchown", "utime", "futime", "fcntl", "dup", "mmap", "munmap", "msync",
    }
)  # fmt: skip
ON_TWO_NAMES = arguments.ON_TWO_NAMES
MAPPED = frozenset({"mmap", "munmap", "msync"})
_TRANSFERS = ("", "_at", "_all", "_at_all", "_shared", "_ordered")
NONBLOCKING = frozenset(
    f"MPI_File_i{verb}{how}"
    for verb in ("read", "write")
    for how in ("", "_at", "_all", "_at_all", "_shared")
)
SPLIT = frozenset(
    f"MPI_File_{verb}{how}_begin"
    for verb in ("read", "write")
    for how in ("_all", "_at_all", "_ordered")
)
MPI_DATA = (
    frozenset(f"MPI_File_{verb}{how}" for verb in ("read", "write") for how in _TRANSFERS)
    | NONBLOCKING
    | SPLIT
)
MPI_FILE = frozenset(
    f"MPI_File_{verb}"
    for verb in (
        "open", "close", "set_view", "seek", "seek_shared", "sync", "set_size", "preallocate",
        "get_size", "set_atomicity", "set_info", "delete", "end",
    )
) | {"MPI_Wait"}  # fmt: skip
_OF_ONE_RANK = frozenset({"MPI_File_seek", "MPI_File_get_size", "MPI_File_delete", "MPI_Wait"})
DATA = POSIX_DATA | MPI_DATA
KNOWN = DATA | POSIX_FILE | MPI_FILE

SHARED_POINTER = frozenset(name for name in MPI_DATA if "_shared" in name or "_ordered" in name)
"""Calls whose place in the file is wherever the ranks' common pointer is."""


@dataclass(frozen=True)
class Substitute:
    """A call that the replay makes in place of another. ``reason`` ends "X is replayed as Y: ..."."""

    name: str
    reason: str


_STAND_INS = {
    "MPI_Test": Substitute("MPI_Wait", "it waits instead of asking again and again"),
}


def substitute(name: str) -> Substitute | None:
    """The call that stands in for one that the replay does not know; None if nothing does."""
    return _STAND_INS.get(name)


def performed(name: str) -> str | None:
    """The call that the replay makes for a traced one: itself, a stand-in, or None."""
    if name in KNOWN:
        return name
    stand_in = substitute(name)
    return stand_in.name if stand_in else None


_ON_NAMES = NAMED_OPS - {"readlink", "MPI_File_open", "MPI_File_delete"}
_BY_THE_FILTER = _ON_NAMES | (POSIX_DATA - COPIES - {"aio_read", "aio_write"}) | {"fstat", "mmap"}


def is_performed(step: FileStep) -> bool:
    """Whether the replay makes a call: not one that failed, where it might succeed.

    Which of POSIX fail again: native/replay/backends/refusals.c. Those of MPI do for want of the file.
    """
    name, error = step.iop_type, step.error
    if not error or is_mpi(name) or name == "close" or name in _BY_THE_FILTER:
        return True
    if name == "readlink":  # of what is no link, or is not there
        return error in (errno.EINVAL, errno.ENOENT)
    if name == "lseek":
        return error == (errno.ENXIO if step.origin > os.SEEK_END else errno.EINVAL)
    return name == "ftruncate" and error == errno.EINVAL and step.new_size < 0


def by_the_filter(name: str, error: int) -> bool:
    """Whether the storage of a replay has no part in a failure: the replay's own system refuses the call."""
    storage = {errno.ENOENT, errno.EEXIST} if name in _ON_NAMES else set()
    return name in _BY_THE_FILTER and error not in storage


def is_mpi(name: str) -> bool:
    """Whether a call is of the MPI-IO level."""
    return name.startswith("MPI_")


def is_collective(name: str) -> bool:
    """Whether all ranks that opened the file must make the call."""
    if name in MPI_FILE:
        return name not in _OF_ONE_RANK
    return name in MPI_DATA and ("_all" in name or "_ordered" in name)


def reads(name: str) -> bool:
    """Whether a data call reads (else it writes)."""
    if name.startswith(("sendfile", "copy_file_range")):
        return not name.endswith("_to")
    return "read" in name
