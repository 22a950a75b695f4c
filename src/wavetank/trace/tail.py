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
    Columns,
    DamagedRowsError,
    Decoded,
    decode_tail,
)

log = logging.getLogger(__name__)

PACKED = ".gz"  # behind the name of a tail that was compressed when its command had ended
MAGIC = b"WTTAIL\n\0"
VERSION = 2
_PAGE_BYTES = 4096  # of a tail without rows: there was no room for more
GROUP_ROWS = 1024
# magic, version, rows_at, coded_at, meta_at, part_length, seq_of_first, older and newer anchor, missed,
# n_rows, half, has_open, n_coded_bytes, n_meta_bytes, nests_at
HEADER = struct.Struct("=8sIIIIQQQQQQQIIIIII")
_HEADER_1 = struct.Struct("=8sIIIIQQQQQQQIIII")  # version 1: neither half nor nests_at
ROW = np.dtype(
    [
        *((name, np.int64) for name in (
            "count", "size", "moved", "offset", "disp", "view_offset", "view_disp", "arg", "tick", "subtick",
            "tick_last", "subtick_last", "tick_step", "subtick_step", "start", "end", "busy",
        )),
        *((name, np.int32) for name in ("op", "file", "handle", "view", "error", "depth")),
    ]
)  # fmt: skip

_ROW_NAMES = frozenset(ROW.names or ())


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
    if version == 1:
        return _read_version_1(content)
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


def _read_version_1(content: bytes) -> Tail | None:
    (_, _, rows_at, coded_at, meta_at, part_length, seq, *anchors, _missed, n_rows, has_open, n_coded,
     n_meta) = _HEADER_1.unpack_from(content)  # fmt: skip
    if n_rows > GROUP_ROWS or has_open > 1:
        return None
    n_rows += has_open
    ends = (rows_at + n_rows * ROW.itemsize, coded_at + n_coded, meta_at + n_meta)
    if max(ends) > len(content):
        return None
    rows = np.frombuffer(content, dtype=ROW, count=n_rows, offset=rows_at)
    if n_rows and (rows["count"].min() < 1 or rows["op"].min() < 1 or rows["op"].max() > 255):
        return None
    columns = _columns_of_version_1(rows, seq, (anchors[0], anchors[1], anchors[2], anchors[3]))
    none = np.empty(0, dtype=np.int64)
    return Tail(
        part_length=part_length,
        rows_coded=content[coded_at : coded_at + n_coded],
        meta=content[meta_at : meta_at + n_meta],
        rows=Decoded(columns, n_rows, none, none.reshape(0, N_BUCKETS)),
        missed=0,
    )


def _columns_of_version_1(
    rows: np.ndarray, seq_of_first: int, anchors: tuple[int, int, int, int]
) -> Columns:
    older_units, older_ns, newer_units, newer_ns = anchors
    units = newer_units - older_units
    rate = (newer_ns - older_ns) / units if units > 0 else 1.0

    def to_ns(moments: np.ndarray) -> np.ndarray:
        return older_ns + np.round((moments - older_units) * rate).astype(np.int64)

    start = to_ns(rows["start"])
    derived = {
        "seq": seq_of_first + np.cumsum(rows["count"]) - rows["count"],
        "start_ns": start,
        "end_ns": to_ns(rows["end"]),
        "busy_ns": to_ns(rows["start"] + rows["busy"]) - start,
        # As closing a row does: rows without bytes have mean steps.
        "tick_step": np.where(
            (rows["size"] == 0) & (rows["count"] > 1),
            (rows["tick_last"] - rows["tick"]) // np.maximum(rows["count"] - 1, 1),
            rows["tick_step"],
        ),
    }
    zeros = np.zeros(len(rows), dtype=np.int64)
    return {
        name: derived.get(name, rows[name] if name in _ROW_NAMES else zeros).astype(dtype)
        for name, dtype in COLUMNS
    }
