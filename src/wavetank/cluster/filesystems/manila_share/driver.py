"""A share of Manila, made and removed by the cloud together with the nodes: here its export location is mounted by NFS.

Which version of NFS a share has depends on what the site has behind Manila, and is not told: the client and the server agree on one.
"""

from __future__ import annotations

from wavetank.cluster.filesystems.managed import ManagedNfs, mount_words
from wavetank.cluster.host import Host
from wavetank.cluster.managed import Service
from wavetank.cluster.spec import ClusterSpec


class ManilaShare(ManagedNfs):
    """An NFS of the cluster's own, run by an OpenStack cloud."""

    kind = "manila-share"
    title = "Manila"

    def to_mount(self, spec: ClusterSpec, client: Host, service: Service) -> list[str]:
        """By NFS, with the options that the specification has."""
        del client
        words = mount_words(spec.file_system.mount_options)
        return ["-t", "nfs", *(["-o", words] if words else []), service.address]
