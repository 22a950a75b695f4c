"""The stand-in of Nova: flavors, zones with hosts, servers and the states that they pass, groups, key pairs; what it refuses.

Its answers are those of Nova 34.0 where a test is run with both (openstack_real_nova.py).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from openstack_answers import RefusedCallError, due, need
from openstack_images import IMAGES
from openstack_network import Neutron
from openstack_volumes import Cinder, now

ZONES = {"nova": ["host1", "host2", "host3"], "west": ["host4", "host5", "host6"]}
FLAVORS = [
    {"id": "1", "name": "m1.tiny", "vcpus": 1, "ram": 512, "disk": 1, "OS-FLV-EXT-DATA:ephemeral": 0},
    {"id": "2", "name": "m1.large", "vcpus": 2, "ram": 4096, "disk": 20, "OS-FLV-EXT-DATA:ephemeral": 0},
    {"id": "3", "name": "i1.large", "vcpus": 2, "ram": 4096, "disk": 20, "OS-FLV-EXT-DATA:ephemeral": 100},
    {"id": "4", "name": "v1.large", "vcpus": 2, "ram": 4096, "disk": 0, "OS-FLV-EXT-DATA:ephemeral": 0},
]  # fmt: skip
# What a call that makes a server may say (schema of Nova's interface, 2.64).
OF_SERVER = {
    "name", "flavorRef", "imageRef", "key_name", "user_data", "config_drive", "metadata", "networks", "security_groups",
    "availability_zone", "block_device_mapping_v2",
}  # fmt: skip
MOST_USER_DATA = 65535  # after base64


class NovaStandin(Cinder):
    """Servers of a project, on hosts that are none."""

    neutron: Neutron
    room: int
    no_room: list[str]
    fault: str

    def clear(self) -> None:
        super().clear()
        self.room = 16  # servers that a host takes
        self.no_room = []  # zones and hosts
        self.fault = ""  # of every server that starts, with other words than those of no room
        self.servers: dict[str, dict[str, Any]] = {}
        self.key_pairs: dict[str, str] = {}
        self.groups: dict[str, dict[str, Any]] = {}

    def _nova(
        self, method: str, path: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        _, what, identifier = [*path.split("/"), ""][:3]
        if path == "/servers/detail":
            self._look()
            return 200, self._paged("servers", list(self.servers.values()), query)
        if path == "/servers" and method == "POST":
            return 202, {"server": {"id": self._start(asked)}}
        if what == "servers" and method == "GET":
            self._look()
            return 200, {"server": need(self.servers, identifier, "Instance could not be found.")}
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
            return self._key_pair(method, identifier, asked, query)
        if what == "os-server-groups":
            return self._group(method, identifier, asked, query)
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

    def _key_pair(
        self, method: str, name: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        if method == "GET":
            found = [{"id": each, "name": each} for each in self.key_pairs]
            page = self._paged("keypairs", found, query)
            return 200, {**page, "keypairs": [{"keypair": {"name": each["name"]}} for each in page["keypairs"]]}  # fmt: skip
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

    def _group(
        self, method: str, identifier: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        if method == "GET":  # no links to the next page
            first = int(query.get("offset", ["0"])[0])
            return 200, {"server_groups": list(self.groups.values())[first : first + self.page]}
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
        self._check_root(server, flavor)
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

    def _check_root(self, server: dict[str, Any], flavor: dict[str, Any]) -> None:
        """An image for the flavor's disk, which it has, or a volume that one was written to."""
        first = next(each for each in server["block_device_mapping_v2"] if each["boot_index"] == 0)
        if first["source_type"] == "volume":
            if "imageRef" in server:
                raise RefusedCallError(
                    400,
                    "Block Device Mapping is Invalid: Boot sequence for the instance is not valid.",
                )
            if self.volumes.get(first["uuid"], {}).get("bootable") != "true":
                raise RefusedCallError(400, f"Block Device {first['uuid']} is not bootable.")
            return
        if server["imageRef"] not in [each["id"] for each in IMAGES if each["status"] == "active"]:
            raise RefusedCallError(400, "Can not find requested image")
        if flavor["disk"] == 0:
            raise RefusedCallError(
                403, "Only volume-backed servers are allowed for flavors with zero disk."
            )

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
            and host not in self.no_room
            and sum(each["host"] == host for each in others) < self.room
            and not (apart and any(each["host"] == host and each["group"] == server["group"] for each in others))
        ]  # fmt: skip
        server["OS-EXT-STS:task_state"] = None
        if not fitting or self.fault:
            said = "No valid host was found. There are not enough hosts available."
            if fitting:
                said = f"Build of instance {server['id']} aborted: {self.fault}"
            server |= {"status": "ERROR", "fault": {"code": 500, "message": said}}
            return
        address = self.neutron.start_server(server["id"], *server["asked"])
        for volume in self.volumes.values():
            if volume.get("server") == server["id"]:
                volume["status"] = "in-use"
        server |= {
            "status": "ACTIVE", "host": fitting[0], "hostId": fitting[0], "OS-SRV-USG:launched_at": now(), "OS-SRV-USG:terminated_at": None,
            "addresses": {"lan": [{"addr": address, "version": 4, "OS-EXT-IPS:type": "fixed"}]},
        }  # fmt: skip

    def _nova_told(self, key: str, value: Any) -> None:
        """How it is to behave; states of servers that end by themselves."""
        if key == "shut_off":
            for server in self.servers.values():
                if server["metadata"]["wavetank:node"] in value:
                    server["status"] = "SHUTOFF"

    def _nova_left(self) -> Iterator[str]:
        yield from (f"server {each['name']} {each['status']}" for each in self.servers.values())
        yield from (f"key pair {each}" for each in self.key_pairs)
        yield from (f"server group {each['name']}" for each in self.groups.values())

    def _servers(self) -> list[dict[str, Any]]:
        return list(self.servers.values())
