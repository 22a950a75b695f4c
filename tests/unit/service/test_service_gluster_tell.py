"""What tells clients of GlusterFS their volume, on the wire: it answers one call, tells of changes, and ends what is no call."""

from __future__ import annotations

import socket
import struct
from contextlib import closing

import pytest

from wavetank.service.makers.glusterfs import tell

LAST = 0x80000000


def call(name: bytes, number: int = 7, procedure: int = tell.GETSPEC) -> bytes:
    """A call for a volume, as a client makes it."""
    head = struct.pack(">6I", number, 0, 2, tell.HANDSHAKE, 2, procedure)
    credentials = struct.pack(">II", 390039, 8) + bytes(8) + struct.pack(">II", 0, 0)
    message = head + credentials + struct.pack(">I", 0) + tell.opaque(name) + tell.opaque(b"")
    return struct.pack(">I", LAST | len(message)) + message


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sp-1").write_text("volume one")
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.setblocking(False)
        yield tell.Server(listening, looks_every_s=0.0)


class Client:
    """A client that has the server do what is to be done before it reads."""

    def __init__(self, server: tell.Server) -> None:
        self.server = server
        self.socket = socket.create_connection(server.listening.getsockname(), timeout=60)

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def came(self) -> bytes:
        """One message; nothing where the connection has ended."""
        self.socket.settimeout(0.01)
        found = b""
        while len(found) < 4 or len(found) < 4 + (struct.unpack(">I", found[:4])[0] & ~LAST):
            self.server.turn()
            try:
                part = self.socket.recv(65536)
            except TimeoutError:
                continue
            except ConnectionResetError:
                return b""
            if not part:
                return b""
            found += part
        return found[4:]


def test_a_client_is_told_its_volume_and_when_it_has_changed(server, tmp_path):
    client = Client(server)
    whole = call(b"/sp-1")
    client.send(whole[:9])
    server.turn()
    client.send(whole[9:])
    answer = client.came()
    assert struct.unpack(">6I", answer[:24]) == (7, 1, 0, 0, 0, 0)
    size, _, length = struct.unpack(">iiI", answer[24:36])
    assert (size, answer[36 : 36 + length]) == (10, b"volume one\0")
    (tmp_path / "new").write_text("volume two")
    (tmp_path / "new").rename(tmp_path / "sp-1")
    program = struct.unpack(">6I", client.came()[:24])
    assert program == (1, 0, 2, tell.CALLBACKS, 1, tell.FETCHSPEC)
    client.send(call(b"/sp-1"))
    assert b"volume two\0" in client.came()


@pytest.mark.parametrize("name", [b"/sp-2", b"/../sp-1", b"", b"\xff", b"/sp-1/x", b".new"])
def test_of_other_names_there_is_nothing(server, tmp_path, name):
    (tmp_path / ".new").write_text("not yet")
    client = Client(server)
    client.send(call(name))
    assert struct.unpack(">ii", client.came()[24:32]) == (-1, tell.NO_SUCH)


@pytest.mark.parametrize(
    "what",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">I", LAST | 3) + b"abc",
        call(b"/sp-1")[:40].replace(struct.pack(">I", LAST | 64), struct.pack(">I", LAST | 36)),
        struct.pack(">I", LAST | (tell.MOST_CALL_BYTES + 1)),
    ],
)
def test_what_is_no_call_ends_its_connection_and_no_other(server, what):
    other, client = Client(server), Client(server)
    client.send(what)
    client.socket.shutdown(socket.SHUT_WR)
    assert client.came() == b""
    other.send(call(b"/sp-1", procedure=9))
    assert struct.unpack(">6I", other.came()[:24])[5] == tell.PROGRAM_UNAVAILABLE
    other.send(call(b"/sp-1"))
    assert b"volume one\0" in other.came()
