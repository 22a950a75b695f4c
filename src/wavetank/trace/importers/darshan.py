"""Imports Darshan logs: DXT segments in bulk, or counters alone where there are no segments.

Reads a log of Darshan 3.x through libdarshan-util; leaves a ``Trace``. Without DXT a log has counters of each
file but no order and no offsets, so the trace has no folds, only ``FileCounters``.
Source: docs/reference/trace-format.md, "Imported traces".
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath

import numpy as np

from wavetank.errors import TraceError
from wavetank.notes import notes_of
from wavetank.tables.words import listed
from wavetank.trace.counters import FileCounters, LaterCounters
from wavetank.trace.fold import SingleOperations, fold
from wavetank.trace.importers.counter_table import CounterTable
from wavetank.trace.importers.darshan_counters import file_counters, moved, without_stale_counts
from wavetank.trace.importers.darshan_overflow import leave_out_overflowed
from wavetank.trace.importers.darshan_packed import readable, version_of
from wavetank.trace.importers.darshan_run import run_of
from wavetank.trace.importers.dxt import LEVELS, operations, read_segments
from wavetank.trace.importers.dxt_collective import COUNTERS as DECIDING
from wavetank.trace.importers.dxt_collective import Calls, calls_of
from wavetank.trace.importers.dxt_implied import (
    ON_MPI,
    some,
    with_offsets_from_below,
    with_whole_requests,
    without_closed_streams,
)
from wavetank.trace.importers.dxt_missing import COUNTERS, missing_operations
from wavetank.trace.importers.libdarshan import library_path, open_log
from wavetank.trace.importers.library_files import library_files
from wavetank.trace.paths import is_stored
from wavetank.trace.schema import (
    UNKNOWN,
    BoolArray,
    RankFacts,
    Trace,
    TracedFile,
)


def software() -> str:
    """The C library that logs are read by.

    Raises:
        TraceError: it is not there; the message says how to get it.
    """
    return library_path()


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is a Darshan log, of whatever version: it begins with its format ("3.41") and zeros."""
    del path
    return version_of(head) is not None


def read(path: Path) -> Trace:
    """Import a log.

    Raises:
        TraceError: it cannot be read, or is of a version whose segments are not known.
    """
    with readable(path) as copy:
        return _read(copy)


def _read(path: Path) -> Trace:
    with open_log(path) as log:
        job = log.job()
        modules = log.modules()
        names = log.names()
        out_of_memory = {module.name for module in modules.values() if module.partial}
        full = [
            f"Darshan ran out of memory for its module {name} in the traced run"
            for name in sorted(out_of_memory - {*COUNTERS, *COUNTERS.values()})
        ]
        counters: dict[str, CounterTable] = {
            name: log.counters(modules[name])
            for name in ("POSIX", "MPI-IO", "STDIO")
            if name in modules
        }
        segments = {
            name: read_segments(path, log, modules[name]) for name in LEVELS if name in modules
        }
        command, mounts = log.command(), log.mounts()
    elapsed_s, of_run = run_of(path, job, counters, segments)
    used = {name: set(table.file.tolist()) for name, table in counters.items()}
    used |= {name: set(part.file.tolist()) for name, part in segments.items()}
    ids: list[int] = sorted(set().union(*used.values()))
    numbers = {record_id: number for number, record_id in enumerate(ids)}
    files = _traced_files(
        [names.get(record_id, f"<record {record_id}>") for record_id in ids], mounts
    )
    overflowed = leave_out_overflowed(counters, segments)
    deciding = counters["MPI-IO"].records(*DECIDING) if "MPI-IO" in counters else []
    calls = calls_of(segments.get("DXT_MPIIO"), deciding, numbers, job.n_processes)
    for n in np.flatnonzero(calls.undecided[True] | calls.undecided[False]).tolist():
        files[n] = replace(files[n], collective_unknown=True)
    told = _of_calls(calls, files) if segments else []
    if overflowed.below:
        told.append(_OVERFLOWED.format(_names([files[numbers[one]] for one in overflowed.below])))
    hosts = {rank: host for part in segments.values() for rank, host in part.hosts.items()}
    levels = tuple(LEVELS[name] for name in segments)
    events = operations(segments, numbers, calls.collective, calls.own_view)
    on_mpi = {one for name in ("MPI-IO", "DXT_MPIIO") for one in used.get(name, ())}
    library = library_files(
        [file.path for file in files], [files[numbers[one]].path for one in on_mpi]
    )
    system = {file.path for file in files if not is_stored(file.path)}
    left_out = {n for n, file in enumerate(files) if file.path in library | system}
    in_all = {name: moved(name, table, numbers) for name, table in counters.items()}
    lost = list(missing_operations(segments, in_all, numbers, out_of_memory, left_out))
    if gone := [files[numbers[one]] for one in overflowed.lost if numbers[one] not in left_out]:
        lost.append(_LOST_BY_OVERFLOW.format(_names(gone)))
    counted: Sequence[FileCounters] = LaterCounters(
        lambda: (one for one in file_counters(counters, numbers) if one.file not in left_out)
    )
    segments.clear()  # as large as the operations
    events, mended = _mended(events, counters, numbers, files, (library, system), calls)
    told += mended
    absent = []
    elsewhere = sorted(_NOT_READ & modules.keys())
    if elsewhere and not len(events) and not len(counted):
        raise TraceError(f"{path}: {_ELSEWHERE.format(listed(elsewhere, 3))}")
    if not len(events):
        closed = _closed_streams(counters, numbers)
        counted, n_stale, n_mixed = without_stale_counts(counted, closed)
        told += _stale(n_stale, n_mixed)
        what = "the log's DXT modules hold no segments" if levels else "the log has no DXT segments"
        absent.append(
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
        elapsed_s=elapsed_s,
        ranks=tuple(
            RankFacts(rank, hosts.get(rank, ""), 0, True) for rank in range(job.n_processes)
        ),
        files=tuple(files),
        views=(),
        communicators=(),
        folds=fold(events),
        levels=levels,
        notes=(
            *notes_of("unseen", "modules", full),
            *of_run,
            *notes_of("inferred", "operations", dict.fromkeys(told)),
            *notes_of("lost", "operations", lost),
            *notes_of(
                "unrecorded",
                "modules",
                [_ELSEWHERE.format(listed(elsewhere, 3))] if elsewhere else (),
            ),
            *notes_of("unseen", "operations", absent),
        ),
        counters=counted,
    )


