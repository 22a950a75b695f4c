"""NFS with one server: the kernel's on nodes that have one, else nfs-ganesha; our FUSE mount where the kernel has no client.

Which programs are used is a fact of the machine and is said in ``settings()``. Locks of version 3 are local to a node.
Guests have kernel servers and clients of version 4.1 where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wavetank.cluster.filesystems.base import (
    FileSystemDriver,
    Site,
    mount_line,
    place_on_one_server,
)
from wavetank.cluster.filesystems.facts import METHODS, Facts, TriedLayout
from wavetank.cluster.filesystems.nfs import kernel_server
from wavetank.cluster.filesystems.nfs_export import ganesha, nfs_mount
from wavetank.cluster.filesystems.nfs_export.ganesha import NFS_PORT, Client, Export
from wavetank.cluster.filesystems.options import all_option_problems
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, FileSystemError


class NFS(FileSystemDriver):
    """One NFS server."""

    kind = "nfs"
    facts = Facts(
        title="NFS",
        most_servers=1,
        tried=(TriedLayout(1),),
        guest_methods=METHODS,
        guest_modules=("nfsd", "nfsv3", "nfsv4"),
    )

    def check(self, spec: ClusterSpec) -> list[str]:
        """Options that nobody would read, and our mount program."""
        return [*_wrong_options(spec), *nfs_mount.missing_program(spec, self.kind)]

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """Ganesha and the port mapper, or the programs of guests' kernels; hosts over ssh say at the start what they have."""
        if not _wants_kernel(spec):
            return ganesha.needs("nfs-ganesha-vfs")
        return kernel_server.needs() if spec.servers_own_kernels and spec.in_guests else Needs()

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """FUSE, unless this kernel mounts NFS."""
        return nfs_mount.needs(spec)

    def prefers_on_servers(self, spec: ClusterSpec) -> Needs:
        """Those of the kernel's server, where that is asked for."""
        return kernel_server.needs_of_made_hosts() if _wants_kernel(spec) else Needs()

    def prefers_on_clients(self, spec: ClusterSpec) -> Needs:
        """The kernel's client in place of our mount program."""
        del spec
        return nfs_mount.kernel_client()

    def install(self, site: Site) -> None:
        """Export a directory of the server's local file system."""
        (server,) = site.servers
        export = _export(site)
        server.run(["mkdir", "-p", export])
        if _wants_kernel(site.spec):
            if not kernel_server.has_server(server):
                raise FileSystemError(
                    f"{server.name} cannot serve NFS by its kernel: it has no nfsd or no nfs-kernel-server, or serves "
                    "already. Set file_system.options.server to ganesha"
                )
            clients = [client.address for client in site.clients]
            options = site.spec.file_system.options
            kernel_server.start(server, clients, export, options, version_of(site.spec))
        else:
            ganesha.start(server, configuration(site.spec, server.address, export), server.address)

    def mount(self, site: Site) -> None:
        """Mount on all clients."""
        (server,) = site.servers
        version = version_of(site.spec)
        exported = _export(site)
        if _wants_kernel(site.spec):
            exported = kernel_server.mounted_path(exported, version)
        at, source = self.mount_path(site), f"{server.address}:{exported}"
        options = site.spec.file_system.mount_options
        try:
            on_all(
                site.clients, lambda client: nfs_mount.mount(client, source, at, options, version)
            )
        except ClusterError as error:
            raise FileSystemError(
                f"cannot mount {server.name}:{_export(site)}: {error}{ganesha.complaints(server)}"
            ) from error

    def settings(self, site: Site) -> dict[str, str]:
        """The server's exports or configuration file and the clients' mounts, read back."""
        (server,) = site.servers
        at = self.mount_path(site)
        by_kernel, version = _wants_kernel(site.spec), version_of(site.spec)
        found = {
            "file system": f"nfs {version}",
            **(kernel_server.settings(server, _export(site)) if by_kernel else ganesha.settings(server)),
            "server's file system": mount_line(server, site.storage_path) or "not a mount",
            "client": nfs_mount.client_name(site.clients[0]),
            "locks": "by the server" if nfs_mount.is_4(version) else "local to each node",
        }  # fmt: skip
        for client in site.clients:
            found |= nfs_mount.settings(client, at)
        return found

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Write through the first client; there is one server to be on."""
        return place_on_one_server(site, self.mount_path(site), _export(site), sizes)

    def health(self, site: Site) -> list[str]:
        """A server that is gone, else mounts that are gone or do not answer."""
        return nfs_mount.findings(site.servers, site.clients, self.mount_path(site))

    def remove(self, site: Site) -> None:
        """Unmount, and delete what the server kept."""
        self.unmount(site)
        for server in site.servers:
            _stop(server, site)
            server.run(["rm", "-rf", "--", _export(site), ganesha.configuration_file("ganesha")])


def _stop(server: Host, site: Site) -> None:
    if _wants_kernel(site.spec):
        kernel_server.stop(server, [client.address for client in site.clients], _export(site))
    else:
        ganesha.stop(server)


def _export(site: Site) -> str:
    return f"{site.storage_path}/export"


def _wants_kernel(spec: ClusterSpec) -> bool:
    """Said by the specification: which server it is decides what a measurement is of."""
    return str(spec.file_system.options.get("server", _default_server(spec))) == "kernel"


def _default_server(spec: ClusterSpec) -> str:
    """Guests have kernels that serve; of hosts over ssh nobody knows."""
    return "kernel" if spec.in_guests and spec.servers_own_kernels else "ganesha"


def version_of(spec: ClusterSpec) -> str:
    """Version of the protocol."""
    default = "4.1" if _default_server(spec) == "kernel" and _wants_kernel(spec) else "3"
    return str(spec.file_system.options.get("version", default))


def _wrong_options(spec: ClusterSpec) -> Iterator[str]:
    fs = spec.file_system
    if _wants_kernel(spec) and not spec.servers_own_kernels:
        yield (
            "file_system.options.server: kernel is for nodes with a kernel of their own (guests, hosts over ssh, machines of a cloud): "
            "nodes out of namespaces would share one kernel server"
        )
    version = version_of(spec)
    if nfs_mount.is_4(version) and not _wants_kernel(spec):
        yield f"file_system.options.version: {version} takes the kernel's server, set file_system.options.server to kernel"
    of_ganesha = frozenset(ganesha.SERVER_OPTIONS) | {"clients"}
    of_server = kernel_server.OPTIONS if _wants_kernel(spec) else of_ganesha
    known = ganesha.nfs_options(of_server | {"server", "version"})
    yield from all_option_problems(fs, known, nfs_mount.mount_options(spec))


def configuration(spec: ClusterSpec, address: str, export: str) -> str:
    """ganesha.conf of a directory of the local file system."""
    chosen = ("server", "version", "clients")
    options = {key: value for key, value in spec.file_system.options.items() if key not in chosen}
    served = Export(export, {"Name": "VFS"}, clients=_clients(spec))
    return ganesha.configuration(address, [served], options, port=NFS_PORT)


def _clients(spec: ClusterSpec) -> tuple[Client, ...] | None:
    """Who may mount; None: whoever reaches the server."""
    asked = spec.file_system.options.get("clients")
    return None if asked is None else tuple(Client(one.strip()) for one in str(asked).split(","))
