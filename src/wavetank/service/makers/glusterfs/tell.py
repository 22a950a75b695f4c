"""Tells clients of GlusterFS what a volume is, and tells it again when it has changed: a program that runs on servers by itself.

``python3 tell.py HASH FOLDER ADDRESS PORT``: of each volume FOLDER has a file of its name. HASH is of this program, for whoever looks which
one runs. It answers one call of one program and nothing else. It sees FOLDER alone, and is nobody, before it answers anybody.

Sources: glusterfsd/src/glusterfsd-mgmt.c, rpc/xdr/src/glusterfs3-xdr.x and rpc/rpc-lib/src/protocol-common.h of GlusterFS 10.3; RFC 5531.
"""

from __future__ import annotations

import os
import re
import resource
import selectors
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

HANDSHAKE, GETSPEC = 14398633, 2
CALLBACKS, FETCHSPEC = 52743234, 1
MOST_CLIENTS = 4096
MOST_CALL_BYTES = 64 * 1024
MOST_UNSENT_BYTES = 4 * 2**20
LOOKS_EVERY_S = 0.5
NOBODY = 65534
PROGRAM_UNAVAILABLE = 1
NO_SUCH = 2  # ENOENT
LAST = 0x80000000
NAME = re.compile(r"/?([A-Za-z0-9][A-Za-z0-9_-]*)")


class BadCallError(Exception):
    """What came is no call."""


def words(content: bytes, at: int, n: int) -> tuple[int, ...]:
    """Words of a message.

    Raises:
        BadCallError: it has fewer.
    """
    if at + 4 * n > len(content):
        raise BadCallError
    return struct.unpack_from(f">{n}I", content, at)


def opaque(content: bytes) -> bytes:
    """Bytes with their number before them."""
    return struct.pack(">I", len(content)) + content + bytes(-len(content) % 4)


def read(name: str) -> bytes | None:
    """What a volume is."""
    try:
        return Path(name).read_bytes()
    except OSError:
        return None


class Client:
    """A connection. ``name`` is the volume that it asked for, ``told`` what it was told."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.came, self.call, self.unsent = b"", b"", b""
        self.name: str | None = None
        self.told: bytes | None = None

    def take(self, content: bytes) -> None:
        """Answer the calls that are complete.

        Raises:
            BadCallError: something is no call, or is too long.
        """
        self.came += content
        while len(self.came) >= 4:
            (head,) = words(self.came, 0, 1)
            size = head & ~LAST
            if size + len(self.call) > MOST_CALL_BYTES:
                raise BadCallError
            if len(self.came) < 4 + size:
                return
            self.call += self.came[4 : 4 + size]
            self.came = self.came[4 + size :]
            if head & LAST:
                call, self.call = self.call, b""
                self._answer(call)

    def _answer(self, call: bytes) -> None:
        number, kind, _, program, _, procedure = words(call, 0, 6)
        if kind:
            return  # an answer to a callback
        at = 24
        for _ in range(2):  # who calls, and what proves it
            at += 8 + (words(call, at, 2)[1] + 3 & ~3)
        if (program, procedure) != (HANDSHAKE, GETSPEC):
            self._say(struct.pack(">6I", number, 1, 0, 0, 0, PROGRAM_UNAVAILABLE))
            return
        size = words(call, at, 2)[1]
        found = NAME.fullmatch(call[at + 8 : at + 8 + size].decode(errors="replace"))
        text = read(found[1]) if found else None
        if found and text is not None:
            self.name, self.told = found[1], text
            body = struct.pack(">ii", len(text), 0) + opaque(text + b"\0") + opaque(b"")
        else:
            body = struct.pack(">ii", -1, NO_SUCH) + opaque(b"\0") + opaque(b"")
        self._say(struct.pack(">6I", number, 1, 0, 0, 0, 0) + body)

    def tell(self, text: bytes) -> None:
        """Say that the volume has changed: the client asks again."""
        self.told = text
        self._say(struct.pack(">6I", 1, 0, 2, CALLBACKS, 1, FETCHSPEC) + bytes(16))

    def _say(self, message: bytes) -> None:
        self.unsent += struct.pack(">I", LAST | len(message)) + message
        self.send()

    def send(self) -> None:
        """Send what can be sent.

        Raises:
            BadCallError: it does not take what it asks for.
            OSError: it is gone.
        """
        with suppress(BlockingIOError):
            self.unsent = self.unsent[self.socket.send(self.unsent) :]
        if len(self.unsent) > MOST_UNSENT_BYTES:
            raise BadCallError


class Server:
    """All connections.

    Args:
        listening: to which clients connect.
        looks_every_s: how often it is looked whether volumes have changed.
    """

    def __init__(self, listening: socket.socket, looks_every_s: float = LOOKS_EVERY_S) -> None:
        self.listening, self._looks_every_s = listening, looks_every_s
        self.chosen = selectors.DefaultSelector()
        self.chosen.register(listening, selectors.EVENT_READ, None)
        self.clients: set[Client] = set()

    def turn(self) -> None:
        """Answer what has come, or look after a while whether volumes have changed."""
        for key, events in self.chosen.select(self._looks_every_s):
            if key.data is None:
                self._accept()
            else:
                self._do(key.data, events)
        self._tell()

    def _accept(self) -> None:
        try:
            connection, _ = self.listening.accept()
        except OSError:
            return
        if len(self.clients) >= MOST_CLIENTS:
            connection.close()
            return
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        client = Client(connection)
        self.clients.add(client)
        self.chosen.register(connection, selectors.EVENT_READ, client)

    def _do(self, client: Client, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                client.send()
            if events & selectors.EVENT_READ:
                content = client.socket.recv(65536)
                if not content:
                    raise BadCallError
                client.take(content)
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
            self.chosen.modify(client.socket, wanted, client)
        except (BadCallError, OSError):
            self._end(client)

    def _tell(self) -> None:
        """Tell those whose volume has changed."""
        texts = {name: read(name) for name in {client.name for client in self.clients} if name}
        for client in list(self.clients):
            text = texts.get(client.name or "")
            if text is not None and text != client.told:
                try:
                    client.tell(text)
                except (BadCallError, OSError):
                    self._end(client)

    def _end(self, client: Client) -> None:
        self.chosen.unregister(client.socket)
        self.clients.discard(client)
        client.socket.close()


def main(folder: str, address: str, port: int) -> None:
    """Listen, give all rights away, answer."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_CLIENTS + 64,) * 2)
    listening = socket.create_server((address, port), backlog=512)
    listening.setblocking(False)
    os.chroot(folder)
    os.chdir("/")
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    server = Server(listening)
    while True:
        server.turn()


if __name__ == "__main__":
    main(sys.argv[2], sys.argv[3], int(sys.argv[4]))
