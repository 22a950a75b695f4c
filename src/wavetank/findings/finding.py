"""A finding, and the thresholds from which something is one.

Thresholds are as low as the field's, and what is small beside all the I/O is not told: a log file of 4 kB is no
finding. Where a value is that of Drishti (J. L. Bez, H. Ather, S. Byna, "Drishti: Guiding End-Users in the I/O
Optimization Journey", PDSW 2022, and the defaults of its release 0.6), it is named so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "time-above-posix",
    "few-aggregators",
    "few-ranks",
    "uneven-bytes",
    "slow-ranks",
    "no-collective-calls",
    "interleaved-pieces",
    "posix-without-mpiio",
    "same-bytes-by-many-ranks",
    "repeated-reads",
    "read-back",
    "many-small-files",
    "small-requests",
    "small-requests-below",
    "c-streams",
    "random-access",
    "unaligned-requests",
    "metadata-only",
    "metadata-load",
    "flush-after-each-write",
    "header-by-all-ranks",
]

HEADLINES: dict[Kind, str] = {
    "time-above-posix": "ranks exchange data and wait inside MPI-IO, storage is hardly busy",
    "few-aggregators": "too few aggregators write or read for all ranks",
    "few-ranks": "few ranks do the I/O of all",
    "uneven-bytes": "some ranks move far more bytes than others",
    "slow-ranks": "some ranks take far longer for the same work",
    "no-collective-calls": "many ranks move small pieces of one file by independent calls",
    "interleaved-pieces": "small pieces of many ranks interleave in one file",
    "posix-without-mpiio": "ranks share files by POSIX calls",
    "same-bytes-by-many-ranks": "many ranks read the same bytes",
    "repeated-reads": "the same bytes are read again and again",
    "read-back": "the run reads what it wrote",
    "many-small-files": "the data lies in many small files",
    "small-requests": "requests are small",
    "small-requests-below": "the MPI library makes small requests of larger ones",
    "c-streams": "much data goes through C streams",
    "random-access": "requests jump back and forth",
    "unaligned-requests": "requests do not begin at blocks of the file system",
    "metadata-only": "no data is moved, only names and attributes",
    "metadata-load": "opens, stats and closes take much of the time",
    "flush-after-each-write": "writes are flushed one by one",
    "header-by-all-ranks": "all ranks read the same small file",
}
"""Each kind in a few words."""

Severity = Literal["critical", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "note")

CRITICAL_SHARE = 0.5
"""Of the I/O time: what takes half of it decides how long the I/O takes."""

WARNING_SHARE = 0.1
"""Of the I/O time: mending less than a tenth is hardly seen. Below it a finding is a note."""

IO_SHARES = {"critical": 0.1, "warning": 0.01}
"""Of the run, that its I/O must take at least: what is half of 5 % of a run is not critical."""

SMALL_REQUEST_BYTES = 64 * 1024
"""bytes: requests below this count as small: PVFS2's stripe unit in P16 table 4, and still OrangeFS's default."""

GATHERED_BYTES = 1024 * 1024
"""bytes: pieces below this gain when they are gathered: Lustre's default stripe, and below it Drishti's ``small``."""

REQUEST_COST_BYTES = 64 * 1024
"""bytes that a network of 1 Gbit/s carries in 0.5 ms, which a request takes to a server and back.

So one small request costs about what moving this much costs, and n of them are weighed as n times this.
"""

SHARE = 0.1
"""Of the bytes, operations, or their weight: less is not told. Drishti: ``small_requests``, ``misaligned_requests``."""

RANDOM_SHARE = 0.2
"""Of the reads that jump back. Drishti: ``random_operations``."""

LEAST_SECONDS = 1.0
"""Of a rank: what takes less is not told of aggregators and of few metadata calls."""

ABOVE_SHARE = 0.8
"""Of the time in MPI-IO calls that no rank spends in POSIX calls: more is exchange and waiting, not storage. Two-phase
I/O of a sound program has a third to a half of it."""

RANKS_OF_AGGREGATOR = 16
"""Ranks for each aggregator, from which on aggregators of one host are too few: its network serves them all."""

UNEVEN = 2
"""Times the mean over ranks, from which on a rank is told. Drishti: from 15 % between slowest and fastest on."""

READ_AGAIN = 2
"""Times a file's bytes are read, from which on that is told."""

RANDOM_BYTES = 4 * 1024 * 1024
"""bytes: larger requests take longer on any storage than finding their place does."""

LEAST_JUMPS = 100
"""Requests that jump back: fewer take less than a second on a disk that turns (some 10 ms each)."""

LEAST_OPERATIONS = 1000
"""Fewer take less than about a second in all. Drishti: ``small_requests_absolute`` and its like."""

LEAST_BYTES = 1024 * 1024
"""bytes: less is moved in a hundredth of a second by any disk."""

HEADER_BYTES = 64 * 1024
"""bytes that each rank reads of a file at most, where it is a header or a file of parameters."""

HEADER_RANKS = 16
"""Ranks from which on the same opens at one time are told."""

HEADER_SHARE = 0.01
"""Of the I/O time: less is not told."""

LEAST_FILES = 100
"""Small files: fewer are opened, moved and closed in a tenth of a second (three calls of 0.5 ms each)."""

CALLS_OF_A_FILE = 3
"""Calls that a small file costs at least: open, one request, close."""

LEAST_FLUSHES = 100
"""Fewer take less than a second on a disk that turns (some 10 ms each)."""

FLUSHED_BYTES = 10 * 1024 * 1024
"""bytes between two flushes from which on a flush (some 10 ms) is below a tenth of the time, at 100 MB/s."""

CARRIER_SHARE = 0.1
"""A rank carries I/O when it moves at least this share of the busiest rank's bytes, as for process mappings."""

MOST_CARRIERS = 4
"""Up to so many ranks can be too few streams for a parallel file system; more are a choice, as aggregators are."""

MANY_RANKS = 4
"""On one file; with fewer there is little to gather by collective calls."""

PAGE_BYTES = 4096
"""bytes: of a client's page cache, and the block of local file systems: two writers of one page lock each other."""


@dataclass(frozen=True)
class Finding:
    """Something that the I/O of an application shows. Computed from its model, measured nowhere.

    Attributes:
        kind: of it.
        severity: by the share of the I/O time that it is about.
        sentence: what it is, with its numbers.
        remedy: what the field does about it; None where it depends.
        paste: a line for a hints file, a shell or the program; None where none fits.
        share_of_time: of the application's I/O time, which it is about; None: not known.
        ph_ids: phases in which it is; empty: of calls beside them.
        n_operations: operations or calls that it is about, all ranks.
        moved_bytes: bytes that these operations move.
        share_of_operations: of the application's data operations; None of calls that move no data.
        share_of_bytes: of the bytes that the application moves.
    """

    kind: Kind
    severity: Severity
    sentence: str
    remedy: str | None
    paste: str | None
    share_of_time: float | None
    ph_ids: tuple[int, ...]
    n_operations: int
    moved_bytes: int
    share_of_operations: float | None
    share_of_bytes: float


def percent(share: float) -> str:
    """A share for people: 0.4 %, 11 %, 100 % only where it is all."""
    value = 100 * share
    if share >= 1 or value < 0.05:
        return f"{value:.0f} %"
    if value > 99.5:
        return f"{min(value, 99.9):.1f} %"
    return f"{value:.0f} %" if value >= 9.5 else f"{value:.1f} %"
