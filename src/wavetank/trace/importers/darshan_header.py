"""The header of a Darshan log, format 3.41: where each part lies; parts taken out and checked without the library.

struct darshan_header of darshan-log-format.h: version, magic, compression, partial flags, then (offset, length) of
the names and of each of 64 modules by its number, then the modules' versions. The job lies between header and names.
"""

from __future__ import annotations

import struct
from pathlib import Path

from isal import isal_zlib

from wavetank.errors import TraceError

MODULE_MAP = 48  # bytes from the start
_VERSION = b"3.41\0"
_MAGIC = 6567223
_ZLIB = 0
_N_MODULES = 64
_SIZE = MODULE_MAP + (16 + 4) * _N_MODULES
_BULK = (10, 11)  # DXT modules: large, and checked when they are read


def is_whole(path: Path) -> bool:
    """Whether every part of a log is there and unpacks; False where the format is another and cannot be told.

    Raises:
        TraceError: it is cut short or damaged.
    """
    try:
        with path.open("rb") as log:
            header = log.read(_SIZE)
            length = path.stat().st_size
            if header.startswith(_VERSION) and len(header) < _SIZE:
                raise TraceError(
                    f"{path} is cut short: it ends within its header, at byte {length}"
                )
            if not _is_known(header):
                return False
            for name, offset, size in _parts(header):
                if offset + size > length:
                    raise TraceError(
                        f"{path} is cut short: its {name} lies up to byte {offset + size}, the file has {length}"
                    )
                if name not in {f"module {number}" for number in _BULK} and size:
                    log.seek(offset)
                    if _unpacked(log.read(size)) is None:
                        raise TraceError(
                            f"{path} is damaged: its {name} (from byte {offset}) does not unpack"
                        )
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}") from error
    return True


def is_big_endian(path: Path) -> bool:
    """Whether a log was written on a machine of the other byte order (older POWER, Blue Gene): all its numbers are so."""
    with path.open("rb") as log:
        return log.read(16)[8:] == _MAGIC.to_bytes(8, "big")


def raw(path: Path, number: int, length: int) -> bytes | None:
    """The bytes of a module, unpacked: also of versions that the library refuses.

    ``length``: bytes in the log, as the library says. None where the header is of another format, says another
    length, or the log is not compressed by zlib; or the module does not unpack.
    """
    try:
        with path.open("rb") as log:
            header = log.read(_SIZE)
            if not _is_known(header):
                return None
            offset, size = struct.unpack_from("<QQ", header, MODULE_MAP + 16 * number)
            if size != length:
                return None
            log.seek(offset)
            return _unpacked(log.read(size))
    except OSError:
        return None


def _is_known(header: bytes) -> bool:
    if len(header) < _SIZE or not header.startswith(_VERSION):
        return False
    magic, compression = struct.unpack_from("<QB", header, 8)
    return bool(magic == _MAGIC and compression == _ZLIB)


def _parts(header: bytes) -> list[tuple[str, int, int]]:
    """(name, offset, length) of each part."""
    names_at, names_length = struct.unpack_from("<QQ", header, MODULE_MAP - 16)
    found = [("job", _SIZE, max(names_at - _SIZE, 0)), ("names", names_at, names_length)]
    for number in range(_N_MODULES):
        offset, length = struct.unpack_from("<QQ", header, MODULE_MAP + 16 * number)
        if length:
            found.append((f"module {number}", offset, length))
    return found


def _unpacked(content: bytes) -> bytes | None:
    """What one zlib stream after the other holds; None: damaged."""
    out = []
    while content:  # each process group may have written a stream of its own
        stream = isal_zlib.decompressobj()
        try:
            out.append(stream.decompress(content))
        except isal_zlib.error:  # type: ignore[misc]  # its stub calls the class an instance
            return None
        if not stream.eof:
            return None
        content = stream.unused_data
    return out[0] if len(out) == 1 else b"".join(out)
