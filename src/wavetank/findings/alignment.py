"""Findings on where requests begin: within a stripe or block of the file system."""

from __future__ import annotations

import numpy as np

from wavetank.findings.finding import (
    LEAST_OPERATIONS,
    PAGE_BYTES,
    SHARE,
    Finding,
    percent,
)
from wavetank.findings.rank_balance import users
from wavetank.findings.requests import Io, Requests, Tally, tally
from wavetank.model.document.run_times import FileTimes
from wavetank.trace.schema import Int64Array
from wavetank.units import format_size


def unaligned_requests(io: Io) -> tuple[Finding, ...]:
    """Requests that begin at no multiple of the stripe or block, as the log counts them; else of a page, by their offsets."""
    counted = [file for file in io.times.files if file.n_unaligned is not None]
    return _counted(io, counted) if counted else _by_offsets(io)


def _counted(io: Io, files: list[FileTimes]) -> tuple[Finding, ...]:
    some = [
        file
        for file in files
        if not file.streams and (file.n_unaligned or 0) >= SHARE * max(file.n_posix, 1)
    ]
    n_off = sum(file.n_unaligned or 0 for file in some)
    n = sum(file.n_posix for file in files)
    if n_off < LEAST_OPERATIONS or n_off < SHARE * n:
        return ()
    block = max(file.stripe_size or file.alignment or PAGE_BYTES for file in some)
    shared = [file for file in some if file.n_ranks > 1]
    return _finding(
        io,
        Tally(n_off, sum(file.moved for file in some), ()),
        f"{n_off:,} of {n:,} POSIX requests ({percent(n_off / n)}) do not begin at a multiple of {format_size(block)}, the "
        "file system's stripe or block.",
        block,
        sum(file.time_s for file in shared),
        shared=bool(shared),
    )


def _by_offsets(io: Io) -> tuple[Finding, ...]:
    several = {
        file_id
        for is_write in (False, True)
        for file_id, ranks in users(io, is_write=is_write).items()
        if len(ranks) > 1
    }
    some = [
        one
        for one in io.requests
        if one.offsets_known and not one.collective and one.phase.file_id in several
    ]
    off = [_aligned(one) < one.count for one in some]
    n_off = sum(
        int((one.count - _aligned(one))[which].sum()) for one, which in zip(some, off, strict=True)
    )
    found = tally(some, off)
    if n_off < LEAST_OPERATIONS or io.share_of_operations(n_off) < SHARE:
        return ()
    return _finding(
        io,
        Tally(n_off, found.moved_bytes, found.ph_ids, found.time_s),
        f"{n_off:,} requests ({percent(io.share_of_operations(n_off))} of the operations) to files of several ranks do not begin "
        f"at a multiple of {PAGE_BYTES} B.",
        1024 * 1024,
        None,
        shared=True,
    )


def _finding(
    io: Io, of: Tally, sentence: str, block: int, time_s: float | None, *, shared: bool
) -> tuple[Finding, ...]:
    meeting = " Where regions of two ranks meet, both take the lock of one block." if shared else ""
    return (
        io.finding(
            of,
            kind="unaligned-requests",
            sentence=f"{sentence}{meeting}",
            remedy="Align each rank's region to the stripe (HDF5: H5Pset_alignment, PnetCDF: nc_var_align_size).",
            paste=f"H5Pset_alignment(fapl, {min(block, 64 * 1024)}, {block})",
            time_s=time_s,
            of_data=False,
            most="warning" if shared else "note",
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
