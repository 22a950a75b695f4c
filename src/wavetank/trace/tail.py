"""What a process that was killed had not written yet: its tail, kept by the kernel.

Reads a file part-HOST-PID-N.tail (struct wt_tail of native/include/wavetank_trace.h); leaves its rows
in the layout of the decoder's columns.
"""

from __future__ import annotations

import gzip
import logging
import socket
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wavetank.document import write_whole
from wavetank.errors import WavetankError
from wavetank.trace.decoder import (
    COLUMNS,
    N_BUCKETS,
    DamagedRowsError,
    Decoded,
    decode_tail,
)

log = logging.getLogger(__name__)

PACKED = ".gz"  # behind the name of a tail that was compressed when its command had ended
MAGIC = b"WTTAIL\n\0"
VERSION = 1
_PAGE_BYTES = 4096  # of a tail without rows: there was no room for more
# magic, version, rows_at, coded_at, meta_at, part_length, seq_of_first, older and newer anchor, missed,
# n_rows, half, has_open, n_coded_bytes, n_meta_bytes, nests_at
HEADER = struct.Struct("=8sIIIIQQQQQQQIIIIII")


@dataclass(frozen=True)
class Tail:
    """Blocks that were being filled, and rows that were not coded yet.

    Attributes:
        part_length: bytes of the part that are whole.
        rows_coded, meta: content of blocks that were not written.
        rows: rows that were not coded.
        missed: operations after the tracer could write no more; 0 if it could.
        keeps_rows: False where the disk had no room for more than the reason and the count.
    """

    part_length: int
    rows_coded: bytes
    meta: bytes
    rows: Decoded
    missed: int
    keeps_rows: bool = True


def pack_tails(folder: Path) -> None:
    """Compress the tails that killed processes left in a trace: they are mostly empty.

    A tail whose process still runs is left as it is, and so is one that cannot be written.
    """
    for path in folder.glob("part-*.tail"):
        if _is_in_use(path):
            continue
        packed = path.with_name(path.name + PACKED)
        try:
            write_whole(packed, gzip.compress(path.read_bytes(), mtime=0))
            path.unlink()
        except (OSError, WavetankError) as error:
            log.info("%s is not packed: %s", path, error)
            packed.unlink(missing_ok=True)


def _is_in_use(path: Path) -> bool:
    """Whether the process of a tail, part-HOST-PID-N.tail, may still write to it; of another host it may."""
    host, pid, _ = path.stem.removeprefix("part-").rsplit("-", 2)
    here = socket.gethostname().replace("/", "_").replace(" ", "_")
    try:  # a zombie has no mappings any more
        return host != here[:63] or path.name in Path(f"/proc/{pid}/maps").read_text(
            errors="replace"
        )
    except OSError:
        return False


def read_tail(path: Path, loops: bool = False) -> Tail | None:
    """The tail, None when there is none, or when it is not one (cut short, damaged)."""
    content = _content(path)
    if len(content) < HEADER.size or not content.startswith(MAGIC):
        return None
    _, version, _, coded_at, meta_at, part_length, *_, missed, _, _, _, n_coded, n_meta, _ = (
        HEADER.unpack_from(content)
    )
    if version != VERSION or max(coded_at + n_coded, meta_at + n_meta) > len(content):
        return None
    if len(content) == _PAGE_BYTES:
        return Tail(
            part_length, b"", content[meta_at : meta_at + n_meta], _no_rows(), missed, False
        )
    try:
        rows = decode_tail(content, loops)
    except DamagedRowsError:
        return None
    return Tail(
        part_length=part_length,
        rows_coded=content[coded_at : coded_at + n_coded],
        meta=content[meta_at : meta_at + n_meta],
        rows=rows,
        missed=missed,
    )


def _content(path: Path) -> bytes:
    packed = path.with_name(path.name + PACKED)
    try:
        return gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    except (OSError, EOFError, zlib.error):
        return b""


def _no_rows() -> Decoded:
    none = np.empty(0, dtype=np.int64)
    columns = {name: np.empty(0, dtype=dtype) for name, dtype in COLUMNS}
    return Decoded(columns, 0, none, none.reshape(0, N_BUCKETS))
