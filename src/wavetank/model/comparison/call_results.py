"""What two models are compared in of a call that moves no data, beside its name, file and place: its result, and what it asked for."""

from __future__ import annotations

import os

from wavetank.model.document.program import FileStep

# Flags of open that change what the storage does. Others (O_CLOEXEC, O_NOCTTY, ...) are about the process.
_OPEN_FLAGS = (
    os.O_ACCMODE | os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_APPEND | os.O_SYNC | os.O_DSYNC
    | os.O_DIRECT | (os.O_TMPFILE & ~os.O_DIRECTORY)
)  # fmt: skip
_FLAG_NAMES = ("O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND", "O_SYNC", "O_DSYNC", "O_DIRECT")
_WAYS = ("O_RDONLY", "O_WRONLY", "O_RDWR")
_WHENCE = {os.SEEK_CUR: "from its place", os.SEEK_END: "from the end"}
# Calls whose argument is a size, a place, a length or a way.
_ASKING = frozenset(
    {
        "lseek", "ftruncate", "truncate", "fallocate", "mmap", "MPI_File_open", "MPI_File_set_size",
        "MPI_File_preallocate", "MPI_File_set_atomicity", "unlink",
    }
)  # fmt: skip


def result_and_argument(step: FileStep) -> tuple[int, int]:
    """The errno (0: it succeeded), and the argument as far as it changes what is done: flags of open, whence, a size."""
    if step.iop_type == "open":
        return step.error, step.flags & _OPEN_FLAGS
    return step.error, step.number if step.iop_type in _ASKING else 0


def asked_text(step: FileStep) -> str:
    """The argument in words, with a blank before them; empty where there is nothing to say."""
    _, argument = result_and_argument(step)
    if step.iop_type == "open":
        names = [name for name in _FLAG_NAMES if argument & getattr(os, name) == getattr(os, name)]
        way = _WAYS[argument & os.O_ACCMODE] if argument & os.O_ACCMODE < len(_WAYS) else "0o3"
        return f" ({'|'.join([way, *names])})"
    if step.iop_type == "lseek":
        return f" {_WHENCE[argument]}" if argument in _WHENCE else ""
    return f" ({argument})" if argument else ""
