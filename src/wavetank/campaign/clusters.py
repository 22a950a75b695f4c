"""Where a campaign meets virtual clusters: facts out of their files, up and down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import yaml
from pydantic import ValidationError

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.knobs import knobs_of
from wavetank.campaign.layouts import ReadCluster
from wavetank.campaign.plan import why_not
from wavetank.campaign.spec import ClusterSource, Executor, Layout
from wavetank.campaign.turned_clusters import turned
from wavetank.cluster import deploy
from wavetank.cluster.capacity import capacity_bytes
from wavetank.cluster.components import MAKES_NODES
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.mpi import library_of
from wavetank.cluster.needs import FIO
from wavetank.cluster.spec import ClusterSpec, read_spec
from wavetank.cluster.state import directory_of
from wavetank.compare.titles import title_alone
from wavetank.cost.storage import storage_of
from wavetank.document import explain
from wavetank.errors import MeasurementError, SpecError
from wavetank.kernel.document.kernel import Kernel
from wavetank.measure.benchmarks import why_not_here
from wavetank.variants.base import DoesNotApplyError

GUESSED_UP_S = 10.0
"""For the first estimate of a duration: NFS takes 3 s, GlusterFS 12 s on two cores."""


def read_cluster(
    path: Path, layout: Layout | None = None, setting: str | None = None
) -> ClusterFacts:
    """Read and check a cluster file.

    Args:
        path: the file.
        layout: of input files, instead of the file's own; the cluster's name gets it as a suffix.
        setting: knob of the layout to turn; the cluster then has another name.

    Raises:
        SpecError: everything that is wrong in it.
        DoesNotApplyError: its file system cannot be turned so.
        UsageError: it is no value of the knob.
    """
    as_it_is = spec = _read(path, layout)
    change = None
    if setting is not None:
        spec, change = turned(as_it_is, setting)
    findings = deploy.check(spec)
    if findings and change is not None:  # those of the cluster as it is are told of that one
        known = deploy.check(as_it_is)
        if further := [each for each in findings if each not in known]:
            raise DoesNotApplyError("; ".join(each.rstrip(".") for each in further))
    text = path.read_text(encoding="utf-8")
    if layout is not None or setting is not None:
        text = yaml.safe_dump(spec.model_dump(mode="json"), sort_keys=False)
    against = "; ".join(findings) or None
    lacks = lacking(spec) if against is None else {}
    return replace(facts_of(spec), text=text, unavailable=against, lacks=lacks, turned=change)


def read_site_cluster(
    path: Path, layout: Layout | None = None, setting: str | None = None
) -> ClusterFacts:
    """Read and check a cluster file whose nodes are those of a Slurm job.

    Its measurements are others than those of the same file on this machine.

    Raises:
        SpecError: everything that is wrong in it.
        DoesNotApplyError: its file system cannot be turned so.
        UsageError: it is no value of the knob.
    """
    facts = read_cluster(path, layout, setting)
    spec = _read(path, layout)
    against = facts.unavailable
    if spec.provider != "null" or spec.file_system.kind != "existing":
        against = (
            'a Slurm job brings nothing up: it needs provider "null" and file_system kind '
            f"existing, not {spec.provider} and {spec.file_system.kind}"
        )
    return replace(
        facts, key=f"slurm {facts.key}", expected_up_s=0.0, unavailable=against, lacks={}, mpi_io=None
    )  # fmt: skip


def cluster_reader(executor: Executor) -> ReadCluster:
    """What reads the cluster files of a campaign with an executor."""
    return read_site_cluster if executor == "slurm" else read_cluster


def specs_of(sources: Iterable[ClusterSource]) -> tuple[ClusterSpec, ...]:
    """The specifications of some cluster files."""
    return tuple(_read(*source) for source in sources)


def _read(path: Path, layout: Layout | None, setting: str | None = None) -> ClusterSpec:
    spec = read_spec(path)
    if layout is not None:
        spec = _laid_out(spec, path, layout)
    return spec if setting is None else turned(spec, setting)[0]


def _laid_out(spec: ClusterSpec, path: Path, layout: Layout) -> ClusterSpec:
    """A cluster with another layout of input files than its file says."""
    body = spec.model_dump(mode="json") | {
        "name": f"{spec.name}-{_SUFFIXES[layout]}",
        "layout": layout,
        "title": None if spec.title is None else f"{spec.title}, {_LAYOUT_WORDS[layout]}",
    }
    try:
        return ClusterSpec.model_validate(body)
    except ValidationError as error:
        raise SpecError(f"cluster file {path} with layout {layout}: {explain(error)}") from error


_SUFFIXES: dict[Layout, str] = {"striped": "striped", "one-server-per-file": "1dfx1f"}
_LAYOUT_WORDS: dict[Layout, str] = {"striped": "striped", "one-server-per-file": "1DFx1F"}


def facts_of(spec: ClusterSpec) -> ClusterFacts:
    """What a plan must know of a specified cluster."""
    instances = Counter(spec.instance_of(node).name for node in spec.node_names())
    knobs = knobs_of(spec)
    return ClusterFacts(
        name=spec.name,
        title=spec.title or title_alone(knobs),
        own_title=spec.title,
        key=spec.sha256(),
        instance_type=spec.instance.name,
        instances=dict(instances),
        compute_nodes=spec.compute_names(),
        cores_per_node=int(spec.instance.vcpus) or None,
        n_cores=sum(spec.instance_of(node).vcpus for node in spec.node_names()),
        capacity_bytes=capacity_bytes(spec),
        is_global=spec.shares_files,
        expected_up_s=GUESSED_UP_S if spec.provider != "null" else 0.0,
        is_here=spec.provider in (*MAKES_NODES, "null"),
        storage=storage_of(spec),
        staying=Counter(spec.instance_of(node).name for node in spec.staying_names()),
        knobs=knobs,
        mpi_io=library_of(spec),
    )


def lacking(spec: ClusterSpec) -> dict[str, str]:
    """Programs that cannot perform kernels on a cluster that can come up, and why. Hosts over ssh are asked.

    IOR is brought from this machine; fio runs where the nodes are.
    """
    here = spec.provider in (*MAKES_NODES, "null")
    fio = why_not_here("fio") if here else "; ".join(deploy.tools_lacking(spec, FIO))
    found = {"ior": why_not_here("ior"), "fio": fio}
    return {program: why for program, why in found.items() if why}


class ClusterDeployer:
    """Brings the clusters of some files up and down, by name."""

    def __init__(self, sources: Iterable[ClusterSource]) -> None:
        self._specs: Mapping[str, ClusterSpec] = {spec.name: spec for spec in specs_of(sources)}

    def up(self, cluster: str) -> DeployedCluster:
        """Bring a cluster up; destroys what it made when it fails."""
        return deploy.bring_up(self._specs[cluster])

    def down(self, cluster: str) -> None:
        """Take a cluster down; one that is not there is down already."""
        if directory_of(cluster).path.is_dir():
            deploy.take_down(cluster)

    def is_there(self, cluster: str) -> bool:
        """Whether there is anything of a cluster of this name, whoever made it."""
        return directory_of(cluster).path.is_dir()


def find_cluster(
    name: str, kernel: Kernel, mapping: str, *, oversubscribe: bool = False
) -> DeployedCluster:
    """A cluster that is up and can run a kernel, by the rules of a campaign's plan.

    Raises:
        ClusterError: there is none of this name.
        MeasurementError: it cannot run the kernel with this mapping.
    """
    running = deploy.find(name)
    reason = why_not(kernel, facts_of(running.spec), mapping, oversubscribe)
    if reason is not None:
        raise MeasurementError(
            f"cannot measure {kernel.application} on {name} with {mapping}: {reason}"
        )
    return running
