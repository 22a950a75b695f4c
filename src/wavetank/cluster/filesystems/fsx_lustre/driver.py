"""FSx for Lustre, made and removed by the cloud together with the nodes: here it is mounted, and its stripes are set.

Mount options and packages: the FSx for Lustre user guide, "Mounting from an Amazon EC2 instance" and "Installing the Lustre client".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wavetank.cluster.components import AWS, FileSystem
from wavetank.cluster.filesystems.base import Site, mount_line
from wavetank.cluster.filesystems.facts import Facts
from wavetank.cluster.filesystems.lustre_client import stripes
from wavetank.cluster.filesystems.managed import Managed, mount_words
from wavetank.cluster.host import Host
from wavetank.cluster.managed import (
    FSX_SMALLEST_BYTES,
    Service,
    Stored,
    fsx_capacity,
    fsx_deployment,
    fsx_price_name,
    fsx_throughput_per_tib,
)
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.units import GIB, format_size

CLIENT = "apt-get install lustre-client-modules-aws"
OPTIONS = {"relatime": True, "flock": True}
FSX_STEP_BYTES = 2400 * GIB


def _problems(fs: FileSystem) -> Iterator[str]:
    size = fsx_capacity(fs)
    if size != FSX_SMALLEST_BYTES and (size == 0 or size % FSX_STEP_BYTES):
        yield f"file_system.capacity {format_size(size)}: FSx for Lustre has 1200 GiB, 2400 GiB and multiples of 2400 GiB"
    if fs.throughput_per_tib is not None and fsx_deployment(fs) != "PERSISTENT_2":
        yield "file_system.throughput_per_tib only has a meaning with deployment: PERSISTENT_2"


def _priced(spec: ClusterSpec) -> Stored:
    fs = spec.file_system
    name = fsx_price_name(fsx_deployment(fs), fsx_throughput_per_tib(fs))
    return Stored(name, fsx_capacity(fs))


class FsxLustre(Managed):
    """A Lustre of the cluster's own, run by AWS."""

    kind = "fsx-lustre"
    facts = Facts(
        title="FSx for Lustre",
        keys=frozenset({"capacity", "deployment", "throughput_per_tib"}),
        problems=_problems,
        made_by=AWS,
        priced=_priced,
        has_servers=False,
        on_this_machine=False,
        stripes=("distributed", "sharded"),
        guest_methods=(),
    )

    def problems(self, spec: ClusterSpec) -> Iterator[str]:
        """Stripes that it does not have."""
        size = spec.file_system.stripe.size
        if size is not None and (size % stripes.SMALLEST_BYTES or size > stripes.LARGEST_BYTES):
            yield f"file_system.stripe.size {size}: blocks of Lustre are multiples of 64 KiB, below 4 GiB"

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """The Lustre client: its mount program, and lfs for stripes."""
        if not self.is_made(spec):
            return Needs()
        return Needs({"mount.lustre": CLIENT, "lfs": CLIENT})

    def mount(self, site: Site) -> None:
        """Mount on all clients; new files have the stripes that were asked for."""
        super().mount(site)
        stripes.set_stripes(site.clients[0], self.mount_path(site), asked_stripes(site.spec))

    def to_mount(self, spec: ClusterSpec, client: Host, service: Service) -> list[str]:
        """By the Lustre client."""
        del client
        options = mount_words({**OPTIONS, **spec.file_system.mount_options})
        return ["-t", "lustre", "-o", options, service.address]

    def settings(self, site: Site) -> dict[str, str]:
        """The version of the client, the mount and the stripes of new files, read back."""
        client, at = site.clients[0], self.mount_path(site)
        return {
            "file system": "fsx-lustre",
            "lfs --version": client.run(["lfs", "--version"]).stdout.strip(),
            "mount": mount_line(client, at) or "not mounted",
            "lfs getstripe -d": stripes.stripes_of_directory(client, at),
            "OSTs": str(len(stripes.active_osts(client, at))),
        }

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Write through the first client; with layout one-server-per-file each on an OST of its own."""
        own = site.spec.layout == "one-server-per-file"
        return stripes.place_files(
            site.clients[0],
            self.mount_path(site),
            sizes,
            own_ost=own,
            on_written=site.on_written,
        )


def asked_stripes(spec: ClusterSpec) -> stripes.Stripes:
    """Stripes of new files: one OST for each file, or blocks over as many as are asked for, all where that is not said."""
    stripe = spec.file_system.stripe
    if stripe.kind == "distributed":
        return stripes.Stripes(count=1)
    return stripes.Stripes(count=stripe.count or stripes.ALL, size=stripe.size)
