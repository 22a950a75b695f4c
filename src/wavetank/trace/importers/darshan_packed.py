"""Darshan logs in a form that the library reads: unpacked, of format 3, compressed by zlib.

Reads a log that was packed as a whole (gzip, bzip2, xz, zstd), or whose parts are compressed by bzip2
(``darshan-convert --bzip2``), which PyDarshan's library is built without; leaves a copy. The layout of a header is that
of struct darshan_header in darshan-log-format.h: version, magic, compression, flags, (offset, length) of the names and
of each module, the modules' versions.
"""

from __future__ import annotations

import bz2
import re
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wavetank.errors import TraceError
from wavetank.trace import packed

_VERSION = re.compile(rb"([123])\.(\d{1,2})\0")
_MAGIC = 6567223
_COMPRESSION = 16  # where its byte lies
_BZIP2, _ZLIB = 1, 0


@dataclass(frozen=True)
class _Layout:
    """Where a header of format 3 holds what."""

    names: int  # (offset, length) of the names, then of each module
    n_modules: int

    @property
    def size(self) -> int:
        """Bytes of the header; the job follows."""
        return self.names + 16 + (16 + 4) * self.n_modules


def version_of(head: bytes) -> str | None:
    """The format of a Darshan log by its first bytes, such as "3.41"; None: it is none."""
    found = _VERSION.match(head)
    if found is None or len(head) < 24 or any(head[found.end() : 8]):
        return None
    return found.group()[:-1].decode()


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """A log that the library reads: the file itself, or a copy of it that lasts as long as the context.

    Raises:
        TraceError: it is of Darshan 1 or 2, or does not unpack.
    """
    head = packed.head(path, 512)
    version = version_of(head)
    if version is not None and version[0] in "12":
        raise TraceError(
            f"{path} is a log of Darshan {version[0]} (format {version}), and libdarshan-util reads those of Darshan 3 alone. No "
            f"program converts it: record the run again with Darshan 3.1 or later, or read it with the darshan-parser of "
            f"Darshan {version[0]}"
        )
    is_packed = packed.is_packed(path)
    repacked = len(head) > _COMPRESSION and head[_COMPRESSION] == _BZIP2
    if not (is_packed or repacked):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="wavetank-darshan-") as folder:
        copy = Path(folder) / path.name
        try:
            packed.unpack(path, copy)
            if repacked:
                copy.write_bytes(_by_zlib(copy.read_bytes()))
        except (OSError, EOFError, ValueError, struct.error) as error:
            raise TraceError(
                f"{path} is damaged or cut short: it does not unpack ({error})"
            ) from error
        try:
            yield copy
        except TraceError as error:
            raise TraceError(str(error).replace(str(copy), str(path))) from error


def _by_zlib(log: bytes) -> bytes:
    """The same log with each part compressed by zlib in place of bzip2."""
    order = "<" if struct.unpack_from("<Q", log, 8)[0] == _MAGIC else ">"
    layout = _Layout(32, 64) if log.startswith(b"3.41\0") else _Layout(24, 16)
    entry = struct.Struct(f"{order}QQ")
    header = bytearray(log[: layout.size])
    header[_COMPRESSION] = _ZLIB
    names_at, _ = entry.unpack_from(log, layout.names)
    out = [zlib.compress(_bunzip2(log[layout.size : names_at]))]
    end = layout.size + len(out[0])
    for number in range(1 + layout.n_modules):
        place = layout.names + 16 * number
        at, length = entry.unpack_from(log, place)
        if not length:
            continue
        if at + length > len(log):
            raise ValueError(f"a part lies up to byte {at + length}, the log has {len(log)}")
        out.append(zlib.compress(_bunzip2(log[at : at + length])))
        entry.pack_into(header, place, end, len(out[-1]))
        end += len(out[-1])
    return bytes(header) + b"".join(out)


def _bunzip2(content: bytes) -> bytes:
    """What one stream after the other holds."""
    try:
        return bz2.decompress(content)
    except (
        ValueError
    ) as error:  # "Compressed data ended before the end-of-stream marker was reached"
        raise ValueError(f"a part compressed by bzip2: {error}") from error
