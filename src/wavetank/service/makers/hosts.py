"""Servers of spaces that are nodes of wavetank's clusters: server ``lab.io1`` is node io1 of cluster lab, which is up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wavetank.cluster.facade import Host, deploy, directories
from wavetank.errors import ServiceError


class NodesOfClusters(Mapping[str, Host]):
    """Nodes by CLUSTER.NODE. Clusters are looked for with each question: they come and go while the service runs."""

    def __getitem__(self, name: str) -> Host:
        """A node.

        Raises:
            ServiceError: it has no such name, or its cluster has no such node.
            ClusterError: its cluster is not up.
        """
        cluster, dot, node = name.rpartition(".")
        if not dot:
            raise ServiceError(
                f"server {name} cannot be reached: call a server of spaces CLUSTER.NODE, after a node of a cluster that is up"
            )
        hosts = deploy.find(cluster).nodes.hosts
        if node not in hosts:
            raise ServiceError(
                f"server {name} cannot be reached: cluster {cluster} has nodes {', '.join(hosts)}"
            )
        return hosts[node]

    def __iter__(self) -> Iterator[str]:
        """Names of all nodes of all clusters."""
        for directory in directories():
            yield from (
                f"{directory.name}.{node}" for node in deploy.find(directory.name).nodes.hosts
            )

    def __len__(self) -> int:
        """How many there are."""
        return sum(1 for _ in self)
