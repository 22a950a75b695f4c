"""What a process that was killed had not written yet: its tail, kept by the kernel.

Reads a file part-HOST-PID-N.tail (struct wt_tail of native/include/wavetank_trace.h); leaves its rows
in the layout of the decoder's columns.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wavetank.trace.decoder import COLUMNS, Columns

MAGIC = b"WTTAIL\n\0"
VERSION = 1
GROUP_ROWS = 1024
# magic, version, rows_at, coded_at, meta_at, part_length, seq_of_first, older and newer anchor, missed,
# n_rows, has_open, n_coded_bytes, n_meta_bytes
HEADER = struct.Struct("=8sIIIIQQQQQQQIIII")
ROW = np.dtype(
    [
        *((name, np.int64) for name in (
            "count", "size", "moved", "offset", "disp", "view_offset", "view_disp", "arg", "tick", "subtick",
            "tick_last", "subtick_last", "tick_step", "subtick_step", "start", "end", "busy",
        )),
        *((name, np.int32) for name in ("op", "file", "handle", "view", "error", "unused")),
    ]
)  # fmt: skip

_ROW_NAMES = frozenset(ROW.names or ())


@dataclass(frozen=True)
class Tail:
    """Blocks that were being filled, and rows that were not coded yet."""

    part_length: int
    seq_of_first: int
    anchors: tuple[int, int, int, int]  # older units, older ns, newer units, newer ns
    rows_coded: bytes
    meta: bytes
    rows: np.ndarray

    def append_rows(self, columns: Columns) -> Columns:
        """The columns with the tail's rows behind them."""
        rows = self.rows
        if not len(rows):
            return columns
        many = rows["count"] > 1
        start = self._ns(rows["start"])
        derived = {
            "seq": self.seq_of_first + np.cumsum(rows["count"]) - rows["count"],
            "start_ns": start,
            "end_ns": self._ns(rows["end"]),
            "busy_ns": self._ns(rows["start"] + rows["busy"]) - start,
            # As closing a row does: rows without bytes have mean steps.
            "tick_step": np.where(
                (rows["size"] == 0) & many,
                (rows["tick_last"] - rows["tick"]) // np.maximum(rows["count"] - 1, 1),
                rows["tick_step"],
            ),
        }
        return {
            name: np.concatenate([columns[name], derived.get(name, rows[name] if name in _ROW_NAMES else 0)])
            .astype(dtype)
            for name, dtype in COLUMNS
        }  # fmt: skip

    def _ns(self, units: np.ndarray) -> np.ndarray:
        older_units, older_ns, newer_units, newer_ns = self.anchors
        rate = (
            (newer_ns - older_ns) / (newer_units - older_units)
            if newer_units > older_units
            else 1.0
        )
        return older_ns + np.round((units - older_units) * rate).astype(np.int64)


def read_tail(path: Path) -> Tail | None:
    """The tail, None when there is none, or when it is not one (cut short, damaged)."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if len(content) < HEADER.size:
        return None
    (magic, version, rows_at, coded_at, meta_at, part_length, seq, *anchors, _missed, n_rows, has_open, n_coded,
     n_meta) = HEADER.unpack_from(content)  # fmt: skip
    if magic != MAGIC or version != VERSION or n_rows > GROUP_ROWS or has_open > 1:
        return None
    n_rows += has_open
    ends = (rows_at + n_rows * ROW.itemsize, coded_at + n_coded, meta_at + n_meta)
    if max(ends) > len(content):
        return None
    rows = np.frombuffer(content, dtype=ROW, count=n_rows, offset=rows_at)
    if n_rows and (rows["count"].min() < 1 or rows["op"].min() < 1 or rows["op"].max() > 255):
        return None
    return Tail(
        part_length=part_length,
        seq_of_first=seq,
        anchors=(anchors[0], anchors[1], anchors[2], anchors[3]),
        rows_coded=content[coded_at : coded_at + n_coded],
        meta=content[meta_at : meta_at + n_meta],
        rows=rows,
    )
