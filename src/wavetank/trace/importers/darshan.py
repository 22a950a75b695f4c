"""Imports Darshan logs: DXT segments in bulk, or counters alone where there are no segments.

Reads a log of Darshan 3.x through libdarshan-util; leaves a ``Trace``. Without DXT a log has counters of each
file but no order and no offsets, so the trace has no folds, only ``FileCounters``.
Source: docs/reference/trace-format.md, "Imported traces".
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath

import numpy as np

from wavetank.trace.fold import SingleOperations, fold
from wavetank.trace.importers.darshan_counters import file_counters, without_stale_counts
from wavetank.trace.importers.dxt import LEVELS, operations, read_segments
from wavetank.trace.importers.dxt_collective import Calls, calls_of
from wavetank.trace.importers.dxt_implied import (
    ON_MPI,
    BoolArray,
    some,
    with_offsets_from_below,
    with_whole_requests,
    without_closed_streams,
)
from wavetank.trace.importers.dxt_missing import COUNTERS, missing_operations
from wavetank.trace.importers.libdarshan import CounterRecord, library_path, open_log
from wavetank.trace.importers.library_files import library_files
from wavetank.trace.paths import is_stored
from wavetank.trace.schema import UNKNOWN, RankFacts, Trace, TracedFile


def software() -> str:
    """The C library that logs are read by.

    Raises:
        TraceError: it is not there; the message says how to get it.
    """
    return library_path()


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
        out_of_memory = {module.name for module in modules.values() if module.partial}
        warnings = [
            f"Darshan ran out of memory for its module {name} in the traced run"
            for name in sorted(out_of_memory - {*COUNTERS, *COUNTERS.values()})
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
    users = {
        **{name: {numbers[r.file] for r in records} for name, records in counters.items()},
        **{name: {numbers[int(i)] for i in part.file} for name, part in segments.items()},
    }
    files = tuple(
        _traced_file(names.get(record_id, f"<record {record_id}>"), mounts) for record_id in ids
    )
    calls = calls_of(
        segments.get("DXT_MPIIO"), counters.get("MPI-IO", []), numbers, job.n_processes
    )
    undecided = calls.undecided[True] | calls.undecided[False]
    files = tuple(
        replace(file, collective_unknown=True) if undecided[n] else file
        for n, file in enumerate(files)
    )
    warnings += _of_calls(calls, files) if segments else []
    hosts = {rank: host for part in segments.values() for rank, host in part.hosts.items()}
    levels = tuple(LEVELS[name] for name in segments)
    events = operations(segments, numbers, calls.collective, calls.own_view)
    on_mpi = {number for module in ("MPI-IO", "DXT_MPIIO") for number in users.get(module, ())}
    library = library_files((file.path for file in files), (files[n].path for n in on_mpi))
    system = {file.path for file in files if not is_stored(file.path)}
    left_out = {n for n, file in enumerate(files) if file.path in library | system}
    counted = [one for one in file_counters(counters, numbers) if one.file not in left_out]
    lost = missing_operations(segments, counted, numbers, out_of_memory, left_out)
    segments.clear()  # as large as the operations
    events, told = _mended(events, counters, numbers, files, (library, system), calls)
    warnings += [*told, *lost]
    if not len(events):
        closed = _closed_streams(counters, numbers)
        counted, n_stale, n_mixed = without_stale_counts(counted, closed)
        warnings += _stale(n_stale, n_mixed)
        what = "the log's DXT modules hold no segments" if levels else "the log has no DXT segments"
        warnings.append(
            f"{what}: its counters tell how much was done to each file, but neither order nor offsets. For an exact model "
            "run the program again with DXT_ENABLE_IO_TRACE=1 (which records POSIX and MPI-IO calls, but no C streams), "
            "or trace it by wavetank"
        )
    return Trace(
        source="darshan-dxt" if levels else "darshan",
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
        levels=levels,
        warnings=tuple(dict.fromkeys(warnings)),
        lost=lost,
        counters=tuple(counted),
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


def _of_calls(calls: Calls, files: Sequence[TracedFile]) -> list[str]:
    """Sentences on how collective calls were told from independent ones, and on what could not be."""
    undecided = calls.undecided[True] | calls.undecided[False]
    found = []
    if (calls.concluded & ~undecided).any():
        found.append(
            f"which MPI-IO operations on {_first_names(files, calls.concluded & ~undecided)} were collective is concluded "
            "from the counts of each rank and the order, times and sizes of the operations: Darshan does not record it"
        )
    if undecided.any():
        found.append(
            f"some of the MPI-IO operations on {_first_names(files, undecided)} may have been collective: Darshan does not record "
            "which, and counts, order, times and sizes do not decide it. All count as independent"
        )
    if calls.viewed.any():
        found.append(
            f"as many file views were set on {_first_names(files, calls.viewed)} as operations need one: each is taken to have had a "
            "view of its own, and to be a phase"
        )
    return found


def _first_names(files: Sequence[TracedFile], some: BoolArray) -> str:
    names = sorted(PurePath(file.path).name for file, one in zip(files, some, strict=True) if one)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


_STALE = (
    "operations were left out ({}): Darshan counts them for a file whose stream was closed before, because another file or "
    "socket had got its descriptor"
)
_FOREIGN = (
    "files that only the MPI library used are left out: {}",
    "standard streams, and what the system shows as files (/proc, /sys, /dev), are no files of the application, and are "
    "left out: {}",
)


def _mended(
    events: SingleOperations,
    counters: dict[str, list[CounterRecord]],
    numbers: dict[int, int],
    files: Sequence[TracedFile],
    foreign: tuple[set[str], set[str]],
    calls: Calls,
) -> tuple[SingleOperations, list[str]]:
    """Operations of the application, and what was concluded about them, a sentence each."""
    told = []
    events, n = without_closed_streams(events, _closed_streams(counters, numbers))
    if n:
        told.append(_STALE.format(n))
    events, n = with_whole_requests(events)
    if n:
        told.append(
            f"short reads at the end of a file ({n}) are taken to have asked for as many bytes as the reads before them: "
            "Darshan records the bytes that were moved"
        )
    events, n = with_offsets_from_below(events, calls.undecided)
    if n:
        told.append(
            f"offsets of {n} MPI-IO operations are those of the POSIX operations that they were made of: Darshan built with "
            "this MPI library (Open MPI) records none at MPI-IO level"
        )
    unknown = int((ON_MPI[events.op] & (events.offset == UNKNOWN)).sum())
    if unknown:
        told.append(
            f"offsets of MPI-IO operations are unknown ({unknown} of them): Darshan built with this MPI library (Open MPI) "
            "records none. The POSIX level has offsets"
        )
    for paths, sentence in zip(foreign, _FOREIGN, strict=True):
        if paths:
            left_out = np.array([file.path in paths for file in files])
            events = some(events, ~left_out[events.file])
            told.append(sentence.format(_listed([PurePath(path).name for path in sorted(paths)])))
    told += _in_streams(counters, numbers, files) if len(events) else []
    return events, told


def _closed_streams(
    counters: dict[str, list[CounterRecord]], numbers: dict[int, int]
) -> dict[tuple[int, int], int]:
    """When the last stream on a file was closed, ns, by file and rank; of files opened as streams only."""
    closed = {
        (record.file, record.rank): record.times["STDIO_F_CLOSE_END_TIMESTAMP"]
        for record in counters.get("STDIO", [])
    }
    return {
        (numbers[record.file], record.rank): round(at * 1e9)
        for record in counters.get("POSIX", [])
        # Each fileno() counts as an open.
        if record.counters.get("POSIX_FILENOS", 0) == record.counters["POSIX_OPENS"] > 0
        and (at := closed.get((record.file, record.rank), 0.0)) > 0
    }


def _stale(n_left_out: int, n_mixed: int) -> list[str]:
    """What is said of counters of descriptors that belonged to streams."""
    found = [_STALE.format(n_left_out)] if n_left_out else []
    if n_mixed:
        found.append(
            f"of {n_mixed} files some operations may be of others: Darshan goes on counting for a file whose stream was closed "
            "when another file or socket gets its descriptor, and counters do not tell how many"
        )
    return found


def _in_streams(
    counters: dict[str, list[CounterRecord]],
    numbers: dict[int, int],
    files: Sequence[TracedFile],
) -> list[str]:
    """A sentence on files that were read or written by fread and its kin, of which Darshan has no segments."""
    found: dict[str, int] = {}
    for record in counters.get("STDIO", []):
        path = files[numbers[record.file]].path
        moved = record.counters["STDIO_BYTES_READ"] + record.counters["STDIO_BYTES_WRITTEN"]
        if moved > 0 and is_stored(path):
            found[PurePath(path).name] = found.get(PurePath(path).name, 0) + moved
    if not found:
        return []
    return [
        f"{sum(found.values())} bytes are in no phase: they went through C streams (fopen), of which Darshan has no segments: "
        f"{_listed(sorted(found))}"
    ]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
