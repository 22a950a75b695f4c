"""Where what is of a service lies in its folder, as far as others than the service itself need to know."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def admin_socket(folder: Path) -> Path:
    """The administrator's socket."""
    return folder / "admin.sock"


@contextmanager
def socket_address(path: Path) -> Iterator[str]:
    """A socket's address for ``bind`` and ``connect``, which take 107 bytes (``sun_path``, unix(7)); a path may be longer.

    Raises:
        OSError: its folder cannot be opened.
    """
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def audit_log(folder: Path) -> Path:
    """The audit log: one JSON object a line."""
    return folder / "audit.jsonl"
