"""``wavetank space mount``: mounts a space of the tenant on this machine."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.errors import ServiceError, UsageError, WavetankError

if TYPE_CHECKING:
    from wavetank.cluster.host import Host
    from wavetank.service.core.records import Space

FILES = Path("/run/wavetank/spaces")
"""Of the files by which GlusterFS is mounted: they last as long as mounts can."""
BY_FILE = 'mkdir -p "$2"; umask 077; mkdir -p "${1%/*}"; cat >"$1"; mount -t glusterfs "$1" "$2"; stat -f "$2"; mountpoint "$2"'


@click.command()
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def mount(name: str, folder: Path) -> None:
    """Mount a space on this machine, as root, at a folder that is empty or not there yet.

    'umount FOLDER' unmounts it. What is mounted there already and is the space stays as it is.

    Example: wavetank space mount data /mnt/data
    """
    from wavetank.cli.space import service_of_tenant
    from wavetank.cli.space_check import is_of
    from wavetank.cluster.namespaces.host import NamespaceHost
    from wavetank.service.csi.mounts import mounts_at

    with service_of_tenant() as spaces:
        space = spaces.named(name)
    if space.export is None:
        raise ServiceError(
            f"space {name!r} is {space.state} and was never ready: see 'wavetank space show {name}'"
        )
    at = folder.absolute()
    if there := mounts_at(str(at)):
        if not is_of(there[-1].source, space):
            raise UsageError(f"{folder}: {there[-1].source} is mounted there; name another folder")
        click.echo(f"wavetank: space {name!r} is mounted at {folder} already", err=True)
        return
    if at.is_dir() and any(at.iterdir()):
        raise UsageError(f"{folder} is not empty, and a mount would hide what it has")
    if os.geteuid() != 0:
        raise ServiceError(
            f"only root mounts file systems: run 'wavetank space mount {name} {folder}' as root"
        )
    with tempfile.TemporaryDirectory(prefix="wavetank-mount-") as logs:
        mount_on(NamespaceHost("this machine", "127.0.0.1", (), Path(logs), None), space, str(at))
    click.echo(
        f"wavetank: space {name!r} is mounted at {folder}; 'umount {folder}' unmounts it", err=True
    )


def mount_on(host: Host, space: Space, at: str) -> None:
    """Mount a space that was ready on a host: NFS by its kernel or else by FUSE, GlusterFS by a file that is kept there.

    Raises:
        ServiceError: it is not mounted; why, and what to do.
    """
    from wavetank.cluster.filesystems.nfs_export import nfs_mount
    from wavetank.service.core.volume import Volume

    export = str(space.export)
    try:
        if space.kind == "nfs":
            nfs_mount.mount(host, export, at, {})
        elif space.kind == "glusterfs":
            host.run(["sh", "-c", "command -v mount.glusterfs"])
            text = Volume.of(export).client_file()
            host.run(["sh", "-ec", BY_FILE, "sh", f"{FILES}/{space.id}.vol", at], stdin=text)
        else:
            raise ServiceError(f"spaces of {space.kind} are not mounted by this version")
    except (ValueError, WavetankError) as error:
        with suppress(WavetankError):
            host.run(["umount", at])  # of a client that has no server
        client = "nfs-common" if space.kind == "nfs" else "glusterfs-client"
        raise ServiceError(
            f"cannot mount space {space.name!r} at {at}: {error}. See that {client} is installed, and that 'wavetank space show "
            f"{space.name}' lets this machine's address in; else: wavetank space grant {space.name} ADDRESS"
        ) from error
