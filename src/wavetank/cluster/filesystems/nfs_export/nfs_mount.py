"""Mounting NFS on a host: by its kernel where that can, else version 3 by our FUSE mount. Used by drivers that serve NFS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from wavetank import native
from wavetank.cluster.components import OptionValue
from wavetank.cluster.filesystems.base import (
    ANSWER_TIMEOUT_S,
    mount_findings,
    mount_line,
    wait_until,
)
from wavetank.cluster.filesystems.nfs_export.ganesha import (
    MOUNT_PORT,
    NFS_PORT,
    START_TIMEOUT_S,
    answers,
    nfs_options,
)
from wavetank.cluster.filesystems.options import Table, option_words
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError, RemoteCommandError
from wavetank.programs import find_program

MOUNT_PROGRAM = "bin/wavetank-nfs-mount"
HAS_CLIENT = "grep -qw nfs /proc/filesystems && command -v mount.nfs >/dev/null"
# A line of /proc/net/tcp of a socket that listens: "2: 00000000:0801 00000000:0000 0A ...", addresses and port in hexadecimal.
LISTENS = f"grep -qsE '^ *[0-9]+: [0-9A-F]+:{NFS_PORT:04X} [0-9A-F]+:0000 0A' /proc/net/tcp /proc/net/tcp6"
KERNEL_OPTIONS = frozenset({"rsize", "wsize", "sync", "noac", "actimeo"})
FUSE_OPTIONS = frozenset(
    {"rsize", "wsize", "sync", "timeout", "direct", "read_ahead_kb", "keepalive"}
)
# One request of our mount; Linux's own default of 128 KiB would cut its 1 MiB reads in eight.
READ_AHEAD_KB = 1024


def has_kernel_client(host: Host | None = None) -> bool:
    """Whether a host's (None: this machine's) kernel mounts NFS 3 now, with its mount program there.

    Sample of /proc/filesystems: ``nodev<TAB>nfs``.
    """
    if host is not None:
        return answers(host, ["sh", "-c", HAS_CLIENT])
    kinds = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    return "nfs" in kinds and find_program("mount.nfs") is not None


def findings(servers: Sequence[Host], clients: Sequence[Host], at: str) -> list[str]:
    """Findings: servers that are not there, else mounts that are gone or do not answer. A mount would wait for its server."""
    of_servers = on_all(servers, _server_findings)
    found = (
        of_servers if any(of_servers) else on_all(clients, lambda host: mount_findings(host, at))
    )
    return [finding for each in found for finding in each]


def _server_findings(server: Host) -> list[str]:
    try:
        server.run(["sh", "-c", LISTENS], timeout_s=ANSWER_TIMEOUT_S)
    except RemoteCommandError as error:
        if error.status == 1:  # of grep
            return [f"{server.name}: no NFS server listens at port {NFS_PORT}"]
        return [str(error)]
    return []


def missing_program(spec: ClusterSpec, kind: str) -> list[str]:
    """Finding: our mount is needed and not built."""
    if native.available(MOUNT_PROGRAM) or (not spec.clients_own_kernels and has_kernel_client()):
        return []
    return [
        f"file_system {kind} needs {MOUNT_PROGRAM}: apt-get install libfuse3-dev libnfs-dev, then '{native.how_to_build()}'"
    ]


def kernel_client() -> Needs:
    """What makes the kernel of a node mount NFS."""
    return Needs({"mount.nfs": "apt-get install nfs-common"})


def needs(spec: ClusterSpec) -> Needs:
    """FUSE, unless this kernel mounts NFS; hosts over ssh say at the mount which they have."""
    if spec.clients_in_guests:
        return kernel_client()
    if spec.clients_own_kernels or has_kernel_client():
        return Needs()
    return Needs(files={"/dev/fuse": "'modprobe fuse', or give the container the device"})


def mount_options(spec: ClusterSpec) -> Table:
    """Of the mount: nodes with kernels of their own decide which client it is."""
    if spec.clients_own_kernels:
        return nfs_options(KERNEL_OPTIONS | FUSE_OPTIONS)
    return nfs_options(KERNEL_OPTIONS if has_kernel_client() else FUSE_OPTIONS)


def is_4(version: str) -> bool:
    """Whether it is version 4, which has one port, and locks of its own."""
    return version.startswith("4")


def mount(
    client: Host,
    source: str,
    at: str,
    options: Mapping[str, OptionValue],
    version: str = "3",
    ports: tuple[int, int] = (NFS_PORT, MOUNT_PORT),
) -> None:
    """Mount ``address:/path``, with the server's ports of NFS and of mounts.

    Raises:
        ClusterError: it is not mounted.
    """
    client.run(["mkdir", "-p", at])
    if has_kernel_client(client):
        client.run(kernel_argv(source, at, options, version, ports))
    elif is_4(version):
        raise FileSystemError(
            f"{client.name} cannot mount NFS {version}: its kernel has no NFS client, or nfs-common is not installed"
        )
    else:
        _by_fuse(client, source, at, options, ports)


def kernel_argv(
    source: str,
    at: str,
    options: Mapping[str, OptionValue],
    version: str = "3",
    ports: tuple[int, int] = (NFS_PORT, MOUNT_PORT),
) -> list[str]:
    """The kernel's mount; of version 3 without a lock server and without asking the port mapper."""
    words = [f"vers={version}", "proto=tcp", f"port={ports[0]}"]
    if not is_4(version):
        words += ["nolock", f"mountport={ports[1]}"]
    return ["mount", "-t", "nfs", "-o", ",".join([*words, *option_words(options)]), source, at]


