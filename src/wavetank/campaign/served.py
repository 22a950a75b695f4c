"""What the servers of a measured cluster are, as somebody who asks for such servers would say it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wavetank.cluster.access import method_of
from wavetank.cluster.spec import ClusterSpec

BY_ITS_OWN_CLIENT = ("native", "virtual", "client")
"""Access methods by which the node of a rank mounts the file system itself."""


@dataclass(frozen=True)
class Served:
    """How a file system lies on servers.

    Attributes:
        kind: of file system.
        servers: data servers, each on a node of its own.
        devices: of each server.
        stripe_bytes: of a file on one device before the next; None: the file system's default.
        copies: further copies of each byte.
    """

    kind: str
    servers: int
    devices: int
    stripe_bytes: int | None
    copies: int


def served_by(spec: ClusterSpec) -> Served | str:
    """What serves the files of a cluster; or, where that cannot be asked for by these words alone, why, a sentence's part."""
    against = "; ".join(_against(spec))
    if against:
        return against
    stripe, servers = spec.file_system.stripe, len(spec.server_names())
    return Served(
        kind=spec.file_system.kind,
        servers=servers,
        devices=spec.storage.devices,
        # One server on one device holds everything whole, whatever the stripes are.
        stripe_bytes=stripe.size if servers * spec.storage.devices > 1 else None,
        copies=servers - 1 if stripe.kind == "replicated" else 0,
    )


def _against(spec: ClusterSpec) -> Iterator[str]:
    fs, servers = spec.file_system, spec.server_names()
    if not servers:
        yield "it has no data servers of its own"
        return
    if any(not name.startswith("io") for name in servers):
        yield "its data servers are on nodes that do other things too"
    if elsewhere := set(spec.metadata_names()) - set(servers):
        yield f"its metadata servers are on further nodes ({', '.join(sorted(elsewhere))})"
    if spec.layout != "striped":
        yield "input files were put on one server each (1DFx1F)"
    if fs.options:
        yield f"options were set: {', '.join(sorted(fs.options))}"
    if fs.mount_options:
        yield f"mount options were set: {', '.join(sorted(fs.mount_options))}"
    if fs.stripe.kind == "disperse":
        yield "its files are erasure coded"
    if fs.stripe.kind == "sharded" and fs.stripe.size is None:
        yield "its files are sharded, and the size of a shard was not said"
    if fs.stripe.count is not None and fs.stripe.count < len(servers):
        yield f"each file was on {fs.stripe.count} of {len(servers)} servers"
    if spec.storage.devices > 1 and spec.storage.devices_as != "servers":
        yield "the devices of a server were one (RAID 0)"
    if spec.storage.local_file_system != "xfs":
        yield f"its servers' own file system was {spec.storage.local_file_system}, not xfs"
    if (method := method_of(spec.access, spec.provider)) not in BY_ITS_OWN_CLIENT:
        yield f"ranks reached it by {method}"
