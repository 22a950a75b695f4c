"""GlusterFS: one brick on each device of a data server, one volume over all bricks, mounted through FUSE on every compute node.

Servers get a glusterd of their own, with its state below /run, so that nothing of it outlives the node.
With GlusterFS 10.3 (Debian 12) three servers and a mounted volume take 2 to 3 s on 2 cores.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from wavetank.cluster.filesystems.base import (
    ANSWER_TIMEOUT_S,
    FileSystemDriver,
    NativeExport,
    Site,
    mount_line,
    unmount_from,
)
from wavetank.cluster.filesystems.facts import METHODS, Facts, TriedLayout
from wavetank.cluster.filesystems.glusterfs import options
from wavetank.cluster.filesystems.glusterfs.daemons import (
    VOLUME,
    client_command_lines,
    dead_daemons,
    errors_in,
    log_name,
    start_server,
    stop_server,
    unreached_bricks,
)
from wavetank.cluster.filesystems.glusterfs.placement import Placer
from wavetank.cluster.filesystems.glusterfs.volume import Volume, brick_paths, bricks_of
from wavetank.cluster.filesystems.options import all_option_problems
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, FileSystemError, RemoteCommandError
from wavetank.units import MIB

SERVER_PROGRAMS = {
    "glusterd": "glusterfs-server",
    "gluster": "glusterfs-cli",
    "unshare": "util-linux",
}
CLIENT_PROGRAMS = {
    "glusterfs": "glusterfs-client",
    "mount.glusterfs": "glusterfs-client",
    "getfattr": "attr",
}
GATEWAY_LOG = "/run/wavetank-gfapi.log"
UNMOUNT_TIMEOUT_S = 120.0
CONNECT_TIMEOUT_S = 180.0


class GlusterFS(FileSystemDriver):
    """Deploys GlusterFS on data servers, with a volume as the specification stripes it."""

    kind = "glusterfs"
    facts = Facts(
        title="GlusterFS",
        serves_each_device=True,
        stripes=("distributed", "sharded", "replicated", "disperse"),
        tried=(
            TriedLayout(1),
            TriedLayout(None),
            TriedLayout(3, options.SMALLEST_SHARD_BYTES),
            TriedLayout(2, options.SMALLEST_SHARD_BYTES),
            TriedLayout(2),
            TriedLayout(3),
            TriedLayout(3, 16 * MIB),
        ),
        guest_methods=METHODS,
    )
    gateway_package = "nfs-ganesha-gluster"

    def check(self, spec: ClusterSpec) -> list[str]:
        """Options and numbers of servers."""
        return [
            *options.check_stripe(spec),
            *all_option_problems(spec.file_system, options.OPTIONS, options.MOUNT_OPTIONS),
        ]

    def unknown_options(self, spec: ClusterSpec) -> list[str]:
        """Volume options that the installed version does not have."""
        return options.unknown_options(spec)

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """Glusterd, its command line, and what starts it quickly."""
        del spec
        return _apt(SERVER_PROGRAMS)

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """The FUSE client, and what reads where files are."""
        del spec
        return _apt(CLIENT_PROGRAMS) | Needs(files={"/dev/fuse": "modprobe fuse"})

    def install(self, site: Site) -> None:
        """Start glusterd on all servers at once, make them peers, make and start the volume."""
        on_all(site.servers, lambda host: start_server(host, brick_paths(site)))
        volume = Volume(site)
        volume.gather_peers()
        volume.create()
        volume.set_options(options.volume_options(site.spec))
        volume.start()

    def mount(self, site: Site) -> None:
        """Mount the volume on all clients at once, and see that it answers."""
        first, *others = [server.address for server in site.servers]
        words = options.mount_words(site.spec)
        if others:
            words.append(f"backup-volfile-servers={':'.join(others)}")
        with_options = ["-o", ",".join(words)] if words else []
        path = self.mount_path(site)
        argv = ["mount", "-t", "glusterfs", *with_options, f"{first}:/{VOLUME}", path]
        names = [brick.name for brick in bricks_of(site)]
        on_all(site.clients, lambda host: _mount_on(host, argv, path, names))

    def unmount(self, site: Site) -> None:
        """Unmount from all clients, and wait until the client processes and their caches are gone."""
        on_all(site.clients, lambda host: _unmount_and_wait(host, self.mount_path(site)))

    def settings(self, site: Site) -> dict[str, str]:
        """The volume and its options from gluster, mounts from /proc/mounts, the clients' command lines."""
        found = {"file system": "glusterfs", **Volume(site).settings()}
        path = self.mount_path(site)
        for host in site.clients:
            found[f"{host.name} {path}"] = mount_line(host, path) or "not mounted"
            found[f"{host.name} client"] = "; ".join(client_command_lines(host, path)) or "none"
        return found

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Create files by the layout; see ``placement``."""
        return Placer(site, self.mount_path(site)).place(sizes)

    def health(self, site: Site) -> list[str]:
        """Dead glusterds, bricks and clients."""
        path = self.mount_path(site)
        servers = on_all(site.servers, lambda host: dead_daemons(host, brick_paths(site)))
        names = [brick.name for brick in bricks_of(site)]
        clients = on_all(site.clients, lambda host: _client_findings(host, path, names))
        return [finding for of_host in (*servers, *clients) for finding in of_host]

    def native_export(self, site: Site) -> NativeExport:
        """By libgfapi, of the first server's volume."""
        fsal = {
            "Name": "GLUSTER",
            "Hostname": site.servers[0].address,
            "Volume": VOLUME,
            "glfs_log": GATEWAY_LOG,
        }
        return NativeExport(fsal, {})

    def remove(self, site: Site) -> None:
        """Unmount, stop bricks and glusterd, and delete the bricks."""
        self.unmount(site)
        on_all(site.servers, lambda host: stop_server(host, brick_paths(site)))
        on_all(site.clients, lambda host: host.run(["rm", "-f", "--", GATEWAY_LOG]))


