"""A measurement: one kernel, once, on one cluster with one mapping. The document of this stage."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from wavetank.cluster.host import NOT_EMPTIED
from wavetank.document import Document, Record
from wavetank.errors import MeasurementError, WavetankError
from wavetank.kernel.results.result import ReplayResult
from wavetank.measure.disturbance import MachineLoad
from wavetank.measure.use import MeasuredUse
from wavetank.notes import Note

Origin = Literal["measured under emulated limits", "measured", "computed"]
FoundCaches = Literal["cold", "warm", "not emptied"]


class CacheState(Record):
    """Page caches at the start."""

    state: Literal["cold", "warm"]
    how: str

    @property
    def found(self) -> FoundCaches:
        """What they really were: caches that were to be cold, and nobody could empty, are not."""
        return NOT_EMPTIED if self.state == "cold" and NOT_EMPTIED in self.how else self.state


def cache_words(found: FoundCaches) -> str:
    """Caches in words, for captions: "cold caches"."""
    return f"caches {found}" if found == NOT_EMPTIED else f"{found} caches"


class MeasuredOn(Document):
    """What was measured on a cluster, with what it takes to judge it: the cluster as it was, and doubts."""

    cluster: str
    cluster_spec_sha256: str
    instance_type: str
    n_instances: int
    mapping: str = Field(description='process mapping: "1PxCN", "2PxCN", ...')
    repetition: int = Field(description="from 0")
    deployment: int | None = Field(
        default=None,
        description="of the cluster, in its campaign, from 0; None where nothing was brought up for it",
    )
    order: int = Field(description="position in the randomised order")
    origin: Origin
    cache: CacheState
    fs_settings: dict[str, str] = Field(description="as in force, read back")
    limits: dict[str, str]
    file_placement: dict[str, str]
    versions: dict[str, str] = Field(description="of MPI, file system, kernel program")
    notes: tuple[Note, ...] = Field(
        default=(),
        description="doubts of the kernel and of the measurement: a dead daemon, a cold read faster than the limits allow",
    )
    load: MachineLoad | None = Field(
        default=None, description="of the machine around it; None where it was not recorded"
    )


class Measurement(MeasuredOn):
    """One measurement with everything that it takes to judge it."""

    kind: ClassVar[str] = "measurement"
    error: ClassVar[type[WavetankError]] = MeasurementError

    application: str
    kernel_sha256: str
    result: ReplayResult
    incomparable_phases: tuple[int, ...] = Field(
        default=(),
        description="ph_id of those whose rates, of guests, are not comparable with hardware",
    )
    use: MeasuredUse | None = Field(
        default=None, description="of processors, network and disks; None where it is not known"
    )
