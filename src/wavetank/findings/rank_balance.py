"""Findings on who does the I/O: few ranks, many ranks without collective calls, the same bytes by many ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import numpy as np

from wavetank.findings.finding import (
    CARRIER_SHARE,
    GATHERED_BYTES,
    LEAST_BYTES,
    LEAST_OPERATIONS,
    MANY_RANKS,
    MOST_CARRIERS,
    SHARE,
    SMALL_REQUEST_BYTES,
    Finding,
    percent,
)
from wavetank.findings.requests import Io, Requests, by_file, tally
from wavetank.trace.schema import Int64Array
from wavetank.units import format_size

Level = Literal["posix", "mpiio"]
_WAYS = ((False, "read"), (True, "write"))


def few_ranks(io: Io) -> tuple[Finding, ...]:
    """A parallel program of which one rank, or a few, move nearly all bytes of a direction."""
    if io.n_ranks < 2:
        return ()
    told: dict[tuple[str, tuple[int, ...]], list[Requests]] = {}
    for is_write, verb in _WAYS:
        some = [one for one in io.requests if one.writes == is_write]
        if any(one.phase.collective_unknown for one in some):
            continue  # the ranks that are seen may be aggregators
        carriers = _carriers(some)
        total = sum(one.moved_bytes for one in some)
        if (
            total >= max(LEAST_BYTES, SHARE * io.moved_bytes)
            and 0 < len(carriers) <= min(MOST_CARRIERS, io.n_ranks // 2)
        ):  # fmt: skip
            told[verb, carriers] = some
    if len(told) == 2 and len({carriers for _, carriers in told}) == 1:
        (_, carriers), *_ = told
        told = {("read and write", carriers): list(io.requests)}
    return tuple(_few(io, verb, carriers, some) for (verb, carriers), some in told.items())


def _carriers(requests: Sequence[Requests]) -> tuple[int, ...]:
    moved = _by_rank(requests)
    busiest = max(moved.values(), default=0)
    return tuple(sorted(rank for rank, n in moved.items() if n and n >= CARRIER_SHARE * busiest))


def _by_rank(requests: Sequence[Requests]) -> dict[int, int]:
    if not requests:
        return {}
    rank = np.concatenate([one.rank for one in requests])
    ranks, inverse = np.unique(rank, return_inverse=True)
    moved = np.zeros(len(ranks), dtype=np.int64)
    np.add.at(moved, inverse, np.concatenate([one.moved for one in requests]))
    return dict(zip(ranks.tolist(), moved.tolist(), strict=True))


def _few(io: Io, verb: str, carriers: tuple[int, ...], some: list[Requests]) -> Finding:
    of_them = [np.isin(one.rank, carriers) for one in some]
    found = tally(some, of_them)
    total = sum(one.moved_bytes for one in some)
    share = percent(found.moved_bytes / total)
    what = {"read": "that is read", "write": "that is written"}.get(verb, "that is moved")
    if len(carriers) == 1:
        verbs = {"read": "reads", "write": "writes"}.get(verb, "reads and writes")
        subject = f"One of {io.n_ranks} ranks {verbs} {share} of all {what}"
    else:
        subject = f"{len(carriers)} of {io.n_ranks} ranks {verb} {share} of all {what}"
    return io.finding(
        found,
        kind="few-ranks",
        sentence=(
            f"{subject}: {format_size(found.moved_bytes)} in {found.n_operations:,} "
            f"{'operation' if found.n_operations == 1 else 'operations'}."
        ),
        remedy=(
            "More data servers help only as far as these ranks keep them busy. Let each rank move its own part, "
            "by collective MPI-IO or a library on it (HDF5, PnetCDF)."
        ),
    )


def users(io: Io, is_write: bool) -> dict[int, set[int]]:
    """Ranks that read, or write, each file, by file_id; not of files that are several, of which each has its own."""
    found: dict[int, set[int]] = defaultdict(set)
    for one in io.requests:
        if one.writes == is_write and one.phase.file_id not in io.several:
            found[one.phase.file_id].update(one.phase.ph_processid)
    return found


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
        and not _all_alike(one)
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


def _all_alike(one: Requests) -> bool:
    """Whether all ranks of a phase move the same bytes of the file."""
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
        ),
    )