def _apt(packages: Mapping[str, str]) -> Needs:
    return Needs({program: f"apt-get install {package}" for program, package in packages.items()})


def _is_mounted(host: Host, path: str) -> bool:
    return " fuse.glusterfs " in (mount_line(host, path) or "")


def _mount_on(host: Host, argv: list[str], path: str, servers: list[str]) -> None:
    try:
        host.run(["mkdir", "-p", "--", path])
        host.run(argv)
        if not _is_mounted(host, path):
            raise FileSystemError(f"{path} is no glusterfs after mounting it")
        host.run(["stat", "-f", "--", path], timeout_s=ANSWER_TIMEOUT_S)
        _await_bricks(host, path, servers)
    except ClusterError as error:
        log = errors_in(host, f"/var/log/glusterfs/{log_name(path)}")
        raise FileSystemError(
            f"cannot mount glusterfs on {host.name}: {error}; its log: {log}"
        ) from error


def _await_bricks(host: Host, path: str, servers: list[str]) -> None:
    """Wait for the client's connections: before them, copies and parts of new files would be missing."""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    while missing := unreached_bricks(host, path, servers):
        if time.monotonic() > deadline:
            raise FileSystemError(
                f"no connection to the bricks of {', '.join(missing)} within {CONNECT_TIMEOUT_S:g} s"
            )
        time.sleep(0.02)


def _unmount_and_wait(host: Host, path: str) -> None:
    deadline = time.monotonic() + UNMOUNT_TIMEOUT_S
    unmount_from(host, path, UNMOUNT_TIMEOUT_S)
    while client_command_lines(host, path):
        if time.monotonic() > deadline:
            raise FileSystemError(
                f"the glusterfs client of {path} on {host.name} does not end after unmounting it"
            )
        time.sleep(0.02)


def _client_findings(host: Host, path: str, servers: list[str]) -> list[str]:
    try:
        if not _is_mounted(host, path):
            return [f"glusterfs is not mounted on {host.name} at {path} any more"]
        host.run(["stat", "-f", "--", path], timeout_s=ANSWER_TIMEOUT_S)
        missing = unreached_bricks(host, path, servers)
    except RemoteCommandError as error:
        return [f"glusterfs client on {host.name} died or does not answer: {error.stderr_tail}"]
    return [
        f"glusterfs client on {host.name} has no connection to the brick of {m}" for m in missing
    ]