_NOT_READ = {"DAOS", "DFS"}
_ELSEWHERE = (
    "I/O of the application is in the log's {} module(s), which count calls of DAOS's own library (libdaos, libdfs): wavetank "
    "does not read them, and has no DAOS to replay them on. Run the program through DAOS's POSIX mount (dfuse) to have it traced"
)
_OVERFLOWED = (
    "the MPI-IO operations on {} are left out, and the POSIX operations that they were made of are modelled: sizes of them "
    "are below 0 in the log (a request of 2 GiB or more overflows in some releases of Darshan)"
)
_LOST_BY_OVERFLOW = (
    "sizes of operations on {} are below 0 in the log (a request of 2 GiB or more overflows in some releases of Darshan), and "
    "no other level holds them. Record the run again with a newer Darshan"
)


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError:  # an argument with a lone quote
        return tuple(command.split())


def _traced_files(paths: Iterable[str], mounts: Sequence[tuple[str, str]]) -> list[TracedFile]:
    """Files with the mount point that each lies below: the longest one."""
    longest = sorted(mounts, key=lambda mount: -len(mount[0]))
    below = [(point, point.rstrip("/") + "/", kind) for point, kind in longest]
    found = []
    for path in paths:
        for point, inside, kind in below:
            if path.startswith(inside) or path == point:
                found.append(TracedFile(path, point, kind))
                break
        else:
            found.append(TracedFile(path))
    return found


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
    return _names([files[number] for number in np.flatnonzero(some).tolist()])


def _names(files: Iterable[TracedFile]) -> str:
    return listed(sorted([file.path.rstrip("/").rpartition("/")[2] for file in files]), 3)


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
    counters: Mapping[str, CounterTable],
    numbers: Mapping[int, int],
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
            told.append(sentence.format(listed([PurePath(path).name for path in sorted(paths)], 4)))
    told += _in_streams(counters, numbers, files) if len(events) else []
    return events, told


def _closed_streams(
    counters: Mapping[str, CounterTable], numbers: Mapping[int, int]
) -> dict[tuple[int, int], int]:
    """When the last stream on a file was closed, ns, by file and rank; of files opened as streams only."""
    if "STDIO" not in counters or "POSIX" not in counters:
        return {}
    streams, posix = counters["STDIO"], counters["POSIX"]
    ends = streams.seconds("STDIO_F_CLOSE_END_TIMESTAMP").tolist()
    closed = dict(
        zip(zip(streams.file.tolist(), streams.rank.tolist(), strict=True), ends, strict=True)
    )
    opened = posix.count("POSIX_OPENS")
    # Each fileno() counts as an open.
    alone = np.flatnonzero((opened > 0) & (opened == posix.count("POSIX_FILENOS")))
    found = {}
    for file, rank in zip(posix.file[alone].tolist(), posix.rank[alone].tolist(), strict=True):
        if (at := closed.get((file, rank), 0.0)) > 0:
            found[numbers[file], rank] = round(at * 1e9)
    return found


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
    counters: Mapping[str, CounterTable],
    numbers: Mapping[int, int],
    files: Sequence[TracedFile],
) -> list[str]:
    """A sentence on files that were read or written by fread and its kin, of which Darshan has no segments."""
    if "STDIO" not in counters:
        return []
    found: dict[str, int] = {}
    streams = counters["STDIO"]
    amounts = streams.count("STDIO_BYTES_READ", "STDIO_BYTES_WRITTEN").tolist()
    for file, amount in zip(streams.file.tolist(), amounts, strict=True):
        path = files[numbers[file]].path
        if amount > 0 and is_stored(path):
            found[PurePath(path).name] = found.get(PurePath(path).name, 0) + amount
    if not found:
        return []
    return [
        f"{sum(found.values())} bytes are in no phase: they went through C streams (fopen), of which Darshan has no segments: "
        f"{listed(sorted(found), 4)}"
    ]
