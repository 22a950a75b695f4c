"""Imports Darshan logs: DXT segments in bulk, or counters alone where there are no segments.

Reads a log of Darshan 3.x through libdarshan-util; leaves a ``Trace``. Without DXT a log has totals per
file but no order and no offsets, so the trace has no folds, only ``FileTotals``.
Source: docs/reference/trace-format.md, "Imported traces".
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wavetank.errors import TraceError
from wavetank.trace.fold import SingleOperations, fold
from wavetank.trace.importers.libdarshan import (
    CounterRecord,
    DarshanLog,
    DarshanModule,
    open_log,
    raw_of_newer_version,
)
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import UNKNOWN, FileTotals, Level, RankFacts, Trace, TracedFile

# struct dxt_file_record of darshan-dxt-log-format.h
_RECORD = np.dtype(
    [
        ("id", "<u8"),
        ("rank", "<i8"),
        ("shared", "<i8"),
        ("host", "S64"),
        ("n_writes", "<i8"),
        ("n_reads", "<i8"),
    ]
)
_SEGMENT = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start_s", "<f8"), ("end_s", "<f8")])
_FIELDS = ("offset", "length", "start_s", "end_s")
# Darshan after 3.5.0 adds a thread to each segment; PyDarshan 3.5.0 gives no segments of such a log at all.
_SEGMENT_WITH_THREAD = np.dtype([*_SEGMENT.descr, ("thread", "<i8")])
_LAYOUTS = {
    ("DXT_POSIX", 1): _SEGMENT,
    ("DXT_POSIX", 2): _SEGMENT_WITH_THREAD,
    ("DXT_MPIIO", 1): _SEGMENT,
    ("DXT_MPIIO", 2): _SEGMENT,
    ("DXT_MPIIO", 3): _SEGMENT_WITH_THREAD,
}
_KNOWN_TO_LIBRARY = {
    "DXT_POSIX": 1,
    "DXT_MPIIO": 2,
}  # newest versions that libdarshan-util 3.5.0 reads
_LEVEL = {"DXT_POSIX": Level.POSIX, "DXT_MPIIO": Level.MPIIO}


@dataclass(frozen=True)
class _Segments:
    """All segments of a module, columns of equal length."""

    rank: np.ndarray
    file: np.ndarray  # Darshan's record id
    is_write: np.ndarray
    segment: np.ndarray
    hosts: dict[int, str]


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is a Darshan log: it begins with its format's version ("3.41") and zeros."""
    del path
    version = head[:8].rstrip(b"\0")
    return (
        len(head) >= 24
        and version.startswith((b"2.", b"3."))
        and version.replace(b".", b"").isdigit()
        and b"\0" in head[:8]
    )


def read(path: Path) -> Trace:
    """Import a log.

    Raises:
        TraceError: it cannot be read, or is of a version whose segments are not known.
    """
    with open_log(path) as log:
        job = log.job()
        modules = log.modules()
        names = log.names()
        warnings = [
            f"Darshan ran out of memory for its module {module.name} in the traced run: operations are missing"
            for module in modules.values()
            if module.partial
        ]
        counters: dict[str, list[CounterRecord]] = {
            name: list(log.counters(modules[name]))
            for name in ("POSIX", "MPI-IO", "STDIO")
            if name in modules
        }
        segments = {
            name: _read_segments(path, log, modules[name]) for name in _LEVEL if name in modules
        }
        command, mounts = log.command(), log.mounts()
    ids = sorted(
        {record.file for records in counters.values() for record in records}
        | {int(i) for part in segments.values() for i in np.unique(part.file)}
    )
    numbers = {record_id: number for number, record_id in enumerate(ids)}
    files = tuple(
        _traced_file(names.get(record_id, f"<record {record_id}>"), mounts) for record_id in ids
    )
    events = _events(segments, counters.get("MPI-IO", []), numbers, warnings)
    totals = _totals(counters, numbers)
    if not len(events):
        warnings.append(
            "the log has no DXT segments: totals per file are known, but neither order nor offsets, so there are no "
            "phases. Run the program again with DXT_ENABLE_IO_TRACE=1, or trace it by wavetank"
            if not segments
            else "the log's DXT modules hold no segments"
        )
    hosts = {rank: host for part in segments.values() for rank, host in part.hosts.items()}
    return Trace(
        source="darshan-dxt" if segments else "darshan",
        command=_split(command),
        n_ranks=job.n_processes,
        mpi_library=None,
        started_utc=datetime.fromtimestamp(job.started_ns / 1e9, UTC).isoformat(),
        elapsed_s=(job.ended_ns - job.started_ns) / 1e9,
        ranks=tuple(
            RankFacts(rank, hosts.get(rank, ""), 0, True) for rank in range(job.n_processes)
        ),
        files=files,
        views=(),
        communicators=(),
        folds=fold(events),
        levels=tuple(_LEVEL[name] for name in segments),
        warnings=tuple(dict.fromkeys(warnings)),
        totals=totals,
    )


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError:  # an argument with a lone quote
        return tuple(command.split())


