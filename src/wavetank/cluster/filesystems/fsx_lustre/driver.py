"""FSx for Lustre, made and removed by the cloud together with the nodes: here it is mounted, and its stripes are set.

Mount options and packages: the FSx for Lustre user guide, "Mounting from an Amazon EC2 instance" and "Installing the Lustre client".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wavetank.cluster.components import CLOUDS
from wavetank.cluster.filesystems.base import Site, mount_findings, mount_line, unmount_from
from wavetank.cluster.filesystems.lustre_client import stripes
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError

CLIENT = "apt-get install lustre-client-modules-aws"
MOUNT_TIMEOUT_S = 300.0  # loading the client's modules, and a server that has just begun
OPTIONS = "relatime,flock"
STRIPE_KINDS = ("distributed", "sharded")


class FsxLustre:
    """A Lustre of the cluster's own, run by AWS."""

    kind = "fsx-lustre"
    is_global = True

    def check(self, spec: ClusterSpec) -> list[str]:
        """Who makes it, and keys that nobody would read."""
        return list(_problems(spec))

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """None: AWS runs them."""
        del spec
        return Needs()

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """The Lustre client: its mount program, and lfs for stripes."""
        if spec.provider not in CLOUDS:
            return Needs()
        return Needs({"mount.lustre": CLIENT, "lfs": CLIENT})

    def install(self, site: Site) -> None:
        """See that the cloud made it: it serves already."""
        _address(site)

    def mount_path(self, site: Site) -> str:
        """The same on all clients."""
        return site.spec.file_system.mount

    def mount(self, site: Site) -> None:
        """Mount on all clients; new files have the stripes that were asked for."""
        at, source = self.mount_path(site), _address(site)
        options = ",".join([OPTIONS, *_words(site.spec)])

        def mount(client: Host) -> None:
            client.run(["mkdir", "-p", at])
            client.run(["mount", "-t", "lustre", "-o", options, source, at], timeout_s=MOUNT_TIMEOUT_S)  # fmt: skip

        try:
            on_all(site.clients, mount)
        except RemoteCommandError as error:
            raise FileSystemError(f"cannot mount {source}: {error}") from error
        stripes.set_stripes(site.clients[0], at, asked_stripes(site.spec))

    def unmount(self, site: Site) -> None:
        """Unmount from all clients."""
        at = self.mount_path(site)
        on_all(site.clients, lambda client: unmount_from(client, at, MOUNT_TIMEOUT_S))

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
        return stripes.place_files(site.clients[0], self.mount_path(site), sizes, own_ost=own)

    def health(self, site: Site) -> list[str]:
        """Mounts that are gone or do not answer."""
        at = self.mount_path(site)
        found = on_all(site.clients, lambda client: mount_findings(client, at))
        return [finding for each in found for finding in each]

    def remove(self, site: Site) -> None:
        """Unmount: the cloud removes it."""
        self.unmount(site)


def asked_stripes(spec: ClusterSpec) -> stripes.Stripes:
    """Stripes of new files: one OST for each file, or blocks over as many as are asked for, all where that is not said."""
    stripe = spec.file_system.stripe
    if stripe.kind == "distributed":
        return stripes.Stripes(count=1)
    return stripes.Stripes(count=stripe.count or stripes.ALL, size=stripe.size)


def _address(site: Site) -> str:
    if site.service is None:
        raise FileSystemError(
            f"cluster {site.spec.name} has no file system of FSx: it was never made. Take the cluster down"
        )
    return site.service.address


def _words(spec: ClusterSpec) -> Iterator[str]:
    for name, value in spec.file_system.mount_options.items():
        yield name if value is True else f"{name}={value}"


def _problems(spec: ClusterSpec) -> Iterator[str]:
    fs = spec.file_system
    if spec.provider not in CLOUDS:
        yield (
            f"file_system fsx-lustre is made by provider {' or '.join(CLOUDS)}, not {spec.provider}. Mounted already, it is kind: existing"
        )
    if fs.stripe.kind not in STRIPE_KINDS:
        yield f"file_system fsx-lustre has stripes {' and '.join(STRIPE_KINDS)}, not {fs.stripe.kind}"
    size = fs.stripe.size
    if size is not None and (size % stripes.SMALLEST_BYTES or size > stripes.LARGEST_BYTES):
        yield f"file_system.stripe.size {size}: blocks of Lustre are multiples of 64 KiB, below 4 GiB"
    for key in fs.options:
        yield f"file_system.options {key}: fsx-lustre has no options; remove it"
