"""What a plan must know of a cluster that is not up: names, counts, cores, capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class ClusterFacts:
    """A cluster as specified.

    Attributes:
        name: of the cluster.
        title: for people: "GlusterFS, 2 data servers".
        key: hash of the specification: equal keys are the same cluster.
        instance_type: of the compute nodes.
        instances: instance type -> number, all of them: compute, I/O and head nodes.
        compute_nodes: names.
        cores_per_node: cores of a compute node; None when not known.
        capacity_bytes: of the file system that the application uses; None when not known.
        is_global: whether all compute nodes see the same files.
        expected_up_s: to bring it up.
        unavailable: why it cannot come up on this machine; None when it can.
        text: the specification as YAML, for the campaign's folder.
        knobs: dotted path -> value of everything in the specification, for comparing two.
    """

    name: str
    title: str
    key: str
    instance_type: str
    instances: Mapping[str, int]
    compute_nodes: tuple[str, ...]
    cores_per_node: int | None
    capacity_bytes: int | None
    is_global: bool
    expected_up_s: float
    unavailable: str | None = None
    text: str = ""
    knobs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def n_instances(self) -> int:
        """All of them: compute, I/O and head nodes."""
        return sum(self.instances.values())
