"""``wavetank space mount``: mounts a space of the tenant on this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from wavetank.cli.space_service import service_of_tenant
from wavetank.errors import RemoteCommandError, ServiceError, UsageError, WavetankError

NOTHING: Mapping[str, str] = MappingProxyType({})

if TYPE_CHECKING:
    from wavetank.cluster.host import Host
    from wavetank.service.core.records import Space
    from wavetank.service.csi.mounts import Mount


@click.command()
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--print",
    "printed",
    is_flag=True,
    help="Print the command that does it, for a machine without wavetank, and mount nothing.",
)
@click.option(
    "--certificate",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Of this machine, as PEM, where the space has rules by certificate.",
)
@click.option(
    "--key", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Of the certificate, as PEM without a password. Both files stay where they are while it is mounted.",
)  # fmt: skip
def mount(
    name: str, folder: Path, printed: bool, certificate: Path | None, key: Path | None
) -> None:
    """Mount a space on this machine, as root, at a folder that is empty or not there yet.

    'umount FOLDER' unmounts it. What is mounted there already and is the space stays as it is.

    Example: wavetank space mount data /mnt/data
    """
    from wavetank.cluster.namespaces.host import NamespaceHost
    from wavetank.service.csi.mounts import mounts_at

    with service_of_tenant() as spaces:
        space = spaces.named(name)
    if space.export is None:
        raise ServiceError(
            f"space {name!r} is {space.state} and was never ready: see 'wavetank space show {name}'"
        )
    identity = identity_of(space, certificate, key, here=not printed)
    if printed:
        click.echo(how_to_mount(space, str(folder), identity))
        return
    at = folder.absolute()
    if there := mounts_at(str(at)):
        if not is_of(there[-1], space):
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
        here = NamespaceHost("this machine", "127.0.0.1", (), Path(logs), None)
        mount_on(here, space, str(at), identity)
    click.echo(
        f"wavetank: space {name!r} is mounted at {folder}; 'umount {folder}' unmounts it", err=True
    )


def is_of(there: Mount, space: Space) -> bool:
    """Whether a mount is of a space that was ready."""
    from wavetank.service.csi.mounts import MOUNTERS

    if there.source == space.export:
        return True
    return space.kind in MOUNTERS and MOUNTERS[space.kind].is_of(there, str(space.export))


def identity_of(
    space: Space, certificate: Path | None, key: Path | None, here: bool
) -> dict[str, str]:
    """What a client shows to a space, as options of a mount; none where its rules are by address.

    Args:
        space: that is to be mounted.
        certificate: of the client.
        key: of the certificate.
        here: whether the client is this machine, so that its files are looked at.

    Raises:
        UsageError: something is missing, or is not needed.
        ServiceError: the files cannot be used.
    """
    by_name = any(rule.kind == "certificate" for rule in space.access)
    if certificate is None and key is None and not by_name:
        return {}
    if not by_name:
        raise UsageError(
            f"space {space.name!r} has rules by address: leave --certificate and --key out"
        )
    if certificate is None or key is None:
        raise UsageError(
            f"space {space.name!r} has rules by certificate: give this machine's by --certificate FILE and --key FILE"
        )
    found = {"certificate": str(certificate.absolute()), "key": str(key.absolute())}
    if here:
        import ssl

        from wavetank.service.core.certificates import load_own

        load_own(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), found["certificate"], found["key"])
    return found


def how_to_mount(space: Space, at: str, identity: Mapping[str, str]) -> str:
    """The command that mounts a space that was ready, where wavetank is not.

    Raises:
        ServiceError: this version does not know.
    """
    from wavetank.service.core.nfs_export import NfsExport
    from wavetank.service.core.volume import Volume
    from wavetank.service.csi.mounts import how_to_mount_by_tls

    try:
        if space.kind == "nfs":
            export = NfsExport.of(str(space.export))
            options, source = export.mount_options(), export.source()
        else:
            volume = Volume.of(str(space.export))
            if volume.certificate is not None:
                return how_to_mount_by_tls(volume, at, identity)
            options, source = volume.mount_options(), volume.source()
    except ValueError as error:
        raise ServiceError(
            f"space {space.name!r} cannot be mounted by this version: {error}"
        ) from error
    told = ",".join(f"{key}={value}" if value else key for key, value in options.items())
    return f"mount -t {space.kind} -o {told} {source} {at}"


def mount_on(host: Host, space: Space, at: str, identity: Mapping[str, str] = NOTHING) -> None:
    """Mount a space that was ready on a host: NFS by its kernel or else by FUSE, GlusterFS by FUSE.

    Args:
        host: that gets it.
        space: that was ready.
        at: directory.
        identity: see ``identity_of``.

    Raises:
        ServiceError: it is not mounted; why, and what to do.
    """
    from wavetank.service.csi.mounts import MOUNTERS

    try:
        if space.kind not in MOUNTERS:
            raise ServiceError(f"spaces of {space.kind} are not mounted by this version")
        MOUNTERS[space.kind].mount(host, str(space.export), at, dict(identity))
    except WavetankError as error:
        with suppress(WavetankError):
            host.run(["umount", at])  # of a client that has no server
        client = "nfs-common" if space.kind == "nfs" else "glusterfs-client"
        why = error.stderr_tail.splitlines()[-1:] if isinstance(error, RemoteCommandError) else []
        shown = f"'wavetank space show {space.name}'"
        lets_in = f"{shown} lets this machine's address in; else: wavetank space grant {space.name} ADDRESS"
        if identity:
            lets_in = f"{shown} has a rule with the name in {identity['certificate']}, and the authority that signed it"
        raise ServiceError(
            f"cannot mount space {space.name!r} at {at}: {why[0] if why else error}. See that {client} is installed, and that {lets_in}"
        ) from error
