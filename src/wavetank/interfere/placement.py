"""Groups of clients, and the nodes that each of them gets in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.plan import why_not
from wavetank.interfere.spec import GroupEntry, InterfereSpec
from wavetank.kernel.document.kernel import Kernel
from wavetank.measure.mapping import io_ranks, parse_mapping
from wavetank.measure.together_result import PointKind
from wavetank.units import format_size


@dataclass(frozen=True)
class Group:
    """A group of the specification with its kernels, by object size (None: its only one)."""

    entry: GroupEntry
    kernels: Mapping[int | None, Kernel]

    @property
    def name(self) -> str:
        """Its name in the specification."""
        return self.entry.name

    @property
    def is_application(self) -> bool:
        """Whether it has a kernel of its own, not objects."""
        return self.entry.objects is None

    def kernel(self, object_bytes: int | None) -> Kernel:
        """Its kernel where objects have a size; an application's is the same for all sizes."""
        return self.kernels.get(object_bytes) or self.kernels[None]


@dataclass(frozen=True)
class Member:
    """A group in a run."""

    group: str
    instance: int  # 1 for the second of two that are the same group
    interval_s: float | None  # between objects
    start_s: float
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Sketch:
    """A run before it has a place: kind, object size, (group, instance, interval, start), duration."""

    kind: PointKind
    object_bytes: int | None
    members: tuple[tuple[str, int, float | None, float], ...]
    duration_s: float | None
    together: bool  # on the nodes that its members have among all groups


class Placer:
    """Gives each member nodes of its own on one cluster."""

    def __init__(
        self, spec: InterfereSpec, groups: Mapping[str, Group], cluster: ClusterFacts
    ) -> None:
        self.spec = spec
        self.groups = groups
        self.cluster = cluster

    def place(self, sketch: Sketch, mapping: str) -> tuple[tuple[Member, ...], str | None]:
        """The members with their nodes, and why that cannot work (None: it can)."""
        per_node = parse_mapping(mapping)
        widths = [
            -(-max(len(io_ranks(self.kernel(name, sketch))), 1) // per_node)
            for name, *_ in sketch.members
        ]
        first = 0
        if sketch.together and len(sketch.members) == 1:  # where it is among all groups
            for group in self.groups.values():
                if group.name == sketch.members[0][0]:
                    break
                kernel = group.kernel(sketch.object_bytes)
                first += -(-max(len(io_ranks(kernel)), 1) // per_node)
        members, reasons = [], []
        nodes = self.cluster.compute_nodes
        needed = first + sum(widths)
        if needed > len(nodes):
            reasons.append(
                f"with {mapping} its groups need {needed} compute nodes of their own, and the "
                f"cluster has {len(nodes)}"
            )
        for (name, instance, interval_s, start_s), width in zip(
            sketch.members, widths, strict=True
        ):
            own = nodes[first : first + width]
            first += width
            members.append(Member(name, instance, interval_s, start_s, tuple(own)))
            if len(own) == width:
                facts = replace(self.cluster, compute_nodes=tuple(own))
                kernel = self.kernel(name, sketch)
                reason = why_not(kernel, facts, mapping, self.spec.oversubscribe)
                reasons += [] if reason is None else [f"{name}: {reason}"]
        reasons += self._too_large(sketch)
        return tuple(members), "; ".join(dict.fromkeys(reasons)) or None

    def _too_large(self, sketch: Sketch) -> list[str]:
        needed = sum(self.kernel(name, sketch).capacity_bytes for name, *_ in sketch.members)
        capacity = self.cluster.capacity_bytes
        if capacity is None or needed <= capacity:
            return []
        return [
            f"its groups need {format_size(needed)} of storage, and the cluster has "
            f"{format_size(capacity)}"
        ]

    def kernel(self, name: str, sketch: Sketch) -> Kernel:
        """A group's kernel in a run."""
        return self.groups[name].kernel(sketch.object_bytes)
