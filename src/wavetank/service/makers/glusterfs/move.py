"""Moves files to where they belong after a volume got new bricks: a program that runs on a server by itself, while clients use the volume.

``python3 move.py HASH FILE SAID spread`` spreads all directories over all bricks, and has each file be found where it will belong;
``... move`` moves the files. FILE is the volume without parts of files. SAID gets one line at the end: ``done HASH ...``, or
``failed HASH WHY``. It may be killed at any time, and run again from the start. By GlusterFS's own library it asks for what its
rebalancing asks for: that each directory is spread over all bricks, and that each file goes to the brick that its name says.

Sources: xlators/cluster/dht/src/dht-common.c and dht-rebalance.c, api/src/glfs.h of GlusterFS 10.3.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import stat
import sys
from pathlib import Path

SPREAD, MOVE = b"distribute.fix.layout", b"trusted.distribute.migrate-data"
GONE = (errno.ENOENT, errno.ESTALE)
IN_PLACE = errno.EEXIST
# It is found where it is: it has several names, or a lock, or its new brick has no room. A brick that is away looks like the last one.
STAYS = (errno.EPERM, errno.ENOTSUP, errno.ENOSPC)
MARK = stat.S_ISGID | stat.S_ISVTX
"""On a file while it is moved. One that was moved again after a kill keeps it (10.3)."""
LOG_ERRORS = 4
NAME_AT = 19  # of struct dirent, on Linux with 64 bits
STAT_BYTES, MODE_AT = 256, {"x86_64": 24}.get(os.uname().machine, 16)


class FailedError(Exception):
    """A file or a directory that should have been moved was not."""


class Volume:
    """The volume, by libgfapi."""

    def __init__(self, file: str) -> None:
        self._api = ctypes.CDLL("libgfapi.so.0", use_errno=True)
        for name in ("glfs_new", "glfs_opendir", "glfs_readdir"):
            getattr(self._api, name).restype = ctypes.c_void_p
        self._volume = ctypes.c_void_p(self._api.glfs_new(b"volume"))
        self._api.glfs_set_logging(self._volume, b"/dev/null", LOG_ERRORS)
        self._api.glfs_set_volfile(self._volume, file.encode())
        if self._api.glfs_init(self._volume):
            raise FailedError(f"its bricks do not answer: {os.strerror(ctypes.get_errno())}")

    def ask(self, path: bytes, what: bytes, how: bytes) -> int:
        """Have something done with a path; 0, or why not."""
        done = self._api.glfs_lsetxattr(self._volume, path, what, how, ctypes.c_size_t(len(how)), 0)
        return ctypes.get_errno() if done else 0

    def mode(self, path: bytes) -> int | None:
        """Of a file; None: it is gone."""
        found = (ctypes.c_char * STAT_BYTES)()
        if self._api.glfs_lstat(self._volume, path, found):
            return None
        return int.from_bytes(found.raw[MODE_AT : MODE_AT + 4], sys.byteorder)

    def set_mode(self, path: bytes, mode: int) -> None:
        """Of a file."""
        self._api.glfs_chmod(self._volume, path, stat.S_IMODE(mode))

    def paths(self, folder: bytes) -> list[tuple[bytes, bool]]:
        """What a directory has: paths, and whether each is a directory.

        Raises:
            FailedError: it cannot be read.
        """
        opened = ctypes.c_void_p(self._api.glfs_opendir(self._volume, folder))
        if not opened.value:
            if ctypes.get_errno() in GONE:
                return []
            raise FailedError(f"{os.fsdecode(folder)}: {os.strerror(ctypes.get_errno())}")
        found = []
        while entry := self._api.glfs_readdir(opened):
            name = ctypes.string_at(entry + NAME_AT)
            kind = ctypes.string_at(entry + NAME_AT - 1, 1)[0]
            if name not in (b".", b".."):
                found.append((folder.rstrip(b"/") + b"/" + name, kind == stat.S_IFDIR >> 12))
        self._api.glfs_closedir(opened)
        return found


def bricks_of(file: str) -> list[Volume]:
    """The bricks of a volume, each as a volume of its own.

    Raises:
        FailedError: one does not answer.
    """
    found: list[Volume] = []
    for text in re.findall(
        r"^volume .*?^end-volume$", Path(file).read_text(encoding="ascii"), re.DOTALL | re.MULTILINE
    ):
        if "type protocol/client\n" in text:
            one = Path(f"{file}-{len(found)}")
            one.write_text(f"{text}\n", encoding="ascii")
            found.append(Volume(str(one)))
    return found


def spread_all(volume: Volume, bricks: list[Volume]) -> int:
    """Spread all directories; how many files there are.

    To look for a file leaves a link where it will belong. Clients that look for one at once must not have to make that link: of two
    that do, one may look without end (10.3: dht_lookup_everywhere_done, where a link was seen before it had its identity).

    A directory is listed by the brick that its name belongs to. Where that is a new one, it is not there, and nobody sees it in its parent.
    So each brick is asked for itself which directories there are. To look for one makes it on all bricks.

    Args:
        volume: of all bricks.
        bricks: each for itself.

    Raises:
        FailedError: a directory is not spread.
    """
    files = 0
    folders = [b"/"]
    while folders:
        folder = folders.pop()
        for path in {
            path for brick in bricks for path, is_folder in brick.paths(folder) if is_folder
        }:
            volume.mode(path)
        _spread(volume, folder)
        for path, is_folder in volume.paths(folder):
            if is_folder:
                folders.append(path)
            else:
                files += volume.mode(path) is not None
    return files


def move_all(volume: Volume) -> tuple[int, int]:
    """Move all files; how many were moved, and how many are found elsewhere than where they belong.

    Raises:
        FailedError: something could not be moved, and will not be found where it is to be.
    """
    moved = left = 0
    folders = [b"/"]
    while folders:
        for path, is_folder in volume.paths(folders.pop()):
            if is_folder:
                folders.append(path)
                continue
            why = _move(volume, path)
            moved += why == 0
            left += why in STAYS
            if why not in (0, IN_PLACE, *GONE, *STAYS):
                raise FailedError(f"{os.fsdecode(path)}: {os.strerror(why)}")
    if left:
        _spread(volume, b"/")
    return moved, left


def _spread(volume: Volume, folder: bytes) -> None:
    """Spread a directory over all bricks.

    Raises:
        FailedError: it is not; so also where a brick is away.
    """
    why = volume.ask(folder, SPREAD, b"yes")
    if why and why not in GONE:
        raise FailedError(f"{os.fsdecode(folder)}: {os.strerror(why)}")


def _move(volume: Volume, path: bytes) -> int:
    """Move one file; 0, or why it was not moved."""
    before = volume.mode(path)
    why = volume.ask(path, MOVE, b"force")
    after = volume.mode(path)
    if before is not None and after is not None and stat.S_ISREG(after) and after & MARK == MARK:
        runs = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
        if before & MARK != MARK:
            volume.set_mode(path, after & ~MARK | before & MARK)
        elif not after & runs:
            volume.set_mode(path, after & ~MARK)
    return why


def main(version: str, file: str, said: str, what: str) -> None:
    """Do it, and say what came of it."""
    try:
        if what == "spread":
            line = f"done {version} files {spread_all(Volume(file), bricks_of(file))}"
        else:
            line = "done {} moved {} left {}".format(version, *move_all(Volume(file)))
    except (FailedError, OSError) as error:
        line = f"failed {version} {error}"
    new = Path(f"{said}.new")
    new.write_text(" ".join(line.split()) + "\n", encoding="utf-8", errors="replace")
    new.rename(said)
    os._exit(0)  # its own end waits ten seconds for each brick


if __name__ == "__main__":
    main(*sys.argv[1:5])
