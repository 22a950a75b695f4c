"""What is mounted on this machine, and how a space and a further place of it are mounted here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wavetank.cluster.components import OptionValue
from wavetank.cluster.filesystems.nfs_export import nfs_mount
from wavetank.cluster.host import Host
from wavetank.errors import ServiceError
from wavetank.service.core.volume import Volume

MOUNTINFO = Path("/proc/self/mountinfo")
MOST_STACKED = 64
# $1 options, $2 source, $3 directory.
GLUSTER_MOUNT = 'command -v mount.glusterfs; mkdir -p "$3"; mount -t glusterfs -o "$1" "$2" "$3"; stat -f "$3"; mountpoint "$3"'
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """A mount of this machine.

    Attributes:
        at: its path.
        source: what it was mounted from, e.g. "10.0.0.7:/sp-1f".
        place: device and the directory of it that is seen; two mounts of one space have the same.
        read_only: whether this mount is.
    """

    at: str
    source: str
    place: tuple[str, str]
    read_only: bool


class Mounter(Protocol):
    """Mounts spaces of one kind."""

    def mount(self, host: Host, export: str, at: str, options: Mapping[str, OptionValue]) -> None:
        """Mount an export at a directory that is there.

        Raises:
            WavetankError: it is not mounted.
        """

    def known(self) -> frozenset[str]:
        """Options of a mount."""

    def is_of(self, mount: Mount, export: str) -> bool:
        """Whether a mount is of that export."""


class NfsMounter:
    """NFS by this machine's kernel, or by our FUSE mount where it cannot."""

    def mount(self, host: Host, export: str, at: str, options: Mapping[str, OptionValue]) -> None:
        """Mount it."""
        nfs_mount.mount(host, export, at, options)

    def known(self) -> frozenset[str]:
        """Of the client that this machine has."""
        if nfs_mount.has_kernel_client():
            return nfs_mount.KERNEL_OPTIONS
        return nfs_mount.FUSE_OPTIONS

    def is_of(self, mount: Mount, export: str) -> bool:
        """By what it was mounted from."""
        return mount.source == export


class GlusterMounter:
    """GlusterFS by its client of FUSE, which its servers tell what the volume is, also when it has changed."""

    def mount(self, host: Host, export: str, at: str, options: Mapping[str, OptionValue]) -> None:
        """Mount it. A client that no brick lets in looks mounted for a while: so it is asked."""
        try:
            volume = Volume.of(export)
        except ValueError as error:
            raise ServiceError(str(error)) from error
        chosen = {**volume.mount_options(), **options}
        told = ",".join(key if each is True else f"{key}={each}" for key, each in chosen.items())
        host.run(["sh", "-ec", GLUSTER_MOUNT, "sh", told, volume.source(), at])

    def known(self) -> frozenset[str]:
        """Of mount.glusterfs 10.3, as far as they concern a mount alone."""
        return frozenset(
            {"acl", "attribute-timeout", "direct-io-mode", "entry-timeout", "negative-timeout"}
        )

    def is_of(self, mount: Mount, export: str) -> bool:
        """By its name: its servers may be others by now."""
        try:
            return mount.source.rpartition(":/")[2] == Volume.of(export).space
        except ValueError:
            return False


MOUNTERS: Mapping[str, Mounter] = {"glusterfs": GlusterMounter(), "nfs": NfsMounter()}
"""By kind of file system."""


def mounts_at(path: str, mountinfo: Path = MOUNTINFO) -> tuple[Mount, ...]:
    """What is mounted at a path, the one that is seen last.

    Sample of a line (proc_pid_mountinfo(5)): "61 50 0:48 /dir /at rw,relatime shared:1 - nfs 10.0.0.7:/sp-1f rw,vers=3".
    """
    above, _, name = path.rstrip("/").rpartition("/")
    # Not the path itself: one whose server is gone answers no question.
    wanted = f"{os.path.realpath(above or '/').rstrip('/')}/{name}"
    found = (_mount(line) for line in mountinfo.read_text().splitlines())
    return tuple(mount for mount in found if mount.at == wanted)


def _mount(line: str) -> Mount:
    fields = line.split(" ")
    source = fields[fields.index("-") + 2]
    return Mount(
        at=_plain(fields[4]),
        source=_plain(source),
        place=(fields[2], _plain(fields[3])),
        read_only="ro" in fields[5].split(","),
    )


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), text)


def answers(path: str) -> bool:
    """Whether a mount answers: one of FUSE whose process is gone does not."""
    try:
        os.statvfs(path)
    except OSError:
        return False
    return True


def bind(host: Host, staged: str, at: str, read_only: bool) -> None:
    """Show what is mounted at one path at another one too.

    Raises:
        WavetankError: it is not mounted.
    """
    if not mounts_at(at):
        host.run(["mount", "--bind", staged, at])
    if read_only:
        host.run(["mount", "-o", "remount,bind,ro", at])


def unmount(host: Host, path: str) -> None:
    """Unmount all that is mounted at a path. Nothing is no error.

    Raises:
        WavetankError: something uses it.
    """
    for _ in range(MOST_STACKED):
        there = mounts_at(path)
        if not there:
            return
        host.run(["umount", "--", there[-1].at])
