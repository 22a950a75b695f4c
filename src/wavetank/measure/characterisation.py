"""A characterisation: what a cluster's storage and network can do. The document of this stage.

P15 step 3, P18 section 3.1: IOzone's four tests per instance on its local file system and through
the global mount, over request sizes; the peak of the global file system.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from wavetank.document import Document, Record
from wavetank.errors import MeasurementError, WavetankError
from wavetank.measure.result import Origin

Test = Literal["write", "rewrite", "read", "reread"]
Where = Literal["local", "scratch", "global"]
TESTS: tuple[Test, ...] = ("write", "rewrite", "read", "reread")


class StorageRate(Record):
    """One test with one request size on one file system of one node."""

    node: str
    where: Where = Field(
        description="local: where data servers keep data; scratch: temporary storage of compute nodes; global: the mount"
    )
    path: str
    test: Test
    rs: int = Field(description="request size, bytes")
    bytes: int
    bytes_per_s: float
    iops: float


class NetworkRate(Record):
    """One TCP stream from a node to another."""

    sender: str
    receiver: str
    bytes_per_s: float


class MetadataRate(Record):
    """Empty files made one after another in one directory."""

    node: str
    where: Where
    creates_per_s: float


class LimitCheck(Record):
    """A limit that the tool set, and what was measured against it."""

    node: str
    what: str = Field(description='"disk read", "disk write", "scratch read", ..., "network"')
    asked_bytes_per_s: float
    measured_bytes_per_s: float | None
    within: bool | None = Field(
        description="measured is at most 15 % above asked; null: the test file is within the burst that a limit lets through"
    )


class Characterisation(Document):
    """What a cluster's nodes, network and file systems can do."""

    kind: ClassVar[str] = "characterisation"
    error: ClassVar[type[WavetankError]] = MeasurementError

    cluster: str
    cluster_spec_sha256: str
    instance_type: str
    origin: Origin
    fio_version: str
    storage: tuple[StorageRate, ...]
    network: tuple[NetworkRate, ...]
    metadata: tuple[MetadataRate, ...]
    limits: tuple[LimitCheck, ...]
    notes: tuple[str, ...] = ()

    def best_rate(self, node: str, test: Test) -> float | None:
        """A node's highest rate of a test on its own storage over all request sizes, bytes/s; None if not measured.

        Of several devices the sum: each was measured alone.
        """
        best: dict[str, float] = {}
        for each in self.storage:
            if (each.node, each.test, each.where) == (node, test, "local"):
                best[each.path] = max(best.get(each.path, 0.0), each.bytes_per_s)
        return sum(best.values()) if best else None

    def peak(self, test: Test) -> float | None:
        """BW_PK: the sum over the I/O nodes of what each reaches on its local file system."""
        return total(self.best_rate(node, test) for node in self.storage_nodes())

    def storage_nodes(self) -> tuple[str, ...]:
        """Nodes whose local file system was measured."""
        return tuple(dict.fromkeys(each.node for each in self.storage if each.where == "local"))

    def peaks(self) -> dict[str, float]:
        """BW_PK by direction, for the usage of the peak."""
        found = {"read": self.peak("read"), "write": self.peak("write")}
        return {way: rate for way, rate in found.items() if rate is not None}


def total(rates: Iterable[float | None]) -> float | None:
    """Sum of rates; None when there are none, or one is not known."""
    known = list(rates)
    if not known or any(rate is None for rate in known):
        return None
    return sum(rate for rate in known if rate is not None)
