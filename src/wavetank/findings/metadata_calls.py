"""Findings on files and on calls that move no data: small files, opens and stats, headers, flushes."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from wavetank.findings.finding import (
    CALLS_OF_A_FILE,
    FLUSHED_BYTES,
    HEADER_BYTES,
    HEADER_RANKS,
    HEADER_SHARE,
    LEAST_FILES,
    LEAST_FLUSHES,
    LEAST_OPERATIONS,
    LEAST_SECONDS,
    SHARE,
    SMALL_REQUEST_BYTES,
    Finding,
    percent,
)
from wavetank.findings.requests import Io, Requests, Tally, tally
from wavetank.model.document.program import FileStep
from wavetank.model.document.step_walks import flat
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import OpKind
from wavetank.units import format_duration, format_size

_ASKS_SERVER = (OpKind.OPEN, OpKind.STAT, OpKind.NAMESPACE, OpKind.RESIZE)
_OF_OPEN_FILE = {"fstat"}  # answered from the client's memory, mostly


def file_calls(io: Io) -> Iterator[tuple[FileStep, int]]:
    """Calls that move no data, each with how often all ranks make it."""
    for program in io.programs:
        for step, times in flat(program.steps, len(program.ranks)):
            if isinstance(step, FileStep):
                yield step, times * step.count


def many_small_files(io: Io) -> tuple[tuple[Finding, ...], set[int]]:
    """Files of which each moves less than 64 KiB, by the hundred; and their file_ids."""
    of_file: dict[int, list[Requests]] = defaultdict(list)
    for one in io.requests:
        of_file[one.phase.file_id].append(one)
    small = {
        file_id: some
        for file_id, some in of_file.items()
        if sum(one.moved_bytes for one in some) < SMALL_REQUEST_BYTES * io.several.get(file_id, 1)
    }
    n_small = io.n_files(small)
    if n_small < LEAST_FILES or not io.weighs(CALLS_OF_A_FILE * n_small):
        return (), set()
    found = tally([one for some in small.values() for one in some])
    of_bytes = io.share_of_bytes(found.moved_bytes)
    times = io.times
    calls = ""
    if times.all_s and found.time_s is not None:
        found = replace(found, time_s=found.time_s + times.metadata_s)
        calls = f" Opens, stats and closes take {percent(times.metadata_s / times.all_s)} of the I/O time."
    return (
        io.finding(
            found,
            kind="many-small-files",
            sentence=(
                f"{n_small:,} of {io.n_files(of_file):,} files move less than {format_size(SMALL_REQUEST_BYTES)} each: "
                f"{format_size(found.moved_bytes / n_small)} on average, {format_size(found.moved_bytes)} in all "
                f"({percent(of_bytes)} of the bytes).{calls}"
            ),
            remedy="Put them into one file of a container format: HDF5, NetCDF, ADIOS, SQLite, or an archive.",
            paste="tar cf data.tar DIRECTORY",
        ),
    ), set(small)


def metadata_load(io: Io) -> tuple[Finding, ...]:
    """Calls that move no data: by their share of the I/O time where times are known, else by their number beside the bytes."""
    times = io.times
    if times.all_s:
        share = times.metadata_s / times.all_s
        n, n_files = times.n_opens + times.n_stats, times.n_files
        most = f"{times.n_opens:,} opens and {times.n_stats:,} stats"
        few = n < LEAST_OPERATIONS and times.metadata_s < LEAST_SECONDS * io.n_ranks
        if share < SHARE or few:
            return ()
        start = (
            f"Calls that move no data take {percent(share)} of the I/O time ({format_duration(times.metadata_s)} of "
            f"{format_duration(times.all_s)} over all ranks): {most} on {n_files:,} files, "
            f"{n / max(n_files, 1):.1f} a file"
        )
    else:
        calls: Counter[str] = Counter()
        files = set()
        for step, number in file_calls(io):
            op = OPS_BY_NAME.get(step.iop_type)
            asks = op is not None and op.kind in _ASKS_SERVER
            if asks and step.iop_type not in _OF_OPEN_FILE:
                calls[step.iop_type] += number
                files.add(step.file_id)
        n, n_files = calls.total(), io.n_files(files)
        if n < LEAST_OPERATIONS or not io.weighs(n):
            return ()
        most = ", ".join(f"{count:,} {name}" for name, count in calls.most_common(3))
        start = f"{n:,} calls ask for names and attributes of {n_files:,} files ({most})"
    beside = (
        f"one call for each {format_size(io.moved_bytes / n)} that are moved"
        if io.moved_bytes
        else "no data is moved"
    )
    return (
        io.finding(
            Tally(n, 0, ()),
            kind="metadata-load",
            sentence=f"{start}; {beside}.",
            remedy="Open a file once and keep it open; ask for attributes once, by one rank; put many small files into one.",
            paste="H5Pset_all_coll_metadata_ops(fapl, 1)"
            if _by_hdf5(io)
            else "MPI_Bcast(&status, sizeof status, MPI_BYTE, 0, comm)",
            time_s=times.metadata_s or None,
            of_data=False,
        ),
    )


def _by_hdf5(io: Io) -> bool:
    return any(file.name.endswith((".h5", ".hdf5", ".nc", ".nc4")) for file in io.times.files)


def headers(io: Io) -> tuple[Finding, ...]:
    """Files that all ranks open to read little of it."""
    some = [
        file
        for file in io.times.files
        if file.n_ranks == io.n_ranks >= HEADER_RANKS
        and 0 < file.moved < HEADER_BYTES * file.n_ranks
        and file.level == "posix"
        and not file.write_s
    ]
    time_s = sum(file.time_s for file in some)
    if not io.time_s or time_s < HEADER_SHARE * io.time_s:
        return ()
    names = ", ".join(file.name.rpartition("/")[2] for file in some[:3])
    moved = sum(file.moved for file in some)
    return (
        io.finding(
            Tally(sum(file.n_operations for file in some), moved, ()),
            kind="header-by-all-ranks",
            sentence=(
                f"All {io.n_ranks:,} ranks open {names} and read {format_size(moved / io.n_ranks)} of it each: "
                f"{format_duration(time_s)} over all ranks."
            ),
            remedy="Let one rank read it and broadcast it.",
            paste="MPI_Bcast(buffer, size, MPI_BYTE, 0, MPI_COMM_WORLD)",
            time_s=time_s,
            of_data=False,
        ),
    )


def flushes(io: Io) -> tuple[Finding, ...]:
    """Files that are flushed after each write, or every second one, or opened so that each write waits."""
    n_flushes: Counter[int] = Counter()
    synchronous = set()
    for step, times in file_calls(io):
        op = OPS_BY_NAME.get(step.iop_type)
        if op is None or step.error:
            continue
        if op.kind == OpKind.SYNC:
            n_flushes[step.file_id] += times
        elif step.flags & os.O_DSYNC:  # O_SYNC holds O_DSYNC
            synchronous.add(step.file_id)
    written: dict[int, list[Requests]] = defaultdict(list)
    for one in io.requests:
        if one.writes:
            written[one.phase.file_id].append(one)
    some, n = [], 0
    for file_id, requests in written.items():
        n_writes = sum(one.n_operations for one in requests)
        of_file = n_writes if file_id in synchronous else n_flushes[file_id]
        if (
            of_file >= n_writes / 2
            and sum(one.moved_bytes for one in requests) < FLUSHED_BYTES * of_file
        ):
            some += requests
            n += of_file
    found = tally(some)
    if not n_flushes.total():  # segments of a log hold none: its counters do
        files = [
            file
            for file in io.times.files
            if 2 * file.n_syncs >= file.n_operations > 0
            and file.write_s >= file.read_s
            and file.moved < FLUSHED_BYTES * file.n_syncs
        ]
        if counted := sum(file.n_syncs for file in files):
            n = counted
            found = Tally(
                sum(file.n_operations for file in files),
                sum(file.moved for file in files),
                (),
                sum(file.write_s for file in files),
            )
    if n < LEAST_FLUSHES:
        return ()
    return (
        io.finding(
            found,
            kind="flush-after-each-write",
            sentence=(
                f"{n:,} flushes (fsync and its like) come with {found.n_operations:,} writes: one for each "
                f"{format_size(found.moved_bytes / n)}. These writes are "
                f"{percent(io.share_of_bytes(found.moved_bytes))} of all bytes."
            ),
            remedy="Flush once where the file must be safe, at its end or at a checkpoint, not after each write.",
            paste="fsync(fd); close(fd);",
            of_data=False,
        ),
    )
