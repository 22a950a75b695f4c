"""Findings on MPI-IO: independent calls where collective ones help, time above POSIX, few aggregators."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

import numpy as np

from wavetank.findings.finding import (
    ABOVE_SHARE,
    GATHERED_BYTES,
    LEAST_OPERATIONS,
    LEAST_SECONDS,
    MANY_RANKS,
    RANKS_OF_AGGREGATOR,
    SMALL_REQUEST_BYTES,
    Finding,
    percent,
)
from wavetank.findings.rank_balance import users
from wavetank.findings.requests import (
    Io,
    Requests,
    Tally,
    by_file,
    line_to_gather,
    tally,
    verb_that_takes_longer,
)
from wavetank.findings.reuse import all_alike
from wavetank.model.document.run_times import FileTimes
from wavetank.units import format_duration, format_size

Level = Literal["posix", "mpiio"]
_WAYS = ((False, "read"), (True, "write"))


def without_collective_calls(io: Io) -> tuple[tuple[Finding, ...], set[int]]:
    """Small pieces of one file that many ranks move by independent calls; and the ``id`` of these requests.

    Pieces that lie between those of other ranks are told by themselves. What all ranks read alike is not
    told here.
    """
    pieces: dict[tuple[bool, bool, Level], list[Requests]] = defaultdict(list)
    told: set[int] = set()
    findings = []
    for is_write, _ in _WAYS:
        many = {
            file_id for file_id, ranks in users(io, is_write).items() if len(ranks) >= MANY_RANKS
        }
        some = [
            one
            for one in io.requests
            if one.writes == is_write and one.phase.file_id in many and _is_independent(one)
        ]
        of_file: dict[int, list[Requests]] = defaultdict(list)
        for one in some:
            of_file[one.phase.file_id].append(one)
        for joined in by_file(some):
            mean = _mean_piece(joined)
            if mean < GATHERED_BYTES:
                file_id, level = joined.phase.file_id, joined.phase.level
                between = mean < SMALL_REQUEST_BYTES and _interleaved(joined)
                pieces[between, is_write, level] += of_file[file_id]
    for (between, is_write, level), some in pieces.items():
        n_pieces = sum(
            int((one.count * np.maximum(one.size // np.maximum(one.piece, 1), 1)).sum())
            for one in some
        )
        if n_pieces < LEAST_OPERATIONS or not io.weighs(n_pieces):
            continue
        told.update(id(one) for one in some)
        findings.append(_no_collectives(io, some, n_pieces, between, is_write, level))
    return tuple(findings), told


def _is_independent(one: Requests) -> bool:
    """Whether it is known that requests are not collective, and that ranks do not all read the same."""
    return (
        not one.collective
        and not one.phase.collective_unknown
        and one.offsets_known
        and not all_alike(one)
    )


def _mean_piece(one: Requests) -> float:
    """Bytes that lie together, on average over the operations."""
    return float((one.piece * one.count).sum() / max(one.n_operations, 1))


def _interleaved(one: Requests) -> bool:
    """Whether a rank's next piece does not follow on its last one, most of the times."""
    if bool((one.piece < one.size).any()):
        return True
    steps = one.steps
    return int(steps.n[steps.step > steps.size].sum()) > int(steps.n.sum()) / 2


def _no_collectives(
    io: Io, some: list[Requests], n_pieces: int, between: bool, is_write: bool, level: Level
) -> Finding:
    found = tally(some)
    ranks = {rank for one in some for rank in one.phase.ph_processid}
    files = {one.phase.file_id for one in some}
    mean = sum(one.moved_bytes for one in some) / n_pieces
    verb = "write" if is_write else "read"
    where = "one file" if len(files) == 1 else f"{len(files)} shared files"
    calls = "independent MPI-IO calls" if level == "mpiio" else "POSIX calls"
    lie = ", which lie between those of other ranks" if between else ""
    of_bytes = io.share_of_bytes(found.moved_bytes)
    return io.finding(
        found,
        kind="interleaved-pieces" if between else "no-collective-calls",
        sentence=(
            f"{len(ranks)} ranks {verb} {where} by {calls} in {n_pieces:,} pieces of {format_size(mean)} on "
            f"average{lie}. These are {format_size(found.moved_bytes)}, {percent(of_bytes)} of all bytes."
        ),
        remedy=_remedy(verb, between),
        paste=line_to_gather(verb, some),
    )


def _remedy(verb: str, between: bool) -> str:
    # ROMIO's default for romio_cb_* is "automatic": it gathers where the ranks' pieces of one call interleave.
    if between:
        return (
            f"Collective calls (MPI_File_{verb}_all) gather them into large requests of few ranks (collective "
            f"buffering, romio_cb_{verb}); where calls cannot be collective, data sieving (romio_ds_{verb}) helps."
        )
    return (
        f"Larger pieces, or collective calls (MPI_File_{verb}_all) with romio_cb_{verb} = enable: by default ROMIO "
        "gathers only pieces that lie between those of other ranks."
    )


