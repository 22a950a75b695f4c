"""Writes a Darshan log with as many DXT segments as wanted, out of a small one that Darshan wrote.

The small log's header, job, names and counters are kept byte by byte; its DXT_POSIX module is replaced by
one with more segments, in the layout of darshan-dxt-log-format.h, and the header's map is set to it.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from wavetank.trace.importers import darshan_header
from wavetank.trace.importers.dxt import RECORD, SEGMENT
from wavetank.trace.importers.libdarshan import open_log

MIB = 1 << 20


def write(sample: Path, target: Path, n_segments: int, kind: str) -> None:
    """Write a log like ``sample`` with ``n_segments`` segments spread over its (file, rank) records.

    ``kind``: "sequential" (1 MiB each, one behind the other) or "irregular" (random sizes and offsets).
    """
    with open_log(sample) as log:
        module = log.modules()["DXT_POSIX"]
        content = darshan_header.raw(sample, module.index, module.length)
    assert content is not None
    records = _records(content)
    each = n_segments // len(records)
    random = np.random.default_rng(2026)
    parts = []
    for file, rank, shared, host, _writes, _reads in records:
        segments = np.zeros(each, dtype=SEGMENT)
        segments["length"] = MIB if kind == "sequential" else random.integers(1, 65536, each)
        segments["offset"] = (
            np.arange(each) * MIB if kind == "sequential" else random.integers(0, 1 << 36, each)
        )
        segments["start_s"] = np.arange(each) * 1e-4
        segments["end_s"] = segments["start_s"] + 0.5e-4
        parts += [
            RECORD.pack(file, rank, shared, host, each // 2, each - each // 2),
            segments.tobytes(),
        ]
    packed = zlib.compress(b"".join(parts))
    log_bytes = bytearray(sample.read_bytes())
    struct.pack_into(
        "<QQ", log_bytes, darshan_header.MODULE_MAP + 16 * module.index, len(log_bytes), len(packed)
    )
    target.write_bytes(bytes(log_bytes) + packed)


def _records(content: bytes) -> list[tuple[int, int, int, bytes, int, int]]:
    found, at = [], 0
    while at < len(content):
        found.append(RECORD.unpack_from(content, at))
        at += RECORD.size + (found[-1][4] + found[-1][5]) * SEGMENT.itemsize
    return found