def _traced_file(path: str, mounts: Sequence[tuple[str, str]]) -> TracedFile:
    inside = [m for m in mounts if path == m[0] or path.startswith(m[0].rstrip("/") + "/")]
    if not inside:
        return TracedFile(path)
    point, kind = max(inside, key=lambda mount: len(mount[0]))
    return TracedFile(path, point, kind)


def _read_segments(path: Path, log: DarshanLog, module: DarshanModule) -> _Segments:
    layout = _LAYOUTS.get((module.name, module.version))
    if layout is None:
        raise TraceError(
            f"{path}: its module {module.name} has version {module.version}, whose segments are not known here. "
            "It is newer than Darshan 3.5; a newer wavetank may read it"
        )
    content = log.raw(module) if module.version <= _KNOWN_TO_LIBRARY[module.name] else None
    if content is None:
        content = raw_of_newer_version(path, module)
    if content is None:
        raise TraceError(
            f"{path}: libdarshan-util refuses its module {module.name} (version {module.version}). Install a newer "
            "Darshan: pip install --upgrade darshan"
        )
    ranks, files, writes, parts, hosts = [], [], [], [], {}
    at = 0
    while at < len(content):
        if at + _RECORD.itemsize > len(content):
            raise TraceError(f"{path}: the module {module.name} is cut short")
        record = np.frombuffer(content, dtype=_RECORD, count=1, offset=at)[0]
        n_writes, n_reads = int(record["n_writes"]), int(record["n_reads"])
        at += _RECORD.itemsize
        n = n_writes + n_reads
        if min(n_writes, n_reads) < 0 or at + n * layout.itemsize > len(content):
            raise TraceError(f"{path}: the module {module.name} is damaged or cut short")
        parts.append(np.frombuffer(content, dtype=layout, count=n, offset=at)[list(_FIELDS)])
        at += n * layout.itemsize
        ranks.append(np.full(n, record["rank"], dtype=np.int32))
        files.append(np.full(n, record["id"], dtype=np.uint64))
        writes.append(np.arange(n) < n_writes)
        hosts[int(record["rank"])] = bytes(record["host"]).split(b"\0")[0].decode(errors="replace")
    if not parts:
        empty = np.empty(0, dtype=np.int32)
        return _Segments(
            empty, empty.astype(np.uint64), empty.astype(bool), np.empty(0, _SEGMENT), hosts
        )
    return _Segments(
        np.concatenate(ranks),
        np.concatenate(files),
        np.concatenate(writes),
        np.concatenate(parts),
        hosts,
    )


def _events(
    segments: dict[str, _Segments],
    mpiio: Sequence[CounterRecord],
    numbers: dict[int, int],
    warnings: list[str],
) -> SingleOperations:
    """Both modules' segments, sorted by the end of the operation within each rank."""
    columns: dict[str, list[np.ndarray]] = {
        name: [] for name in ("rank", "op", "file", "size", "offset", "start", "end", "mpi")
    }
    for name, part in segments.items():
        n = len(part.rank)
        on_mpi = name == "DXT_MPIIO"
        if on_mpi and n and (part.segment["offset"] < 0).all():
            warnings.append(
                "offsets of MPI-IO operations are unknown: Darshan built with this MPI library (Open MPI) records "
                "none. The POSIX level has offsets"
            )
        file = _look_up(part.file, numbers)
        columns["rank"].append(part.rank)
        columns["op"].append(
            _operations(part, file, mpiio, numbers) if on_mpi else _posix_operations(part)
        )
        columns["file"].append(file)
        columns["size"].append(part.segment["length"])
        offset = part.segment["offset"]
        columns["offset"].append(np.where(offset < 0, UNKNOWN, offset))
        columns["start"].append(np.round(part.segment["start_s"] * 1e9).astype(np.int64))
        columns["end"].append(np.round(part.segment["end_s"] * 1e9).astype(np.int64))
        columns["mpi"].append(np.full(n, on_mpi))
    joined = {
        name: np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
        for name, parts in columns.items()
    }
    # A POSIX call inside an MPI-IO call ends with it or before it.
    order = np.lexsort((joined["mpi"], joined["end"], joined["rank"]))
    joined = {name: column[order] for name, column in joined.items()}
    tick, subtick = _clocks(joined["rank"], joined["mpi"].astype(bool), joined["start"])
    zero = np.zeros(len(order), dtype=np.int64)
    return SingleOperations(
        rank=joined["rank"].astype(np.int32),
        op=joined["op"].astype(np.uint8),
        file=joined["file"].astype(np.int32),
        handle=joined["file"].astype(
            np.int32
        ),  # DXT does not tell one open of a file from the next
        size=joined["size"].astype(np.int64),
        moved=joined["size"].astype(np.int64),
        offset=joined["offset"].astype(np.int64),
        tick=tick,
        subtick=subtick,
        start_ns=joined["start"].astype(np.int64),
        end_ns=joined["end"].astype(np.int64),
        arg=zero,
        error=zero.astype(np.int32),
    )


