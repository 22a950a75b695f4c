"""Clients of a Lustre: mounted when its servers answer, and unmounted, also when these do not."""

from __future__ import annotations

import re
import time

from wavetank.cluster.filesystems.base import ANSWER_TIMEOUT_S, Site, mount_findings, mount_line
from wavetank.cluster.filesystems.lustre import lnet, options, servers
from wavetank.cluster.filesystems.lustre.targets import fsname, targets
from wavetank.cluster.filesystems.lustre_client import stripes
from wavetank.cluster.host import Host
from wavetank.errors import FileSystemError, RemoteCommandError

MOUNT_TIMEOUT_S = 180.0
UNMOUNT_TIMEOUT_S = 120.0
CONNECTED = ("FULL", "IDLE")  # an OST that nobody used for 20 s is IDLE, and connects by itself


def mount(client: Host, site: Site) -> None:
    """Mount on a client, wait until it is connected with all targets, and set its parameters.

    Raises:
        FileSystemError: the MGS is not reached, or targets are not within the time.
        RemoteCommandError: it cannot be mounted.
    """
    spec, at = site.spec, site.spec.file_system.mount
    nid = servers.mgs_nid(site)
    client.run(["modprobe", "lustre"])
    lnet.see(client, nid)
    client.run(["mkdir", "-p", "--", at])
    argv = ["mount", "-t", "lustre", *options.mount_words(spec), f"{nid}:/{fsname(spec)}", at]
    client.run(argv, timeout_s=MOUNT_TIMEOUT_S)
    _wait_for_targets(client, site)
    for name, value in options.parameters(spec, options.ON_CLIENTS).items():
        client.run(["lctl", "set_param", f"{name}={value}"])


def set_stripes_of_root(client: Host, site: Site) -> None:
    """Have new files, and new directories, spread as the specification says."""
    spec, at = site.spec, site.spec.file_system.mount
    stripes.set_stripes(client, at, options.stripes_of_root(spec))
    directories = spec.file_system.options.get("directory_stripes")
    if directories is not None:
        client.run(["lfs", "setdirstripe", "-D", "-c", str(directories), at])


def unmount(client: Host, site: Site) -> None:
    """Unmount from a client, where it is mounted, after its locks are given back.

    Raises:
        RemoteCommandError: it is busy, or servers do not answer.
    """
    at = site.spec.file_system.mount
    if mount_line(client, at) is not None:
        stripes.give_back(client, fsname(site.spec))
        client.run(["umount", "--", at], timeout_s=UNMOUNT_TIMEOUT_S)


def unmount_anyway(client: Host, site: Site) -> None:
    """Unmount from a client whatever answers: asked to, then forced, then detached.

    Raises:
        FileSystemError: it is still mounted.
    """
    at = site.spec.file_system.mount
    said = None
    for force in ([], ["-f"], ["-l"]):
        if mount_line(client, at) is None:
            return
        try:
            client.run(["umount", *force, "--", at], timeout_s=UNMOUNT_TIMEOUT_S)
        except RemoteCommandError as error:
            said = error
    if mount_line(client, at) is not None:
        raise FileSystemError(f"{at} does not go from {client.name}: {said}") from said


def states(client: Host, site: Site) -> dict[str, str]:
    """State of a client's connection with each target that it knows, by the target's name.

    Sample (2.15.5, obdclass/lprocfs_status.c): ``osc.wt1-OST0000-osc-ffff8e1b.ost_server_uuid=wt1-OST0000_UUID<TAB>FULL``.
    """
    name = fsname(site.spec)
    found: dict[str, str] = {}
    for kind, parameter in (("mdc", "mds_server_uuid"), ("osc", "ost_server_uuid")):
        asked = f"{kind}.{options.INSTANCES[kind].format(name)}.{parameter}"
        try:
            said = client.run(["lctl", "get_param", asked], timeout_s=ANSWER_TIMEOUT_S).stdout
        except RemoteCommandError as error:
            if "No such file" in error.stderr_tail:  # the client has none of these yet
                continue
            raise
        found |= dict(re.findall(rf"={re.escape(name)}-(\w+)_UUID\s+(\w+(?:\tDEACTIVATED)?)", said))
    return found


def findings(client: Host, site: Site) -> list[str]:
    """Findings: targets that a client is not connected with; a mount that is gone. One that would wait is not asked."""
    at = site.spec.file_system.mount
    try:
        if mount_line(client, at) is None:
            return [f"{client.name}: {at} is not mounted"]
        missing = _missing(client, site)
    except RemoteCommandError as error:
        return [str(error)]
    return missing or mount_findings(client, at)


def _missing(client: Host, site: Site) -> list[str]:
    found = states(client, site)
    wanted = [target.name for target in targets(site.spec) if target.index is not None]
    return [
        f"{client.name}: {name} is {found.get(name, 'unknown to it')}"
        for name in wanted
        if found.get(name) not in CONNECTED
    ]


def _wait_for_targets(client: Host, site: Site) -> None:
    deadline = time.monotonic() + MOUNT_TIMEOUT_S
    while missing := _missing(client, site):
        if time.monotonic() > deadline:
            raise FileSystemError(
                f"not connected after {MOUNT_TIMEOUT_S:.0f} s: {'; '.join(missing)}"
            )
        time.sleep(0.1)
