"""A lock file that one process has at a time. The lock goes with the process that has it, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

_TRIES, _APART_S = 5, 0.02
"""Whoever looks whether a folder is taken has its lock for less than a moment: it is tried again."""


class LockedError(Exception):
    """Another process has the lock.

    Attributes:
        owner: the number of that process, or "unknown".
    """

    def __init__(self, owner: str) -> None:
        super().__init__(f"process {owner} has the lock")
        self.owner = owner


def lock_folder(folder: Path, lock: str, database: str, mode: int = 0o777) -> int:
    """Take a folder for this process alone; it is made where there is none.

    Where that fails and the folder has no database, nothing was in it before: lock file and folder are removed.

    Args:
        folder: what to take.
        lock: name of the lock file in it.
        database: name of the file in it that is worth keeping.
        mode: of the folder, as far as the process's mask lets it; the lock file is written by its owner only.

    Returns:
        The descriptor of the lock file; the process has the folder until it is closed.

    Raises:
        LockedError: another process has it.
        OSError: the folder cannot be made, or the lock file cannot be written.
    """
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    descriptor = os.open(folder / lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode & 0o644)
    try:
        _take(descriptor)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError) and not (folder / database).exists():
            (folder / lock).unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()
        raise
    return descriptor


def is_taken(folder: Path, lock: str) -> bool:
    """Whether a process has a folder now, this one or another; False where there is no lock file that can be read."""
    try:
        descriptor = os.open(folder / lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _take(lock: int) -> None:
    """Take a lock, and write the number of this process into its file."""
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if not left:
                owner = os.pread(lock, 64, 0).decode(errors="replace").strip() or "unknown"
                raise LockedError(owner) from None
        time.sleep(_APART_S)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
