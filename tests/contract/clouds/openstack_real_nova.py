"""A real Nova beside the stand-ins of the other services: its process, what an operator set up there, and calls led on to it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from openstack_answers import RefusedCallError
from openstack_identity import OPERATORS_PASSWORD, OPERATORS_TOKEN, PROJECT, TOKEN
from openstack_nova import FLAVORS, ZONES
from openstack_volumes import Cinder

from waiting import until

PROGRAM = Path(__file__).parent / "nova_served.py"
OPERATORS = {"X-Auth-Token": OPERATORS_TOKEN}
ALICES = {"X-Auth-Token": TOKEN}
VERSION = {"OpenStack-API-Version": "compute 2.64", "Content-Type": "application/json"}
LED_ON = ("X-Auth-Token", "OpenStack-API-Version", "X-OpenStack-Nova-API-Version", "Accept")
LED_BACK = ("content-type", "openstack-api-version", "x-openstack-nova-api-version", "location")
# Of a project, by Nova's name of its limit, as in the stand-in.
QUOTAS = {
    "Instances": "instances", "Cores": "cores", "RAMSize": "ram", "ServerGroups": "server_groups", "members": "server_group_members",
}  # fmt: skip


MOST_ITEMS = 1000  # of a page, by Nova's own settings


class RealNova(Cinder):
    """What the stand-ins lead on to Nova, and what they ask of it for tests.

    Args:
        python: of an environment that has Nova.
        folder: for its settings, databases and log.
    """

    port: int | None = None

    def __init__(self, python: str, folder: str) -> None:
        self.python, self.folder = python, folder
        self.began = threading.Event()
        super().__init__()

    def served_at(self, url: str) -> None:
        """Start Nova when the services that it calls are there."""
        threading.Thread(target=self._begin, args=(url,), daemon=True).start()

    def _begin(self, url: str) -> None:
        try:
            with (Path(self.folder) / "output.log").open("w") as log:
                self.process = subprocess.Popen(
                    [self.python, str(PROGRAM), self.folder, url],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                    env={**os.environ, "WAVETANK_NOVA_PASSWORD": OPERATORS_PASSWORD},
                )  # fmt: skip
            assert self.process.stdout is not None
            self.port = int(self.process.stdout.readline())
            self._set_up()
        finally:
            self.began.set()

    def _set_up(self) -> None:
        """Flavors and zones, as an operator makes them. A zone is a host aggregate: Nova keeps no server in one that is none."""
        for flavor in FLAVORS:
            self._ask("POST", "/flavors", {"flavor": flavor})
        for zone, hosts in {**ZONES, "down": ["host7"]}.items():
            body = {"aggregate": {"name": zone, "availability_zone": zone}}
            made = self._ask("POST", "/os-aggregates", body)["aggregate"]["id"]
            for host in hosts:
                path = f"/os-aggregates/{made}/action"
                self._ask("POST", path, {"add_host": {"host": host}})
        (down,) = self._ask("GET", "/os-services?host=host7&binary=nova-compute")["services"]
        self._ask("PUT", f"/os-services/{down['id']}", {"status": "disabled"})

    def forward(
        self, path: str, environ: dict[str, Any], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """A call led on to Nova: status, headers and body of its answer."""
        self.began.wait()
        given = {name: environ.get(f"HTTP_{name.upper().replace('-', '_')}") for name in LED_ON}
        headers = {name: value for name, value in given.items() if value is not None}
        if body:
            headers["Content-Type"] = environ.get("CONTENT_TYPE", "application/json")
        below = path.removeprefix("/compute") or "/"
        below = f"{below}/" if below == "/v2.1" else below
        query = environ.get("QUERY_STRING")
        method = environ["REQUEST_METHOD"]
        status, found, text = self._call(
            method, f"{below}?{query}" if query else below, body, headers
        )
        back = [(name, value) for name, value in found if name.lower() in LED_BACK]
        return status, [*back, ("Content-Length", str(len(text)))], text

    def _call(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        if self.port is None:
            raise RefusedCallError(503, f"Nova did not start: see {self.folder}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def _ask(
        self, method: str, path: str, body: object = None, of: dict[str, str] = OPERATORS
    ) -> Any:
        """What Nova answers to its operator, or to the user."""
        sent = b"" if body is None else json.dumps(body).encode()
        status, _, text = self._call(method, f"/v2.1{path}", sent, {**VERSION, **of})
        if status >= 400:
            raise RefusedCallError(status, f"{method} {path}: {text.decode()}")
        return json.loads(text) if text else {}

    # Told and asked by tests

    def clear(self) -> None:
        """Nova is given back as it was; it lets go of ports and volumes then."""
        if self.began.is_set():
            self._tell(no_room=[], fault="", page=MOST_ITEMS)
            for each in self._servers():
                self._ask("DELETE", f"/servers/{each['id']}")
            until(lambda: not self._servers(), "servers are gone")
            for each in self._groups():
                self._ask("DELETE", f"/os-server-groups/{each['id']}", of=ALICES)
            for name in self._key_pairs():
                self._ask("DELETE", f"/os-keypairs/{name}", of=ALICES)
            self._ask("DELETE", f"/os-quota-sets/{PROJECT}")
        super().clear()

    def _tell(self, **how: object) -> None:
        status, _, _ = self._call("POST", "/told", json.dumps(how).encode(), {})
        assert status == 200

    def _nova_told(self, key: str, value: Any) -> None:
        self.began.wait()
        if key == "quota":
            self._ask("DELETE", f"/os-quota-sets/{PROJECT}")
            limits = {QUOTAS[name]: limit for name, limit in value.items() if name in QUOTAS}
            if limits:
                body = {"quota_set": {**limits, "force": True}}
                self._ask("PUT", f"/os-quota-sets/{PROJECT}", body)
        elif key == "no_room":
            self._tell(no_room=[host for each in value for host in ZONES.get(each, [each])])

        elif key in ("fault", "page"):
            self._tell(**{key: value})
        elif key == "shut_off":
            self._shut_off(value)

    def _shut_off(self, nodes: list[str]) -> None:
        for each in self._servers():
            if each["metadata"]["wavetank:node"] in nodes:
                self._ask("POST", f"/servers/{each['id']}/action", {"os-stop": None})
                until(partial(self._is_off, each["id"]), "a server is off")

    def _is_off(self, server: str) -> bool:
        found = self._ask("GET", f"/servers/{server}")["server"]["status"]
        return str(found) == "SHUTOFF"

    def _nova_left(self) -> Iterator[str]:
        self.began.wait()
        yield from (f"server {each['name']} {each['status']}" for each in self._servers())
        yield from (f"key pair {each}" for each in self._key_pairs())
        yield from (f"server group {each['name']}" for each in self._groups())

    def _servers(self) -> list[dict[str, Any]]:
        return list(self._pages("/servers/detail", "servers", "all_tenants=1"))

    def _groups(self) -> list[dict[str, Any]]:
        return list(self._pages("/os-server-groups", "server_groups", of=ALICES))

    def _key_pairs(self) -> list[str]:
        found = self._pages("/os-keypairs", "keypairs", of=ALICES)
        return [str(each["keypair"]["name"]) for each in found]

    def _pages(
        self, path: str, items: str, query: str = "", of: dict[str, str] = OPERATORS
    ) -> Iterator[dict[str, Any]]:
        """All of a list, also while its pages are short: groups are counted, of the others the last one is named."""
        n, after = 0, ""
        while True:
            place = f"offset={n}" if items == "server_groups" else after
            found = self._ask("GET", f"{path}?{query}&{place}", of=of)[items]
            yield from found
            if not found:
                return
            n += len(found)
            last = found[-1].get("keypair", found[-1])
            after = f"marker={last.get('id', last['name'])}"
