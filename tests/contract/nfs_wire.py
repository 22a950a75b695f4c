"""NFS 3 as bytes on the wire: what a tenant who is root on its node may send, whatever programs that mount would let it send.

Runs on a node by itself, with nothing but Python: ``python nfs_wire.py '[["mount", "10.0.0.1", "/path"], ...]'`` makes the calls one after
the other and prints what came of each as JSON: ["ok", value] or ["refused", why]. Handles and contents are hexadecimal text.
"""

from __future__ import annotations

import json
import socket
import struct
import sys

NFS, MOUNT = 100003, 100005
LOOKUP, READ, WRITE, READDIR = 3, 6, 7, 16


class RefusedError(Exception):
    """The server answered that it does not, or closed the connection."""


class Answer:
    """A reply, read from its front. Its first word is the status of RFC 1813, which is 0."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def u32(self) -> int:
        self.at += 4
        return int(struct.unpack_from(">I", self.body, self.at - 4)[0])

    def skip(self, n_bytes: int) -> None:
        self.at += n_bytes

    def opaque(self) -> bytes:
        size = self.u32()
        found = self.body[self.at : self.at + size]
        self.skip((size + 3) & ~3)
        return found

    def attributes(self) -> None:
        if self.u32():
            self.skip(84)


def opaque(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content + bytes(-len(content) % 4)


def call(server: str, program: int, procedure: int, body: bytes) -> Answer:
    """One call of version 3 as root by AUTH_SYS, over a connection of its own; the reply after its status.

    ``server`` is ADDRESS:PORT, with the port of NFS; that of mounts is the next one.
    """
    address, _, port = server.rpartition(":")
    credential = struct.pack(">I", 0) + opaque(b"node") + struct.pack(">IIII", 0, 0, 1, 0)
    message = struct.pack(">IIIIII", 1, 0, 2, program, 3, procedure)
    message += struct.pack(">I", 1) + opaque(credential) + struct.pack(">II", 0, 0) + body
    at = address, int(port) + (program == MOUNT)
    with socket.create_connection(at, timeout=600) as connection:
        connection.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)
        answer, last = b"", False
        while not last:
            (head,) = struct.unpack(">I", exactly(connection, 4))
            last = bool(head & 0x80000000)
            answer += exactly(connection, head & 0x7FFFFFFF)
    reply = Answer(answer)
    reply.skip(8)
    if reply.u32():
        raise RefusedError(f"denied {reply.u32()}: {reply.u32()}")
    reply.skip(4)
    reply.opaque()
    if accepted := reply.u32():
        raise RefusedError(f"not accepted: {accepted}")
    return reply


def exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise RefusedError("closed")
        found += part
    return found


def done(reply: Answer) -> Answer:
    if status := reply.u32():
        raise RefusedError(f"status {status}")
    return reply


def mount(address: str, path: str) -> str:
    return done(call(address, MOUNT, 1, opaque(path.encode()))).opaque().hex()


def exports(address: str) -> list[str]:
    reply, found = call(address, MOUNT, 5, b""), []
    while reply.u32():
        found.append(reply.opaque().decode())
        while reply.u32():
            found.append(reply.opaque().decode())
    return found


def lookup(address: str, handle: str, name: str) -> str:
    body = opaque(bytes.fromhex(handle)) + opaque(name.encode())
    return done(call(address, NFS, LOOKUP, body)).opaque().hex()


def read(address: str, handle: str) -> str:
    reply = done(
        call(address, NFS, READ, opaque(bytes.fromhex(handle)) + struct.pack(">QI", 0, 4096))
    )
    reply.attributes()
    reply.skip(8)
    return reply.opaque().hex()


def write(address: str, handle: str, content: str) -> int:
    data = bytes.fromhex(content)
    head = opaque(bytes.fromhex(handle)) + struct.pack(">QII", 0, len(data), 2)
    done(call(address, NFS, WRITE, head + opaque(data)))
    return len(data)


def names(address: str, handle: str) -> list[str]:
    body = opaque(bytes.fromhex(handle)) + bytes(16) + struct.pack(">I", 8192)
    reply, found = done(call(address, NFS, READDIR, body)), []
    reply.attributes()
    reply.skip(8)
    while reply.u32():
        reply.skip(8)
        found.append(reply.opaque().decode())
        reply.skip(8)
    return sorted(found)


CALLS = {each.__name__: each for each in (mount, exports, lookup, read, write, names)}

if __name__ == "__main__":
    results = []
    for name, *words in json.loads(sys.argv[1]):
        try:
            results.append(["ok", CALLS[name](*words)])
        except (RefusedError, OSError) as error:
            results.append(["refused", str(error)])
    print(json.dumps(results))
