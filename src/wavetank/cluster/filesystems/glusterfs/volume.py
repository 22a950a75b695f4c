"""The volume: peers, bricks and options by the ``gluster`` command on the first server, and what it says of them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from wavetank.cluster.devices import device_paths
from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.filesystems.glusterfs.daemons import VOLUME
from wavetank.cluster.filesystems.glusterfs.options import volume_words
from wavetank.cluster.host import Host, on_all
from wavetank.errors import FileSystemError, RemoteCommandError

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


PEER_TIMEOUT_S = 180.0
JOINED = "State: Peer in Cluster (Connected)"  # gluster 10.3
# Options that decide how reads and writes flow; the others are shown when they differ from gluster's default.
SHOWN = re.compile(
    r"features\.shard(-block-size)?|cluster\.(min-free-disk|lookup-optimize)|network\.ping-timeout"
    r"|performance\.(write-behind|read-ahead|io-cache|quick-read|open-behind|readdir-ahead|stat-prefetch|client-io-threads|"
    r"io-thread-count|cache-size|io-cache-size|write-behind-window-size|read-ahead-page-count)"
)


class Volume:
    """The volume of a site."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def gluster(self, *words: str, what: str, on: Host | None = None) -> str:
        """Run ``gluster`` on the first server, or on another.

        Raises:
            FileSystemError: with gluster's own message.
        """
        host = on or self.site.servers[0]
        try:
            return host.run(["gluster", "--mode=script", *words], timeout_s=130).stdout
        except RemoteCommandError as error:
            raise FileSystemError(
                f"{host.name} cannot {what}: {error.stderr_tail or 'gluster says nothing'}"
            ) from error

    def gather_peers(self) -> None:
        """Make one pool of all servers; gluster takes one new peer at a time.

        Raises:
            FileSystemError: a server does not join, with what it says of its peers.
        """
        for host in self.site.servers[1:]:
            self.gluster("peer", "probe", host.address, what=f"make {host.name} a peer")
        if len(self.site.servers) > 1:
            on_all(self.site.servers, self._await_peers)

    def _await_peers(self, host: Host) -> None:
        """A probe returns before the others know each other, and a volume is refused until they do."""
        deadline = time.monotonic() + PEER_TIMEOUT_S
        while True:
            status = self.gluster("peer", "status", what="list its peers", on=host)
            if status.count(JOINED) == len(self.site.servers) - 1:
                return
            if time.monotonic() > deadline:
                raise FileSystemError(
                    f"glusterfs servers do not become peers within {PEER_TIMEOUT_S:g} s; "
                    f"{host.name} says: {' '.join(status.split())}"
                )
            time.sleep(0.05)

    def create(self) -> None:
        """Make the volume of all bricks. ``force``: the local file system may be the root's."""
        bricks = [f"{brick.host.address}:{brick.path}" for brick in bricks_of(self.site)]
        kind = volume_words(self.site.spec)
        self.gluster("volume", "create", VOLUME, *kind, "transport", "tcp", *bricks, "force", what="create the volume")  # fmt: skip

    def set_options(self, options: Mapping[str, str]) -> None:
        """Set all options in one transaction.

        Raises:
            FileSystemError: gluster refuses one; of several it does not say which, so they are tried singly then.
        """
        if not options:
            return
        words = [word for pair in options.items() for word in pair]
        try:
            self.gluster("volume", "set", VOLUME, *words, what="set file_system.options")
        except FileSystemError:
            for name, value in options.items():
                what = f"set file_system.options {name}: {value}"
                self.gluster("volume", "set", VOLUME, name, value, what=what)
            raise

    def start(self) -> None:
        """Start the bricks."""
        self.gluster("volume", "start", VOLUME, what="start the volume")

    def settings(self) -> dict[str, str]:
        """Version, type, bricks and options as gluster says that they are."""
        names = {host.address: host.name for host in self.site.servers}
        version = self.gluster("--version", what="say its version").splitlines()[0]
        facts = volume_facts(self.gluster("volume", "info", VOLUME, what="describe the volume"))
        found = {
            "glusterfs": version,
            "volume type": facts["Type"],
            "volume status": facts["Status"],
        }
        for name, value in facts.items():
            if re.fullmatch(r"Brick\d+", name):
                address, _, path = value.partition(":")
                found[f"brick {name[5:]}"] = f"{names.get(address, address)}:{path}"
        for name, value in option_values(
            self.gluster("volume", "get", VOLUME, "all", what="list the options")
        ).items():
            if SHOWN.fullmatch(name) or (not value.endswith("(DEFAULT)") and name in facts):
                found[name] = value.removesuffix(" (DEFAULT)")
        return found


def volume_facts(text: str) -> dict[str, str]:
    """The lines ``name: value`` of ``gluster volume info``.

    Sample (10.3): ``Type: Distribute``, ``Brick1: 10.77.0.3:/storage/brick``, ``features.shard: on``.
    """
    pairs = (line.partition(": ") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def option_values(text: str) -> dict[str, str]:
    """The table of ``gluster volume get``; of a name that it has twice the first is kept.

    Sample (10.3): ``performance.cache-size                   32MB (DEFAULT)``.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if re.fullmatch(r"[a-z][a-z0-9-]*\.[A-Za-z0-9._-]+", name):
            found.setdefault(name, value.strip())
    return found
