"""Writes a Darshan log with the DXT segments that are wanted, out of a small one that Darshan wrote.

What is not given is kept byte by byte: the job's record but for its number of processes, mount points and versions.
Counters are set so far as segments tell them. Layouts: darshan-log-format.h and darshan-dxt-log-format.h.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from darshan.backend.cffi_backend import counter_names, fcounter_names

from wavetank.trace.importers import darshan_header
from wavetank.trace.importers.dxt import RECORD, SEGMENT
from wavetank.trace.importers.libdarshan import open_log
from wavetank.trace.schema import Int64Array

MIB = 1 << 20
_N_MODULES = 64
_HEADER = darshan_header.MODULE_MAP + (16 + 4) * _N_MODULES  # bytes
_N_PROCESSES = 40  # where it is in the job's record, bytes
_COUNTERS = {"DXT_POSIX": "POSIX", "DXT_MPIIO": "MPI-IO"}


@dataclass(frozen=True)
class Calls:
    """Calls of one rank on one file at one level: columns of equal length, in their order."""

    rank: int
    file: int  # index into the names
    is_write: np.ndarray  # bool
    offset: Int64Array
    size: Int64Array
    start_s: np.ndarray
    end_s: np.ndarray
    collective: np.ndarray | bool = False


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


def write_calls(
    sample: Path, target: Path, names: Sequence[str], n_ranks: int, calls: dict[str, list[Calls]]
) -> None:
    """Write a log of these calls, by module ("DXT_POSIX", "DXT_MPIIO"), with the counters of both levels.

    ``sample``: a log that has both modules and their counters.
    """
    with open_log(sample) as log:
        modules = log.modules()
    content = sample.read_bytes()
    names_at, _ = struct.unpack_from("<QQ", content, darshan_header.MODULE_MAP - 16)
    job = bytearray(zlib.decompress(content[_HEADER:names_at]))
    struct.pack_into("<q", job, _N_PROCESSES, n_ranks)
    header = bytearray(content[:_HEADER])
    header[darshan_header.MODULE_MAP : darshan_header.MODULE_MAP + 16 * _N_MODULES] = bytes(
        16 * _N_MODULES
    )
    out = bytearray(header) + zlib.compress(bytes(job))
    ids = [0x1000 + number for number in range(len(names))]
    table = b"".join(
        struct.pack("<Q", number) + name.encode() + b"\0"
        for number, name in zip(ids, names, strict=True)
    )
    parts = {-1: table}
    for name, of_module in calls.items():
        parts[modules[name].index] = b"".join(_dxt(ids, one) for one in of_module)
        counters = modules[_COUNTERS[name]]
        parts[counters.index] = b"".join(
            _counted(counters.name, ids[one.file], one) for one in of_module
        )
    for number, part in sorted(parts.items()):
        packed = zlib.compress(part)
        struct.pack_into("<QQ", out, darshan_header.MODULE_MAP + 16 * number, len(out), len(packed))
        out += packed
    target.write_bytes(bytes(out))


def without_threads(log: Path, target: Path) -> bool:
    """Write a log whose DXT segments have a thread, as PyDarshan reads it: without; whether it was one.

    Darshan after 3.5.0 adds the threads. PyDarshan 3.5.0 gives no segments of such a log.
    """
    with open_log(log) as opened:
        modules = opened.modules()
    content = bytearray(log.read_bytes())
    found = False
    for name, version in (("DXT_POSIX", 1), ("DXT_MPIIO", 2)):
        if name not in modules or modules[name].version != version + 1:
            continue
        module, found = modules[name], True
        raw = darshan_header.raw(log, module.index, module.length)
        assert raw is not None
        packed = zlib.compress(b"".join(_thin(raw)))
        versions_at = _HEADER - 4 * _N_MODULES
        struct.pack_into("<I", content, versions_at + 4 * module.index, version)
        place = darshan_header.MODULE_MAP + 16 * module.index
        struct.pack_into("<QQ", content, place, len(content), len(packed))
        content += packed
    if found:
        target.write_bytes(content)
    return found


def _thin(content: bytes) -> Iterable[bytes]:
    """Records of segments with threads, without them."""
    thick, at = SEGMENT.itemsize + 8, 0
    while at < len(content):
        counts = RECORD.unpack_from(content, at)[4:6]
        yield content[at : at + RECORD.size]
        at += RECORD.size
        segments = np.frombuffer(content, dtype="<i8", count=sum(counts) * thick // 8, offset=at)
        yield segments.reshape(-1, thick // 8)[:, :-1].tobytes()
        at += segments.nbytes


def _dxt(ids: Sequence[int], calls: Calls) -> bytes:
    """A record: writes first, then reads."""
    found = []
    for of_kind in (calls.is_write, ~calls.is_write):
        segments = np.zeros(int(of_kind.sum()), dtype=SEGMENT)
        for name, column in (
            ("offset", calls.offset),
            ("length", calls.size),
            ("start_s", calls.start_s),
            ("end_s", calls.end_s),
        ):
            segments[name] = column[of_kind]
        found.append(segments)
    host = b"node".ljust(64, b"\0")
    head = RECORD.pack(ids[calls.file], calls.rank, 0, host, len(found[0]), len(found[1]))
    return head + found[0].tobytes() + found[1].tobytes()


def _counted(module: str, record_id: int, calls: Calls) -> bytes:
    """A record of counters, those that are known; times are 0."""
    prefix = module.replace("-", "")
    together = np.broadcast_to(calls.collective, len(calls.size))
    kinds = [(f"{prefix}_COLL_", together), (f"{prefix}_INDEP_", ~together)]
    if module == "POSIX":
        kinds = [(f"{prefix}_", np.ones(len(calls.size), dtype=bool))]
    values: dict[str, int] = {f"{kinds[0][0]}OPENS": 1}
    for way, done, some in (
        ("WRITE", "WRITTEN", calls.is_write),
        ("READ", "READ", ~calls.is_write),
    ):
        values |= {f"{kind}{way}S": int((mine & some).sum()) for kind, mine in kinds}
        values[f"{prefix}_BYTES_{done}"] = int(calls.size[some].sum())
        ends = (calls.offset + calls.size)[some] - 1
        values[f"{prefix}_MAX_BYTE_{done}"] = int(ends.max(initial=-1))
    numbers = [values.get(name, 0) for name in counter_names(module)]
    times = [0.0] * len(fcounter_names(module))
    return struct.pack(f"<Qq{len(numbers)}q{len(times)}d", record_id, calls.rank, *numbers, *times)


def _records(content: bytes) -> Iterable[tuple[int, int, int, bytes, int, int]]:
    found, at = [], 0
    while at < len(content):
        found.append(RECORD.unpack_from(content, at))
        at += RECORD.size + (found[-1][4] + found[-1][5]) * SEGMENT.itemsize
    return found
