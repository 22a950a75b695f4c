"""Darshan logs changed as tests need them."""

from __future__ import annotations

import struct
from pathlib import Path

from wavetank.trace.importers.darshan_header import MODULE_MAP

_DXT = (10, 11)  # numbers of DXT's modules


def without_dxt(log: Path, folder: Path) -> Path:
    """A log as most are: the map's entries of DXT's modules are emptied. Written into a folder, under its own name."""
    content = bytearray(log.read_bytes())
    for number in _DXT:
        struct.pack_into("<QQ", content, MODULE_MAP + 16 * number, 0, 0)
    changed = folder / log.name
    changed.write_bytes(content)
    return changed
