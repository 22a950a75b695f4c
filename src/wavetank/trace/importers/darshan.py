"""Imports Darshan logs: DXT segments in bulk, or counters alone where there are no segments.

Reads a log of Darshan 3.x through libdarshan-util; leaves a ``Trace``. Without DXT a log has totals per
file but no order and no offsets, so the trace has no folds, only ``FileTotals``.
Source: docs/reference/trace-format.md, "Imported traces".
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wavetank.trace.fold import fold
from wavetank.trace.importers.dxt import LEVELS, operations, read_segments
from wavetank.trace.importers.libdarshan import CounterRecord, open_log
from wavetank.trace.schema import FileTotals, Level, RankFacts, Trace, TracedFile


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
            name: read_segments(path, log, modules[name]) for name in LEVELS if name in modules
        }
        command, mounts = log.command(), log.mounts()
    ids = sorted(
        {record.file for records in counters.values() for record in records}
        | {int(i) for part in segments.values() for i in part.file}
    )
    numbers = {record_id: number for number, record_id in enumerate(ids)}
    files = tuple(
        _traced_file(names.get(record_id, f"<record {record_id}>"), mounts) for record_id in ids
    )
    if "DXT_MPIIO" in segments and segments["DXT_MPIIO"].without_offsets:
        warnings.append(
            "offsets of MPI-IO operations are unknown: Darshan built with this MPI library (Open MPI) records "
            "none. The POSIX level has offsets"
        )
    events = operations(segments, numbers, _collective(counters.get("MPI-IO", []), numbers))
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
        levels=tuple(LEVELS[name] for name in segments),
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


def _collective(
    records: Sequence[CounterRecord], numbers: dict[int, int]
) -> dict[bool, np.ndarray]:
    """By kind (write: True), which files' MPI-IO operations were all collective, as the counters say."""
    found = {is_write: np.zeros(len(numbers), dtype=bool) for is_write in (True, False)}
    for record in records:
        for is_write, way in ((True, "WRITES"), (False, "READS")):
            c = record.counters
            together = c[f"MPIIO_COLL_{way}"] + c[f"MPIIO_SPLIT_{way}"]
            alone = c[f"MPIIO_INDEP_{way}"] + c[f"MPIIO_NB_{way}"]
            found[is_write][numbers[record.file]] |= together > 0 == alone
    return found


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
