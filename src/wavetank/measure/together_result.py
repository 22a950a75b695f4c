"""Several groups of clients on one cluster at the same time: the record of one such run (method, section 9)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from wavetank.document import Record
from wavetank.errors import MeasurementError, WavetankError
from wavetank.kernel.results.result import LatencySummary
from wavetank.measure.result import MeasuredOn

PointKind = Literal["alone", "together", "pair", "offset"]


class Moved(Record):
    """What a group moved in a stretch of time."""

    bytes: int
    io_time_s: float = Field(description="time in operations, sum over ranks")


class PartyResult(Record):
    """One group in one run. Times are seconds since the run's common start, unless they are durations."""

    group: str
    instance: int = Field(default=0, description="1 for the second of two that are the same group")
    kernel_sha256: str
    n_ranks: int
    nodes: tuple[str, ...] = Field(description="of its ranks, in rank order")
    interval_s: float | None = Field(
        description="between objects; None for a group that is an application"
    )
    start_s: float = Field(description="when it was to start")
    late_s: float = Field(description="by which its last rank began late")
    elapsed_s: float = Field(description="from its start to the end of its last rank")
    bytes: int
    operations: int
    latency: LatencySummary | None = Field(description="of all its data operations; an object each")
    loops: tuple[tuple[float, float], ...] = Field(
        description="start and end of whole repetitions of its kernel, by its slowest rank"
    )
    window: Moved | None = Field(description="in the window in which all groups are active")
    blocks: tuple[Moved, ...] = Field(
        description="the same in equal parts of the window, for the bootstrap"
    )
    settings: dict[str, str] = Field(description="how the replay ran")


class TogetherMeasurement(MeasuredOn):
    """One run of one or more groups."""

    kind: ClassVar[str] = "together"
    error: ClassVar[type[WavetankError]] = MeasurementError

    point: PointKind = Field(
        description="alone: one group; together: all, for a time; pair: two; offset: all, once, "
        "started one after another"
    )
    object_bytes: int | None = Field(description="of the groups of objects, where sizes are swept")
    duration_s: float | None = Field(description="None: each kernel once, to its end")
    window_s: tuple[float, float] | None = Field(
        description="in which all groups are active: after the last start and the time to settle, "
        "until the first end; None where there is no such time"
    )
    alignment_s: float = Field(
        description="spread of the ranks' real starts about their orders, over all groups, with "
        "the error of the clocks"
    )
    parties: tuple[PartyResult, ...]
