"""Mounts a cluster's file system for its ranks: on their nodes, or around them where guests see that or have disks there."""

from __future__ import annotations

from wavetank.cluster.filesystems.base import FileSystemDriver, Site, mount_line
from wavetank.cluster.host import PassesThrough
from wavetank.cluster.providers.base import Nodes


def mount(file_system: FileSystemDriver, site: Site, nodes: Nodes) -> None:
    """Mount it.

    Raises:
        ClusterError: it is not mounted, or guests do not see it.
    """
    file_system.mount(site)
    if isinstance(nodes, PassesThrough):
        nodes.show(file_system.mount_path(site))


def unmount(file_system: FileSystemDriver, site: Site, nodes: Nodes) -> None:
    """Unmount it: caches of clients, and of guests, are gone with it.

    Raises:
        ClusterError: it is still mounted.
    """
    if isinstance(nodes, PassesThrough):
        nodes.hide(file_system.mount_path(site))
    file_system.unmount(site)


def views(at: str, nodes: Nodes) -> dict[str, str]:
    """How guests see what is mounted around them, read back; empty where nodes mount themselves."""
    if not isinstance(nodes, PassesThrough):
        return {}
    return {
        f"view in guest {name}": mount_line(nodes.hosts[name], at) or "not mounted"
        for name in nodes.outside
    }


def health(file_system: FileSystemDriver, site: Site, nodes: Nodes) -> list[str]:
    """Findings: servers and mounts that are gone.

    Raises:
        ClusterError: one does not answer, or a guest does not see what is mounted around it.
    """
    found = file_system.health(site)
    if not found and isinstance(nodes, PassesThrough):
        nodes.see(file_system.mount_path(site))
    return found
