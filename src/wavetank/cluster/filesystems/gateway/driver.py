"""Several NFS servers in front of one parallel file system, clients spread over them (the dNFSp arrangement).

The parallel file system is another driver's, found by its name in the registry: it serves, places and describes;
this one adds nfs-ganesha with the back end that reaches it natively, and mounts NFS on the clients.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from wavetank.cluster import registry
from wavetank.cluster.filesystems.base import (
    FileSystemDriver,
    Site,
)
from wavetank.cluster.filesystems.facts import METHODS, Facts
from wavetank.cluster.filesystems.nfs_export import ganesha, nfs_mount
from wavetank.cluster.filesystems.nfs_export.ganesha import Export
from wavetank.cluster.filesystems.options import option_problems
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, FileSystemError, SpecError

OWN = "gateway."  # expert mode: options of the NFS servers begin with it; others are those of the file system behind
EXPORT = "/"
NATIVE_MOUNT = "/wavetank-behind"
# What one gateway made must be seen through the others at once: they ask the file system behind each time.
DEFAULTS = {"attr_expiration_s": 0}


class Gateway(FileSystemDriver):
    """NFS servers in front of a parallel file system."""

    kind = "gateway"
    facts = Facts(
        title="NFS gateways to {behind}",
        keys=frozenset({"behind", "gateways", "gateway_placement"}),
        required={"behind": "glusterfs"},
        guest_methods=METHODS,
        guest_modules=("nfsv3", "fuse"),
    )

    def check(self, spec: ClusterSpec) -> list[str]:
        """The file system behind, the options of both, and our mount program."""
        try:
            behind = _driver(spec)
        except SpecError as error:
            return [str(error)]
        return [
            *behind.check(_spec_behind(spec)),
            *option_problems(
                f"options.{OWN.rstrip('.')}",
                _own_options(spec),
                ganesha.nfs_options(ganesha.SERVER_OPTIONS),
            ),
            *option_problems(
                "mount_options", spec.file_system.mount_options, nfs_mount.mount_options(spec)
            ),
            *nfs_mount.missing_program(spec, self.kind),
        ]

    def unknown_options(self, spec: ClusterSpec) -> list[str]:
        """Those of the file system behind."""
        return _driver(spec).unknown_options(_spec_behind(spec))

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """Those of the file system behind."""
        return _driver(spec).needs_of_servers(spec)

    def needs_of_gateways(self, spec: ClusterSpec) -> Needs:
        """Ganesha with its back end, and the client of the file system behind, by which input files are placed."""
        behind = _driver(spec)
        return behind.needs_of_clients(spec) | ganesha.needs(behind.gateway_package)

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """FUSE, unless this kernel mounts NFS."""
        return nfs_mount.needs(spec)

    def prefers_on_servers(self, spec: ClusterSpec) -> Needs:
        """Those of the file system behind."""
        return _driver(spec).prefers_on_servers(spec)

    def prefers_on_clients(self, spec: ClusterSpec) -> Needs:
        """The kernel's client in place of our mount program."""
        del spec
        return nfs_mount.kernel_client()

    def install(self, site: Site) -> None:
        """Bring the file system up, mount it once as it is, and start an NFS server on every gateway."""
        behind = _driver(site.spec)
        behind.install(_site_behind(site, site.gateways))
        with _natively(site):
            pass
        on_all(site.gateways, lambda host: _start(site, host))

    def mount(self, site: Site) -> None:
        """Mount NFS on all clients, from the gateways in turn."""
        at, options = self.mount_path(site), site.spec.file_system.mount_options

        def mount_on(client: Host) -> None:
            gateway = gateway_of(site, client)
            try:
                nfs_mount.mount(client, f"{gateway.address}:{EXPORT}", at, options)
            except ClusterError as error:
                raise FileSystemError(
                    f"cannot mount from gateway {gateway.name}: {error}{ganesha.complaints(gateway)}"
                ) from error

        on_all(site.clients, mount_on)

    def drop_server_caches(self, site: Site) -> str:
        """Start the NFS servers again: what they have of the file system behind is in their memory."""
        on_all(site.gateways, ganesha.stop)
        of_behind = _driver(site.spec).drop_server_caches(_site_behind(site, ()))
        on_all(site.gateways, lambda host: _start(site, host))
        return "; ".join(filter(None, ("gateways started again", of_behind)))

    def settings(self, site: Site) -> dict[str, str]:
        """Which client has which gateway, configuration and mounts, and all of the file system behind."""
        at, behind = self.mount_path(site), _driver(site.spec)
        found = {
            "file system": f"gateway: nfs 3 in front of {behind.kind}",
            "client": nfs_mount.client_name(site.clients[0]),
            "locks": "local to each node",
        }
        for gateway in site.gateways:
            of = [client.name for client in site.clients if gateway_of(site, client) is gateway]
            found[f"clients of gateway {gateway.name}"] = ", ".join(of) or "none"
            said = ganesha.settings(gateway)
            found |= {f"gateway {gateway.name} {key}": value for key, value in said.items()}
        for client in site.clients:
            found |= nfs_mount.settings(client, at)
        with _natively(site) as natively:
            said = behind.settings(natively)
        return found | {f"behind: {key}": value for key, value in said.items()}

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """As the file system behind places them, through a mount of its own on the first gateway."""
        with _natively(site) as natively:
            return _driver(site.spec).place_files(natively, sizes)

    def health(self, site: Site) -> list[str]:
        """Findings of the file system behind; gateways that are gone, else mounts that are gone or do not answer."""
        findings = _driver(site.spec).health(_site_behind(site, ()))
        return findings + nfs_mount.findings(site.gateways, site.clients, self.mount_path(site))

    def remove(self, site: Site) -> None:
        """Unmount, end the NFS servers, and remove the file system behind."""
        self.unmount(site)
        on_all(site.gateways, ganesha.stop)
        for gateway in site.gateways:
            gateway.run(["rm", "-f", "--", ganesha.configuration_file("ganesha")])
        _driver(site.spec).remove(_site_behind(site, site.gateways))
        forget = 'if [ -d "$1" ]; then rmdir -- "$1"; fi'
        on_all(site.gateways, lambda host: host.run(["sh", "-c", forget, "sh", NATIVE_MOUNT]))


