"""What a cluster was when something was measured on it: identity, settings, limits, and what may ail it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wavetank import __version__
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import EndsMarked
from wavetank.errors import WavetankError
from wavetank.kernel.results.replay_output import OPENS_MADE_AGAIN
from wavetank.kernel.results.result import ReplayResult
from wavetank.measure.disturbance import Before, MachineLoad, MachineWatch
from wavetank.measure.result import Origin


def look_before(watch: MachineWatch | None, cluster: DeployedCluster) -> Before | None:
    """Look at the machine, and at nodes on other machines, while the cluster idles; None: nobody watches."""
    if watch is None:
        return None
    if cluster.on_this_machine:
        return watch.before(nodes_cpu_s=cluster.nodes_cpu_s)
    return watch.before([host for host in cluster.compute_hosts if isinstance(host, EndsMarked)])


def look_after(
    watch: MachineWatch | None, before: Before | None
) -> tuple[MachineLoad | None, list[str]]:
    """Look again: the machine's load, and the finding of a measurement that it disturbed."""
    if watch is None or before is None:
        return None, []
    load = watch.after(before)
    doubt = load.doubt()
    return load, [] if doubt is None else [doubt]


def as_it_was(
    cluster: DeployedCluster, limits: Mapping[str, str], versions: Mapping[str, str]
) -> dict[str, Any]:
    """Fields of a measurement that say what the cluster was: its identity, settings, limits, versions."""
    return {
        "cluster": cluster.name,
        "cluster_spec_sha256": cluster.spec_sha256,
        "instance_type": cluster.instance_type,
        "n_instances": cluster.n_instances,
        "origin": origin_of(limits),
        "fs_settings": cluster.settings(),
        "limits": dict(limits),
        "versions": {"wavetank": __version__, **versions},
    }


def ills(cluster: DeployedCluster) -> str:
    """What a failure may come from: daemons that died, nodes and mounts that are gone."""
    try:
        findings = cluster.health()
    except WavetankError as error:
        findings = [str(error)]
    return f"; the cluster is not well: {'; '.join(findings)}" if findings else ""


def doubts_of_opens(result: ReplayResult) -> list[str]:
    """A sentence where opens failed that may create a file, or find it, and the replay opened again.

    MooseFS 3.0.117 answers "File exists" to one of two nodes that open a new file at the same moment.
    """
    again = result.settings.get(OPENS_MADE_AGAIN)
    if again is None:
        return []
    return [
        f"opens that may create a file failed with 'File exists' ({again} in all), since another node created it at that "
        "moment: the replay opened again, and a program that does not will fail on this file system"
    ]


def origin_of(limits: Mapping[str, str]) -> Origin:
    """What a number is, by the limits in force where it was measured."""
    enforced = [
        value
        for value in limits.values()
        if not value.startswith(("no", "none")) and not value.endswith("by nothing")
    ]
    return "measured under emulated limits" if enforced else "measured"
