"""What drivers of file systems share that a cloud makes, runs and removes: here they are only mounted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wavetank.cluster.components import OptionValue
from wavetank.cluster.filesystems.base import (
    FileSystemDriver,
    Site,
    mounts,
    unmount_from,
    write_content,
)
from wavetank.cluster.filesystems.facts import Facts
from wavetank.cluster.filesystems.options import Table, option_problems, option_words
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.managed import Service
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError

MOUNT_TIMEOUT_S = 300.0  # a client's modules to load, and a server that has just begun


class Managed(FileSystemDriver):
    """Servers are the cloud's; clients mount at the path of the specification.

    Attributes:
        kind: of the file system.
    """

    kind: str
    facts: Facts

    def check(self, spec: ClusterSpec) -> list[str]:
        """Who makes it, and keys that nobody would read."""
        return [*self._of_others(spec), *self.problems(spec)]

    def problems(self, spec: ClusterSpec) -> Iterator[str]:
        """What of this kind alone does not go together."""
        raise NotImplementedError

    def is_made(self, spec: ClusterSpec) -> bool:
        """Whether the cluster's provider makes it; others only plan and price it."""
        return spec.provider == self.facts.made_by

    def _of_others(self, spec: ClusterSpec) -> Iterator[str]:
        kind = self.kind
        if not self.is_made(spec):
            yield (
                f"file_system {kind} is made by provider {self.facts.made_by}, not {spec.provider}. Mounted already, it is kind: existing"
            )
        yield from option_problems("options", spec.file_system.options, Table(kind))

    def install(self, site: Site) -> None:
        """See that the cloud made it: it serves already."""
        self.service(site)

    def mount(self, site: Site) -> None:
        """Mount on all clients."""
        at, service = self.mount_path(site), self.service(site)

        def mount(client: Host) -> None:
            client.run(["mkdir", "-p", at])
            client.run(
                ["mount", *self.to_mount(site.spec, client, service), at],
                timeout_s=MOUNT_TIMEOUT_S,
            )

        try:
            on_all(site.clients, mount)
        except RemoteCommandError as error:
            raise FileSystemError(f"cannot mount {service.address}: {error}") from error

    def to_mount(self, spec: ClusterSpec, client: Host, service: Service) -> list[str]:
        """Arguments of mount but the path; what must run on the client for it is started."""
        raise NotImplementedError

    def unmount(self, site: Site) -> None:
        """Unmount from all clients."""
        at = self.mount_path(site)
        on_all(site.clients, lambda client: unmount_from(client, at, MOUNT_TIMEOUT_S))

    def remove(self, site: Site) -> None:
        """Unmount: the cloud removes it."""
        self.unmount(site)

    def service(self, site: Site) -> Service:
        """What the cloud made.

        Raises:
            FileSystemError: nothing.
        """
        if site.service is None:
            raise FileSystemError(
                f"cluster {site.spec.name} has no file system of {self.facts.title}: it was never made. Take the cluster down"
            )
        return site.service


class ManagedNfs(Managed):
    """Those that the kernel's NFS client mounts, and that do not tell where a file is."""

    def problems(self, spec: ClusterSpec) -> Iterator[str]:
        """A layout that nobody can ask for."""
        if spec.layout == "one-server-per-file":
            yield f"layout one-server-per-file: {self.facts.title} does not tell, or choose, where a file is. Write layout: striped"

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """The kernel's client."""
        return Needs({"mount.nfs": "apt-get install nfs-common"} if self.is_made(spec) else {})

    def settings(self, site: Site) -> dict[str, str]:
        """The clients' mounts, read back."""
        return {"file system": self.kind, **mounts(site, self.mount_path(site))}

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Write through the first client; where the servers keep it is not told."""
        at, client = self.mount_path(site), site.clients[0]
        for path, size in sizes.items():
            write_content(client, f"{at}/{path}", size, site.on_written)
        return dict.fromkeys(sizes, f"{self.facts.title}, which does not tell where")


def mount_words(options: Mapping[str, OptionValue]) -> str:
    """Options of a mount in the words of mount(8): "hard,timeo=600"; true ones by their name alone, false ones not at all."""
    return ",".join(option_words(options))
