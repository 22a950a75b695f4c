"""Findings on bytes that are moved more than once: by many ranks, by one again, after they were written."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from wavetank.findings.finding import (
    LEAST_BYTES,
    MANY_RANKS,
    READ_AGAIN,
    SHARE,
    Finding,
    percent,
)
from wavetank.findings.requests import Io, Requests, tally
from wavetank.trace.schema import Int64Array
from wavetank.units import format_size


def all_alike(one: Requests) -> bool:
    """Whether ranks of a phase move the same bytes of the file."""
    return not one.writes and len(_distinct(one)) < len(set(one.rank.tolist()))


def _distinct(one: Requests) -> dict[tuple[bytes, ...], int]:
    """Bytes that a rank moves, by where it does; ranks that do the same are one."""
    bounds = np.flatnonzero(np.diff(one.rank, prepend=-1))
    found = {}
    for first, stop in zip(bounds.tolist(), [*bounds[1:].tolist(), len(one.rank)], strict=True):
        columns: list[Int64Array] = [
            getattr(one, name)[first:stop] for name in ("count", "size", "offset", "disp")
        ]
        found[tuple(np.ascontiguousarray(c).tobytes() for c in columns)] = int(
            one.moved[first:stop].sum()
        )
    return found


def same_bytes(io: Io) -> tuple[Finding, ...]:
    """Files that many ranks read, each all the same bytes."""
    some, n_twice = [], 0
    for one in io.requests:
        if one.writes or not one.offsets_known or one.phase.ph_np < MANY_RANKS or one.collective:
            continue
        if one.phase.file_id in io.several:
            continue  # the same offsets of different files
        twice = one.moved_bytes - sum(_distinct(one).values())
        # At least half of the ranks read what another one reads.
        if twice * 2 >= one.moved_bytes:
            some.append(one)
            n_twice += twice
    found = tally(some)
    if n_twice < max(LEAST_BYTES, SHARE * io.moved_bytes):
        return ()
    ranks = {rank for one in some for rank in one.phase.ph_processid}
    return (
        io.finding(
            found,
            kind="same-bytes-by-many-ranks",
            sentence=(
                f"{len(ranks)} ranks read the same bytes: {format_size(found.moved_bytes)} are read, of which "
                f"{format_size(found.moved_bytes - n_twice)} differ. These are "
                f"{percent(io.share_of_bytes(found.moved_bytes))} of all bytes."
            ),
            remedy="Let one rank read and broadcast (MPI_Bcast), or all read by MPI_File_read_all.",
            paste="MPI_File_read_all",
        ),
    )


def repeated_reads(io: Io) -> tuple[Finding, ...]:
    """Files of which more is read than there is, by one rank or by several that do not read the same all."""
    of_file: dict[int, list[Requests]] = defaultdict(list)
    for one in io.requests:
        known = one.offsets_known and one.phase.file_id not in io.several
        if known and not one.writes and not one.collective and not all_alike(one):
            of_file[one.phase.file_id].append(one)
    some, again = [], 0
    for requests in of_file.values():
        read = sum(one.moved_bytes for one in requests)
        reach = max(one.reach_bytes for one in requests)
        if read >= READ_AGAIN * reach:
            some += requests
            again += read - reach
    found = tally(some)
    if again < max(LEAST_BYTES, SHARE * io.moved_bytes):
        return ()
    files = io.n_files({one.phase.file_id for one in some})
    return (
        io.finding(
            found,
            kind="repeated-reads",
            sentence=(
                f"{format_size(found.moved_bytes)} are read from {'a file' if files == 1 else f'{files:,} files'} of "
                f"{format_size(found.moved_bytes - again)}: the same bytes {found.moved_bytes / (found.moved_bytes - again):.1f} "
                "times on average."
            ),
            remedy="Read once and keep it in memory, or on storage of the node itself.",
            paste="cp FILE $TMPDIR",
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
            paste="cp FILE $TMPDIR",
            most="note",
        ),
    )
