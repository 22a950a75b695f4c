"""Standard streams whose reader may go away: ``| head``, a pager that was left, a lost terminal.

Whoever prints while a cluster is up must not die of it: what was made would stay behind. Once its
reader is gone a stream is silent, and the command goes on to its end.

On a terminal, lines of standard error that are too long for it break between words.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_ERASE_LINE = "\r\x1b[2K"
READER_GONE = frozenset({errno.EPIPE, errno.EIO})
"""EPIPE: a pipe's or socket's reader closed it. EIO: the terminal is gone."""


@dataclass
class Lost:
    """What befell standard output, but that its reader went away."""

    reason: str = ""  # empty: nothing


def outlive_readers() -> Lost:
    """Make this process's standard output and error silent once they cannot be written any more.

    Progress is no reason to stop, whatever befalls standard error. Where standard output fails for another
    reason than a reader that is gone (a full disk), the command still goes on to its end, so that it leaves nothing
    behind; what is returned then says why, and the command must end as failed.
    """
    lost = Lost()
    sys.stdout = _lasting(sys.stdout, lost)
    sys.stderr = _lasting(sys.stderr, None)
    return lost


def lost_output() -> str | None:
    """Why standard output got lost so far, all that was printed being written out first; None while it is not."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return (raw.lost.reason or None) if isinstance(raw, _Lasting) and raw.lost is not None else None


def _lasting(stream: TextIO, lost: Lost | None) -> TextIO:
    try:
        fd = stream.fileno()
        stream.flush()  # what was buffered before goes out first
    except (AttributeError, OSError, ValueError):
        return stream  # closed, or not a file
    unbuffered = getattr(stream, "line_buffering", False) or getattr(stream, "write_through", False)
    kind = _Sentences if lost is None else io.TextIOWrapper
    return kind(
        io.BufferedWriter(_Lasting(fd, lost)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=lost is None or unbuffered,
    )


def erase_before_lines(is_shown: bool) -> None:
    """Whether a line of progress is on the terminal now, which gives way to whatever is told on standard error."""
    if isinstance(sys.stderr, _Sentences):
        sys.stderr.before = _ERASE_LINE if is_shown else ""


class _Sentences(io.TextIOWrapper):
    """What is told on standard error: whole lines, which a terminal must not cut within a word."""

    before = ""

    def write(self, text: str, /) -> int:
        """Write; on a terminal, with line breaks between words. What steers the terminal has its own."""
        if not text.isspace() and not {"\x1b", "\r"} & set(text) and self.isatty():
            from wavetank.cli.grid import broken

            width = shutil.get_terminal_size(_size_of(self.fileno())).columns
            super().write(self.before + broken(text, width))
        else:
            super().write(text)
        return len(text)


def _size_of(fd: int) -> os.terminal_size:
    usual = os.terminal_size((80, 24))
    try:
        found = os.get_terminal_size(fd)
    except OSError:
        return usual
    return found if found.columns else usual  # a terminal that was given no size says 0


class _Lasting(io.FileIO):
    """A file descriptor whose writes succeed also when nobody gets them."""

    def __init__(self, fd: int, lost: Lost | None) -> None:
        super().__init__(fd, "w", closefd=False)
        self.lost = lost

    def write(self, content: ReadableBuffer, /) -> int:
        """Write, or drop what nobody will read."""
        try:
            return super().write(content)
        except OSError as error:
            if self.lost is not None and error.errno not in READER_GONE:
                self.lost.reason = error.strerror or str(error)
        # Programs that are started from here on find a place to write to as well.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())
        os.close(null)
        return memoryview(content).nbytes
