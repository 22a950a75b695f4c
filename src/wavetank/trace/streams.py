"""The user's own standard output and error: what of a run goes there, and is not recorded."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wavetank.units import format_size

_NAMES = {1: "standard output", 2: "standard error"}


@dataclass(frozen=True)
class UsersStream:
    """A standard stream that the user's shell sent into a file, before the run.

    Attributes:
        fd: 1 or 2.
        size, position: of the file and of the descriptor, bytes.
    """

    fd: int
    device: int
    inode: int
    path: str
    size: int
    position: int

    def written(self) -> int:
        """Bytes that were written through it since; what it shares with its copies in other processes."""
        return max(
            os.fstat(self.fd).st_size - self.size,
            os.lseek(self.fd, 0, os.SEEK_CUR) - self.position,
            0,
        )


def users_streams() -> tuple[UsersStream, ...]:
    """Standard output and error of this process, those that are regular files."""
    found = []
    for fd in _NAMES:
        try:
            facts = os.fstat(fd)
            if stat.S_ISREG(facts.st_mode):
                path = str(Path(f"/proc/self/fd/{fd}").readlink())
                position = os.lseek(fd, 0, os.SEEK_CUR)
                found.append(
                    UsersStream(fd, facts.st_dev, facts.st_ino, path, facts.st_size, position)
                )
        except OSError:
            continue  # closed
    return tuple(found)


def as_variable(streams: Sequence[UsersStream]) -> str:
    """The value of WAVETANK_TRACE_USERS_STREAMS: by this the tracer knows them in any process."""
    return "+".join(f"{stream.device}:{stream.inode}" for stream in streams)


def loss_warnings(streams: Sequence[UsersStream]) -> list[str]:
    """A sentence for each file that got bytes which the trace does not have."""
    warnings = []
    seen = set()
    for stream in streams:
        written = stream.written()
        if written and (stream.device, stream.inode) not in seen:
            warnings.append(
                f"{format_size(written)} went through {_NAMES[stream.fd]} into {stream.path}, where your shell sent "
                "it; they are not recorded. --standard-streams records them"
            )
        seen.add((stream.device, stream.inode))
    return warnings
