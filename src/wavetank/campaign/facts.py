"""What a plan must know of a cluster that is not up: names, counts, cores, capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wavetank.compare.configuration import TurnedLayout
from wavetank.compare.knobs import Knobs
from wavetank.compare.titles import Named, titles_of
from wavetank.cost.storage import StorageUse


@dataclass(frozen=True)
class ClusterFacts:
    """A cluster as specified.

    Attributes:
        name: of the cluster.
        title: for people: "GlusterFS, 2 data servers"; among several clusters see ``with_titles``.
        key: hash of the specification: equal keys are the same cluster.
        instance_type: of the compute nodes.
        instances: instance type -> number, all of them: compute, I/O and head nodes.
        compute_nodes: names.
        cores_per_node: cores of a compute node; None when not known.
        n_cores: cores of all nodes: compute, I/O and head nodes.
        capacity_bytes: of the file system that the application uses; None when not known.
        is_global: whether all compute nodes see the same files.
        expected_up_s: to bring it up.
        unavailable: why it cannot come up on this machine; None when it can.
        lacks: program that performs kernels -> why its nodes cannot run it, as far as that is known.
        text: the specification as YAML, for the campaign's folder.
        is_here: whether its nodes are on this machine.
        storage: that is paid for beside the instances.
        staying: of the instances, those that hold the file system: servers and head nodes; None where that is not known.
        knobs: everything that was chosen for it, for comparing two.
        own_title: that a person wrote; None where it is made.
        turned: of a cluster that is another one of the campaign with the layout of files changed; None of all others.
        not_turned: setting of a layout that it cannot have -> why.
        mpi_io: "ompio" or "romio", which does its ranks' MPI-IO; None when not known.
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
    n_cores: float = 0.0
    is_here: bool = False
    storage: tuple[StorageUse, ...] = ()
    staying: Mapping[str, int] | None = None
    unavailable: str | None = None
    lacks: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    knobs: Knobs = field(default_factory=Knobs)
    own_title: str | None = None
    mpi_io: str | None = None
    turned: TurnedLayout | None = None
    not_turned: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Name of the cluster; of one with a turned layout that of the cluster as it is."""
        return self.name if self.turned is None else self.turned.cluster

    @property
    def n_instances(self) -> int:
        """All of them: compute, I/O and head nodes."""
        return sum(self.instances.values())

    def why_without(self, program: str) -> str | None:
        """Why nodes cannot run a program that performs kernels; None when they can, or when that is not known."""
        lack = self.lacks.get(program)
        return None if lack is None else f"program: {program}: {lack}"


def with_titles(clusters: Sequence[ClusterFacts]) -> tuple[ClusterFacts, ...]:
    """The same clusters, each with a title that no other of them has.

    One with a turned layout has the title of the cluster as it is, and what was turned.
    """
    own = [each for each in clusters if each.turned is None]
    titles = titles_of([Named(each.name, each.knobs, each.own_title) for each in own])
    for each in clusters:
        if each.turned is not None:
            knob = each.turned.setting.partition("=")[0].replace("-", " ")
            made = f"{titles[each.turned.cluster]}, {knob} {each.turned.after}"
            titles[each.name] = f"{made} ({each.name})" if made in titles.values() else made
    return tuple(replace(each, title=titles[each.name]) for each in clusters)
