"""What a source counted of each file, beside or instead of single operations: Darshan's counters in our own terms.

One record is about one file at one level, used by one rank or by all ranks together. Counts and bytes are what the
source saw; times are seconds since the start of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    pass

SIZE_BINS: tuple[int | None, ...] = (
    100, 1024, 10_240, 102_400, 1_048_576, 4_194_304, 10_485_760, 104_857_600, 1_073_741_824, None,
)  # fmt: skip
"""Largest request of each bin, bytes; None: no bound. A bin begins above the one before it (DARSHAN_BUCKET_INC of
darshan-common.h)."""


@dataclass(frozen=True)
class DirectionCounters:
    """Reads or writes of a record."""

    n: int = 0  # operations
    moved: int = 0  # bytes
    n_collective: int = 0  # of n, MPI-IO
    # Operations behind the end of the rank's last one, and right behind it, as Darshan counts; None: not counted.
    n_sequential: int | None = None
    n_consecutive: int | None = None
    highest: int | None = None  # last byte touched, from 0; None: not counted
    by_size: tuple[int, ...] = ()  # operations in each of SIZE_BINS; empty: not counted
    first_s: float | None = None  # start of the first operation
    last_s: float | None = None  # end of the last operation
    time_s: float = 0.0  # in such operations, all ranks


@dataclass(frozen=True)
class FileCounters:
    """Counters of one file at one level.

    ``rank`` is None where the source added the ranks' counters up (Darshan does so where every rank opened the file).
    """

    file: int  # index into Trace.files
    level: int
    rank: int | None
    streams: bool = False  # C streams: operations are calls of fread, fwrite, fprintf ...
    reads: DirectionCounters = DirectionCounters()
    writes: DirectionCounters = DirectionCounters()
    # Of reads and writes together, the most frequent first: (bytes, operations). Sizes of 0 are not among them.
    common_sizes: tuple[tuple[int, int], ...] = ()
    # (bytes from the end of one operation to the begin of the rank's next one, how often); 0 is not among them.
    common_gaps: tuple[tuple[int, int], ...] = ()
    n_switches: int | None = None  # from reading to writing or back, all ranks; None: not counted
    n_opens: int = 0
    n_collective_opens: int = 0  # of them, MPI-IO
    n_seeks: int = 0
    n_stats: int = 0
    n_syncs: int = 0  # MPI_File_sync, fsync
    n_data_syncs: int = 0  # fdatasync
    n_flushes: int = 0  # fflush
    n_maps: int = 0
    n_renames: int = 0
    n_views: int = 0
    opened_s: float | None = None  # start of the first open
    closed_s: float | None = None  # end of the last close
    meta_time_s: float = 0.0  # in calls that move no data, all ranks
    # Of a record of all ranks: variance of the ranks' bytes, and the rank that spent most time, with its bytes.
    variance_bytes: float | None = None
    slowest_rank: int | None = None
    slowest_bytes: int | None = None
    slowest_s: float | None = None  # in all calls
    fastest_s: float | None = None
    n_unaligned: int | None = (
        None  # operations that start at no multiple of ``alignment``; None: not counted
    )
    alignment: int | None = None  # bytes: the file system's block

    @property
    def moved(self) -> int:
        """Bytes read and written."""
        return self.reads.moved + self.writes.moved

    @property
    def n_operations(self) -> int:
        """Reads and writes."""
        return self.reads.n + self.writes.n


class LaterCounters(Sequence[FileCounters]):
    """Records that are made when they are first asked for: a trace with single operations does not need them."""

    def __init__(self, make: Callable[[], Iterable[FileCounters]]) -> None:
        """``make`` is called once at most."""
        self._make = make

    @cached_property
    def _made(self) -> tuple[FileCounters, ...]:
        return tuple(self._make())

    def __len__(self) -> int:
        return len(self._made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | LaterCounters) and self._made == tuple(other)

    def __hash__(self) -> int:
        return hash(self._made)

    def __iter__(self) -> Iterator[FileCounters]:
        return iter(self._made)

    @overload
    def __getitem__(self, index: int) -> FileCounters: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[FileCounters, ...]: ...

    def __getitem__(self, index: int | slice) -> FileCounters | tuple[FileCounters, ...]:
        return self._made[index]
