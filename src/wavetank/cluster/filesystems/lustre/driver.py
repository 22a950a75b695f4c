"""Lustre on hosts that have it: MGS, MDTs and OSTs on servers, mounted by the kernel's client. Not yet run against a real Lustre.

Start: LNet on all, MGS, MDTs, OSTs, clients. End: clients, MDTs, OSTs, an MGS of its own, as Lustre's own tests do it (stopall in
tests/test-framework.sh).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from wavetank.cluster.filesystems.base import FileSystemDriver, Site, mounts
from wavetank.cluster.filesystems.facts import Facts
from wavetank.cluster.filesystems.lustre import clients, lnet, options, servers, tenant
from wavetank.cluster.filesystems.lustre.targets import Target, backend, fsname, targets
from wavetank.cluster.filesystems.lustre_client import stripes
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, FileSystemError, RemoteCommandError

PAGE = "docs/how-to/lustre.md"
ANYWHERE = f"install Lustre for the kernel that runs there ({PAGE})"
EL_CLIENT = f"dnf install lustre-client kmod-lustre-client, of Whamcloud's repository for the kernel that runs there ({PAGE})"
EL_SERVER = (
    "dnf install lustre kmod-lustre kmod-lustre-osd-{0} lustre-osd-{0}-mount{1}, of Whamcloud's repository for the kernel that runs there "
    f"({PAGE})"
)
# not "apt-get install ...": Debian has no such packages, they are built from Lustre's source
DEB_CLIENT = f"build and install lustre-client-utils and lustre-client-modules-dkms ({PAGE})"
DEB_SERVER = f"build and install lustre-server-utils and lustre-server-modules for its kernel, or take Enterprise Linux ({PAGE})"
AMAZON_CLIENT = f"dnf install lustre-client ({PAGE})"
AMAZON_SERVER = f"Amazon Linux has no servers of Lustre: take Enterprise Linux ({PAGE})"
CLIENT_PROGRAMS = ("lctl", "lfs", "lnetctl", "mount.lustre", "lustre_rmmod")


def packages_of_clients() -> Needs:
    """Tools, and the client's module."""
    return _needs(
        CLIENT_PROGRAMS, ("lnet", "lustre"), EL_CLIENT, DEB_CLIENT, AMAZON_CLIENT
    ) | _tools("modprobe", "ip")


def packages_of_servers(backend: str, devices: Sequence[str]) -> Needs:
    """Tools, and the server's modules.

    Args:
        backend: ldiskfs or zfs.
        devices: block devices that the specification names.
    """
    more = " e2fsprogs" if backend == "ldiskfs" else " zfs"
    on_el = EL_SERVER.format(backend, more)
    needs = _needs(
        (*CLIENT_PROGRAMS, "mkfs.lustre"),
        ("lnet", "lustre", f"osd_{backend}"),
        on_el,
        DEB_SERVER,
        AMAZON_SERVER,
    )
    needs |= _tools("modprobe", "ip", "wipefs", "truncate")
    files = dict.fromkeys(devices, "name block devices that the server has, in file_system.options")
    if backend == "zfs":
        needs |= Needs({"zpool": "install zfs"}, {"/etc/hostid": "zgenhostid"})
    elif not devices:
        needs |= _tools("losetup")
        files["/dev/loop-control"] = "modprobe loop"
    return needs | Needs(files=files)


def _tools(*names: str) -> Needs:
    packages = {"modprobe": "kmod", "ip": "iproute2", "truncate": "coreutils"}
    return Needs({name: f"install {packages.get(name, 'util-linux')}" for name in names})


def _needs(
    programs: Sequence[str], modules: Sequence[str], on_el: str, on_debian: str, on_amazon: str
) -> Needs:
    names = (*programs, *modules)
    return Needs(
        programs=dict.fromkeys(programs, ANYWHERE),
        modules=dict.fromkeys(modules, ANYWHERE),
        elsewhere={
            "rhel": dict.fromkeys(names, on_el),
            "debian": dict.fromkeys(names, on_debian),
            "amzn": dict.fromkeys(names, on_amazon),
        },
    )


