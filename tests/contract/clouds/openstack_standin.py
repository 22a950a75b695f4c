"""Keystone, Nova, Neutron, Cinder, Glance and Manila as one process: what they hold, the states that they pass, and what they refuse.

Usage: openstack_standin.py [PYTHON FOLDER]

These are stand-ins, not the services. States, refusals and their words are ours, after the interfaces of the services. With PYTHON, that of
an environment that has Nova, compute is a real Nova (nova_served.py), which keeps what it has in FOLDER and calls the other four.
Servers are no machines. One project, two availability zones with three hosts each, one external network.

POST /hostile {...} sets how they behave, GET /hostile/calls, /hostile/left, /hostile/reset, /hostile/copy and /hostile/end are as in
aws_emulator.py. GET /hostile/servers is what an operator sees of servers. What takes time (a server that starts, a volume that is deleted)
takes a number of looks at it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

sys.path.insert(0, str(Path(__file__).parents[2]))  # waiting.py
from openstack_answers import RefusedCallError
from openstack_identity import PROJECT, Keystone, versions
from openstack_images import Glance
from openstack_network import Neutron
from openstack_nova import NovaStandin
from openstack_real_nova import RealNova
from openstack_shares import Manila, version_of
from openstack_volumes import Cinder
from served_standin import go_on_as_two, serve

Respond = Callable[[str, list[tuple[str, str]]], object]
NAMES = {
    "compute": "nova", "volume": "cinder", "network": "neutron", "image": "glance", "share": "manila",
}  # fmt: skip


class Services(Keystone, Glance, Cinder):
    """All services of a cloud but Nova."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        super().clear()
        self.calls: list[str] = []
        self.made: list[dict[str, list[str]]] = []
        self.refuse: dict[str, list[Any]] = {}  # call -> status, message
        self.html = False
        self.neutron = Neutron(PROJECT, self.quota)
        self.manila = Manila(self.quota)
        self.has_manila = True

    def __call__(self, environ: dict[str, Any], start: Respond) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"].rstrip("/"), environ["REQUEST_METHOD"]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if path.startswith("/hostile"):
            return _send(start, 200, self._told(path, body, environ))
        if self.html:
            start("200 OK", [("Content-Type", "text/html"), ("Content-Length", "15")])
            return [b"<html>Sign in</"]
        try:
            if isinstance(self, RealNova) and path.startswith("/compute"):
                self._note(path, method, body)
                status, headers, text = self.forward(path, environ, body)
                start(f"{status} Answer", headers)
                return [text]
            with self.lock:
                status, answer, more = self._answer(path, method, body, environ)
        except RefusedCallError as refused:
            status, answer, more = refused.status, refused.body(path), []
        return _send(start, status, answer, more)

    def _note(self, path: str, method: str, body: bytes) -> None:
        """Note a call of whom the services are for, or refuse it."""
        service, _, rest = path.lstrip("/").partition("/")
        _, below, rest = rest.partition("/")
        generic = re.sub(r"/[0-9a-f-]{8,36}(?=/|$)|(?<=/os-keypairs)/.*", "/*", below + rest)
        if not generic:
            return
        call = f"{method} {NAMES[service]}:{generic}"
        self.calls.append(call)
        if call in self.refuse or "*" in self.refuse:
            status, words = self.refuse.get(call, self.refuse.get("*", [500, ""]))
            raise RefusedCallError(status, words)
        if method != "GET":
            self.made.append({"Action": [call], "Body": [body.decode() or "{}"]})

    def _answer(
        self, path: str, method: str, body: bytes, environ: dict[str, Any]
    ) -> tuple[int, Any, list[tuple[str, str]]]:
        here = f"http://{environ['HTTP_HOST']}"
        asked = json.loads(body) if body else {}
        if path.startswith("/identity/v3/"):
            return self.identity(here, path, method, asked, environ)
        found = versions(here).get(path)
        if found is not None:
            return 200, found, []
        user = self.user_of(environ.get("HTTP_X_AUTH_TOKEN"))
        if not user.is_of_cloud:
            self._note(path, method, body)
        service, _, rest = path.lstrip("/").partition("/")
        query = parse_qs(environ["QUERY_STRING"])
        self.manila.version = version_of(environ)
        answer = getattr(self, f"_{NAMES[service]}")
        status, found = answer(method, "/" + rest.partition("/")[2], asked, query)
        return status, found, []

    def _neutron(
        self, method: str, path: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        return self.neutron.answer(method, path, asked, query)

    def _manila(
        self, method: str, path: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        self.manila.slow, self.manila.linger = self.slow, self.linger
        return self.manila.answer(method, path, asked, query)

    # Told and asked by tests

    def _told(self, path: str, body: bytes, environ: dict[str, Any]) -> Any:
        if path == "/hostile/reset":
            self.clear()
            return {}
        if path == "/hostile/calls":
            return {"calls": self.calls, "made": self.made}
        if path == "/hostile/left":
            return sorted(self._left())
        if path == "/hostile/servers":
            return self._servers()
        if path == "/hostile/copy":
            return go_on_as_two(self, environ["werkzeug.socket"])
        if path == "/hostile/end":
            os._exit(0)
        for key, value in json.loads(body).items():
            if key == "quota":
                self.quota.clear()
                self.quota.update(value)
            elif key == "shares":
                for name, how in value.items():
                    setattr(self.manila, name, how)
            else:
                setattr(self, key, value)
            self._nova_told(key, value)
        return {}

    def _left(self) -> Iterator[str]:
        yield from self._nova_left()
        yield from (f"volume {each['name']} {each['status']}" for each in self.volumes.values())
        yield from self.neutron.left()
        yield from self.manila.left()

    def _nova_told(self, key: str, value: Any) -> None:
        raise NotImplementedError

    def _nova_left(self) -> Iterator[str]:
        raise NotImplementedError

    def _servers(self) -> list[dict[str, Any]]:
        raise NotImplementedError


class Standin(NovaStandin, Services):
    """A cloud of stand-ins alone."""


class BesideNova(RealNova, Services):
    """Stand-ins beside a real Nova."""


def _send(
    start: Respond, status: int, body: Any, headers: Iterable[tuple[str, str]] = ()
) -> list[bytes]:
    text = b"" if body is None else json.dumps(body).encode()
    kind = [("Content-Type", "application/json"), ("Content-Length", str(len(text)))]
    start(f"{status} Answer", [*kind, *headers])
    return [text]


def main() -> None:
    if len(sys.argv) > 1:
        serve(BesideNova(*sys.argv[1:]))
    else:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies that end
        serve(Standin())


if __name__ == "__main__":
    main()
