"""Targets on their servers: made, started, stopped and removed again, also half-made ones.

Each target has a directory below the node's storage: ``image`` is the file it is on, or ``device`` a link to its block device,
made before that is formatted; ``mnt`` is where it is mounted, which is what starts it. Nothing else is known of a target afterwards.
"""

from __future__ import annotations

from wavetank.cluster.filesystems.base import Site, mount_line
from wavetank.cluster.filesystems.lustre import lnet, options
from wavetank.cluster.filesystems.lustre.targets import Target, backend, fsname, mkfs_argv, targets
from wavetank.cluster.host import Host
from wavetank.errors import FileSystemError, RemoteCommandError

FORMAT_TIMEOUT_S = 900.0
START_TIMEOUT_S = 300.0  # a first start registers the target with the MGS
STOP_TIMEOUT_S = 120.0
HEALTHY = "healthy"


def folder(site: Site) -> str:
    """Of all targets of a server."""
    return f"{site.storage_path}/lustre"


def directory(site: Site, target: Target) -> str:
    """Of one target."""
    return f"{folder(site)}/{target.name}"


def hosts(site: Site) -> tuple[Host, ...]:
    """Data and metadata servers, each once."""
    return tuple({host.name: host for host in (*site.servers, *site.metadata_servers)}.values())


def of_host(site: Site, host: Host) -> tuple[Target, ...]:
    """The targets of one server, in the order in which they start."""
    return tuple(target for target in targets(site.spec) if target.server == host.name)


def mgs_nid(site: Site) -> str:
    """Address of the MGS."""
    return lnet.nid(site.metadata_servers[0], options.network(site.spec))


def see_path(host: Host, site: Site) -> None:
    """See that the storage of a server is where it is said to be: mounts are found by their paths, which have no links.

    Raises:
        FileSystemError: it is somewhere else.
    """
    host.run(["mkdir", "-p", "--", site.storage_path])
    found = host.run(["readlink", "-f", "--", site.storage_path]).stdout.strip()
    if found != site.storage_path:
        raise FileSystemError(
            f"{site.storage_path} of {host.name} is {found}: name a directory without links, in ssh.directory"
        )


def see_empty(host: Host, target: Target) -> None:
    """See that a target's block device holds nothing.

    Raises:
        FileSystemError: it holds something, or is none.
    """
    if target.device is None:
        return
    try:
        host.run(["test", "-b", target.device])
        found = host.run(["wipefs", "--noheadings", target.device]).stdout.split("\n")
    except RemoteCommandError as error:
        raise FileSystemError(
            f"{target.device} of {host.name} is no block device that can be read: {error.stderr_tail or 'it is something else'}"
        ) from error
    held = [" ".join(line.split()) for line in found if line.strip()]
    if held:
        raise FileSystemError(
            f"{target.device} of {host.name} is not empty: {'; '.join(held)}. Name another device, or empty it by "
            f"'wipefs --all {target.device}' if nobody needs what it holds"
        )


def make(host: Host, target: Target, site: Site) -> None:
    """Format a target.

    Raises:
        RemoteCommandError: it cannot be.
    """
    at, below = directory(site, target), backend(site.spec)
    host.run(["mkdir", "-p", "--", f"{at}/mnt"])
    if target.device is not None:
        source = target.device
        host.run(["ln", "-s", "--", source, f"{at}/device"])
    else:
        source = f"{at}/image"
        host.run(["truncate", "-s", str(target.size_bytes), source])
        if below == "ldiskfs":
            source = host.run(["losetup", "--find", "--show", source]).stdout.strip()
    host.run(
        mkfs_argv(target, fsname(site.spec), mgs_nid(site), below, source),
        timeout_s=FORMAT_TIMEOUT_S,
    )


def start(host: Host, target: Target, site: Site) -> None:
    """Start a target, and see that its server is well.

    Raises:
        FileSystemError: it does not come up, or is not well.
    """
    if target != targets(site.spec)[0]:
        lnet.see(host, mgs_nid(site))
    argv = ["mount", "-t", "lustre", _source(host, target, site), f"{directory(site, target)}/mnt"]
    try:
        host.run(argv, timeout_s=START_TIMEOUT_S)
    except RemoteCommandError as error:
        raise FileSystemError(
            f"{target.name} does not start on {host.name}: {error}. Its kernel says more: dmesg"
        ) from error
    said = health_of(host)
    if said != HEALTHY:
        raise FileSystemError(f"{host.name} is not well after {target.name} started: {said}")


def health_of(host: Host) -> str:
    """What a server says of itself: "healthy", or what is not (2.15.5, obdclass/obd_sysfs.c: ``NOT HEALTHY``)."""
    return " ".join(host.run(["lctl", "get_param", "-n", "health_check"]).stdout.split())


def is_started(host: Host, target: Target, site: Site) -> bool:
    """Whether a target is mounted."""
    return mount_line(host, f"{directory(site, target)}/mnt") is not None


def stop(host: Host, target: Target, site: Site) -> None:
    """Stop a target, where it is started. One that waits for clients or servers that are gone is forced to.

    Raises:
        FileSystemError: it is still started.
    """
    at = f"{directory(site, target)}/mnt"
    said = None
    for force in ([], ["-f"]):
        if mount_line(host, at) is None:
            return
        try:
            host.run(["umount", *force, "--", at], timeout_s=STOP_TIMEOUT_S)
        except RemoteCommandError as error:
            said = error
    if mount_line(host, at) is not None:
        raise FileSystemError(f"{target.name} does not stop on {host.name}: {said}") from said


def remove(host: Host, target: Target, site: Site) -> None:
    """Delete a target that is stopped, as far as it was made: its pool, its loop device, its file; its block device is emptied.

    Raises:
        FileSystemError: it is started.
        RemoteCommandError: something of it stays.
    """
    at = directory(site, target)
    if not lnet.is_there(host, at):
        return
    if is_started(host, target, site):
        raise FileSystemError(
            f"{target.name} still runs on {host.name}: what it is on is left as it is"
        )
    if backend(site.spec) == "zfs":
        pool = target.pool(fsname(site.spec))
        if pool in host.run(["zpool", "list", "-H", "-o", "name"]).stdout.split():
            host.run(["zpool", "destroy", "-f", pool], timeout_s=STOP_TIMEOUT_S)
    if target.device is None:
        for loop in _loops(host, f"{at}/image"):
            host.run(["losetup", "--detach", loop])
    elif lnet.is_there(host, f"{at}/device"):
        host.run(["wipefs", "--all", "--", target.device])
    host.run(["rm", "-rf", "--one-file-system", "--", at])


def _source(host: Host, target: Target, site: Site) -> str:
    """What is mounted to start a target."""
    if backend(site.spec) == "zfs":
        return f"{target.pool(fsname(site.spec))}/{target.name.lower()}"
    if target.device is not None:
        return target.device
    loops = _loops(host, f"{directory(site, target)}/image")
    if not loops:
        raise FileSystemError(
            f"{target.name} of {host.name} has no loop device: did the host start again since it was made?"
        )
    return loops[0]


def _loops(host: Host, file: str) -> list[str]:
    """Loop devices of a file that may not be there."""
    if not lnet.is_there(host, file):
        return []
    argv = ["losetup", "--associated", file, "--noheadings", "--output", "NAME"]
    return host.run(argv).stdout.split()
