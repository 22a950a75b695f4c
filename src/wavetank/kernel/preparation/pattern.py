"""What is in a kernel's files: a pattern in which every wrong, misplaced or foreign byte is seen.

Byte o of file f is PATTERN[(o + 28672*f) mod 249856]. The replay program writes and checks the same
bytes (native/replay/plan/pattern.h has the reasons for the numbers).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

PERIOD = 4096 * 61
"""Bytes after which the pattern recurs."""
FILE_STEP = 4096 * 7
"""Bytes by which the pattern of one file is shifted against the next one's."""
_BLOCK = 32 * PERIOD  # about 8 MB a write


@cache
def pattern() -> bytes:
    """One period: splitmix64 (Vigna, public domain) of 0, 1, 2, ..., little endian."""
    with np.errstate(over="ignore"):
        z = np.arange(1, PERIOD // 8 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return z.astype("<u8").tobytes()


@cache
def _repeated() -> memoryview:
    """So many periods that a block of any file's lies in them."""
    return memoryview(pattern() * (_BLOCK // PERIOD + 1))


def part(file_id: int, offset: int, n: int) -> memoryview:
    """Bytes [offset, offset + n) of a file, 8 MB at most."""
    start = (offset + file_id * FILE_STEP) % PERIOD
    return _repeated()[start : start + n]


def content(file_id: int, size_bytes: int) -> Iterator[memoryview]:
    """The first ``size_bytes`` bytes of a file, in pieces of some megabytes."""
    block = part(file_id, 0, _BLOCK)
    while size_bytes > 0:
        yield block[:size_bytes]
        size_bytes -= min(size_bytes, _BLOCK)