def _by_fuse(
    client: Host, source: str, at: str, options: Mapping[str, OptionValue], ports: tuple[int, int]
) -> None:
    found = native.find(MOUNT_PROGRAM, "mount NFS on a kernel without a client")
    program = client.bring(found)
    asked = dict(options)
    read_ahead_kb = int(asked.pop("read_ahead_kb", READ_AHEAD_KB))
    words = [f"port={ports[0]}", f"mountport={ports[1]}", *option_words(asked)]
    client.start([program, source, at, "-o", ",".join(words)], log="nfs-mount")
    is_there = ["mountpoint", "-q", at]
    wait_until(client, is_there, f"the mount of {source}", START_TIMEOUT_S, "nfs-mount")
    client.run(["stat", "-f", at])  # waits until it answers
    device = client.run(["mountpoint", "-d", at]).stdout.strip()
    control = f"/sys/class/bdi/{device}/read_ahead_kb"
    client.run(["dd", f"of={control}", "status=none"], stdin=str(read_ahead_kb))


def settings(client: Host, at: str) -> dict[str, str]:
    """The mount as the kernel has it."""
    mounted = mount_line(client, at)
    found = {f"mount on {client.name}": mounted or "not mounted"}
    if mounted is not None:
        if " fuse." in mounted:  # the kernel only knows what FUSE knows
            found[f"mount options on {client.name}"] = _fuse_options(client, at)
        found[f"read-ahead on {client.name}"] = _read_ahead(client, at)
    return found


def client_name(client: Host) -> str:
    """Which client a host uses."""
    return "Linux" if has_kernel_client(client) else "wavetank-nfs-mount (FUSE)"


# $1: where it is mounted, which is before -o on the command line of our mount; that is cut at its commas by itself.
OPTIONS_OF_MOUNT = r"""
for file in /proc/[0-9]*/cmdline; do
  words=$(tr '\0' '\n' <"$file" 2>/dev/null) || continue
  case $words in *wavetank-nfs-mount*"
$1
-o
"*) printf '%s\n' "$words" | sed '1,/^-o$/d' | paste -sd ' '; exit ;; esac
done
"""


def _fuse_options(client: Host, at: str) -> str:
    """Of the process that serves the mount."""
    return client.run(["sh", "-c", OPTIONS_OF_MOUNT, "sh", at]).stdout.strip() or "unknown"


def _read_ahead(client: Host, at: str) -> str:
    """As in force. The device number is asked from mountinfo: the mount itself may be dead."""
    for line in client.run(["cat", "/proc/self/mountinfo"]).stdout.splitlines():
        fields = line.split()
        if fields[4] == at:  # "61 50 0:48 / /wavetank rw ...": the third field is major:minor
            control = f"/sys/class/bdi/{fields[2]}/read_ahead_kb"
            return client.run(["cat", control]).stdout.strip() + " KiB"
    return "unknown"
