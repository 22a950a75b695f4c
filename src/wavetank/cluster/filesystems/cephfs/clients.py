"""Clients of CephFS: ceph-fuse, or in guests the client of their kernels; how each mounts, unmounts and is looked at."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from wavetank.cluster.filesystems.base import (
    ANSWER_TIMEOUT_S,
    NOT_FOUND,
    Site,
    mount_line,
    unmount_from,
)
from wavetank.cluster.filesystems.cephfs.options import (
    CONFIGURATION,
    STATE,
    client_of,
    kernel_mount_words,
)
from wavetank.cluster.host import Host, on_all
from wavetank.errors import ClusterError, FileSystemError, RemoteCommandError

log = logging.getLogger(__name__)

MOUNT_TIMEOUT_S = 180.0
MON_PORT = 6789  # of the messages' first version, which every kernel speaks
KINDS = {"fuse.ceph-fuse": "ceph-fuse", "ceph": "Linux"}  # in /proc/mounts, and for people

# Loads the kernel's client where there is one: 0 with it, 1 without.
LOAD_CLIENT = "modprobe -q ceph; grep -qw ceph /proc/filesystems"

# Whether the client process of a mount lives.
CLIENT_LIVES = r"""
pid=$(cat "$1/client.admin.pid" 2>/dev/null)
[ -n "$pid" ] && grep -q '^State:[^Z]*$' "/proc/$pid/status" 2>/dev/null && echo lives
true
"""

# Ends the client process of a mount that hangs, and takes the mount away.
END_CLIENT = r"""
for file in /proc/[0-9]*/cmdline; do
  words=$(tr '\0' ' ' <"$file" 2>/dev/null) || continue
  pid=${file#/proc/}
  case $words in ceph-fuse*"$1"*" $2 ") kill -9 "${pid%/cmdline}" 2>/dev/null ;; esac
done
if grep -q " $2 fuse.ceph-fuse " /proc/mounts; then umount -l -- "$2"; fi
rm -f -- "$1/client.admin.pid" "$1/client.admin.asok"
"""


def mount(site: Site, monitor: str, path: str) -> None:
    """Mount on all clients: by the client that is asked for, else in guests by their kernels where these have one.

    Args:
        site: with the clients.
        monitor: its address.
        path: where.

    Raises:
        FileSystemError: it is not mounted.
    """
    words = kernel_mount_words(site.spec)
    on_all(
        site.clients,
        lambda host: _mount_on(
            host, _kernel_argv(monitor, path, words), path, client_of(site.spec)
        ),
    )


def unmount(site: Site, path: str) -> None:
    """Unmount from all clients, and wait until client processes and their caches are gone.

    Raises:
        ClusterError: it is still mounted, or a client does not end.
    """
    on_all(site.clients, lambda host: _unmount_and_wait(host, path))


def findings(site: Site, path: str) -> list[str]:
    """Mounts that are gone or do not answer."""
    of_clients = on_all(site.clients, lambda host: _findings_of(host, path))
    return [each for found in of_clients for each in found]


def client_name(host: Host, path: str) -> str:
    """Which client a host has mounted with: "ceph-fuse", or "Linux 6.1.176" of the kernel's; "none" where it has not."""
    kind = _kind_of(host, path)
    if kind != "ceph":
        return KINDS.get(kind, "none")
    return f"{KINDS[kind]} {host.run(['uname', '-r']).stdout.strip()}"


def has_socket(host: Host, path: str) -> bool:
    """Whether the client is a process that can be asked for its options."""
    return _kind_of(host, path) == "fuse.ceph-fuse"


def _kind_of(host: Host, path: str) -> str:
    """Sample (Linux 6.1): ``10.77.0.2:6789:/ /wavetank ceph rw,noatime,name=admin,acl 0 0``; empty where it is not mounted."""
    line = mount_line(host, path)
    return "" if line is None else line.split(" ")[2]


def _kernel_argv(monitor: str, path: str, words: Sequence[str]) -> list[str]:
    """Without mount.ceph, which would look for keys: there are none."""
    asked = ",".join(("name=admin", *words))
    return ["mount", "-i", "-t", "ceph", "-o", asked, f"{monitor}:{MON_PORT}:/", path]


def _mount_on(host: Host, by_kernel: list[str], path: str, asked: str | None) -> None:
    try:
        host.run(["mkdir", "-p", "--", path])
        if asked != "fuse" and _has_kernel_client(host):
            host.run(by_kernel, timeout_s=MOUNT_TIMEOUT_S)
        elif asked == "kernel":
            raise FileSystemError(
                "its kernel has no module ceph. Leave out file_system.options.client and mount options of the kernel"
            )
        else:
            _try_twice(host, path)
        host.run(["ls", "--", path], timeout_s=MOUNT_TIMEOUT_S)  # waits until it answers
    except ClusterError as error:
        raise FileSystemError(f"cannot mount cephfs on {host.name}: {error}") from error


def _has_kernel_client(host: Host) -> bool:
    try:
        host.run(["sh", "-c", LOAD_CLIENT])
    except RemoteCommandError as error:
        if error.status in (1, NOT_FOUND):
            return False
        raise
    return True


def _try_twice(host: Host, path: str) -> None:
    """Mount by FUSE; a client that hangs at its start (seen once in sixty mounts, 16.2.15) is ended and started again."""
    argv = ["ceph-fuse", "-c", CONFIGURATION, f"--admin_socket={STATE}/client.admin.asok", path]
    try:
        host.run(argv, timeout_s=MOUNT_TIMEOUT_S / 3)  # in the background once it is mounted
    except RemoteCommandError as error:
        if error.status is not None:
            raise
        log.warning("%s: ceph-fuse hung while mounting; it is started again", host.name)
        host.run(["sh", "-c", END_CLIENT, "sh", STATE, path])
        host.run(argv, timeout_s=MOUNT_TIMEOUT_S)


def _unmount_and_wait(host: Host, path: str) -> None:
    unmount_from(host, path, MOUNT_TIMEOUT_S)
    deadline = time.monotonic() + MOUNT_TIMEOUT_S
    while host.run(["sh", "-c", CLIENT_LIVES, "sh", STATE]).stdout:
        if time.monotonic() > deadline:
            raise FileSystemError(f"the client of {path} on {host.name} does not end")
        time.sleep(0.02)


def _findings_of(host: Host, path: str) -> list[str]:
    try:
        if _kind_of(host, path) not in KINDS:
            return [f"cephfs is not mounted on {host.name} at {path} any more"]
        host.run(["stat", "--", path], timeout_s=ANSWER_TIMEOUT_S)
    except RemoteCommandError as error:
        return [f"cephfs client on {host.name} died or does not answer: {error.stderr_tail}"]
    return []
