"""Logs of other tools, as they are or packed by gzip, bzip2, xz or zstd: their first bytes, lines and content.

Told by content, not by name. zstd's own program unpacks its files: Python has nothing for them.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from wavetank.errors import TraceError
from wavetank.steps import going_on

_LINES = 10_000  # between two looks at how far it is
_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"
_PACKED = (_GZIP, _BZIP2, _XZ, _ZSTD)
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)  # what the readers of packed files raise


def is_packed(path: Path) -> bool:
    """Whether a file is packed as a whole."""
    with path.open("rb") as stream:
        return stream.read(6).startswith(_PACKED)


def unpack(path: Path, copy: Path) -> None:
    """Write what a file holds to another one, unpacked.

    Raises:
        EOFError: it is cut short or damaged.
    """
    try:
        with _unpacked(path) as stream, copy.open("wb") as out:
            shutil.copyfileobj(stream, out, 1 << 20)
    except _BROKEN as error:
        raise EOFError(str(error)) from error


def head(path: Path, n: int) -> bytes:
    """The first ``n`` bytes of a file, unpacked; fewer where it holds no more.

    Raises:
        TraceError: it cannot be read or unpacked.
    """
    try:
        with path.open("rb") as plain:
            content = plain.read(n)
        if not content.startswith(_PACKED):
            return content
        with _unpacked(path) as stream:
            return stream.read(n)
    except _BROKEN as error:
        raise TraceError(f"cannot read {path}: {error}") from error


def lines(path: Path) -> Iterator[str]:
    """The lines of a text, unpacked; bytes that are not UTF-8 are escaped.

    Raises:
        TraceError: it cannot be read.
        EOFError: it is cut short or damaged behind the lines that came.
    """
    try:
        with (
            going_on(f"reading {path.name}", path.stat().st_size, "B") as reading,
            _unpacked(path) as stream,
            io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace") as text,
        ):
            # one by one: those before the place where a file is cut short count
            for number, line in enumerate(text, 1):
                yield line
                if number % _LINES == 0 and (place := _place(stream)) is not None:
                    reading.at(place)
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise EOFError(str(error)) from error
    except OSError as error:
        if error.errno is None:  # bzip2's way to say it
            raise EOFError(str(error)) from error
        raise TraceError(f"cannot read {path}: {error.strerror}") from error


def _place(stream: IO[bytes]) -> int | None:
    """Bytes of the file that were read, packed where it is; None where that is not known."""
    if isinstance(stream, gzip.GzipFile):
        packed: IO[bytes] = stream.fileobj
        return packed.tell()
    if isinstance(stream, bz2.BZ2File | lzma.LZMAFile):
        return None
    return stream.tell() if stream.seekable() else None


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as stream:
        magic = stream.read(6)
    if magic.startswith(_GZIP):
        with gzip.open(path) as unpacked:
            yield unpacked  # type: ignore[misc]
    elif magic.startswith(_BZIP2):
        with bz2.open(path) as unpacked_by_bzip2:
            yield unpacked_by_bzip2
    elif magic.startswith(_XZ):
        with lzma.open(path) as unpacked_by_xz:
            yield unpacked_by_xz
    elif magic.startswith(_ZSTD):
        with _by_zstd(path) as unpacked_by_zstd:
            yield unpacked_by_zstd
    else:
        with path.open("rb") as plain:
            yield plain


@contextmanager
def _by_zstd(path: Path) -> Iterator[IO[bytes]]:
    program = shutil.which("zstd")
    if program is None:
        raise TraceError(
            f"{path} is packed by zstd, and there is no program zstd. Install it (Debian's package zstd), or unpack "
            "the log first"
        )
    with subprocess.Popen(
        [program, "-dcq", "--", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        stdout = process.stdout
        assert stdout is not None  # noqa: S101
        yield stdout
        whole = stdout.closed or not stdout.read(1)  # else the reader had enough
        stdout.close()
        if process.wait() != 0 and whole:
            raise EOFError("zstd cannot unpack it to its end")
