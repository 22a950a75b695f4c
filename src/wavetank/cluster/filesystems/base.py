"""What the driver of a file system must be able to do. Drivers know hosts, never a provider."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from wavetank.cluster.filesystems.facts import Facts
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.managed import Service
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError
from wavetank.units import MIB

ANSWER_TIMEOUT_S = 60.0
"""A server or a mount that lives answers within it, on a machine with much other work too: processes wait there for seconds."""
PART_BYTES = 256 * MIB
"""A file is written in such parts, each of which is flushed: what is told of it is on disk."""
NOT_FOUND = 127  # exit status of env(1), a shell and wavetank-node for a program that is not there


def unheard(n_bytes: int) -> None:
    """Nobody asked."""


@dataclass(frozen=True)
class Site:
    """Where a file system is to be deployed.

    Attributes:
        spec: the whole specification.
        servers: hosts of the data servers; each has ``storage_path``.
        clients: hosts that mount it.
        storage_path: directory of the local file system on servers.
        metadata_servers: hosts of the metadata servers, of file systems that have such; each has ``storage_path``.
        gateways: hosts of NFS servers in front of a parallel file system.
        service: the file system itself, where a cloud runs it.
        on_written: is told the bytes of input files as they are written, maybe by several threads.
    """

    spec: ClusterSpec
    servers: tuple[Host, ...]
    clients: tuple[Host, ...]
    storage_path: str
    metadata_servers: tuple[Host, ...] = ()
    gateways: tuple[Host, ...] = ()
    service: Service | None = None
    on_written: Callable[[int], None] = unheard


@dataclass(frozen=True)
class NativeExport:
    """How an NFS server reaches a parallel file system by itself, without a mount.

    Attributes:
        fsal: ganesha's back end: its Name, and what it wants to know.
        blocks: further blocks of ganesha.conf.
    """

    fsal: Mapping[str, str]
    blocks: Mapping[str, Mapping[str, str]]


class FileSystemDriver(Protocol):
    """Deploys one kind of file system. Keeps no state: all of it is asked from the hosts again.

    What only some can do, or what most do alike, has a default.

    Attributes:
        kind: what cluster files call it.
        facts: what others must know of it before it is up.
        gateway_package: Debian package of ganesha's back end for it; empty: driver ``gateway`` cannot put NFS servers in front.
    """

    kind: str
    facts: Facts
    gateway_package: str = ""

    def check(self, spec: ClusterSpec) -> list[str]:
        """What is wrong with the specification, or missing on this machine; empty when all is well."""

    def unknown_options(self, spec: ClusterSpec) -> list[str]:
        """Options of the specification that this machine's programs do not have; empty where they do not tell."""
        del spec
        return []

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """What every node with a server must have."""
        del spec
        return Needs()

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """What every node that mounts it must have."""
        del spec
        return Needs()

    def needs_of_gateways(self, spec: ClusterSpec) -> Needs:
        """What every node with an NFS server in front of a parallel file system must have."""
        del spec
        return Needs()

    def prefers_on_servers(self, spec: ClusterSpec) -> Needs:
        """What the better way takes on nodes with a server: hosts that are made for it are given that."""
        del spec
        return Needs()

    def prefers_on_clients(self, spec: ClusterSpec) -> Needs:
        """The same, of every node that mounts it."""
        del spec
        return Needs()

    def install(self, site: Site) -> None:
        """Start the servers.

        Raises:
            FileSystemError, RemoteCommandError: a server does not come up.
        """

    def mount_path(self, site: Site) -> str:
        """Where clients see it, the same on all."""
        return site.spec.file_system.mount

    def mount(self, site: Site) -> None:
        """Mount it on all clients, and see that it is."""

    def unmount(self, site: Site) -> None:
        """Unmount it from all clients: their caches are gone with it."""
        at = self.mount_path(site)
        on_all(site.clients, lambda client: unmount_from(client, at))

    def drop_server_caches(self, site: Site) -> str:
        """Empty caches of servers that are not in the nodes' page caches; says how it was done, nothing where there are none."""
        del site
        return ""

    def settings(self, site: Site) -> dict[str, str]:
        """Options as in force, read back from servers and clients."""

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Create files with content by the specification's layout; says where each is, as read back."""

    def health(self, site: Site) -> list[str]:
        """Findings: servers or mounts that are gone. Here mounts alone."""
        at = self.mount_path(site)
        found = on_all(site.clients, lambda client: mount_findings(client, at))
        return [finding for of_client in found for finding in of_client]

    def native_export(self, site: Site) -> NativeExport:
        """What an NFS server of this site is told, where there is a package of its back end."""
        del site
        return NativeExport({}, {})

    def remove(self, site: Site) -> None:
        """Stop the servers and delete what they kept. Only for hosts that outlive the cluster."""