def gateway_of(site: Site, client: Host) -> Host:
    """Clients take the gateways in turn."""
    position = [each.name for each in site.clients].index(client.name)
    return site.gateways[position % len(site.gateways)]


def _driver(spec: ClusterSpec) -> FileSystemDriver:
    """The driver of the file system behind.

    Raises:
        SpecError: there is none of this name, or NFS servers cannot reach it.
    """
    name = spec.file_system.behind or ""
    driver = registry.file_system(name)
    if not driver.gateway_package:
        kinds = registry.file_system_kinds()
        others = [kind for kind in kinds if registry.file_system(kind).gateway_package]
        raise SpecError(
            f"file_system.behind: {name} cannot be behind gateways; {' and '.join(others)} can"
        )
    return driver


def _own_options(spec: ClusterSpec) -> dict[str, str | int | float | bool]:
    options = spec.file_system.options
    return {key.removeprefix(OWN): value for key, value in options.items() if key.startswith(OWN)}


def _spec_behind(spec: ClusterSpec) -> ClusterSpec:
    """What the driver behind reads: as if it were the cluster's own file system, mounted elsewhere."""
    fs = spec.file_system
    others = {key: value for key, value in fs.options.items() if not key.startswith(OWN)}
    of_behind = {
        "kind": fs.behind, "behind": None, "gateways": None, "gateway_placement": None,
        "mount": NATIVE_MOUNT, "mount_options": {}, "options": others,
    }  # fmt: skip
    return spec.model_copy(update={"file_system": fs.model_copy(update=of_behind)})


def _site_behind(site: Site, clients: tuple[Host, ...]) -> Site:
    return replace(site, spec=_spec_behind(site.spec), clients=clients, gateways=())


@contextlib.contextmanager
def _natively(site: Site) -> Iterator[Site]:
    """The file system behind, mounted as it is on the first gateway."""
    natively, driver = _site_behind(site, site.gateways[:1]), _driver(site.spec)
    driver.mount(natively)
    try:
        yield natively
    finally:
        driver.unmount(natively)


def _start(site: Site, host: Host) -> None:
    export = _driver(site.spec).native_export(_site_behind(site, site.gateways))
    options = {**DEFAULTS, **_own_options(site.spec)}
    text = ganesha.configuration(
        host.address, [Export(EXPORT, export.fsal)], options, more=export.blocks
    )
    ganesha.start(host, text, host.address)
