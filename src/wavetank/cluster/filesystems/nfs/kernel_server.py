"""The kernel's NFS server on a host: exportfs and rpc.nfsd. Used by driver nfs where a machine has it.

Only on nodes with a kernel of their own (hosts over ssh, guests): Linux has one NFS server per network namespace, but
its threads and the client's recovery state belong to the whole machine, so nodes out of namespaces use nfs-ganesha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.cluster.components import OptionValue
from wavetank.cluster.filesystems.nfs_export.ganesha import (
    MOUNT_PORT,
    NFS_PORT,
    answers,
    start_port_mapper,
)
from wavetank.cluster.filesystems.nfs_export.nfs_mount import is_4
from wavetank.cluster.host import Host
from wavetank.cluster.needs import Needs
from wavetank.errors import FileSystemError, RemoteCommandError

THREADS = 8  # rpc.nfsd's own default
OPTIONS = frozenset({"threads", "sync", "squash", "version"})
PACKAGE = "apt-get install nfs-kernel-server"
# Clients of a server before this one may want their locks back, so version 4 opens nothing for 90 s. There was none.
END_GRACE = "echo Y >/proc/fs/nfsd/v4_end_grace"
HAS_SERVER = (
    "grep -qw nfsd /proc/filesystems && command -v exportfs && command -v rpc.nfsd && command -v rpc.mountd"
    ' && ! pidof rpc.mountd && [ "$(cat /proc/fs/nfsd/threads 2>/dev/null || echo 0)" = 0 ]'
)


def has_server(host: Host) -> bool:
    """Whether a host's kernel serves NFS now, with its programs there, and serves nothing of somebody else's."""
    return answers(host, ["sh", "-c", HAS_SERVER])


def needs() -> Needs:
    """Its programs."""
    return Needs(dict.fromkeys(("exportfs", "rpc.nfsd", "rpc.mountd"), PACKAGE))


def needs_of_made_hosts() -> Needs:
    """Its programs, and the module that Linux makes this file with (fs/nfsd/nfsctl.c); no service loads it there."""
    return needs() | Needs(files={"/proc/fs/nfs/exports": "modprobe nfsd"})


def mounted_path(export: str, version: str) -> str:
    """What clients mount: with version 4 the directory is the root of all that is served."""
    return "/" if is_4(version) else export


def export_argv(
    clients: Sequence[str], export: str, options: Mapping[str, OptionValue], version: str
) -> list[str]:
    """Share a directory with clients. sync: a write is answered when it is on disk (default), async: before."""
    words = [
        "rw",
        "sync" if options.get("sync", True) else "async",
        "no_root_squash" if str(options.get("squash", "none")).startswith("n") else "root_squash",
        "no_subtree_check",
        "insecure",
        *(["fsid=0"] if is_4(version) else []),
    ]
    return ["exportfs", "-o", ",".join(words), *(f"{client}:{export}" for client in clients)]


def server_argv(address: str, options: Mapping[str, OptionValue], version: str) -> list[str]:
    """Start the threads, for one version over TCP, on the cluster's own network."""
    threads = str(options.get("threads", THREADS))
    without = ["-N", "3"] if is_4(version) else ["-N", "4"]
    return ["rpc.nfsd", "-H", address, "-p", str(NFS_PORT), "-t", "-U", *without, threads]


def start(
    server: Host, clients: list[str], export: str, options: Mapping[str, OptionValue], version: str
) -> None:
    """Export a directory and start the threads.

    Raises:
        FileSystemError: the kernel or a program refuses.
    """
    try:
        server.run(export_argv(clients, export, options, version))
        if not is_4(version):
            start_port_mapper(server, server.address)
        server.run(server_argv(server.address, options, version))
        without = ["-N", "3"] if is_4(version) else ["-N", "4"]
        server.start(["rpc.mountd", "-F", "-p", str(MOUNT_PORT), *without], log="rpc.mountd")
        if is_4(version):
            server.run(["sh", "-c", END_GRACE])
    except RemoteCommandError as error:
        raise FileSystemError(f"the kernel of {server.name} does not serve NFS: {error}") from error


def stop(server: Host, clients: list[str], export: str) -> None:
    """End the exports and the threads."""
    shared = [f"{client}:{export}" for client in clients]
    server.run(["sh", "-c", 'exportfs -u "$@" 2>/dev/null || true', "sh", *shared])
    server.run(["rpc.nfsd", "0"])


def exports(text: str, export: str) -> dict[str, str]:
    """Client -> options of one directory, of what ``exportfs -s`` prints.

    Sample (nfs-utils 2.6.2): ``/storage/export  10.77.0.1(sync,wdelay,hide,no_subtree_check,sec=sys,rw,insecure,no_root_squash)``.
    """
    found = {}
    for line in text.splitlines():
        path, _, rest = line.partition(" ")
        client, parenthesis, options = rest.strip().partition("(")
        if path == export and parenthesis:
            found[client] = options.rstrip(")")
    return found


def settings(server: Host, export: str) -> dict[str, str]:
    """Threads and exports as the kernel has them."""
    said = exports(server.run(["exportfs", "-s"]).stdout, export)
    found = {
        "server": f"Linux {server.run(['uname', '-r']).stdout.strip()} on {server.name}",
        "threads": server.run(["cat", "/proc/fs/nfsd/threads"]).stdout.strip(),
    }
    return found | {f"export to {client}": options for client, options in said.items()}