def needs_by_node(
    driver: FileSystemDriver, spec: ClusterSpec, *, preferred: bool = False
) -> dict[str, Needs]:
    """What each node must have for a driver; with what it prefers, for hosts that are made for it."""
    needs = dict.fromkeys(spec.node_names(), Needs())
    for names, musts, wishes in (
        ((*spec.server_names(), *spec.metadata_names()), driver.needs_of_servers, driver.prefers_on_servers),
        (spec.compute_names(), driver.needs_of_clients, driver.prefers_on_clients),
        (spec.gateway_names(), driver.needs_of_gateways, None),
    ):  # fmt: skip
        for name in dict.fromkeys(names):
            needs[name] |= musts(spec)
            if preferred and wishes is not None:
                needs[name] |= wishes(spec)
    return needs


def write_content(
    host: Host, path: str, size_bytes: int, on_written: Callable[[int], None] = unheard
) -> None:
    """Write a file of ``size_bytes`` that no layer can compress or leave sparse, and see it on disk.

    Args:
        host: that writes it.
        path: of the file, which is written anew.
        size_bytes: of it.
        on_written: is told the bytes of each part once that is on disk.

    Raises:
        FileSystemError: the file system is full, or the file is shorter than asked.
    """
    host.run(["mkdir", "-p", "--", path.rpartition("/")[0] or "/"])
    try:
        for begin in range(0, max(size_bytes, 1), PART_BYTES):
            part = min(size_bytes - begin, PART_BYTES)
            goes_on = [f"seek={begin // MIB}", "conv=notrunc,fsync"] if begin else ["conv=fsync"]
            host.run(
                ["dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={part}", "iflag=fullblock,count_bytes",
                 *goes_on, "status=none"],
                timeout_s=60 + part / 1e6,
            )  # fmt: skip
            on_written(part)
        found = host.run(["stat", "-c", "%s", path]).stdout.strip()
    except RemoteCommandError as error:
        raise FileSystemError(
            f"cannot write {path} ({size_bytes} bytes) on {host.name}: {error}. "
            "If it is full, give the cluster a larger storage.size"
        ) from error
    if found != str(size_bytes):
        raise FileSystemError(f"{path} on {host.name} has {found} bytes after writing {size_bytes}")


def mount_line(host: Host, mount_path: str) -> str | None:
    """The line of /proc/mounts for a mount, None when it is not there.

    Sample (Linux 6.1): ``io1:/vol /wavetank fuse.glusterfs rw,relatime,user_id=0 0 0``.
    """
    for line in host.run(["cat", "/proc/mounts"]).stdout.splitlines():
        if line.split(" ")[1] == mount_path:
            return line
    return None


def mounts(site: Site, at: str) -> dict[str, str]:
    """The line of each client's mount, read back."""
    return {f"mount on {each.name}": mount_line(each, at) or "not mounted" for each in site.clients}


def unmount_from(host: Host, mount_path: str, timeout_s: float = 60.0) -> None:
    """Unmount, where it is mounted."""
    if mount_line(host, mount_path) is not None:
        host.run(["umount", "--", mount_path], timeout_s=timeout_s)


