"""A baseline: the I/O times of a campaign's configurations, in one small file that can be kept beside a system's configuration.

It holds what a later check needs, and no more: the repetitions that may be tested, and what must be the same for two
measurements to be compared.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from wavetank.document import Document, Record
from wavetank.errors import MeasurementError, WavetankError


class Kept(Record):
    """One configuration: an application on a cluster with a mapping."""

    application: str
    cluster: str
    cluster_title: str = Field(description="for people")
    mapping: str
    kernel_sha256: str = Field(description="of the kernel, or of the application itself")
    performed: str = Field(
        description='how: program, caches, flush and pauses, "replay, cold caches, flush, pauses: drop"'
    )
    cluster_sha256: str = Field(description="of the cluster's specification")
    settings: dict[str, str] = Field(description="of the file system, as in force")
    limits: dict[str, str]
    io_time_s: tuple[float, ...] = Field(
        description="by repetition; those of a stop rule, which looks at values, are left out"
    )
    ended_early: bool = Field(
        default=False,
        description="its campaign chose the repetitions itself, and left out some because of the values",
    )

    @property
    def id(self) -> str:
        """Unique in a baseline."""
        return f"{self.application} / {self.cluster} / {self.mapping}"


class Baseline(Document):
    """The results that later ones are held against."""

    kind: ClassVar[str] = "baseline"
    error: ClassVar[type[WavetankError]] = MeasurementError

    campaign: str
    measured_utc: str = Field(description="when the last measurement ended")
    hosts: tuple[str, ...] = Field(description="that measured")
    versions: tuple[str, ...] = Field(description="of wavetank, that measured")
    configurations: tuple[Kept, ...]
