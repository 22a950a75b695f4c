"""How long an application ran, and how much of it a rank spent at I/O calls.

Leaves a ``RunTimes``, made of a trace's rows in summary.run_times. Ranks overlap in a way that a folded
trace does not tell, so the I/O time of a run is that of the rank that spent most time at I/O calls: a run without
I/O would be shorter by about that much, where the other ranks wait for this one.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from wavetank.document import Record

Level = Literal["posix", "mpiio"]


class FileTimes(Record):
    """What the run did with one file and how long that took, at the level at which the application uses it.

    Times are sums over ranks. Slowest and fastest are ranks of a file that several ranks use.
    """

    name: str
    level: Level
    streams: bool = Field(description="C streams (fread, fprintf ...) move most of its bytes")
    n_ranks: int = Field(description="ranks that use it")
    n_operations: int = Field(description="reads and writes")
    moved: int = Field(description="bytes")
    read_s: float
    write_s: float = Field(description="with flushes")
    metadata_s: float = Field(description="in calls that move no data")
    n_posix: int = Field(description="reads and writes at the POSIX level, of this file")
    n_syncs: int = Field(description="flushes: fsync, fdatasync, MPI_File_sync")
    n_unaligned: int | None = Field(
        description="of them those that start at no multiple of ``alignment``; None: not counted"
    )
    alignment: int | None = Field(description="bytes")
    stripe_count: int | None = Field(description="servers (OSTs) that hold it; None: not known")
    stripe_size: int | None = Field(description="bytes; None: not known")
    below_s: float | None = Field(description="in POSIX calls below MPI-IO; None: not seen")
    below_ranks: int | None = Field(
        description="ranks that move its bytes below MPI-IO: aggregators; None: not known"
    )
    below_slowest_s: float | None = Field(
        description="in these POSIX calls, of the rank that spends most time there"
    )
    below_slowest_bytes: int | None = Field(description="that this rank moves there")
    below_hosts: int | None = Field(description="hosts of these ranks; None: not known")
    slowest_rank: int | None
    slowest_s: float | None
    slowest_bytes: int | None = Field(description="that the slowest rank moves")
    fastest_s: float | None

    @property
    def time_s(self) -> float:
        """In all calls."""
        return self.read_s + self.write_s + self.metadata_s


class RankSpread(Record):
    """Seconds at I/O calls by rank."""

    mean_s: float
    least_s: float
    most_s: float
    most_rank: int


class RunTimes(Record):
    """Times of the traced run, measured by the tracer."""

    elapsed_s: float | None = Field(description="of the whole run; None where the log has none")
    io_s: float | None = Field(
        description="at I/O calls, of the rank that spent most time there; None without times"
    )
    io_rank: int | None = Field(description="that rank")
    with_metadata: bool = Field(
        description="whether calls that move no data (open, close, stat, fsync ...) are in it"
    )

    read_s: float = Field(default=0.0, description="sum over ranks, at the application's own level")
    write_s: float = 0.0
    metadata_s: float = Field(default=0.0, description="in calls that move no data")
    mpiio_s: float = Field(default=0.0, description="of these in MPI-IO calls")
    below_s: float | None = Field(
        default=None,
        description="in POSIX calls on the files of ``mpiio_s``; None: not seen, or no MPI-IO",
    )
    n_opens: int = Field(default=0, description="of all files, at the application's own level")
    n_stats: int = 0
    n_files: int = Field(default=0, description="that were timed")
    n_hosts: int = Field(default=0, description="of the ranks; 0: not known")
    moved: int = Field(default=0, description="bytes, of all timed files")
    streamed: int = Field(default=0, description="of them by C streams (fread, fprintf ...)")
    spread: RankSpread | None = Field(default=None, description="None: not known by rank")
    files: tuple[FileTimes, ...] = Field(
        default=(), description="the files that took most time, the longest first"
    )

    @property
    def all_s(self) -> float:
        """In I/O calls of the application, summed over ranks; 0 without times."""
        return self.read_s + self.write_s + self.metadata_s

    @property
    def compute_s(self) -> float | None:
        """What is left of the run without its I/O; None where it is not known."""
        if self.elapsed_s is None or self.io_s is None:
            return None
        return max(self.elapsed_s - self.io_s, 0.0)

    @property
    def io_percent(self) -> float | None:
        """I/O's share of the run; None where it is not known."""
        if not self.elapsed_s or self.io_s is None:
            return None
        return min(100 * self.io_s / self.elapsed_s, 100.0)


NOT_TIMED = RunTimes.model_construct(elapsed_s=None, io_s=None, io_rank=None, with_metadata=False)
"""Of a run of which no times are known."""
