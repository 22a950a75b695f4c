"""What was used in a time: shares of processors, network and disks, and how busy the ranks were. Records alone.

Processors, network and disks are those of the measured cluster's nodes; whatever else runs on this machine counts as other
work. measure/attribution.py makes these records, measure/bottleneck.py judges them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from wavetank.document import Record

FULL = 0.8
"""Use from which a resource is full. Limits act in slices of 0.1 s and buckets, which leave some percent unused; in a queue
with random arrivals a request waits four times its own service at 80 % (M/M/1: u / (1 - u))."""

Resource = Literal[
    "processors", "network in", "network out", "disk read", "disk write", "disk busy"
]
Kind = Literal["compute", "io", "machine"]
Unit = Literal["cores", "B/s", "requests/s", "share of time"]

RESOURCES: tuple[Resource, ...] = (
    "processors", "network in", "network out", "disk read", "disk write", "disk busy",
)  # fmt: skip
KINDS: tuple[Kind, ...] = ("compute", "io", "machine")


class ResourceUse(Record):
    """Use of one resource by nodes of one kind, as a share of the limit in force; may exceed 1 by a burst."""

    resource: Resource
    kind: Kind = Field(description="compute: nodes with ranks; io: all others; machine: this one")
    busiest: float = Field(description="of the busiest node")
    busiest_node: str
    mean: float = Field(description="over the nodes of the kind")
    amount: float = Field(description="of the busiest node, in its unit")
    limit: float | None = Field(description="of the busiest node, in the same unit")
    unit: Unit


class FullTime(Record):
    """Part of a time in which one resource was full, whatever its use over all of it."""

    resource: Resource
    kind: Kind
    node: str = Field(description="that was full the longest")
    share: float = Field(description="of the time in which a node of the kind was full")


class Use(Record):
    """What was used in a span of time."""

    span_s: float
    n_readings: int = Field(description="of the counters within it, the fewest over the nodes")
    resources: tuple[ResourceUse, ...]
    waiting: float = Field(
        description="1 - use of the fullest resource: share of the time that no limit explains; this machine's processors "
        "count by cpu_wait where that is known"
    )
    full: tuple[FullTime, ...] = Field(
        default=(), description="resources that were full for a part of the time, the longest first"
    )
    full_share: float = Field(
        default=0.0, description="of the time in which any resource of a node was full"
    )
    n_ranks: int = Field(description="that take part")
    in_flight: float | None = Field(
        description="calls under way, mean: sum of the ranks' time in calls / span"
    )
    call_s: float | None = Field(description="mean time of a call")
    held_back: float | None = Field(
        default=None,
        description="time in which limits held processes of the busiest node back / span",
    )
    cpu_wait: float | None = Field(
        default=None,
        description="time in which a process waited for a processor of this machine / span, on the node where that was "
        "longest; without what the node's own limit held back",
    )
    other_cores: float | None = Field(
        default=None,
        description="processors of this machine that worked for none of the cluster's nodes: kernel threads, other work",
    )


class PhaseUse(Record):
    """Use while a phase was under way, by it and by all that ran at the same time."""

    ph_id: int
    use: Use


class MeasuredUse(Record):
    """Use during one measurement. Phases too short to tell are left out."""

    every_s: float = Field(description="between readings, as asked for")
    whole: Use | None = Field(
        description="from the ranks' common start to the end of the last; None: too short"
    )
    outside: Use | None = Field(
        description="of it outside of phases: opens, closes, flushes; None: too short"
    )
    phases: tuple[PhaseUse, ...]
    own_cpu_share: float | None = Field(
        default=None, description="of the recording itself: processor time / time"
    )
    missing: tuple[str, ...] = Field(default=(), description="counters that could not be read")
