"""Text logs of other tools, as they are or packed by gzip or zstd: their first bytes and their lines.

Told by content, not by name. zstd's own program unpacks its files: Python has nothing for them.
"""

from __future__ import annotations

import gzip
import io
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
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def head(path: Path, n: int) -> bytes:
    """The first ``n`` bytes of a file, unpacked; fewer where it holds no more.

    Raises:
        TraceError: it cannot be read or unpacked.
    """
    try:
        with _unpacked(path) as stream:
            return stream.read(n)
    except (OSError, EOFError, zlib.error) as error:
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
    except (zlib.error, gzip.BadGzipFile) as error:
        raise EOFError(str(error)) from error
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}") from error


def _place(stream: IO[bytes]) -> int | None:
    """Bytes of the file that were read, packed where it is; None where its own program unpacks it."""
    if isinstance(stream, gzip.GzipFile):
        packed: IO[bytes] = stream.fileobj
        return packed.tell()
    return stream.tell() if stream.seekable() else None


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic.startswith(_GZIP):
        with gzip.open(path) as unpacked:
            yield unpacked  # type: ignore[misc]
    elif magic == _ZSTD:
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
