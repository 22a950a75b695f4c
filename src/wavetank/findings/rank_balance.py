"""Findings on who does the I/O: few ranks, ranks that move more bytes, ranks that take longer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from wavetank.findings.finding import (
    CARRIER_SHARE,
    LEAST_BYTES,
    LEAST_SECONDS,
    MANY_RANKS,
    MOST_CARRIERS,
    SHARE,
    UNEVEN,
    Finding,
    percent,
)
from wavetank.findings.requests import Io, Requests, Tally, line_to_gather, tally
from wavetank.model.document.run_times import FileTimes
from wavetank.units import format_duration, format_size

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
        paste=line_to_gather("write" if verb == "write" else "read", some),
    )


def users(io: Io, is_write: bool) -> dict[int, set[int]]:
    """Ranks that read, or write, each file, by file_id; not of files that are several, of which each has its own."""
    found: dict[int, set[int]] = defaultdict(set)
    for one in io.requests:
        if one.writes == is_write and one.phase.file_id not in io.several:
            found[one.phase.file_id].update(one.phase.ph_processid)
    return found


def uneven_ranks(io: Io, told: Sequence[Finding]) -> tuple[Finding, ...]:
    """Ranks for which the others wait: because they move more bytes, or although they move no more.

    Args:
        io: of the application.
        told: findings on few ranks, which explain both.
    """
    if io.n_ranks < MANY_RANKS or told:
        return ()
    return _uneven_bytes(io) or _slow_ranks(io)


def _uneven_bytes(io: Io) -> tuple[Finding, ...]:
    if any(one.phase.collective_unknown for one in io.requests):
        return ()
    moved = {rank: size for rank, size in _by_rank(io.requests).items() if size}
    if not moved or (io.counted and _shared_bytes(io) > SHARE * io.moved_bytes):
        # Of shared files the log knows the slowest rank's bytes alone.
        file = _slowest_file(io)
        if file is None or file.slowest_rank is None or file.slowest_bytes is None:
            return ()
        rank, most, n_ranks, total = file.slowest_rank, file.slowest_bytes, file.n_ranks, file.moved
        where = f" of {file.name.rpartition('/')[2]}"
    else:
        rank = max(moved, key=lambda one: (moved[one], -one))
        most, n_ranks, total, where = moved[rank], len(moved), sum(moved.values()), ""
    mean = total / n_ranks
    if most < UNEVEN * mean or most - mean < LEAST_BYTES:
        return ()
    return (
        io.finding(
            Tally(io.n_operations, most, ()),
            kind="uneven-bytes",
            sentence=(
                f"Rank {rank} moves {format_size(most)}{where}, {most / mean:.1f} times the mean of the "
                f"{n_ranks:,} ranks that do I/O ({format_size(mean)})."
            ),
            remedy="Divide the data evenly, or let collective calls spread it over aggregators.",
            paste=line_to_gather("write" if _writes_most(io) else "read", io.requests),
            time_s=_waited_s(io),
        ),
    )


def _writes_most(io: Io) -> bool:
    written = sum(one.moved_bytes for one in io.requests if one.writes)
    return 2 * written >= sum(one.moved_bytes for one in io.requests)


def _shared_bytes(io: Io) -> int:
    return sum(file.moved for file in io.times.files if file.n_ranks > 1)


def _slowest_file(io: Io) -> FileTimes | None:
    """The file on which the slowest rank is the slowest, the longest first."""
    spread = io.times.spread
    if spread is None:
        return None
    return next((one for one in io.times.files if one.slowest_rank == spread.most_rank), None)


def _slow_ranks(io: Io) -> tuple[Finding, ...]:
    """A rank whose time is a multiple of the mean, beyond what it moves more."""
    spread, file = io.times.spread, _slowest_file(io)
    if spread is None or spread.most_s - spread.mean_s < LEAST_SECONDS:
        return ()
    if io.counted and file is not None and file.slowest_bytes is not None:
        own, mean = file.slowest_bytes, file.moved / file.n_ranks
    elif io.counted:
        return ()
    else:
        moved = _by_rank(io.requests)
        own, mean = moved.get(spread.most_rank, 0), sum(moved.values()) / io.n_ranks
    more = max(own / mean, 1.0) if mean else 1.0  # it has so much more to do
    if spread.most_s < UNEVEN * more * spread.mean_s:
        return ()
    where = "" if file is None else f", most of it on {file.name.rpartition('/')[2]}"
    of_it = " there" if io.counted else ""
    return (
        io.finding(
            Tally(io.n_operations, 0, ()),
            kind="slow-ranks",
            sentence=(
                f"Rank {spread.most_rank} spends {format_duration(spread.most_s)} at I/O calls, the mean of "
                f"{io.n_ranks:,} ranks is {format_duration(spread.mean_s)}, the least "
                f"{format_duration(spread.least_s)}{where}. It moves {format_size(own)}{of_it}, the mean is {format_size(mean)}."
            ),
            remedy="Look for a slow node or server: run again with the ranks in another order, and spread files over servers.",
            paste="lfs setstripe -c -1 DIRECTORY",
            time_s=_waited_s(io),
        ),
    )


def _waited_s(io: Io) -> float | None:
    """Of the I/O time what the slowest rank is beyond the mean: the others wait for it."""
    spread = io.times.spread
    if spread is None or io.time_s is None or not spread.most_s:
        return None
    return io.time_s * (1 - spread.mean_s / spread.most_s)
