"""The stand-in of Neutron: networks, subnets, routers, security groups, ports, floating addresses, and which of them is in use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from openstack_answers import RefusedCallError, filtered, need

EXTERNAL = "eeeeeeee-0000-4000-8000-000000000001"
OTHERS = "eeeeeeee-0000-4000-8000-000000000002"  # a network of the project's own, with a router
ITEMS = {
    "networks": "network", "subnets": "subnet", "routers": "router", "ports": "port", "floatingips": "floatingip",
    "security-groups": "security_group", "security-group-rules": "security_group_rule",
}  # fmt: skip
MOST_DESCRIPTION = 255
# What Neutron adds to what is asked for, as far as Nova reads it.
OF_KIND: dict[str, dict[str, Any]] = {
    "network": {"admin_state_up": True, "shared": False, "mtu": 1450, "status": "ACTIVE"},
    "subnet": {
        "gateway_ip": "192.168.77.1", "enable_dhcp": True, "ip_version": 4, "dns_nameservers": [], "host_routes": [],
    },
    "port": {
        "name": "", "admin_state_up": True, "status": "ACTIVE", "binding:vnic_type": "normal", "binding:vif_type": "ovs",
        "binding:vif_details": {}, "binding:profile": {},
    },
}  # fmt: skip
EXTENSIONS = (
    "binding",
    "external-net",
    "quotas",
    "quota_details",
    "router",
    "security-group",
    "standard-attr-description",
)


class Neutron:
    """All networks of a project."""

    def __init__(self, project: str, quota: dict[str, int]) -> None:
        self.project, self.quota = project, quota
        self.n_addresses = 0
        self.things: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in ITEMS.values()}
        for identifier, name, external in ((EXTERNAL, "public", True), (OTHERS, "lab-net", False)):
            self.things["network"][identifier] = {
                "id": identifier, "name": name, "router:external": external, "project_id": project, **OF_KIND["network"],
            }  # fmt: skip
        self.things["subnet"]["s"] = {
            "id": "s", "network_id": OTHERS, "cidr": "192.168.77.0/24", "project_id": project, **OF_KIND["subnet"],
        }  # fmt: skip
        self.things["router"]["r"] = {"id": "r", "external_gateway_info": {"network_id": EXTERNAL}}
        self._interface("r", "s")
        self.there_before = {kind: set(of_kind) for kind, of_kind in self.things.items()}
        self.n_addresses = 10

    def left(self) -> Iterator[str]:
        for kind, of_kind in self.things.items():
            for each in of_kind.values():
                if each["id"] not in self.there_before[kind] and kind != "security_group_rule":
                    yield f"{kind} {each.get('name') or each['id']}"

    def check_server(self, network: str, security_group: str) -> None:
        if network not in self.things["network"]:
            raise RefusedCallError(400, f"Network {network} could not be found.")
        if not self._of("subnet", network_id=network):
            raise RefusedCallError(
                400, f"Network {network} requires a subnet in order to boot instances on."
            )
        if security_group not in self.things["security_group"]:
            raise RefusedCallError(
                400, f"Security group {security_group} not found for project {self.project}."
            )

    def start_server(self, server: str, network: str, security_group: str) -> str:
        """A port for a server; its address."""
        subnet = self._of("subnet", network_id=network)[0]["id"]
        port = self._port(server, "compute:nova", subnet, [security_group])
        return str(port["fixed_ips"][0]["ip_address"])

    def end_server(self, server: str) -> None:
        for port in self._of("port", device_id=server):
            self._remove("port", port)

    def answer(
        self, method: str, path: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        _, items, identifier, action = [*path.split("/"), "", ""][:4]
        if items == "quotas":
            quotas = self._quotas()
            limits = {kind: quota["limit"] for kind, quota in quotas.items()}
            return 200, {"quota": quotas if action == "details.json" else limits}
        if items == "extensions":
            return 200, {"extensions": [{"alias": each, "name": each} for each in EXTENSIONS]}
        kind = ITEMS[items]
        if method == "GET" and not identifier:
            found = filtered(self.things[kind].values(), query)
            return 200, {items.replace("-", "_"): [self._shown(kind, each) for each in found]}
        if method == "POST":
            return 201, {kind: self._shown(kind, self._make(kind, asked[kind]))}
        thing = need(self.things[kind], identifier, f"{kind} {identifier} could not be found.")
        if method == "PUT" and action:
            getattr(self, f"_{action}")(identifier, asked)
            return 200, {}
        if method == "DELETE":
            self._remove(kind, thing)
            return 204, None
        if method == "PUT":
            thing |= asked[kind]
        return 200, {kind: self._shown(kind, thing)}

    def _shown(self, kind: str, thing: dict[str, Any]) -> dict[str, Any]:
        more = {"tenant_id": thing.get("project_id")}
        if kind == "network":
            more["subnets"] = [each["id"] for each in self._of("subnet", network_id=thing["id"])]
        return {**thing, **more}

    def _quotas(self) -> dict[str, Any]:
        return {
            kind: {"limit": self.quota.get(kind, 100), "used": len(of_kind), "reserved": 0}
            for kind, of_kind in self.things.items()
        }

    def _of(self, kind: str, **attributes: str) -> list[dict[str, Any]]:
        return filtered(
            self.things[kind].values(), {key: [value] for key, value in attributes.items()}
        )

    def _make(self, kind: str, asked: dict[str, Any]) -> dict[str, Any]:
        if len(self.things[kind]) >= self.quota.get(kind, 100_000):
            raise RefusedCallError(409, f"Quota exceeded for resources: ['{kind}'].", "OverQuota")
        if len(asked.get("description", "")) > MOST_DESCRIPTION:
            raise RefusedCallError(400, "Invalid input for description.", "HTTPBadRequest")
        more = getattr(self, f"_new_{kind}", lambda asked: {})(asked)
        of_kind = OF_KIND.get(kind, {})
        made = {"id": str(uuid4()), "project_id": self.project, "status": "ACTIVE", **of_kind, **asked, **more}  # fmt: skip
        self.things[kind][made["id"]] = made
        return made

    def _new_subnet(self, asked: dict[str, Any]) -> dict[str, Any]:
        need(self.things["network"], asked["network_id"], "Network could not be found.")
        return {}

    def _new_security_group_rule(self, asked: dict[str, Any]) -> dict[str, Any]:
        need(
            self.things["security_group"],
            asked["security_group_id"],
            "Security group does not exist.",
        )
        if any(
            asked.items() <= each.items() for each in self.things["security_group_rule"].values()
        ):
            raise RefusedCallError(
                409, "Security group rule already exists.", "SecurityGroupRuleExists"
            )
        return {}

    def _new_floatingip(self, asked: dict[str, Any]) -> dict[str, Any]:
        network = self.things["network"].get(asked["floating_network_id"], {})
        if not network.get("router:external"):
            raise RefusedCallError(400, "Network is not a valid external network", "BadRequest")
        port = need(
            self.things["port"], asked["port_id"], f"Port {asked['port_id']} could not be found."
        )
        subnet = port["fixed_ips"][0]["subnet_id"]
        routers = {
            each["device_id"]
            for each in self._of("port", device_owner="network:router_interface")
            if each["fixed_ips"][0]["subnet_id"] == subnet
        }
        if not any(
            (self.things["router"][each].get("external_gateway_info") or {}).get("network_id")
            == network["id"]
            for each in routers
        ):
            raise RefusedCallError(
                404,
                "External network is not reachable from subnet.",
                "ExternalGatewayForFloatingIPNotFound",
            )
        self.n_addresses += 1
        return {
            "fixed_ip_address": port["fixed_ips"][0]["ip_address"],
            "floating_ip_address": f"198.51.100.{self.n_addresses}",
        }

    def _new_port(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The port that Nova asks for: in the network's first subnet."""
        subnets = self._of("subnet", network_id=asked["network_id"])
        addresses = [self._address(each["id"]) for each in subnets[:1]]
        return {
            "fixed_ips": addresses,
            "mac_address": self._mac(),
            "project_id": asked.get("tenant_id", self.project),
        }

    def _port(self, device: str, owner: str, subnet: str, groups: list[str]) -> dict[str, Any]:
        made = {
            "id": str(uuid4()), "device_id": device, "device_owner": owner, "fixed_ips": [self._address(subnet)],
            "security_groups": groups, "project_id": self.project, "network_id": self.things["subnet"][subnet]["network_id"],
            "mac_address": self._mac(), **OF_KIND["port"],
        }  # fmt: skip
        self.things["port"][made["id"]] = made
        return made

    def _address(self, subnet: str) -> dict[str, str]:
        self.n_addresses += 1
        return {"subnet_id": subnet, "ip_address": f"192.168.77.{self.n_addresses % 250}"}

    def _mac(self) -> str:
        return f"fa:16:3e:00:00:{self.n_addresses % 256:02x}"

    def _interface(self, router: str, subnet: str) -> None:
        self._port(router, "network:router_interface", subnet, [])

    def _add_router_interface(self, router: str, asked: dict[str, str]) -> None:
        need(self.things["subnet"], asked["subnet_id"], "Subnet could not be found.")
        if any(
            p["fixed_ips"][0]["subnet_id"] == asked["subnet_id"]
            for p in self._of("port", device_id=router)
        ):
            raise RefusedCallError(400, "Router already has a port on subnet", "BadRequest")
        self._interface(router, asked["subnet_id"])

    def _remove_router_interface(self, router: str, asked: dict[str, str]) -> None:
        port = need(self.things["port"], asked["port_id"], "Router does not have an interface")
        subnet = port["fixed_ips"][0]["subnet_id"]
        for each in self.things["floatingip"].values():
            inner = self.things["port"].get(each["port_id"] or "")
            if inner is not None and inner["fixed_ips"][0]["subnet_id"] == subnet:
                raise RefusedCallError(
                    409,
                    "it is required by one or more floating IPs.",
                    "RouterInterfaceInUseByFloatingIP",
                )
        del self.things["port"][port["id"]]

    def _remove(self, kind: str, thing: dict[str, Any]) -> None:
        identifier = thing["id"]
        for each in self._of("floatingip", port_id=identifier):
            each |= {"port_id": None, "fixed_ip_address": None, "status": "DOWN"}
        ports = list(self.things["port"].values())
        subnets = [each["id"] for each in self._of("subnet", network_id=identifier)]
        users = {
            "network": [p for p in ports if p["fixed_ips"][0]["subnet_id"] in subnets],
            "subnet": [p for p in ports if p["fixed_ips"][0]["subnet_id"] == identifier],
            "router": [p for p in ports if p["device_id"] == identifier],
            "security_group": [p for p in ports if identifier in p["security_groups"]],
        }.get(kind, [])
        if users:
            name = kind.replace("_", " ").title().replace(" ", "")
            raise RefusedCallError(
                409, f"Unable to complete operation on {kind} {identifier}: in use.", f"{name}InUse"
            )
        del self.things[kind][identifier]
        for subnet in subnets if kind == "network" else ():
            del self.things["subnet"][subnet]
        if kind == "security_group":
            for rule in self._of("security_group_rule", security_group_id=identifier):
                del self.things["security_group_rule"][rule["id"]]
