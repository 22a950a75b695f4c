"""Which instance types can hold an application, how many it takes, and what rules others out.

P15, step 2: capacity, cores (one process per core), a global file system when files are shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from wavetank.cluster.instance_types import InstanceType
from wavetank.cost.prices import PriceTable
from wavetank.measure.requirement import COUNTS, RATES, SIZES, Requirement

QUANTITIES = (*RATES, *SIZES, *COUNTS)


@dataclass(frozen=True)
class Needs:
    """What an application and its user ask for.

    Attributes:
        n_processes: of the application.
        capacity_bytes: of storage.
        global_file_system: whether a file is shared by processes.
        storage: temporary storage on the instances' own disks, or volumes of any size (EBS).
        n_servers: I/O nodes of the global file system.
        max_instances: of the whole cluster.
        architecture: "x86_64", "arm64"; None: any.
        requirements: of each instance.
        generation: of the types, as their provider calls it.
        burstable: whether types with CPU credits will do: they have full speed for a time only.
        local_disk: "yes", "no", or the kind that is asked for; None: with or without.
    """

    n_processes: int
    capacity_bytes: int
    global_file_system: bool
    storage: Literal["local", "ebs"] = "ebs"
    n_servers: int = 1
    max_instances: int | None = None
    architecture: str | None = None
    requirements: tuple[Requirement, ...] = ()
    generation: Literal["current", "previous", "any"] = "current"
    burstable: bool = False
    local_disk: Literal["yes", "no", "ssd", "hdd"] | None = None


@dataclass(frozen=True)
class Candidate:
    """An instance type, and the cluster that the application needs of it.

    Attributes:
        kind: the type.
        n_compute: instances with ranks, one process per core.
        n_io: instances with data servers; 0 when local disks do.
        price_per_h: of the cluster; None without a price.
        ruled_out: what rules it out and why; empty when nothing does.
    """

    kind: InstanceType
    n_compute: int
    n_io: int
    price_per_h: Decimal | None
    ruled_out: tuple[tuple[str, str], ...]

    @property
    def n_instances(self) -> int:
        """Of the whole cluster."""
        return self.n_compute + self.n_io


def find_instances(
    kinds: Iterable[InstanceType], needs: Needs, prices: PriceTable | None
) -> list[Candidate]:
    """Judge every type: those that can hold the application first, cheapest cluster first."""
    judged = [_judge(kind, needs, prices) for kind in kinds]
    return sorted(judged, key=_order)


def reasons(candidates: Sequence[Candidate]) -> list[tuple[str, int]]:
    """What rules types out, and how many of them; a type may have several reasons."""
    counts: dict[str, int] = {}
    for candidate in candidates:
        for kind in {name for name, _ in candidate.ruled_out}:
            counts[kind] = counts.get(kind, 0) + 1
    return sorted(counts.items(), key=lambda pair: -pair[1])


def quantity(kind: InstanceType, name: str, storage: Literal["local", "ebs"]) -> float | None:
    """A quantity of a type; None where its provider does not say.

    read and write are what an I/O node of this type can serve for long: the slower of its network
    and its volumes. What local disks give is not published, so there the network alone bounds.
    """
    if name in ("read", "write"):
        bounds = [kind.network_baseline_bytes_per_s]
        if storage == "ebs":
            bounds.append(kind.ebs_baseline_bytes_per_s)
        known = [bound for bound in bounds if bound is not None]
        return min(known) if len(known) == len(bounds) else None
    values: dict[str, float | None] = {
        "network": kind.network_baseline_bytes_per_s,
        "network_peak": kind.network_peak_bytes_per_s,
        "ebs": kind.ebs_baseline_bytes_per_s,
        "ebs_iops": kind.ebs_baseline_iops,
        "memory": kind.memory_bytes,
        "local_storage": kind.local_storage_bytes,
        "cores": kind.cores,
        "vcpus": kind.vcpus,
    }
    return values[name]


def _judge(kind: InstanceType, needs: Needs, prices: PriceTable | None) -> Candidate:
    n_compute = -(-needs.n_processes // kind.cores)
    n_io = needs.n_servers if needs.global_file_system else 0
    against = [
        (requirement.quantity, why)
        for requirement in needs.requirements
        if (why := requirement.why_not(quantity(kind, requirement.quantity, needs.storage)))
    ]
    if needs.storage == "local":
        holders = n_io or n_compute
        capacity = Requirement("local_storage", -(-needs.capacity_bytes // holders))
        if why := capacity.why_not(kind.local_storage_bytes):
            text = f"{why} on each of {holders} instances, for the application's files"
            against.append((capacity.quantity, text))
    if needs.max_instances is not None and n_compute + n_io > needs.max_instances:
        text = (
            f"instances: {n_compute + n_io} are needed for {needs.n_processes} processes on "
            f"{kind.cores} cores each, {needs.max_instances} are allowed"
        )
        against.append(("instances", text))
    against.extend(_of_another_kind(kind, needs))
    price = None if prices is None else prices.instances.get(kind.name)
    if prices is not None and price is None:
        against.append(("price", f"price: table {prices.name} has none"))
    return Candidate(
        kind=kind,
        n_compute=n_compute,
        n_io=n_io,
        price_per_h=None if price is None else price * (n_compute + n_io),
        ruled_out=tuple(against),
    )


def _of_another_kind(kind: InstanceType, needs: Needs) -> Iterator[tuple[str, str]]:
    """Why a type is not one of those that are looked at, whatever it can hold."""
    if needs.architecture is not None and needs.architecture not in kind.architecture.split("+"):
        yield "architecture", f"architecture {kind.architecture} is not {needs.architecture}"
    generation = "current" if kind.current_generation else "previous"
    if needs.generation not in (generation, "any"):
        yield "generation", f"generation: it is of a {generation} one"
    if kind.burstable and not needs.burstable:
        yield "burstable", "burstable: CPU credits give full speed for a time only"
    there = kind.local_disk_type
    if needs.local_disk not in ((None, "no") if there is None else (None, "yes", there)):
        yield "local_disk", f"local_disk: it has {'none' if there is None else f'{there} disks'}"


def _order(candidate: Candidate) -> tuple[bool, Decimal, int, str]:
    price = candidate.price_per_h
    return (
        bool(candidate.ruled_out),
        Decimal("Infinity") if price is None else price,
        candidate.n_instances,
        candidate.kind.name,
    )
