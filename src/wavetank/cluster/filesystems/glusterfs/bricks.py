"""Bricks of the volume: one on each device of each data server."""

from __future__ import annotations

from dataclasses import dataclass

from wavetank.cluster.devices import device_paths
from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.host import Host

BRICK = "brick"  # directory on the local file system of each device


@dataclass(frozen=True)
class Brick:
    """A directory that a server gives to the volume.

    Attributes:
        host: the server.
        path: of the directory.
        name: for people: the server's, with the device's mount point for further devices ("io1:/storage2").
    """

    host: Host
    path: str
    name: str


def bricks_of(site: Site) -> tuple[Brick, ...]:
    """In the order of the volume: the first device of every server, then the second of every server, ..."""
    first, *more = device_paths(site.spec.storage, site.storage_path)
    return (
        *(Brick(host, f"{first}/{BRICK}", host.name) for host in site.servers),
        *(
            Brick(host, f"{path}/{BRICK}", f"{host.name}:{path}")
            for path in more
            for host in site.servers
        ),
    )


def brick_paths(site: Site) -> tuple[str, ...]:
    """Directories of the bricks on every server."""
    return tuple(f"{path}/{BRICK}" for path in device_paths(site.spec.storage, site.storage_path))
