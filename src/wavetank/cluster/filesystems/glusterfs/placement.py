"""Input files on GlusterFS: where the file system puts them, or whole on a server of their own.

A new file's server follows from its name. For a file that is to lie on a certain server a few empty candidates are made. One
that lies there is renamed to the file, and content is written then. Whoever opens a file whose name points to another server
pays one lookup there, and nothing when reading.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TypeVar

from wavetank.cluster.filesystems.base import Site, write_content
from wavetank.cluster.filesystems.glusterfs.volume import Brick, bricks_of
from wavetank.cluster.host import on_all
from wavetank.errors import FileSystemError, RemoteCommandError
from wavetank.units import format_size

PATH_XATTR = "trusted.glusterfs.pathinfo"
GFID_XATTR = "glusterfs.gfid.string"
DEFAULT_SHARD_BYTES = 64 * 2**20  # gluster 10.3
ROUNDS = 5
FULL_AGAIN_S = 20.0
T = TypeVar("T")
_BRICK = re.compile(r"<POSIX\(([^)]*)\):([^:>]+):")
_FILE = re.compile(r"^# file: (.*)$")


class Placer:
    """Creates files through the mount of the first client."""

    def __init__(self, site: Site, mount_path: str) -> None:
        self.site = site
        self.mount_path = mount_path
        self.client = site.clients[0]
        self.bricks = bricks_of(site)
        self.servers = tuple(brick.name for brick in self.bricks)

    @cached_property
    def _names(self) -> dict[tuple[str, str], str]:
        """Path and host name of each brick, which is what gluster calls it, -> its name in the cluster."""
        said = on_all(self.bricks, lambda brick: brick.host.run(["uname", "-n"]).stdout.strip())
        return {
            (brick.path, host): brick.name for brick, host in zip(self.bricks, said, strict=True)
        }

    def place(self, sizes: Mapping[str, int]) -> dict[str, str]:
        """Create the files; says where each lies, as read back.

        Raises:
            FileSystemError: a file cannot be written, or does not lie where it was to.
        """
        own_server = self.site.spec.layout == "one-server-per-file"
        for relative in sizes:
            self._discard(f"{self.mount_path}/{relative}")
        self._require_room(sum(sizes.values()))
        found = {}
        for number, (relative, size) in enumerate(sizes.items()):
            wanted = self.servers[number % len(self.servers)] if own_server else None
            held = self._while_room_comes_back(
                size, partial(self._place_file, relative, size, wanted)
            )
            found[relative] = self._describe(relative, held)
        return found

    def _place_file(self, relative: str, size: int, wanted: str | None) -> dict[str, int] | None:
        """Create one file, on a server if one is wanted; bytes of its shards on each server, if it has shards."""
        path = f"{self.mount_path}/{relative}"
        sharded = self.site.spec.file_system.stripe.kind == "sharded"
        self.client.run(["mkdir", "-p", "--", path.rpartition("/")[0]])
        self._discard(path)  # of an attempt before
        if wanted is not None:
            self._create_on(path, wanted)
        self._write(path, size)
        if wanted is not None and self._servers_of(path) != [wanted]:
            raise FileSystemError(
                f"{path} was to lie whole on {wanted}, but lies on {', '.join(self._servers_of(path))}. "
                "Is that server's storage nearly full? Give the cluster a larger storage.size"
            )
        return self._held_shards(path, size) if sharded else None

    def _while_room_comes_back(self, size: int, place: Callable[[], T]) -> T:
        """Try again while a server that was full calls itself so and is not: a brick looks every 5 s (10.3)."""
        deadline = time.monotonic() + FULL_AGAIN_S
        while True:
            try:
                return place()
            except (FileSystemError, RemoteCommandError) as error:
                if "No space left" not in str(error):
                    raise
                if time.monotonic() > deadline or not self._have_room_each(size):
                    raise FileSystemError(
                        f"{error}. A server is full: give the cluster a larger storage.size"
                    ) from error
            time.sleep(0.5)

    def _have_room_each(self, size: int) -> bool:
        """Whether every server could hold all of it, and what gluster keeps back (1 %) twice."""

        def has(brick: Brick) -> bool:
            free, block_bytes, blocks = (
                int(word) for word in self._space(brick, "%a %S %b").split()
            )  # fmt: skip
            return (free - blocks // 50) * block_bytes >= self._stored_bytes(size)

        return all(on_all(self.bricks, has))

    def _require_room(self, size: int) -> None:
        """See that all servers together have room; one of them may still be too full for its part.

        Raises:
            FileSystemError: they have not.
        """
        bricks = on_all(self.bricks, self._free_bytes)
        room, kept = sum(bricks), self._stored_bytes(size)
        if kept > room:
            raise FileSystemError(
                f"input files of {format_size(size)} take {format_size(kept)} on {', '.join(self.servers)}, "
                f"which have {format_size(room)} free. Give the cluster a larger storage.size"
            )

    def _free_bytes(self, brick: Brick) -> int:
        blocks, block_bytes = self._space(brick, "%a %S").split()
        return int(blocks) * int(block_bytes)

    def _space(self, brick: Brick, what: str) -> str:
        return brick.host.run(["stat", "-f", "-c", what, "--", brick.path]).stdout

    def _stored_bytes(self, size: int) -> int:
        """What files take on all servers together, with copies or coded fragments."""
        n, stripe = len(self.servers), self.site.spec.file_system.stripe
        if stripe.kind == "replicated":
            return size * n
        if stripe.kind == "disperse":
            return size * n // (n - (stripe.redundancy or 1))
        return size

    def _write(self, path: str, size: int) -> None:
        """Write the content; a file that does not fit is taken away again."""
        try:
            write_content(self.client, path, size, self.site.on_written)
        except FileSystemError as error:
            try:
                self._discard(path)
            except RemoteCommandError as left:
                raise FileSystemError(
                    f"{error}. What was written of it is still there: {left}"
                ) from error
            raise

    def _discard(self, path: str) -> None:
        """Delete a file. Emptied first: on a full brick a file that has shards cannot be deleted (10.3: ENOSPC).

        By ``truncate``: a shell whose ``: >file`` fails ends there, and nothing would be deleted.
        """
        self.client.run(
            ["sh", "-c", '[ ! -f "$1" ] || truncate -s 0 -- "$1"; rm -f -- "$1"', "sh", path],
            timeout_s=300,
        )

    def _create_on(self, path: str, server: str) -> None:
        """Create an empty file on a server, by its own name if that leads there."""
        self._touch(path)
        if self._servers_of(path) == [server]:
            return
        for _ in range(ROUNDS):
            candidates = self._candidates(path, 8 * len(self.servers))
            try:
                right = [
                    name for name in candidates if self._servers_in(candidates[name]) == [server]
                ]
                if right:
                    self.client.run(["mv", "-f", "-T", "--", right[0], path])
                    return
            finally:
                self.client.run(["rm", "-f", "--", *candidates])
        raise FileSystemError(
            f"cannot create {path} on {server}: gluster puts no file there. "
            "Its brick may be down or nearly full: see 'wavetank cluster status'"
        )

    def _candidates(self, path: str, n: int) -> dict[str, str]:
        """New empty files beside ``path``, and where each lies."""
        stem = f"{path.rpartition('/')[0]}/wavetank-{secrets.token_hex(4)}"
        names = [f"{stem}-{i}" for i in range(n)]
        self._touch(*names)
        return self._attributes(PATH_XATTR, names)

    def _touch(self, *names: str) -> None:
        """Make empty files, all or none: a full server refuses those that fall on it."""
        try:
            self.client.run(["touch", "--", *names])
        except RemoteCommandError as error:
            self.client.run(["rm", "-f", "--", *names])
            raise FileSystemError(
                f"cannot make files in {names[0].rpartition('/')[0]}: {error}. "
                "If a server is full, give the cluster a larger storage.size"
            ) from error

    def _attributes(self, attribute: str, names: Sequence[str]) -> dict[str, str]:
        out = self.client.run(["getfattr", "--absolute-names", "-n", attribute, "--", *names])
        return attributes(out.stdout, attribute)

    def _servers_in(self, pathinfo: str) -> list[str]:
        named = {self._names.get(each, each[1]) for each in _BRICK.findall(pathinfo)}
        return sorted(named, key=lambda name: (*self.servers, name).index(name))

    def _servers_of(self, path: str) -> list[str]:
        """Servers that hold a file, or the first shard of it."""
        argv = ["getfattr", "--absolute-names", "--only-values", "-n", PATH_XATTR, "--", path]
        return self._servers_in(self.client.run(argv).stdout)

    @property
    def _shard_size(self) -> int:
        return self.site.spec.file_system.stripe.size or DEFAULT_SHARD_BYTES

    def _held_shards(self, path: str, size: int) -> dict[str, int]:
        """Bytes of a sharded file on each server, counted on the bricks.

        Raises:
            FileSystemError: they are not as many as the file has.
        """
        gfid = self.client.run(
            ["getfattr", "--absolute-names", "--only-values", "-n", GFID_XATTR, "--", path]
        ).stdout.strip("\0\n ")

        def count(brick: Brick) -> int:
            shards = f"{brick.path}/.shard"
            try:
                out = brick.host.run(["find", shards, "-maxdepth", "1", "-name", f"{gfid}.*", "-printf", "%s\n"]).stdout  # fmt: skip
            except RemoteCommandError:  # no file of this volume has a second shard yet
                return 0
            return sum(int(line) for line in out.split())

        held = dict(zip(self.servers, on_all(self.bricks, count), strict=True))
        (base,) = self._servers_of(path)
        held[base] += min(size, self._shard_size)
        if sum(held.values()) != size:
            raise FileSystemError(
                f"{path} has {size} bytes, but its shards on the servers have {sum(held.values())}: {held}"
            )
        return held

    def _describe(self, relative: str, held: Mapping[str, int] | None) -> str:
        """Where a file lies, as read back."""
        if held is not None:
            parts = ", ".join(f"{name} {format_size(n)}" for name, n in held.items())
            return f"shards of {format_size(self._shard_size)}: {parts}"
        how = {"replicated": "a copy on each of", "disperse": "erasure coded over"}
        kind = self.site.spec.file_system.stripe.kind
        if kind in how:
            return f"{how[kind]} {', '.join(self._on_all_bricks(relative))}"
        return f"whole on {', '.join(self._servers_of(f'{self.mount_path}/{relative}'))}"

    def _on_all_bricks(self, relative: str) -> list[str]:
        """See that every brick has the file. Asked there: a dispersed file's pathinfo is ENOMEM (10.3).

        Raises:
            FileSystemError: a brick has it not.
        """
        for brick in self.bricks:
            try:
                brick.host.run(["test", "-f", f"{brick.path}/{relative}"])
            except RemoteCommandError as error:
                raise FileSystemError(f"{relative} is not on the brick of {brick.name}") from error
        return list(self.servers)


def attributes(text: str, attribute: str) -> dict[str, str]:
    """File name -> value, of what getfattr prints.

    Sample (attr 2.5.1)::

        # file: /wavetank/a
        glusterfs.gfid.string="f724e34f-49a6-4aae-8730-3df763a913e2"
    """
    found = {}
    name = ""
    for line in text.splitlines():
        if match := _FILE.match(line):
            name = match[1]
        elif line.startswith(f"{attribute}="):
            found[name] = line.partition("=")[2].strip('"')
    return found
