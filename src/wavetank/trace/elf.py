"""Whether a program can be preloaded: an ELF file with an interpreter (the dynamic loader)."""

from __future__ import annotations

import struct
from pathlib import Path

_PT_INTERP = 3


def is_static(path: Path) -> bool:
    """True for an ELF program without a dynamic loader; False for scripts and what cannot be read."""
    try:
        with path.open("rb") as stream:
            head = stream.read(64)
            if len(head) < 52 or head[:4] != b"\x7fELF":
                return False
            wide = head[4] == 2
            order = "<" if head[5] == 1 else ">"
            if wide:
                offset, size, count = (
                    *struct.unpack_from(order + "Q", head, 32),
                    *struct.unpack_from(order + "HH", head, 54),
                )
            else:
                offset, size, count = (
                    *struct.unpack_from(order + "I", head, 28),
                    *struct.unpack_from(order + "HH", head, 42),
                )
            stream.seek(offset)
            table = stream.read(size * count)
    except (OSError, struct.error):
        return False
    kinds = {
        struct.unpack_from(order + "I", table, i * size)[0]
        for i in range(count)
        if (i + 1) * size <= len(table)
    }
    return bool(kinds) and _PT_INTERP not in kinds