def mount_findings(host: Host, mount_path: str) -> list[str]:
    """Findings: a mount that is gone or does not answer."""
    try:
        if mount_line(host, mount_path) is None:
            return [f"{host.name}: {mount_path} is not mounted"]
        host.run(["stat", "-f", "--", mount_path], timeout_s=ANSWER_TIMEOUT_S)
    except RemoteCommandError as error:
        return [str(error)]
    return []


def place_copies(
    hosts: Sequence[Host],
    at: str,
    sizes: Mapping[str, int],
    on_written: Callable[[int], None] = unheard,
) -> dict[str, str]:
    """Write a copy of each file on every host that has local files only: any rank may be asked to read any file.

    Args:
        hosts: the compute nodes.
        at: directory that paths of ``sizes`` are in.
        sizes: bytes of each file.
        on_written: see ``write_content``; told by several threads.
    """
    for path, size in sizes.items():
        on_all(
            hosts,
            partial(_write_copy, path=f"{at}/{path}", size_bytes=size, on_written=on_written),
        )
    everywhere = ", ".join(host.name for host in hosts)
    return dict.fromkeys(sizes, f"a copy on each of {everywhere}")


def _write_copy(host: Host, path: str, size_bytes: int, on_written: Callable[[int], None]) -> None:
    own = f"{path}.{host.name}"  # several nodes of the null provider share one directory
    write_content(host, own, size_bytes, on_written)
    host.run(["mv", "--", own, path])


def place_on_one_server(
    site: Site, mount_path: str, kept_in: str, sizes: Mapping[str, int]
) -> dict[str, str]:
    """Write files through the first client; what the one server says of each in its directory ``kept_in``."""
    (server,) = site.servers
    places = {}
    for path, size in sizes.items():
        write_content(site.clients[0], f"{mount_path}/{path}", size, site.on_written)
        kept = server.run(["stat", "-c", "%s", f"{kept_in}/{path}"]).stdout.strip()
        places[path] = f"{server.name}: {kept} bytes"
    return places


def wait_until(host: Host, argv: Sequence[str], what: str, timeout_s: float, log: str) -> None:
    """Run a command until it succeeds; give up when the daemon of ``log`` is dead.

    Raises:
        FileSystemError: it did not within the time; with what it said last.
        RemoteCommandError: there is no such command.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            host.run(argv, timeout_s=timeout_s)
            return
        except RemoteCommandError as error:
            if error.status == NOT_FOUND:
                raise
            death = host.death_of(log)
            if death is not None:
                raise FileSystemError(f"{what} on {host.name} died: {death}") from error
            if time.monotonic() > deadline:
                raise FileSystemError(
                    f"{what} on {host.name} does not answer after {timeout_s:.0f} s: {error}"
                ) from error
            time.sleep(0.02)


# $1: file for the number; the rest: the program, which takes this shell's number.
WITH_PID_FILE = 'echo $$ >"$1"; shift; exec "$@"'
# $1: pid file, $2: the program's name, $3: a signal, or 0 to wait only. Ends with 1 when it does not end.
END = r"""
pid=$(cat "$1" 2>/dev/null) || exit 0
tries=0
while grep -q "^$2" "/proc/$pid/comm" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null; do
  kill "-$3" "$pid" 2>/dev/null
  tries=$((tries + 1))
  [ "$tries" -le 2000 ] || exit 1
  sleep 0.05 2>/dev/null || sleep 1
done
rm -f -- "$1"
"""
END_TIMEOUT_S = 180.0


def start_with_pid_file(host: Host, argv: Sequence[str], pid_file: str, log: str) -> None:
    """Start a daemon by whose number ``end_by_pid_file`` finds it."""
    host.start(["sh", "-c", WITH_PID_FILE, "sh", pid_file, *argv], log=log)


def end_by_pid_file(host: Host, pid_file: str, program: str, signal: str = "KILL") -> None:
    """Send a signal to a program of ours until it has ended; "0" only waits.

    Raises:
        RemoteCommandError: it does not end.
    """
    host.run(["sh", "-c", END, "sh", pid_file, program, signal], timeout_s=END_TIMEOUT_S)
