"""GlusterFS as bytes on the wire: what a tenant who is root on its node may send, whatever its mount would let it send.

Runs on a node by itself, with nothing but Python: ``python gluster_wire.py '[["bind", "10.0.0.1", 24100, "sp-1f", "me"], ...]'`` makes the
calls one after the other and prints what came of each as JSON: ["ok", value] or ["refused", why]. ``bind`` opens a connection and names the
brick and who asks; ``connect`` opens one and names nothing. ``tls`` has those that are opened later show a certificate, or none. Files are
named by their GFID, 32 hexadecimal digits; ROOT is that of a brick.

Sources: rpc/xdr/src/glusterfs4-xdr.x and xlators/protocol/server of GlusterFS 10.3.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import sys
import time
from pathlib import Path

HANDSHAKE, FOPS = (14398633, 2), (1298437, 400)
SETVOLUME = 1
READ, OPENDIR, LOOKUP, READDIR = 12, 20, 27, 28
ROOT = "00000000000000000000000000000001"
ATTRIBUTES_BYTES = 148
ANONYMOUS = -2  # a descriptor that needs no open
NO_DICT = struct.pack(">IiI", 0, -1, 0)
WORDS = {2: 8, 3: 8, 4: 8, 7: 16, 8: ATTRIBUTES_BYTES}  # bytes of values of a dictionary, by type
UUID_TYPE = 7


class RefusedError(Exception):
    """The server answered that it does not, or closed the connection."""


class Answer:
    """A reply, read from its front."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def i32(self) -> int:
        self.at += 4
        return int(struct.unpack_from(">i", self.body, self.at - 4)[0])

    def i64(self) -> int:
        self.at += 8
        return int(struct.unpack_from(">q", self.body, self.at - 8)[0])

    def skip(self, n_bytes: int) -> bytes:
        self.at += n_bytes
        return self.body[self.at - n_bytes : self.at]

    def opaque(self) -> bytes:
        size = self.i32()
        return self.skip((size + 3) & ~3)[:size]

    def dictionary(self) -> None:
        self.skip(8)
        for _ in range(self.i32()):
            self.opaque()
            kind = self.i32()
            if kind in WORDS:
                self.skip(WORDS[kind])
            else:
                self.opaque()

    def done(self) -> int:
        """What the call returned."""
        returned, why = self.i32(), self.i32()
        if returned < 0:
            raise RefusedError(f"errno {why}")
        return returned


def opaque(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content + bytes(-len(content) % 4)


class Connection:
    """One connection to a brick, as root with process identity 0."""

    def __init__(self, address: str, port: int) -> None:
        self.socket = socket.create_connection((address, port), timeout=600)
        if shown is not None:
            self.socket = shown.wrap_socket(self.socket)
        self.number = 0

    def call(self, program: tuple[int, int], procedure: int, body: bytes) -> Answer:
        self.number += 1
        credential = struct.pack(">IIIII", 0, 0, 0, 0, 8) + bytes(8)
        message = struct.pack(">IIIIII", self.number, 0, 2, *program, procedure)
        message += struct.pack(">I", 390039) + opaque(credential) + struct.pack(">II", 0, 0) + body
        self.socket.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)
        while True:
            reply = Answer(self._record())
            reply.skip(4)
            if reply.i32() == 1:  # else the server calls back
                break
        if reply.i32():
            raise RefusedError("denied")
        reply.skip(4)
        reply.opaque()
        if accepted := reply.i32():
            raise RefusedError(f"not accepted: {accepted}")
        return reply

    def _record(self) -> bytes:
        found, last = b"", False
        while not last:
            (head,) = struct.unpack(">I", self._exactly(4))
            last = bool(head & 0x80000000)
            found += self._exactly(head & 0x7FFFFFFF)
        return found

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self.socket.recv(size - len(found))
            if not part:
                raise RefusedError("closed")
            found += part
        return found


