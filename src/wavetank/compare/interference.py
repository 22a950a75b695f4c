"""What groups of clients do to each other: the records of an interference study (method, section 9)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from wavetank.document import Record
from wavetank.measure.result import Origin
from wavetank.measure.statistics import Estimate
from wavetank.measure.together_result import PointKind
from wavetank.notes import Note

MeasuredBy = Literal["rate", "repetitions", "run"]


class Percentiles(Record):
    """Of the time of single objects (data operations), seconds; the slowest run's where there are several."""

    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


class GroupRates(Record):
    """One group in one setting, over its repetitions."""

    group: str
    instance: int = 0
    n_clients: int
    interval_s: float | None = Field(description="between objects; None for an application")
    start_s: float
    rate_bytes_per_s: Estimate | None = Field(
        description="bytes / time, in the window in which all are active; None without a window"
    )
    io_rate_bytes_per_s: Estimate | None = Field(
        description="while it transfers: clients * bytes / time in operations, in the same window; "
        "what a benchmark reports that does not count its intervals"
    )
    object_s: float | None = Field(description="mean time of an object (data operation)")
    objects: int
    latency: Percentiles | None


class Setting(Record):
    """Groups that ran at the same time, on one cluster with one mapping."""

    point: PointKind
    cluster: str
    mapping: str
    object_bytes: int | None
    interval_s: float | None = Field(default=None, description="of the group whose interval varies")
    time_ratio: float | None = Field(
        default=None, description="interval / time per object of that group (method, section 9)"
    )
    offset_s: float | None = Field(
        default=None, description="start of the group whose start varies, after the others"
    )
    groups: tuple[GroupRates, ...]
    combined_bytes_per_s: Estimate | None = Field(description="sum of the groups' rates")
    combined_io_bytes_per_s: Estimate | None = Field(
        description="sum of the groups' rates while they transfer"
    )
    n_repetitions: int
    window_s: float | None = Field(description="length of the window, mean over repetitions")
    alignment_s: float = Field(description="worst spread of the ranks' starts")
    notes: tuple[Note, ...] = ()


class Divergence(Record):
    """Where the rates of two groups part as the interval of one of them grows."""

    cluster: str
    mapping: str
    object_bytes: int | None
    first: str = Field(description="group with a constant pattern")
    second: str = Field(description="group whose interval varies")
    over: Literal["interval", "time ratio"]
    at: float | None = Field(description="seconds, or a ratio; None: they do not part")
    low: float | None = Field(description="lower end of the bootstrap interval")
    high: float | None
    change_percent: float | None = Field(
        description="of the second's rate relative to the first's, from before to after"
    )
    why_not: str | None = Field(default=None, description="why there is no point")
    measured_below: float | None = Field(
        default=None,
        description="the measured value next below the point: between two, it is a fit",
    )
    measured_above: float | None = Field(default=None, description="the one next above it")


class Slowdown(Record):
    """Time of a group with others / its time alone."""

    cluster: str
    mapping: str
    object_bytes: int | None
    group: str
    instance: int = 0
    beside: tuple[str, ...] = Field(description="the others")
    interval_s: float | None = None
    offset_s: float | None = None
    slowdown: Estimate
    measured_by: MeasuredBy = Field(
        description="rate: rate alone / rate together, in the window in which all are active; "
        "repetitions: median time of whole repetitions of its kernel in that window; run: time of "
        "one run of its kernel"
    )
    alone: float = Field(description="bytes/s by rate, else seconds")
    together: float


class Remedy(Record):
    """What a variant of cluster or mapping does to the slowdown of groups that run together."""

    groups: tuple[str, ...]
    object_bytes: int | None
    before: str = Field(description="cluster and mapping with the greatest slowdown")
    after: str = Field(description="cluster and mapping with the least")
    slowdown_before: Estimate
    slowdown_after: Estimate
    clear: bool = Field(
        description="the two are told apart by their repetitions, all pairs of variants taken together"
    )
    sentence: str
    evidence: tuple[str, ...]


class GroupWords(Record):
    """A group as its specification says."""

    name: str
    clients: int
    pattern: str


class Interference(Record):
    """What an interference study found."""

    groups: tuple[GroupWords, ...]
    swept: str | None = Field(description="the group whose interval varies")
    moved: str | None = Field(description="the group whose start varies")
    duration_s: float | None
    origin: Origin | None
    settings: tuple[Setting, ...]
    divergences: tuple[Divergence, ...]
    slowdowns: tuple[Slowdown, ...]
    remedies: tuple[Remedy, ...]
