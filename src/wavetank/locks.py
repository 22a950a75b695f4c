"""A lock file that one process has at a time. The lock goes with the process that has it, however it ends."""

from __future__ import annotations

import fcntl
import os


def take_lock(lock: int) -> str | None:
    """Take a lock, unless another process has it, and write the number of this process into the file.

    Args:
        lock: descriptor of the lock file, open for reading and writing. It has the lock until it is closed.

    Returns:
        None when this process has the lock now; else the number of the process that has it, or "unknown".

    Raises:
        OSError: the file cannot be written.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(lock, 64, 0).decode(errors="replace").strip() or "unknown"
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return None