def _clocks(rank: np.ndarray, mpi: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logical clocks as far as they are known: an MPI-IO call is a tick, communication is not seen."""
    tick = np.zeros(len(rank), dtype=np.int64)
    subtick = np.zeros(len(rank), dtype=np.int64)
    for one in np.unique(rank):
        mine = np.flatnonzero(rank == one)
        calls = mine[mpi[mine]]
        tick[calls] = np.arange(len(calls))
        others = mine[~mpi[mine]]
        tick[others] = np.searchsorted(np.sort(start[calls]), start[others], side="right")
        new = np.append(True, tick[others][1:] != tick[others][:-1])[: len(others)]
        position = np.arange(len(others))
        subtick[others] = (
            position - np.maximum.accumulate(np.where(new, position, 0)) if len(others) else 0
        )
    return tick, subtick


def _look_up(ids: np.ndarray, numbers: dict[int, int]) -> np.ndarray:
    known = np.array(sorted(numbers), dtype=np.uint64)
    return np.searchsorted(known, ids).astype(np.int32)


def _posix_operations(part: _Segments) -> np.ndarray:
    """DXT does not tell pread from read."""
    return np.where(part.is_write, OPS_BY_NAME["write"].code, OPS_BY_NAME["read"].code)


def _operations(
    part: _Segments, file: np.ndarray, records: Sequence[CounterRecord], numbers: dict[int, int]
) -> np.ndarray:
    """Collective calls where the file's counters say that all of the kind were collective."""
    collective_write = np.zeros(len(numbers), dtype=bool)
    collective_read = np.zeros(len(numbers), dtype=bool)
    for record in records:
        c = record.counters
        number = numbers[record.file]
        independent_writes = c["MPIIO_INDEP_WRITES"] + c["MPIIO_NB_WRITES"]
        independent_reads = c["MPIIO_INDEP_READS"] + c["MPIIO_NB_READS"]
        collective_write[number] |= (
            c["MPIIO_COLL_WRITES"] + c["MPIIO_SPLIT_WRITES"] > 0 == independent_writes
        )
        collective_read[number] |= (
            c["MPIIO_COLL_READS"] + c["MPIIO_SPLIT_READS"] > 0 == independent_reads
        )
    write = np.where(
        collective_write[file],
        OPS_BY_NAME["MPI_File_write_at_all"].code,
        OPS_BY_NAME["MPI_File_write_at"].code,
    )
    read_ = np.where(
        collective_read[file],
        OPS_BY_NAME["MPI_File_read_at_all"].code,
        OPS_BY_NAME["MPI_File_read_at"].code,
    )
    return np.where(part.is_write, write, read_)


def _totals(
    counters: dict[str, list[CounterRecord]], numbers: dict[int, int]
) -> tuple[FileTotals, ...]:
    """Counters by file and level, summed over ranks."""
    found = []
    for module, prefix, level in (
        ("POSIX", "POSIX", Level.POSIX),
        ("MPI-IO", "MPIIO", Level.MPIIO),
        ("STDIO", "STDIO", Level.POSIX),
    ):
        by_file: dict[int, list[CounterRecord]] = {}
        for record in counters.get(module, []):
            by_file.setdefault(numbers[record.file], []).append(record)
        for number, records in sorted(by_file.items()):
            found.append(_file_totals(number, level, prefix, records))
    return tuple(found)


def _file_totals(
    number: int, level: Level, prefix: str, records: Sequence[CounterRecord]
) -> FileTotals:
    def total(*names: str) -> int:
        return sum(
            max(record.counters.get(f"{prefix}_{name}", 0), 0)
            for record in records
            for name in names
        )

    highest = [
        record.counters.get(f"{prefix}_MAX_BYTE_{way}", -1)
        for record in records
        for way in ("READ", "WRITTEN")
    ]
    shared = any(record.rank < 0 for record in records)
    return FileTotals(
        file=number,
        level=level,
        n_ranks=None
        if shared
        else len(records),  # a shared record stands for several ranks, it does not say which
        n_reads=total("READS")
        if prefix != "MPIIO"
        else total("INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"),
        n_writes=total("WRITES")
        if prefix != "MPIIO"
        else total("INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"),
        bytes_read=total("BYTES_READ"),
        bytes_written=total("BYTES_WRITTEN"),
        highest_offset=max(highest) if max(highest, default=-1) >= 0 else None,
    )
