"""Findings on files and on calls that move no data: small files, opens and stats, flushes, reading back."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from wavetank.findings.finding import (
    CALLS_OF_A_FILE,
    FLUSHED_BYTES,
    LEAST_BYTES,
    LEAST_FILES,
    LEAST_FLUSHES,
    LEAST_OPERATIONS,
    SHARE,
    SMALL_REQUEST_BYTES,
    Finding,
    percent,
)
from wavetank.findings.requests import Io, Requests, tally
from wavetank.model.document.program import FileStep
from wavetank.model.document.step_walks import flat
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import OpKind
from wavetank.units import format_size

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
    return (
        io.finding(
            found,
            kind="many-small-files",
            sentence=(
                f"{n_small:,} of {io.n_files(of_file):,} files move less than {format_size(SMALL_REQUEST_BYTES)} each: "
                f"{format_size(found.moved_bytes / n_small)} on average, {format_size(found.moved_bytes)} in all "
                f"({percent(of_bytes)} of the bytes)."
            ),
            remedy="Put them into one file of a container format: HDF5, NetCDF, ADIOS, SQLite, or an archive.",
        ),
    ), set(small)


def many_metadata_calls(io: Io, told: Collection[int]) -> tuple[Finding, ...]:
    """Opens, stats, renames ... that are many beside the bytes.

    Args:
        io: of the application.
        told: file_ids of small files that are told already.
    """
    calls: Counter[str] = Counter()
    files = set()
    for step, times in file_calls(io):
        op = OPS_BY_NAME.get(step.iop_type)
        if (
            op is not None
            and op.kind in _ASKS_SERVER
            and step.iop_type not in _OF_OPEN_FILE
            and step.file_id not in told
        ):
            calls[step.iop_type] += times
            files.add(step.file_id)
    n = calls.total()
    if n < LEAST_OPERATIONS or not io.weighs(n):
        return ()
    most = ", ".join(f"{count:,} {name}" for name, count in calls.most_common(3))
    beside = (
        f"one for each {format_size(io.moved_bytes / n)} that are moved"
        if io.moved_bytes
        else "no data is moved"
    )
    return (
        Finding(
            kind="many-metadata-calls",
            sentence=(
                f"{n:,} calls ask for names and attributes of {io.n_files(files):,} files ({most}): {beside}."
            ),
            remedy="Open a file once and keep it open; ask for attributes once, by one rank.",
            ph_ids=(),
            n_operations=n,
            moved_bytes=0,
            share_of_operations=None,
            share_of_bytes=0.0,
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
    if n < LEAST_FLUSHES:
        return ()
    found = tally(some)
    return (
        Finding(
            kind="flush-after-each-write",
            sentence=(
                f"{n:,} flushes (fsync and its like) come with {found.n_operations:,} writes: one for each "
                f"{format_size(found.moved_bytes / n)}. These writes are "
                f"{percent(io.share_of_bytes(found.moved_bytes))} of all bytes."
            ),
            remedy="Flush once where the file must be safe, at its end or at a checkpoint, not after each write.",
            ph_ids=found.ph_ids,
            n_operations=n,
            moved_bytes=found.moved_bytes,
            share_of_operations=None,
            share_of_bytes=io.share_of_bytes(found.moved_bytes),
        ),
    )


def read_back(io: Io) -> tuple[Finding, ...]:
    """Files that the run writes first and reads afterwards."""
    of_file: dict[int, list[Requests]] = defaultdict(list)
    for one in sorted(io.requests, key=lambda one: one.phase.ph_id):
        of_file[one.phase.file_id].append(one)
    read: list[Requests] = []
    for requests in of_file.values():
        first = requests[0].phase.ph_id
        if all(one.writes for one in requests if one.phase.ph_id == first):
            read += [one for one in requests if not one.writes]
    found = tally(read)
    total = sum(one.moved_bytes for one in io.requests if not one.writes)
    if found.moved_bytes < max(LEAST_BYTES, SHARE * io.moved_bytes):
        return ()
    files = io.n_files({one.phase.file_id for one in read})
    return (
        io.finding(
            found,
            kind="read-back",
            sentence=(
                f"{format_size(found.moved_bytes)} are read from {'a file' if files == 1 else f'{files:,} files'} that the "
                f"run wrote before: {percent(found.moved_bytes / total)} of all that is read. Page caches may answer."
            ),
            remedy="Keep it in memory, or on storage of the node itself where the rank that wrote it reads it.",
        ),
    )
