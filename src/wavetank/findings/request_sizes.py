"""Findings on requests alone: small ones, those of C streams, and those at random places."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from wavetank.findings.finding import (
    LEAST_BYTES,
    LEAST_JUMPS,
    LEAST_OPERATIONS,
    RANDOM_BYTES,
    RANDOM_SHARE,
    SHARE,
    SMALL_REQUEST_BYTES,
    Finding,
    percent,
)
from wavetank.findings.requests import (
    Io,
    Requests,
    Tally,
    by_file,
    line_to_gather,
    tally,
    verb_that_takes_longer,
)
from wavetank.units import format_size


def small_requests(io: Io, told: Collection[int]) -> tuple[Finding, ...]:
    """Requests below 64 KiB that nothing below the application gathers.

    Args:
        io: of the application.
        told: ``id`` of the requests that another finding is about already.
    """
    some = [one for one in io.requests if not one.collective and id(one) not in told]
    small = [one.size < SMALL_REQUEST_BYTES for one in some]
    found = tally(some, small)
    if found.n_operations < LEAST_OPERATIONS or not io.weighs(found.n_operations):
        return ()
    usual, n_usual = _usual_size(some)
    of_operations = io.share_of_operations(found.n_operations)
    of_bytes = io.share_of_bytes(found.moved_bytes)
    return (
        io.finding(
            found,
            kind="small-requests",
            sentence=(
                f"{found.n_operations:,} requests are below {format_size(SMALL_REQUEST_BYTES)}: "
                f"{percent(of_operations)} of the operations, which move {percent(of_bytes)} of the bytes "
                f"({format_size(found.moved_bytes)}). The most frequent size is {usual:,} B ({n_usual:,} times)."
            ),
            remedy="Larger buffers in the program, or in the library that reads and writes for it, make fewer requests.",
            paste="setvbuf(file, NULL, _IOFBF, 4 << 20)",
        ),
    )


def small_requests_below(io: Io) -> tuple[Finding, ...]:
    """Small POSIX requests that the MPI library makes of larger MPI-IO calls."""
    some = [
        file
        for file in io.times.files
        if file.level == "mpiio"
        and file.n_posix >= max(LEAST_OPERATIONS, 2 * file.n_operations)
        and file.moved < SMALL_REQUEST_BYTES * file.n_posix
    ]
    if not some:
        return ()
    n, moved = sum(file.n_posix for file in some), sum(file.moved for file in some)
    n_calls = sum(file.n_operations for file in some)
    name = some[0].name.rpartition("/")[2]
    return (
        io.finding(
            Tally(n, moved, ()),
            kind="small-requests-below",
            sentence=(
                f"The MPI library makes {n:,} POSIX requests of {n_calls:,} MPI-IO calls on {name}"
                f"{f' and {len(some) - 1} more files' if len(some) > 1 else ''}: {format_size(moved / n)} each on average."
            ),
            remedy=(
                "Let each call move contiguous bytes (chunks of HDF5 and netCDF as the ranks divide the data), or let collective "
                "buffering gather them."
            ),
            paste=f"romio_cb_{verb_that_takes_longer(some[0])}=enable",
            time_s=sum(file.time_s for file in some),
            of_data=False,
        ),
    )


def _usual_size(requests: Sequence[Requests]) -> tuple[int, int]:
    """The most frequent size among the small ones, the smallest of equals, and how often it comes."""
    sizes = np.concatenate([one.size for one in requests])
    counts = np.concatenate([one.count for one in requests])
    small = sizes < SMALL_REQUEST_BYTES
    values, inverse = np.unique(sizes[small], return_inverse=True)
    totals = np.zeros(len(values), dtype=np.int64)
    np.add.at(totals, inverse, counts[small])
    most = int(totals.argmax())
    return int(values[most]), int(totals[most])


def c_streams(io: Io) -> tuple[Finding, ...]:
    """Bytes that go through C streams, whose buffers have a few KiB."""
    times = io.times
    if times.streamed < max(LEAST_BYTES, SHARE * times.moved):
        return ()
    some = [file for file in times.files if file.streams]
    n = sum(file.n_operations for file in some)
    return (
        io.finding(
            Tally(n, times.streamed, ()),
            kind="c-streams",
            sentence=(
                f"C streams (fread, fwrite, fprintf) move {format_size(times.streamed)}, "
                f"{percent(times.streamed / times.moved)} of the bytes, in {n:,} calls of "
                f"{format_size(times.streamed / max(n, 1))} on average."
            ),
            remedy="Use read and write, or MPI-IO, for large data; or give the stream a larger buffer.",
            paste="setvbuf(file, NULL, _IOFBF, 4 << 20)",
            time_s=sum(file.time_s for file in some),
            of_data=False,
        ),
    )


def random_access(io: Io) -> tuple[Finding, ...]:
    """Requests that start before the rank's request before them: nothing can read ahead, or gather them.

    Of requests at random places half do so. The same place again does not count.
    """
    return tuple(each for is_write in (False, True) for each in _random(io, is_write=is_write))


def _random(io: Io, *, is_write: bool) -> tuple[Finding, ...]:
    some = [
        one
        for one in io.requests
        if one.writes == is_write
        and one.offsets_known
        and not one.collective
        and one.phase.file_id not in io.several  # each begins at its start
    ]
    jumping = {}
    for one in by_file(some):
        back = (one.steps.step < 0) & (one.steps.size < RANDOM_BYTES)
        n = int(one.steps.n[back].sum())
        if n >= RANDOM_SHARE * one.n_operations:
            jumping[one.phase.file_id] = n
    n_back = sum(jumping.values())
    found = tally([one for one in some if one.phase.file_id in jumping])
    if n_back < LEAST_JUMPS or (
        found.moved_bytes < SHARE * io.moved_bytes and not io.weighs(n_back)
    ):
        return ()
    mean = found.moved_bytes / found.n_operations
    verb = "write" if is_write else "read"
    return (
        io.finding(
            found,
            kind="random-access",
            sentence=(
                f"{n_back:,} of {found.n_operations:,} {verb}s ({percent(n_back / found.n_operations)}) start before "
                f"the one before them; a {verb} moves {format_size(mean)} on average. They are "
                f"{percent(io.share_of_bytes(found.moved_bytes))} of all bytes."
            ),
            remedy=(
                "Sort the requests by their place, or gather them by collective calls."
                if is_write
                else "Reading ahead does not help: sort the requests by their place, read larger blocks, or keep the file in "
                "memory. For a training loader shuffle within blocks that are read whole."
            ),
            paste=line_to_gather(verb, some)
            if is_write or any(one.phase.level == "mpiio" for one in some)
            else "posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM)",
        ),
    )
