"""Through which nodes a kernel's files are made and removed: what one node does, another may see late.

Clients of a file system keep names for a while, also of files that are gone. Commands on the same names from several
nodes then meet each other's old answers (OrangeFS: ``mkdir -p`` ends with "File exists").
"""

from __future__ import annotations

from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import Host


def file_hosts(cluster: DeployedCluster) -> tuple[Host, ...]:
    """Hosts that make a kernel's files: the first where all see the same files, else all."""
    return cluster.compute_hosts[:1] if cluster.is_global else cluster.compute_hosts
