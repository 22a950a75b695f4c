"""A share of Manila, made and removed by the cloud together with the nodes: here its export location is mounted by NFS.

Which version of NFS a share has depends on what the site has behind Manila, and is not told: the client and the server agree on one.
"""

from __future__ import annotations

from collections.abc import Iterator

from wavetank.cluster.components import OPENSTACK, FileSystem
from wavetank.cluster.filesystems.facts import Facts
from wavetank.cluster.filesystems.managed import ManagedNfs, mount_words
from wavetank.cluster.host import Host
from wavetank.cluster.managed import Service, Stored
from wavetank.cluster.spec import ClusterSpec
from wavetank.units import GIB, format_size


def _problems(fs: FileSystem) -> Iterator[str]:
    if not fs.capacity:
        yield "file_system.capacity is needed with kind: manila-share: the size of the share, e.g. 100 GiB"
    elif fs.capacity % GIB:
        yield f"file_system.capacity {format_size(fs.capacity)}: shares of Manila have whole GiB"


def _priced(spec: ClusterSpec) -> Stored:
    named = spec.cloud.openstack.share_type if spec.cloud and spec.cloud.openstack else None
    return Stored(share_price_name(named), spec.file_system.capacity)


def share_price_name(share_type: str | None) -> str:
    """A share in price tables, by its type; None: the cloud's default."""
    return f"manila-{share_type or 'default'}"


class ManilaShare(ManagedNfs):
    """An NFS of the cluster's own, run by an OpenStack cloud."""

    kind = "manila-share"
    facts = Facts(
        title="Manila share",
        keys=frozenset({"capacity"}),
        problems=_problems,
        made_by=OPENSTACK,
        priced=_priced,
        has_servers=False,
        on_this_machine=False,
        stripes=(),
        guest_methods=(),
    )

    def to_mount(self, spec: ClusterSpec, client: Host, service: Service) -> list[str]:
        """By NFS, with the options that the specification has."""
        del client
        words = mount_words(spec.file_system.mount_options)
        return ["-t", "nfs", *(["-o", words] if words else []), service.address]
