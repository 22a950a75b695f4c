"""Keystone, Nova, Neutron, Cinder and Glance as one process: what they hold, the states that they pass, and what they refuse.

These are stand-ins, not the services. States, refusals and their words are ours, after the interfaces of the services; none was asked.
servers are no machines. One project, two availability zones with three hosts each, one external network.

POST /hostile {...} sets how they behave, GET /hostile/calls, /hostile/left, /hostile/reset, /hostile/copy and /hostile/end are as in
aws_emulator.py. What takes time (a server that starts, a volume that is deleted) takes a number of looks at it.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import parse_qs
from uuid import uuid4

from openstack_answers import RefusedCallError, due, filtered, need
from openstack_identity import PROJECT, TOKEN, token, versions
from openstack_network import Neutron
from openstack_volumes import Cinder, now
from served_standin import go_on_as_two, serve

ZONES = {"nova": ["host1", "host2", "host3"], "west": ["host4", "host5", "host6"]}
FLAVORS = [
    {"id": "1", "name": "m1.tiny", "vcpus": 1, "ram": 512, "disk": 1, "OS-FLV-EXT-DATA:ephemeral": 0},
    {"id": "2", "name": "m1.large", "vcpus": 2, "ram": 4096, "disk": 20, "OS-FLV-EXT-DATA:ephemeral": 0},
    {"id": "3", "name": "i1.large", "vcpus": 2, "ram": 4096, "disk": 20, "OS-FLV-EXT-DATA:ephemeral": 100},
    {"id": "4", "name": "v1.large", "vcpus": 2, "ram": 4096, "disk": 0, "OS-FLV-EXT-DATA:ephemeral": 0},
]  # fmt: skip
IMAGES = [
    {"id": "a" * 36, "name": "Debian 12", "status": "active", "min_disk": 3, "min_ram": 1024},
    {"id": "b" * 36, "name": "old", "status": "deactivated", "min_disk": 0, "min_ram": 0},
    {"id": "c" * 36, "name": "twice", "status": "active", "min_disk": 0, "min_ram": 0},
    {"id": "d" * 36, "name": "twice", "status": "active", "min_disk": 30, "min_ram": 0},
]
# What a call that makes a server may say (schema of Nova's interface, 2.64).
OF_SERVER = {
    "name", "flavorRef", "imageRef", "key_name", "user_data", "config_drive", "metadata", "networks", "security_groups",
    "availability_zone", "block_device_mapping_v2",
}  # fmt: skip
MOST_USER_DATA = 65535  # after base64

Respond = Callable[[str, list[tuple[str, str]]], object]


class Standin(Cinder):
    """All services of a cloud."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        self.calls: list[str] = []
        self.made: list[dict[str, list[str]]] = []
        self.slow = self.linger = 0
        self.page = 1000
        self.room = 16  # servers that a host takes
        self.no_room: list[str] = []  # zones
        self.fault = ""  # of every server that starts, with other words than those of no room
        self.bad_volumes = False
        self.refuse: dict[str, list[Any]] = {}  # call -> status, message
        self.html = False
        self.quota: dict[str, int] = {}
        self.servers: dict[str, dict[str, Any]] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.key_pairs: dict[str, str] = {}
        self.groups: dict[str, dict[str, Any]] = {}
        self.looks: dict[str, int] = {}  # left until the next state
        self.neutron = Neutron(PROJECT, self.quota)

    def __call__(self, environ: dict[str, Any], start: Respond) -> Iterable[bytes]:
        path, method = environ["PATH_INFO"].rstrip("/"), environ["REQUEST_METHOD"]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if path.startswith("/hostile"):
            return _send(start, 200, self._told(path, body, environ))
        if self.html:
            start("200 OK", [("Content-Type", "text/html"), ("Content-Length", "15")])
            return [b"<html>Sign in</"]
        here = f"http://{environ['HTTP_HOST']}"
        asked = json.loads(body) if body else {}
        query = {key: values[0] for key, values in parse_qs(environ["QUERY_STRING"]).items()}
        with self.lock:
            try:
                status, answer, headers = self._answer(
                    here, method, path, asked, query, environ.get("HTTP_X_AUTH_TOKEN")
                )
            except RefusedCallError as refused:
                status, answer, headers = refused.status, refused.body(path), []
        return _send(start, status, answer, headers)

    def _answer(
        self, here: str, method: str, path: str, asked: Any, query: dict[str, str], given: str | None
    ) -> tuple[int, Any, list[tuple[str, str]]]:  # fmt: skip
        if path == "/identity/v3/auth/tokens":
            return 201, token(here, asked), [("X-Subject-Token", TOKEN)]
        found = versions(here).get(path)
        if found is not None:
            return 200, found, []
        if given != TOKEN:
            raise RefusedCallError(401, "The request you have made requires authentication.")
        service, _, rest = path.lstrip("/").partition("/")
        rest = "/" + rest.partition("/")[2]
        name = {"compute": "nova", "volume": "cinder", "network": "neutron", "image": "glance"}[
            service
        ]
        generic = re.sub(r"/[0-9a-f-]{8,36}(?=/|$)|(?<=/os-keypairs)/.*", "/*", rest)
        call = f"{method} {name}:{generic}"
        self.calls.append(call)
        if call in self.refuse or "*" in self.refuse:
            status, words = self.refuse.get(call, self.refuse.get("*", [500, ""]))
            raise RefusedCallError(status, words)
        if method != "GET":
            self.made.append({"Action": [call], "Body": [json.dumps(asked)]})
        status, answer = getattr(self, f"_{name}")(method, rest, asked, query)
        return status, answer, []

    # Nova

    def _nova(self, method: str, path: str, asked: Any, query: dict[str, str]) -> tuple[int, Any]:
        _, what, identifier = [*path.split("/"), ""][:3]
        if path == "/servers/detail":
            self._look()
            return 200, self._paged("servers", list(self.servers.values()), query)
        if path == "/servers" and method == "POST":
            return 202, {"server": {"id": self._start(asked)}}
        if what == "servers" and method == "DELETE":
            server = need(self.servers, identifier, "Instance could not be found.")
            server["OS-EXT-STS:task_state"] = "deleting"
            self.looks[identifier] = self.linger
            return 204, None
        if path == "/flavors/detail":
            return 200, {"flavors": FLAVORS}
        if path == "/os-availability-zone":
            zones = [{"zoneName": zone, "zoneState": {"available": True}} for zone in ZONES]
            down = {"zoneName": "down", "zoneState": {"available": False}}
            return 200, {"availabilityZoneInfo": [*zones, down]}
        if path == "/limits":
            return 200, {"limits": {"absolute": self._nova_limits()}}
        if what == "os-keypairs":
            return self._key_pair(method, identifier, asked)
        if what == "os-server-groups":
            return self._group(method, identifier, asked)
        raise RefusedCallError(404, "The resource could not be found.")

    def _nova_limits(self) -> dict[str, int]:
        flavors = [server["flavor"] for server in self.servers.values()]
        found = {
            "Instances": len(flavors),
            "Cores": sum(each["vcpus"] for each in flavors),
            "RAMSize": sum(each["ram"] for each in flavors),
            "ServerGroups": len(self.groups),
        }
        used = {f"total{name.removesuffix('Size')}Used": value for name, value in found.items()}
        limits = {f"maxTotal{name}": self.quota.get(name, 100_000) for name in found}
        limits["maxServerGroups"] = limits.pop("maxTotalServerGroups")
        return {**limits, **used, "maxServerGroupMembers": self.quota.get("members", 100)}

    def _key_pair(self, method: str, name: str, asked: Any) -> tuple[int, Any]:
        if method == "GET":
            return 200, {"keypairs": [{"keypair": {"name": each}} for each in self.key_pairs]}
        if method == "POST":
            name = asked["keypair"]["name"]
            if name in self.key_pairs:
                raise RefusedCallError(409, f"Key pair '{name}' already exists.")
            if not asked["keypair"]["public_key"].startswith("ssh-ed25519 "):
                raise RefusedCallError(
                    400, "Keypair data is invalid: failed to generate fingerprint"
                )
            self.key_pairs[name] = asked["keypair"]["public_key"]
            return 201, {"keypair": {"name": name}}
        need(self.key_pairs, name, f"Keypair {name} not found")
        del self.key_pairs[name]
        return 204, None

    def _group(self, method: str, identifier: str, asked: Any) -> tuple[int, Any]:
        if method == "GET":
            return 200, {"server_groups": list(self.groups.values())}
        if method == "POST":
            asked = asked["server_group"]
            if asked["policy"] not in (
                "affinity",
                "anti-affinity",
                "soft-affinity",
                "soft-anti-affinity",
            ):
                raise RefusedCallError(
                    400, f"Invalid input for field/attribute policy: {asked['policy']}"
                )
            if len(self.groups) >= self.quota.get("ServerGroups", 100_000):
                raise RefusedCallError(403, "Quota exceeded, too many server groups.")
            made = {"id": str(uuid4()), **asked}
            self.groups[made["id"]] = made
            return 200, {"server_group": made}
        need(self.groups, identifier, f"No instance group with uuid {identifier} exists")
        del self.groups[identifier]
        return 204, None

    def _start(self, asked: Any) -> str:
        """A server that begins to start: the checks of the interface, then a place is looked for later."""
        server = asked["server"]
        unknown = set(server) - OF_SERVER
        if unknown:
            raise RefusedCallError(
                400, f"Additional properties are not allowed ({unknown} was unexpected)"
            )
        if any(len(str(value)) > 255 for value in server["metadata"].values()):
            raise RefusedCallError(400, "Invalid input for field/attribute metadata: is too long")
        user_data = server["user_data"]
        base64.b64decode(user_data, validate=True)
        if len(user_data) > MOST_USER_DATA:
            raise RefusedCallError(400, "Invalid input for field/attribute user_data: is too long")
        flavor = next((each for each in FLAVORS if each["id"] == server["flavorRef"]), None)
        if flavor is None:
            raise RefusedCallError(400, f"Flavor {server['flavorRef']} could not be found.")
        if server["imageRef"] not in [each["id"] for each in IMAGES if each["status"] == "active"]:
            raise RefusedCallError(400, "Can not find requested image")
        if server["key_name"] not in self.key_pairs:
            raise RefusedCallError(400, "Invalid key_name provided.")
        if server["availability_zone"] not in ZONES:
            raise RefusedCallError(400, "The requested availability zone is not available")
        group = asked["os:scheduler_hints"]["group"]
        if group not in self.groups:
            raise RefusedCallError(400, "Invalid input: server group could not be found")
        if len(self.servers) >= self.quota.get("Instances", 100_000):
            n = len(self.servers)
            raise RefusedCallError(
                403,
                f"Quota exceeded for instances: Requested 1, but already used {n} of {n} instances",
            )
        volumes = [
            each["uuid"]
            for each in server["block_device_mapping_v2"]
            if each["source_type"] == "volume"
        ]
        for volume in volumes:
            if self.volumes.get(volume, {}).get("status") != "available":
                raise RefusedCallError(
                    400, f"Block Device Mapping is Invalid: failed to get volume {volume}."
                )
        (network,) = [each["uuid"] for each in server["networks"]]
        (security_group,) = [each["name"] for each in server["security_groups"]]
        self.neutron.check_server(network, security_group)
        identifier = str(uuid4())
        for volume in volumes:
            self.volumes[volume] |= {"status": "reserved", "server": identifier}
        self.servers[identifier] = {
            "id": identifier, "name": server["name"], "status": "BUILD", "metadata": server["metadata"], "addresses": {},
            "flavor": {**flavor, "original_name": flavor["name"]}, "OS-EXT-STS:task_state": "scheduling",
            "OS-EXT-AZ:availability_zone": server["availability_zone"], "group": group, "asked": [network, security_group],
        }  # fmt: skip
        self.looks[identifier] = self.slow
        return identifier

    def _look(self) -> None:
        """One look more at all servers: those whose time has come are in their next state."""
        for identifier, server in due(self.looks, self.servers):
            if server["OS-EXT-STS:task_state"] == "deleting":
                del self.servers[identifier]
                self.neutron.end_server(identifier)
                for volume in self.volumes.values():
                    if volume.get("server") == identifier:
                        volume |= {"status": "available", "server": None}
            else:
                self._place(server)

    def _place(self, server: dict[str, Any]) -> None:
        """A host by the scheduler's rules, or the error that there is none."""
        zone = server["OS-EXT-AZ:availability_zone"]
        apart = self.groups[server["group"]]["policy"] == "anti-affinity"
        others = [each for each in self.servers.values() if each.get("host")]
        fitting = [
            host
            for host in ZONES[zone]
            if zone not in self.no_room
            and sum(each["host"] == host for each in others) < self.room
            and not (apart and any(each["host"] == host and each["group"] == server["group"] for each in others))
        ]  # fmt: skip
        server["OS-EXT-STS:task_state"] = None
        if not fitting or self.fault:
            said = self.fault or "No valid host was found. There are not enough hosts available."
            server |= {"status": "ERROR", "fault": {"code": 500, "message": said}}
            return
        address = self.neutron.start_server(server["id"], *server["asked"])
        for volume in self.volumes.values():
            if volume.get("server") == server["id"]:
                volume["status"] = "in-use"
        server |= {
            "status": "ACTIVE", "host": fitting[0], "OS-SRV-USG:launched_at": now(), "OS-SRV-USG:terminated_at": None,
            "addresses": {"lan": [{"addr": address, "version": 4, "OS-EXT-IPS:type": "fixed"}]},
        }  # fmt: skip

    # Glance and Neutron

    def _glance(self, method: str, path: str, asked: Any, query: dict[str, str]) -> tuple[int, Any]:
        if path == "/images":
            return 200, {"images": filtered(IMAGES, query)}
        named = path.rpartition("/")[2]
        found = next((each for each in IMAGES if each["id"] == named), None)
        if found is None:
            raise RefusedCallError(404, f"No image found with ID {named}")
        return 200, found

    def _neutron(
        self, method: str, path: str, asked: Any, query: dict[str, str]
    ) -> tuple[int, Any]:
        return self.neutron.answer(method, path, asked, query)

    # Told and asked by tests

    def _told(self, path: str, body: bytes, environ: dict[str, Any]) -> Any:
        if path == "/hostile/reset":
            self.clear()
            return {}
        if path == "/hostile/calls":
            return {"calls": self.calls, "made": self.made}
        if path == "/hostile/left":
            return sorted(self._left())
        if path == "/hostile/copy":
            return go_on_as_two(self, environ["werkzeug.socket"])
        if path == "/hostile/end":
            os._exit(0)
        for key, value in json.loads(body).items():
            if key == "quota":
                self.quota.clear()
                self.quota.update(value)
            elif key == "shut_off":
                for server in self.servers.values():
                    if server["metadata"]["wavetank:node"] in value:
                        server["status"] = "SHUTOFF"
            else:
                setattr(self, key, value)
        return {}

    def _left(self) -> Iterator[str]:
        yield from (f"server {each['name']} {each['status']}" for each in self.servers.values())
        yield from (f"volume {each['name']} {each['status']}" for each in self.volumes.values())
        yield from (f"key pair {each}" for each in self.key_pairs)
        yield from (f"server group {each['name']}" for each in self.groups.values())
        yield from self.neutron.left()


def _send(
    start: Respond, status: int, body: Any, headers: Iterable[tuple[str, str]] = ()
) -> list[bytes]:
    text = b"" if body is None else json.dumps(body).encode()
    kind = [("Content-Type", "application/json"), ("Content-Length", str(len(text)))]
    start(f"{status} Answer", [*kind, *headers])
    return [text]


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies that end
    serve(Standin())
