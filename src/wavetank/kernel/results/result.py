"""What one run of a kernel gives: per phase and rank, bytes, operations, times."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from wavetank.document import Document, Record
from wavetank.errors import KernelError, WavetankError


class LatencySummary(Record):
    """Of single operations, seconds."""

    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


class RankPhaseResult(Record):
    """One rank in one phase."""

    rank: int
    host: str
    bytes: int
    operations: int
    io_time_s: float = Field(description="sum of the operations' durations")
    start_s: float = Field(description="first operation's start since the replay's common start")
    end_s: float
    latency: LatencySummary | None = Field(
        description="None where the program that ran does not tell it (IOR before 4.0)"
    )


class PhaseResult(Record):
    """One phase: time is from the first rank's start to the last rank's end of I/O in it."""

    ph_id: int
    bytes: int
    operations: int
    time_s: float
    rate_bytes_per_s: float = Field(description="BW_CH (method, section 6): bytes / time_s")
    iops: float
    latency: LatencySummary | None
    ranks: tuple[RankPhaseResult, ...]


class IoTime(Record):
    """Time in which at least one rank was at an I/O call: what a user waits for.

    From one call of a rank to its next it counts, unless the rank waits for others, pauses or verifies in between.
    """

    total_s: float = Field(description="data_s + metadata_s + flush_s, over all ranks at once")
    data_s: float = Field(description="of it in calls that move data")
    metadata_s: float | None = Field(
        description="in open, close, seek, stat, rename ..., and calls that move nothing; None where it is not told "
        "apart from data_s"
    )
    flush_s: float | None = Field(
        description="in fsync and its kin, and in the final flush; None where it is not told apart from data_s"
    )
    not_on_disk_bytes: int = Field(
        ge=0,
        description="written, and brought to storage by no later call: at most so many are in caches at the end",
    )
    at_least_s: float | None = Field(
        default=None,
        description="bounds of total_s: programs that tell many short spans as one lose when they were",
    )
    at_most_s: float | None = None


NO_IO = IoTime(total_s=0.0, data_s=0.0, metadata_s=0.0, flush_s=0.0, not_on_disk_bytes=0)
"""Of a run that failed, or did nothing."""


class CallRate(Record):
    """Calls of one kind that move no data."""

    call: str = Field(
        description='"create" is an open that may create; "attributes" are chmod, chown and utime'
    )
    n: int = Field(description="of all ranks")
    time_s: float = Field(
        description="time in which a rank was at such a call; kinds of calls at once share it"
    )
    per_s: float | None = Field(description="n / time_s; None where it took no measurable time")


class ReplayResult(Record):
    """One run of a kernel."""

    status: Literal["ok", "failed"]
    failure: str | None = Field(
        default=None, description="rank, file, offset, operation and reason"
    )
    elapsed_s: float
    metadata_time_s: float = Field(description="opens, closes, seeks, syncs: sum over ranks")
    io: IoTime = Field(description="zero of a run that failed")
    calls: tuple[CallRate, ...] = Field(
        default=(), description="calls that move no data, by kind; benchmarks do not tell them"
    )
    started_monotonic_ns: int | None = Field(
        default=None, description="the replay's common start on rank 0's CLOCK_MONOTONIC"
    )
    started_realtime_ns: int | None = Field(
        default=None, description="the same on its CLOCK_REALTIME: ns since 1970"
    )
    phases: tuple[PhaseResult, ...]
    moved_bytes: int | None = Field(
        default=None,
        description="by all calls; None: as much as the phases. The application itself may have others than its kernel",
    )
    n_operations: int | None = Field(
        default=None, description="calls that moved data; None: as many as the phases"
    )
    settings: dict[str, str] = Field(
        description="how it was run: pauses, flush, verify, O_DIRECT ..."
    )


class ReplayRun(Document):
    """What ``wavetank replay`` leaves: one run of a kernel on this machine."""

    kind: ClassVar[str] = "replay"
    error: ClassVar[type[WavetankError]] = KernelError

    application: str
    kernel_sha256: str
    root: str
    result: ReplayResult
