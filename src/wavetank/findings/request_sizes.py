"""Findings on requests alone: small ones, unaligned writes to shared files, reads that jump."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from wavetank.findings.finding import (
    GATHERED_BYTES,
    LEAST_OPERATIONS,
    MANY_RANKS,
    PAGE_BYTES,
    RANDOM_SHARE,
    SHARE,
    SMALL_REQUEST_BYTES,
    Finding,
    percent,
)
from wavetank.findings.requests import Io, Requests, by_file, tally
from wavetank.trace.schema import Int64Array
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
        Finding(
            kind="small-requests",
            sentence=(
                f"{found.n_operations:,} requests are below {format_size(SMALL_REQUEST_BYTES)}: "
                f"{percent(of_operations)} of the operations, which move {percent(of_bytes)} of the bytes "
                f"({format_size(found.moved_bytes)}). The most frequent size is {usual:,} B ({n_usual:,} times)."
            ),
            remedy="Larger buffers in the program, or in the library that reads and writes for it, make fewer requests.",
            ph_ids=found.ph_ids,
            n_operations=found.n_operations,
            moved_bytes=found.moved_bytes,
            share_of_operations=of_operations,
            share_of_bytes=of_bytes,
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


def random_reads(io: Io) -> tuple[Finding, ...]:
    """Reads that start before the rank's read before them: caches cannot read ahead.

    Of reads at random places half do so. Reads of the same place again do not count.
    """
    reads = [
        one
        for one in io.requests
        if not one.writes
        and one.offsets_known
        and not one.collective
        and one.phase.file_id not in io.several  # each begins at its start
    ]
    jumping = {}
    for one in by_file(reads):
        back = (one.steps.step < 0) & (one.steps.size < GATHERED_BYTES)
        if back.any():
            jumping[one.phase.file_id] = int(one.steps.n[back].sum())
    n_back = sum(jumping.values())
    found = tally([one for one in reads if one.phase.file_id in jumping])
    if n_back < LEAST_OPERATIONS or not io.weighs(n_back):
        return ()
    if n_back < RANDOM_SHARE * found.n_operations:
        return ()
    mean = found.moved_bytes / found.n_operations
    return (
        io.finding(
            found,
            kind="random-reads",
            sentence=(
                f"{n_back:,} of {found.n_operations:,} reads ({percent(n_back / found.n_operations)}) start before "
                f"the one before them; a read moves {format_size(mean)} on average. They are "
                f"{percent(io.share_of_bytes(found.moved_bytes))} of all bytes."
            ),
            remedy="Reading ahead does not help: sort the requests by their place, read larger blocks, or keep the file in memory.",
        ),
    )


def unaligned_writes(io: Io, writers: dict[int, set[int]]) -> tuple[Finding, ...]:
    """Larger writes of several ranks to one file that begin within a page.

    Args:
        io: of the application.
        writers: ranks that write each file, by file_id.
    """
    some = [
        one
        for one in io.requests
        if one.writes
        and one.offsets_known
        and not one.collective
        and len(writers.get(one.phase.file_id, ())) >= MANY_RANKS
    ]
    large = [one.size >= SMALL_REQUEST_BYTES for one in some]
    n_off = sum(
        int((one.count - _aligned(one))[which].sum())
        for one, which in zip(some, large, strict=True)
    )
    found = tally(
        some, [which & (_aligned(one) < one.count) for one, which in zip(some, large, strict=True)]
    )
    of_operations = io.share_of_operations(n_off)
    if n_off < LEAST_OPERATIONS or max(of_operations, io.share_of_bytes(found.moved_bytes)) < SHARE:
        return ()
    return (
        Finding(
            kind="unaligned-writes",
            sentence=(
                f"{n_off:,} writes of {format_size(SMALL_REQUEST_BYTES)} or more to shared files do not begin at a "
                f"multiple of {PAGE_BYTES} B: {percent(of_operations)} of the operations. Where two ranks' regions "
                "meet, both write a part of one page."
            ),
            remedy="Align each rank's region to the file system's stripe (HDF5: H5Pset_alignment, PnetCDF: nc_var_align_size).",
            ph_ids=found.ph_ids,
            n_operations=n_off,
            moved_bytes=found.moved_bytes,
            share_of_operations=of_operations,
            share_of_bytes=io.share_of_bytes(found.moved_bytes),
        ),
    )


def _aligned(one: Requests) -> Int64Array:
    """How many operations of each run begin at a multiple of a page: offset + i*disp = 0 mod 4096."""
    disp = np.where(one.count > 1, one.disp, 0) % PAGE_BYTES
    first = one.offset % PAGE_BYTES
    common = np.where(
        disp == 0, PAGE_BYTES, disp & -disp
    )  # the greatest common divisor: a power of two
    period = PAGE_BYTES // common
    odd = np.where(disp == 0, 1, disp // common)
    inverse = odd.copy()
    for _ in range(4):  # Newton's iteration: 3, 6, 12 bits of the inverse modulo a power of two
        inverse = (inverse * (2 - odd * inverse)) % PAGE_BYTES
    start = (-(first // common) * inverse) % period  # the first such i
    hits = np.where(start < one.count, (one.count - start + period - 1) // period, 0)
    found: Int64Array = np.where(first % common == 0, hits, 0)
    return found