def time_above_posix(io: Io) -> tuple[Finding, ...]:
    """Files whose MPI-IO calls take far longer than the POSIX calls below, of the rank that takes longest there."""
    some = []
    for file in io.times.files:
        if file.below_slowest_s is None or file.n_ranks < 2 or not file.time_s:
            continue
        if 1 - file.below_slowest_s * file.n_ranks / file.time_s >= ABOVE_SHARE:
            some.append(file)
    if not some:
        return ()
    mpiio_s = sum(file.time_s for file in some)
    below_s = sum(file.below_s or 0.0 for file in some)
    slowest_s = max(file.below_slowest_s or 0.0 for file in some)
    above_s = sum(file.time_s - (file.below_slowest_s or 0.0) * file.n_ranks for file in some)
    metadata_s = sum(file.metadata_s for file in some)
    opening = (
        f", of which {format_duration(metadata_s)} are opens, closes and syncs"
        if metadata_s >= 0.1 * mpiio_s
        else ""
    )
    return (
        io.finding(
            Tally(sum(file.n_operations for file in some), sum(file.moved for file in some), ()),
            kind="time-above-posix",
            sentence=(
                f"MPI-IO calls take {format_duration(mpiio_s)} over all ranks{opening}, the POSIX calls below them "
                f"{format_duration(below_s)}, at most {format_duration(slowest_s)} on one rank: the rest is exchange of "
                f"data and waiting for other ranks. Another file system gains at most {percent(1 - above_s / mpiio_s)} of it."
            ),
            remedy=(
                "Make fewer and larger collective calls, and write contiguous regions of a rank without collective buffering."
            ),
            paste=f"romio_cb_{verb_that_takes_longer(some[0])}=disable",
            time_s=above_s,
            of_data=False,
        ),
    )


def few_aggregators(io: Io) -> tuple[Finding, ...]:
    """Files that many ranks use by MPI-IO, whose bytes one rank moves below it, or ranks of one host."""
    found = [(file, text) for file in io.times.files if (text := _aggregated(file, io)) is not None]
    if not found:
        return ()
    longest, text = found[0]
    more = f" So it is with {len(found) - 1} more files." if len(found) > 1 else ""
    stripes = min(max(longest.n_ranks // 16, 4), 64)
    return (
        io.finding(
            Tally(
                sum(file.n_operations for file, _ in found),
                sum(file.moved for file, _ in found),
                (),
            ),
            kind="few-aggregators",
            sentence=f"{text}{more}",
            remedy=(
                "Let more ranks on several hosts write: on Lustre MPI libraries take as many as the file has stripes; "
                f"elsewhere give the hints cb_nodes and cb_config_list, or striping_factor = {stripes} before the file is made."
            ),
            paste=f"lfs setstripe -c {stripes} DIRECTORY",
            time_s=sum(file.time_s for file, _ in found),
            of_data=False,
        ),
    )


def _aggregated(file: FileTimes, io: Io) -> str | None:
    """Why aggregators are few, in numbers; None where they are not."""
    if file.level != "mpiio" or file.n_ranks < 2 * MANY_RANKS:
        return None
    if file.below_slowest_s is None or file.below_slowest_s < LEAST_SECONDS:
        return None
    name = file.name.rpartition("/")[2]
    size = format_size(file.moved)
    if file.below_slowest_bytes is not None and file.below_slowest_bytes >= file.moved / 2:
        return (
            f"One rank moves {format_size(file.below_slowest_bytes)} of the {size} of {name} below MPI-IO, for "
            f"{file.n_ranks:,} ranks: it spends {format_duration(file.below_slowest_s)} at POSIX calls, and each rank "
            f"{format_duration(file.time_s / file.n_ranks)} at MPI-IO calls on average."
        )
    if file.below_ranks is None or file.below_hosts != 1:
        return None
    if file.below_ranks * RANKS_OF_AGGREGATOR > file.n_ranks or io.times.n_hosts < 2:
        return None
    return (
        f"{file.below_ranks:,} ranks, all on one of {io.times.n_hosts:,} hosts, move the {size} of {name} below MPI-IO for "
        f"{file.n_ranks:,} ranks."
    )


def posix_without_mpiio(io: Io) -> tuple[Finding, ...]:
    """Files that several ranks of a parallel program use by POSIX calls, with most of its bytes."""
    ranks: dict[int, set[int]] = defaultdict(set)
    for way in (users(io, is_write=is_write) for is_write, _ in _WAYS):
        for file_id, some in way.items():
            ranks[file_id] |= some
    shared = {file_id for file_id, some in ranks.items() if len(some) > 1}
    found = tally(
        [one for one in io.requests if one.phase.level == "posix" and one.phase.file_id in shared]
    )
    if io.n_ranks < MANY_RANKS or not found.moved_bytes > io.moved_bytes / 2:
        return ()
    n_ranks = len(set().union(*(ranks[file_id] for file_id in shared)))
    return (
        io.finding(
            found,
            kind="posix-without-mpiio",
            sentence=(
                f"{n_ranks:,} of {io.n_ranks:,} ranks move {percent(io.share_of_bytes(found.moved_bytes))} of the bytes of shared "
                "files by POSIX calls: collective buffering and hints of MPI-IO do not apply."
            ),
            remedy="Where ranks share files or write small pieces, use MPI-IO or a library on it (HDF5, PnetCDF, ADIOS2).",
            most="note",
        ),
    )