open_now: list[Connection] = []


def last() -> Connection:
    """The connection that calls go over."""
    if not open_now:
        raise RefusedError("there is no connection")
    return open_now[-1]


shown: ssl.SSLContext | None = None


def tls(certificate: str = "", key: str = "") -> bool:
    global shown  # noqa: PLW0603 - calls come one after the other
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    shown.check_hostname, shown.verify_mode = (
        False,
        ssl.CERT_NONE,
    )  # whoever attacks trusts everybody
    if certificate:
        shown.load_cert_chain(certificate, key)
    return True


def connect(address: str, port: int) -> bool:
    open_now.append(Connection(address, port))
    return True


def set_volume(brick: str, who: str, **more: str) -> bool:
    """Name a brick and oneself, on the connection that is open."""
    said = {
        "fops-version": str(FOPS[0]),
        "mgmt-version": "1",
        "client-version": "10.3",
        "opversion": "100000",
        "process-uuid": who,
        "remote-subvolume": brick,
        **more,
    }
    words = struct.pack(">I", len(said))
    for key, value in said.items():
        words += struct.pack(">II", len(key), len(value) + 1)
        words += key.encode() + b"\0" + value.encode() + b"\0"
    last().call(HANDSHAKE, SETVOLUME, opaque(words)).done()
    return True


def claim(brick: str, who: str, name: str) -> bool:
    """The same, and that the certificate has a name."""
    return set_volume(brick, who, **{"ssl-name": name})


def bind(address: str, port: int, brick: str, who: str) -> bool:
    connect(address, port)
    return set_volume(brick, who)


def lookup(parent: str, name: str, new: str = "") -> str:
    """GFID of a name in a folder; ``new``: one to give to what has none."""
    given = NO_DICT
    if new:
        pair = opaque(b"gfid-req\0") + struct.pack(">i", UUID_TYPE) + bytes.fromhex(new)
        given = struct.pack(">IiI", len(pair), 1, 1) + pair
    body = bytes(16) + bytes.fromhex(parent) + struct.pack(">I", 0) + opaque(name.encode()) + given
    reply = last().call(FOPS, LOOKUP, body)
    reply.done()
    reply.dictionary()
    return reply.skip(16).hex()


def read(gfid: str) -> str:
    body = bytes.fromhex(gfid) + struct.pack(">qQII", ANONYMOUS, 0, 4096, 0) + NO_DICT
    reply = last().call(FOPS, READ, body)
    size = reply.done()
    return reply.body[len(reply.body) - size :].hex() if size else ""


def names(gfid: str) -> list[str]:
    reply = last().call(FOPS, OPENDIR, bytes.fromhex(gfid) + NO_DICT)
    reply.done()
    reply.dictionary()
    body = bytes.fromhex(gfid) + struct.pack(">qqI", reply.i64(), 0, 65536) + NO_DICT
    reply = last().call(FOPS, READDIR, body)
    reply.done()
    reply.dictionary()
    found = []
    while reply.i32():
        reply.skip(24)
        found.append(reply.opaque().decode())
    return sorted(found)


def use(number: int) -> bool:
    """Go on with a connection that was opened before, by its number from 0 on."""
    open_now.append(open_now[number])
    return True


def until(told: str, path: str) -> bool:
    """Say by a file that all calls before are made, and wait for another file."""
    Path(told).touch()
    while not Path(path).exists():
        time.sleep(0.05)  # noqa: TID251 - on a node, where the waits of tests are not
    return True


CALLS = {
    each.__name__: each
    for each in (tls, connect, set_volume, claim, bind, lookup, read, names, use, until)
}

if __name__ == "__main__":
    results = []
    for name, *words in json.loads(sys.argv[1]):
        try:
            results.append(["ok", CALLS[name](*words)])
        except (RefusedError, OSError) as error:
            results.append(["refused", str(error)])
    print(json.dumps(results))
