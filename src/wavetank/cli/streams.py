"""Standard streams whose reader may go away: ``| head``, a pager that was left, a lost terminal.

Whoever prints while a cluster is up must not die of it: what was made would stay behind. Once its
reader is gone a stream is silent, and the command goes on to its end.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

READER_GONE = frozenset({errno.EPIPE, errno.EIO})
"""EPIPE: a pipe's or socket's reader closed it. EIO: the terminal is gone."""


def outlive_readers() -> None:
    """Make this process's standard output and error silent once their reader is gone.

    Standard error is silent after any failure (a log on a full disk, too): progress is no reason
    to stop. A result that cannot be written to standard output for another reason still raises.
    """
    sys.stdout = _lasting(sys.stdout, READER_GONE)
    sys.stderr = _lasting(sys.stderr, None)


def _lasting(stream: TextIO, forgiven: frozenset[int] | None) -> TextIO:
    try:
        fd = stream.fileno()
        stream.flush()  # what was buffered before goes out first
    except (AttributeError, OSError, ValueError):
        return stream  # closed, or not a file
    unbuffered = getattr(stream, "line_buffering", False) or getattr(stream, "write_through", False)
    return io.TextIOWrapper(
        io.BufferedWriter(_Lasting(fd, forgiven)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=forgiven is None or unbuffered,
    )


class _Lasting(io.FileIO):
    """A file descriptor whose writes succeed also when nobody reads them."""

    def __init__(self, fd: int, forgiven: frozenset[int] | None) -> None:
        super().__init__(fd, "w", closefd=False)
        self._forgiven = forgiven

    def write(self, content: ReadableBuffer, /) -> int:
        """Write, or drop what nobody will read."""
        try:
            return super().write(content)
        except OSError as error:
            if self._forgiven is not None and error.errno not in self._forgiven:
                raise
        # Programs that are started from here on find a place to write to as well.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())
        os.close(null)
        return memoryview(content).nbytes
