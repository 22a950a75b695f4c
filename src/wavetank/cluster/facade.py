"""All that the service of spaces uses of clusters: hosts, clusters that come up and go, and NFS. It has no logic of its own.

The service imports this file and no other one of clusters, as if it were a distribution of its own.
"""

from __future__ import annotations

from wavetank.cluster import deploy
from wavetank.cluster.clouds.engine import noted_end
from wavetank.cluster.clouds.packages import WITH_APT
from wavetank.cluster.clouds.user_data import packages_of
from wavetank.cluster.components import OptionValue
from wavetank.cluster.devices import device_paths
from wavetank.cluster.filesystems.nfs_export import ganesha, nfs_mount
from wavetank.cluster.host import Finished, Host, on_all
from wavetank.cluster.namespaces.host import NamespaceHost, end_daemons
from wavetank.cluster.namespaces.nodes import STORAGE_PATH
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directories, directory_of

__all__ = [
    "STORAGE_PATH",
    "WITH_APT",
    "ClusterSpec",
    "Finished",
    "Host",
    "NamespaceHost",
    "Needs",
    "OptionValue",
    "deploy",
    "device_paths",
    "directories",
    "directory_of",
    "end_daemons",
    "ganesha",
    "nfs_mount",
    "noted_end",
    "on_all",
    "packages_of",
]
