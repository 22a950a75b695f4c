"""Folders for a replay's plan and its launcher's files; those of replays that were killed are cleared.

Each folder holds a lock for as long as its process lives. The kernel of the operating system lets go of it
even when the process is killed, so a folder whose lock is free belongs to nobody.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "wavetank-replay-"
_LOCK = "in-use"


@contextmanager
def scratch_folder(within: Path | None = None) -> Iterator[Path]:
    """A folder of this process's own, removed at the end; abandoned ones are removed now.

    Args:
        within: directory for it; by default this machine's for temporary files. Abandoned folders are looked for
            only there: other machines may work in any other, and locks need not be seen across machines.
    """
    clear_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=within))
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def clear_abandoned() -> list[Path]:
    """Remove the folders of this user's replays that were killed; those removed."""
    return [
        folder
        for folder in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"))
        if _is_abandoned(folder) and _remove(folder)
    ]


def _is_abandoned(folder: Path) -> bool:
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        with (folder / _LOCK).open("rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A folder that is just being made has a lock file that is not locked yet, and nothing else.
            return any(entry.name != _LOCK for entry in folder.iterdir())
    except OSError:  # in use, another's, or gone
        return False


def _remove(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
