"""Stand-ins of clouds as processes: they are served, told how to behave, and copied with all that they have."""

from __future__ import annotations

import os
import socket
import threading
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    """Without a line for each call."""

    def log(self, *args: object) -> None:
        pass


def _end_with_whoever_started_it() -> None:
    """Standard input ends when that process does, however it ended."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def serve(account: Any, told: int = 1) -> None:
    """Serve until standard input ends; the port is written to a descriptor. An account that has ``served_at`` is told its URL."""
    threading.Thread(target=_end_with_whoever_started_it, daemon=True).start()
    server = make_server("127.0.0.1", 0, account, threaded=True, request_handler=Quiet)
    if hasattr(account, "served_at"):
        account.served_at(f"http://127.0.0.1:{server.server_port}")
    os.write(told, f"{server.server_port}\n".encode())
    server.serve_forever()


def go_on_as_two(account: Any, connection: socket.socket) -> int:
    """Go on as two processes with the same account: the port of the new one."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        connection.close()
        serve(account, writing)
    os.close(writing)
    with os.fdopen(reading) as told:
        return int(told.readline())
