"""The page of a campaign for browsers of this machine: by HTTP, at 127.0.0.1 alone."""

from __future__ import annotations

import errno
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from wavetank.errors import ReportError, WavetankError
from wavetank.report.watch.follow import Follower, State

ADDRESS = "127.0.0.1"
PORT = 8642
LOOK_S = 1.0
"""So often a campaign's end is looked for."""
_NAMES = (ADDRESS, "localhost")
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_log = logging.getLogger(__name__)


def watch(
    folder: Path, against: Path | None, port: int, told: Callable[[str], None], says: Callable[[str], None]
) -> None:  # fmt: skip
    """Serve the page of a folder of results until this process is interrupted.

    Args:
        folder: of the results.
        against: results folder or baseline of an earlier campaign, to be compared with.
        port: of this machine; 0 is any that is free.
        told: is given the page's address once it can be asked for.
        says: is given a sentence at the start, and whenever the campaign ends or goes on.

    Raises:
        MeasurementError: there are no results in the folder.
        ReportError: the port cannot be used.
    """
    follower = Follower(folder, against)
    before: State | None = None
    first = follower.look()
    with served(follower, port) as address:
        told(address)
        pause = threading.Event()
        while True:
            state = _look(follower, before or first)
            if before is None or before.is_running != state.is_running:
                says(state.sentence)
            before = state
            pause.wait(LOOK_S)


def _look(follower: Follower, before: State) -> State:
    try:
        return follower.look()
    except WavetankError as error:  # somebody moves the folder
        _log.info("%s", error)
        return before


@contextmanager
def served(follower: Follower, port: int) -> Iterator[str]:
    """Serve a page while the block runs; gives its address.

    Raises:
        ReportError: the port is taken, or not for this user.
    """
    try:
        server = _Server((ADDRESS, port), follower)
    except OSError as error:
        why = error.strerror
        if error.errno == errno.EADDRINUSE:
            why = "it is taken, perhaps by another 'wavetank report --watch'"
        elif error.errno == errno.EACCES:
            why = "ports below 1024 are for root"
        raise ReportError(
            f"cannot serve the page at port {port} of {ADDRESS}: {why}. Choose another with --port; "
            "0 is any that is free"
        ) from error
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://{ADDRESS}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], follower: Follower) -> None:
        self.follower = follower
        super().__init__(address, _Answer)

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that went away is no news; anything else is a fault of ours."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            _log.error("no answer to %s", client_address, exc_info=True)


class _Answer(BaseHTTPRequestHandler):
    """Answers what a browser asks: the page, and how far the campaign is."""

    server: _Server
    server_version = "wavetank"
    sys_version = ""
    timeout = 30  # of a connection that asks for nothing

    def do_GET(self) -> None:
        """The page, or how far the campaign is."""
        # Pages of others must not read this one under a name of theirs that leads to this machine.
        host = self.headers.get("Host", "")
        if (host.rpartition(":")[0] or host) not in _NAMES:
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"ask for 127.0.0.1 or localhost\n")
            return
        try:
            if self.path == "/":
                self._answer(HTTPStatus.OK, "text/html", self.server.follower.page())
            elif self.path == "/state":
                state = json.dumps(asdict(self.server.follower.look())).encode()
                self._answer(HTTPStatus.OK, "application/json", state)
            else:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"there is one page: /\n")
        except WavetankError as error:  # somebody moves the folder
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", f"{error}\n".encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are no news."""
        _log.debug(format, *args)
