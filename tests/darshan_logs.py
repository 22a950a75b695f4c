"""Darshan logs changed as tests need them: their parts are taken out, edited, and put into a log of the same format."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from wavetank.trace.importers.darshan_header import MODULE_MAP
from wavetank.trace.importers.dxt import RECORD

_HEADER, _N_MODULES = 1328, 64  # struct darshan_header, format 3.41
_DXT = (10, 11)  # numbers of DXT's modules
JOB, NAMES = -2, -1
"""Parts beside the modules, which have the numbers from 0."""
POSIX, MPIIO, DXT_POSIX, DXT_MPIIO, DFS = 1, 2, 10, 11, 16
_N_VALUES = {POSIX: 2 + 69 + 17, MPIIO: 2 + 51 + 17}  # of a record: file, rank, counters, times


def without_dxt(log: Path, folder: Path) -> Path:
    """A log as most are: the map's entries of DXT's modules are emptied. Written into a folder, under its own name."""
    content = bytearray(log.read_bytes())
    for number in _DXT:
        struct.pack_into("<QQ", content, MODULE_MAP + 16 * number, 0, 0)
    changed = folder / log.name
    changed.write_bytes(content)
    return changed


class DarshanParts:
    """The parts of a log of format 3.41, unpacked; ``JOB``, ``NAMES`` and modules by number."""

    def __init__(self, log: Path) -> None:
        content = log.read_bytes()
        self.header = bytearray(content[:_HEADER])
        self.parts: dict[int, bytes] = {}
        ends = _HEADER
        for number in range(-1, _N_MODULES):
            at, length = struct.unpack_from("<QQ", content, MODULE_MAP + 16 * number)
            if number == NAMES:
                self.parts[JOB] = _unpacked(content[ends:at])
            if length:
                self.parts[number] = _unpacked(content[at : at + length])

    def records(self, number: int) -> np.ndarray:
        """Records of a counter module, a row each of int64: file, rank, counters, times (as bits)."""
        rows = np.frombuffer(self.parts[number], dtype=np.int64)
        return rows.reshape(-1, _N_VALUES[number]).copy()

    def segments(self, number: int, change: Callable[[np.ndarray], None]) -> None:
        """Let a function change the segments of each record of a DXT module."""
        kind = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")])
        content = bytearray(self.parts[number])
        at = 0
        while at < len(content):
            *_, writes, reads = RECORD.unpack_from(content, at)
            at += RECORD.size
            segments = np.frombuffer(content, kind, writes + reads, at)
            change(segments)
            at += segments.nbytes
        self.parts[number] = bytes(content)

    def write(
        self, log: Path, compress: Callable[[bytes], bytes] = zlib.compress, compression: int = 0
    ) -> Path:
        """Put the parts into a log."""
        header = bytearray(self.header)
        header[16] = compression
        body = compress(self.parts[JOB])
        for number in range(-1, _N_MODULES):
            packed = compress(self.parts[number]) if number in self.parts else b""
            place = (_HEADER + len(body), len(packed)) if packed else (0, 0)
            struct.pack_into("<QQ", header, MODULE_MAP + 16 * number, *place)
            body += packed
        log.write_bytes(bytes(header) + body)
        return log


def _unpacked(content: bytes) -> bytes:
    out = b""
    while content:
        stream = zlib.decompressobj()
        out += stream.decompress(content)
        content = stream.unused_data
    return out
