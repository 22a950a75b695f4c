"""What drivers of file systems share that a cloud makes, runs and removes: here they are only mounted."""

from __future__ import annotations

from wavetank.cluster.filesystems.base import Site, mount_findings, unmount_from
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.managed import Service
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError

MOUNT_TIMEOUT_S = 300.0  # a client's modules to load, and a server that has just begun


class Managed:
    """Servers are the cloud's; clients mount at the path of the specification.

    Attributes:
        title: of the kind, in messages.
    """

    is_global = True
    title: str

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """None: the cloud runs them."""
        del spec
        return Needs()

    def install(self, site: Site) -> None:
        """See that the cloud made it: it serves already."""
        self.service(site)

    def mount_path(self, site: Site) -> str:
        """The same on all clients."""
        return site.spec.file_system.mount

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

    def health(self, site: Site) -> list[str]:
        """Mounts that are gone or do not answer."""
        at = self.mount_path(site)
        found = on_all(site.clients, lambda client: mount_findings(client, at))
        return [finding for each in found for finding in each]

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
                f"cluster {site.spec.name} has no file system of {self.title}: it was never made. Take the cluster down"
            )
        return site.service
