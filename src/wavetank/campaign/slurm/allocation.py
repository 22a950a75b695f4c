"""The nodes of a Slurm job as a cluster, with a file system that the site has mounted on them.

Nothing is brought up: nodes are as they are, without limits. Commands reach other nodes by srun.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wavetank.campaign.slurm.queue import node_names
from wavetank.cluster.command_host import CommandHost
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.providers.base import PlainNodes
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, RemoteCommandError


class AllocatedHost(CommandHost):
    """A node of the job: this one, or another that srun reaches."""

    grace_s = 30.0  # srun waits its turn

    def __init__(self, name: str, is_here: bool) -> None:
        super().__init__(name, name)
        self._srun: tuple[str, ...] = ()
        if not is_here:
            self._srun = (
                "srun", "--nodes=1", "--ntasks=1", "--overlap", "--mpi=none", "--cpu-bind=none",
                "--quiet", f"--nodelist={name}",
            )  # fmt: skip

    def _reaching(
        self, argv: Sequence[str], env: Mapping[str, str], timeout_s: float | None
    ) -> list[str]:
        limit = [] if timeout_s is None else ["timeout", "-k", "1", f"{timeout_s:g}"]
        settings = [f"{key}={value}" for key, value in env.items()]
        return [*self._srun, *limit, "env", *settings, *argv]

    def start(self, argv: Sequence[str], *, log: str, env: Mapping[str, str] | None = None) -> None:
        """No daemon can be left on a node that belongs to the site."""
        del log, env
        raise ClusterError(
            f"cannot start {argv[0]} on {self.name}: in a Slurm job no servers are brought up. Use "
            "file_system kind existing"
        )


@dataclass
class AllocatedNodes(PlainNodes):
    """The nodes of a job, by the names of the specification."""

    hosts: Mapping[str, Host]
    job_id: str
    partition: str
    folder: str  # of the campaign's files on the mounted file system
    storage_path: str = "/nonexistent"
    remote_shell: tuple[str, ...] = ()  # the launcher starts its daemons by srun
    launcher_prefix: tuple[str, ...] = ()
    network: str | None = None

    def limits(self) -> dict[str, str]:
        """There are none."""
        names = ", ".join(host.name for host in self.hosts.values())
        return {
            "limits": f"none: nodes {names} of Slurm job {self.job_id}, partition {self.partition}, "
            "as they are"
        }

    def drop_caches(self) -> str:
        """Empty the nodes' page caches, or as users at least drop the campaign's files from them."""
        said = dict.fromkeys(on_all(tuple(self.hosts.values()), self._drop_on))
        return f"{'; '.join(said)}; the servers' caches are the site's"

    def _drop_on(self, host: Host) -> str:
        try:
            host.run(["sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches"], timeout_s=300)
        except RemoteCommandError:
            # dd's manual: iflag=nocache with count=0 drops a whole file from the cache
            host.run(
                ["find", self.folder, "-type", "f", "-exec", "dd", "if={}", "iflag=nocache",
                 "count=0", "status=none", ";"],
                timeout_s=600,
            )  # fmt: skip
            return "the files' pages dropped on every node (posix_fadvise)"
        return "drop_caches on every node"

    def health(self) -> list[str]:
        """A node that dies ends the job."""
        return []


def allocated_cluster(spec: ClusterSpec, environment: Mapping[str, str]) -> DeployedCluster:
    """The cluster of the job that this process runs in.

    Args:
        spec: with file system ``existing``.
        environment: of the job's script.

    Raises:
        ClusterError: not in a job, or the job has other nodes than the specification.
    """
    if "SLURM_JOB_ID" not in environment:
        raise ClusterError("this is no Slurm job: SLURM_JOB_ID is not set")
    here = environment.get("SLURMD_NODENAME", platform.node())
    nodelist = environment.get("SLURM_JOB_NODELIST", here)
    names = node_names(nodelist)
    wanted = spec.node_names()
    if len(names) != len(wanted):
        raise ClusterError(
            f"cluster {spec.name} has {len(wanted)} nodes, and the job has {len(names)}: "
            f"{' '.join(names)}"
        )
    hosts: dict[str, Host] = {
        node: AllocatedHost(name, is_here=name == here)
        for node, name in zip(wanted, names, strict=True)
    }
    nodes = AllocatedNodes(
        hosts,
        environment["SLURM_JOB_ID"],
        environment.get("SLURM_JOB_PARTITION", "unknown"),
        f"{spec.file_system.path}/wavetank-{spec.name}",
    )
    return DeployedCluster(spec, nodes)


def open_folder(cluster: DeployedCluster) -> None:
    """Make the cluster's folder on the mounted file system, unless an earlier job has made it.

    Raises:
        ClusterError: it cannot be made, it is another's, or not every node sees it.
    """
    try:
        cluster.file_system.mount(cluster.site)
    except RemoteCommandError:
        cluster.file_system.install(cluster.site)
        cluster.file_system.mount(cluster.site)


def remove_folder(spec: ClusterSpec) -> None:
    """Delete a cluster's folder, from the host on which the campaign runs.

    Raises:
        ClusterError: something in it cannot be deleted.
    """
    host = AllocatedHost(os.uname().nodename, is_here=True)
    hosts: dict[str, Host] = dict.fromkeys(spec.node_names(), host)
    cluster = DeployedCluster(spec, AllocatedNodes(hosts, "", "", ""))
    cluster.file_system.remove(cluster.site)