class Lustre(FileSystemDriver):
    """Deploys Lustre."""

    kind = "lustre"
    facts = Facts(
        title="Lustre",
        own_metadata=True,
        on_this_machine=False,
        stripes=("distributed", "sharded"),
        against_guests=(
            "file_system lustre cannot be served from host nodes: these share this machine's kernel, which has one LNet: use access: "
            "virtual with a kernel for guests that has Lustre's modules, or provider ssh"
        ),
    )

    def check(self, spec: ClusterSpec) -> list[str]:
        """Nodes that cannot have it, stripes, options, targets that do not fit."""
        return [*options.problems(spec), *tenant.problems(spec)]

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """Tools and modules of servers; nothing of nodes that cannot have any (``check`` says so)."""
        if not spec.own_kernels:
            return Needs()
        found = targets(spec)
        devices = [target.device for target in found if target.device is not None]
        return packages_of_servers(backend(spec), tuple(dict.fromkeys(devices)))

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """Tools and modules of clients."""
        return packages_of_clients() if spec.own_kernels else Needs()

    def install(self, site: Site) -> None:
        """Bring LNet up everywhere, format all targets, and start them: MGS, MDTs, OSTs."""
        network = options.network(site.spec)
        on_all(_everyone(site), lambda host: lnet.bring_up(host, network))
        on_all(servers.hosts(site), partial(_see_all_empty, site=site))
        on_all(servers.hosts(site), partial(_make_all, site=site))
        for stage in _stages(site.spec):
            on_all(servers.hosts(site), partial(_start_all, site=site, stage=stage))
        self._make_pools(site)
        tenant.enclose(site)
        for name, value in options.parameters(site.spec, options.ON_SERVERS).items():
            on_all(site.servers, lambda host: host.run(["lctl", "set_param", f"{name}={value}"]))  # noqa: B023

    def mount(self, site: Site) -> None:
        """Mount on all clients, see that they are connected, and set the stripes of what is new."""
        try:
            on_all(site.clients, lambda client: clients.mount(client, site))
            clients.set_stripes_of_root(site.clients[0], site)
        except ClusterError as error:
            raise FileSystemError(f"cannot mount lustre: {error}") from error

    def unmount(self, site: Site) -> None:
        """Unmount from all clients, after they gave their locks back."""
        on_all(site.clients, lambda client: clients.unmount(client, site))

    def settings(self, site: Site) -> dict[str, str]:
        """Targets, addresses, mounts, stripes and parameters, as servers and clients have them."""
        spec, client, at = site.spec, site.clients[0], self.mount_path(site)
        found = {
            "file system": "lustre",
            "version": _parameter(client, "version"),
            "fsname": fsname(spec),
            "below targets": backend(spec),
        }
        for host in servers.hosts(site):
            names = [target.name for target in servers.of_host(site, host)]
            found[f"targets of {host.name}"] = ", ".join(names)
            found[f"LNet of {host.name}"] = ", ".join(lnet.nids(host))
        found |= mounts(site, at)
        found["lfs getstripe -d"] = stripes.stripes_of_directory(client, at)
        for pool in options.pools(spec):
            said = client.run(["lctl", "pool_list", f"{fsname(spec)}.{pool.name}"]).stdout
            found[f"pool {pool.name}"] = ", ".join(said.split("\n")[1:]).strip(", ")
        found |= tenant.settings(site)
        for host, known in ((client, options.ON_CLIENTS), (site.servers[0], options.ON_SERVERS)):
            for name in options.parameters(spec, known):
                said = host.run(["lctl", "get_param", name]).stdout
                found |= dict(_pairs(said))
        return found

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Write files by the layout, with 1DFx1F each on an OST of its own; where each is, by lfs."""
        own_ost = site.spec.layout == "one-server-per-file"
        default = options.stripes_of_root(site.spec).pool
        among = [pool.osts for pool in options.pools(site.spec) if pool.name == default]
        return stripes.place_files(
            site.clients[0],
            self.mount_path(site),
            sizes,
            own_ost=own_ost,
            among=among[0] if among else None,
            on_written=site.on_written,
        )

    def health(self, site: Site) -> list[str]:
        """Servers that are not well, targets that are gone, clients that are not connected."""
        found = on_all(servers.hosts(site), partial(_server_findings, site=site))
        found += on_all(site.clients, lambda client: clients.findings(client, site))
        return [finding for of_host in found for finding in of_host]

    def drop_server_caches(self, site: Site) -> str:
        """Page caches of hosts are emptied already; ZFS has a cache of its own, which shrinks with them: says how much it still holds."""
        if backend(site.spec) != "zfs":
            return "caches of OSTs are page caches"
        said = on_all(servers.hosts(site), _arc)
        return "; ".join(said)

    def remove(self, site: Site) -> None:
        """Stop and delete everything, as far as it was made; goes on where something fails, and tries that once more.

        Raises:
            FileSystemError: something stays; with all of it.
        """
        failed = _remove(site) and _remove(site)
        if failed:
            raise FileSystemError("; ".join(dict.fromkeys(failed)))

    def _make_pools(self, site: Site) -> None:
        name = fsname(site.spec)
        host = site.metadata_servers[0]
        for pool in options.pools(site.spec):
            host.run(["lctl", "pool_new", f"{name}.{pool.name}"])
            osts = [f"{name}-OST{index:04x}" for index in pool.osts]
            host.run(["lctl", "pool_add", f"{name}.{pool.name}", *osts])


def _remove(site: Site) -> list[str]:
    """What could not be removed."""
    failed = _collect(site.clients, lambda client: clients.unmount_anyway(client, site))
    found = targets(site.spec)[::-1]
    mdts = [target for target in found if "mdt" in target.kinds]
    osts = [target for target in found if "ost" in target.kinds]
    mgs = [target for target in found if target.kinds == ("mgs",)]
    for stage in (mdts, osts, mgs):
        failed += _collect(servers.hosts(site), partial(_stop_all, site=site, stage=stage))
    failed += _collect(servers.hosts(site), partial(_remove_all, site=site))
    return failed + _collect(_everyone(site), lnet.take_down)


def _everyone(site: Site) -> tuple[Host, ...]:
    return tuple({host.name: host for host in (*servers.hosts(site), *site.clients)}.values())


def _stages(spec: ClusterSpec) -> tuple[tuple[Target, ...], ...]:
    """Targets that start together: the MGS alone, or with its MDT; the other MDTs; the OSTs."""
    found = targets(spec)
    mgs = found[:1]
    mdts = tuple(target for target in found[1:] if "mdt" in target.kinds)
    osts = tuple(target for target in found if "ost" in target.kinds)
    return mgs, mdts, osts


def _see_all_empty(host: Host, site: Site) -> None:
    servers.see_path(host, site)
    for target in servers.of_host(site, host):
        servers.see_empty(host, target)


def _make_all(host: Host, site: Site) -> None:
    for target in servers.of_host(site, host):
        servers.make(host, target, site)


def _start_all(host: Host, site: Site, stage: tuple[Target, ...]) -> None:
    for target in servers.of_host(site, host):
        if target in stage:
            servers.start(host, target, site)


def _stop_all(host: Host, site: Site, stage: Collection[Target]) -> None:
    here = [target for target in stage if target.server == host.name]
    _all(here, lambda target: servers.stop(host, target, site))


def _remove_all(host: Host, site: Site) -> None:
    _all(servers.of_host(site, host), lambda target: servers.remove(host, target, site))
    host.run(["rm", "-rf", "--one-file-system", "--", servers.folder(site)])


def _all(here: Collection[Target], action: Callable[[Target], None]) -> None:
    """Do it with all targets of a server, whatever fails.

    Raises:
        FileSystemError: what failed.
    """
    failed = []
    for target in here:
        try:
            action(target)
        except ClusterError as error:
            failed.append(str(error))
    if failed:
        raise FileSystemError("; ".join(failed))


def _collect(hosts: Collection[Host], action: Callable[[Host], None]) -> list[str]:
    """Do it on all hosts, whatever fails; what failed."""

    def attempt(host: Host) -> str | None:
        try:
            action(host)
        except ClusterError as error:
            return str(error)
        return None

    return [said for said in on_all(hosts, attempt) if said is not None]


def _server_findings(host: Host, site: Site) -> list[str]:
    try:
        gone = [
            f"{host.name}: {target.name} is not started"
            for target in servers.of_host(site, host)
            if not servers.is_started(host, target, site)
        ]
        said = servers.health_of(host)
    except RemoteCommandError as error:
        return [str(error)]
    return gone if said == servers.HEALTHY else [*gone, f"{host.name}: Lustre says {said}"]


def _parameter(host: Host, name: str) -> str:
    return " ".join(host.run(["lctl", "get_param", "-n", name]).stdout.split())


def _pairs(text: str) -> list[tuple[str, str]]:
    """Names and values of ``lctl get_param``: ``osc.wt1-OST0000-osc-ffff8e1b.max_rpcs_in_flight=16``."""
    lines = (line.partition("=") for line in text.splitlines() if "=" in line)
    return [(name.strip(), value.strip()) for name, _, value in lines]


def _arc(host: Host) -> str:
    """Sample of /proc/spl/kstat/zfs/arcstats (OpenZFS 2.1): ``size                            4    3512976``."""
    for line in host.run(["cat", "/proc/spl/kstat/zfs/arcstats"]).stdout.splitlines():
        words = line.split()
        if words[:1] == ["size"]:
            return f"{host.name}: ZFS keeps {words[-1]} bytes"
    return f"{host.name}: what ZFS keeps is not known"
