"""What is mounted on this machine, and how a space and a further place of it are mounted here."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wavetank.cluster.facade import Host, OptionValue, nfs_mount
from wavetank.errors import ServiceError
from wavetank.service.core.nfs_export import NfsExport
from wavetank.service.core.volume import Identity, Volume, as_comment

MOUNTINFO = Path("/proc/self/mountinfo")
MOST_STACKED = 64
# $1 options, $2 source, $3 directory.
GLUSTER_MOUNT = 'command -v mount.glusterfs; mkdir -p "$3"; mount -t glusterfs -o "$1" "$2" "$3"; stat -f "$3"; mountpoint "$3"'
FILES = "/run/wavetank-mounts"
"""Where a machine has what its client of a volume with TLS reads; empty after a start."""
# $1 path of its files without their endings, $2 name of the volume, $3 directory, then options; standard input: the volume, and whom to
# trust. Servers are asked nothing that TLS does not protect: what the volume is, is known.
GLUSTER_TLS_MOUNT = r"""set -e
command -v glusterfs >/dev/null
name=$1 volume=$2 at=$3
shift 3
(umask 077; mkdir -p "${name%/*}"; cat >"$name.new")
sed -n 's/^#authority //p' "$name.new" >"$name.authority"
mv "$name.new" "$name.volume"
mkdir -p "$at"
log=/var/log/glusterfs/${name##*/}.log
mkdir -p "${log%/*}"
: >"$log"
if glusterfs --volfile="$name.volume" --volfile-id="/$volume" --process-name fuse --log-file="$log" "$@" "$at" &&
  stat -f "$at" >/dev/null 2>&1 && mountpoint -q "$at"; then
  exit 0
fi
umount "$at" 2>/dev/null || :
echo "glusterfs does not mount it: $(grep -m 1 '\] [EC] \[' "$log" | sed 's/.*\] [0-9]*-//')" >&2
exit 1
"""
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
        try:
            found = NfsExport.of(export)
        except ValueError as error:
            raise ServiceError(str(error)) from error
        nfs_mount.mount(host, found.source(), at, options, ports=found.ports)

    def known(self) -> frozenset[str]:
        """Of the client that this machine has."""
        if nfs_mount.has_kernel_client():
            return nfs_mount.KERNEL_OPTIONS
        return nfs_mount.FUSE_OPTIONS

    def is_of(self, mount: Mount, export: str) -> bool:
        """By what it was mounted from."""
        try:
            return mount.source == NfsExport.of(export).source()
        except ValueError:
            return False


class GlusterMounter:
    """GlusterFS by its client of FUSE, which its servers tell what the volume is, also when it has changed.

    Where bricks speak TLS, the line of the space tells it, and options ``certificate`` and ``key`` are the client's: paths on its machine.
    """

    def mount(self, host: Host, export: str, at: str, options: Mapping[str, OptionValue]) -> None:
        """Mount it. A client that no brick lets in looks mounted for a while: so it is asked."""
        try:
            volume = Volume.of(export)
        except ValueError as error:
            raise ServiceError(str(error)) from error
        if volume.certificate is not None:
            self._mount_by_tls(host, volume, at, dict(options))
            return
        chosen = {**volume.mount_options(), **options}
        told = ",".join(key if each is True else f"{key}={each}" for key, each in chosen.items())
        host.run(["sh", "-ec", GLUSTER_MOUNT, "sh", told, volume.source(), at])

    @staticmethod
    def _mount_by_tls(host: Host, volume: Volume, at: str, options: dict[str, OptionValue]) -> None:
        certificate, key = options.pop("certificate", None), options.pop("key", None)
        if certificate is None or key is None:
            raise ServiceError("its rules are by certificate, and this client has none")
        name, text = tls_files(volume, str(certificate), str(key))
        words = [f"--{one}" if each is True else f"--{one}={each}" for one, each in options.items()]
        argv = ["sh", "-c", GLUSTER_TLS_MOUNT, "sh", name, volume.space, at, *words]
        host.run(argv, stdin=text)

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


def tls_files(volume: Volume, certificate: str, key: str) -> tuple[str, str]:
    """What a client of a volume with TLS reads: a path that no other client has, without ending, and the text.

    Args:
        volume: with its certificate.
        certificate: path of the client's, on its machine.
        key: path of its key.
    """
    digest = hashlib.sha256(f"{volume.export()} {certificate} {key}".encode()).hexdigest()[:16]
    name = f"{FILES}/{volume.space}-{digest}"
    identity = Identity(certificate, key, f"{name}.authority")
    return name, as_comment("authority", str(volume.certificate)) + volume.client_file(
        identity=identity
    )


def how_to_mount_by_tls(volume: Volume, at: str, identity: Mapping[str, str]) -> str:
    """A script for a shell that mounts a volume with TLS where wavetank is not."""
    name, text = tls_files(volume, identity["certificate"], identity["key"])
    script = GLUSTER_TLS_MOUNT.replace("'", "'\\''")
    return f"sh -c '{script}' sh {name} {volume.space} {at} <<'END'\n{text}END"


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
