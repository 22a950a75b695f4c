"""What a cloud offers to a cluster: its image, flavors, networks and zones, by name or id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wavetank.cluster.clouds.cloud import Key, Lease, Made, Wanted, terms_of
from wavetank.cluster.clouds.openstack.account import Account, AnswerError
from wavetank.cluster.clouds.openstack.found import (
    OF_NEUTRON,
    description,
    of_network,
    path_of,
    servers,
)
from wavetank.cluster.clouds.terms import OpenStackTerms
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError
from wavetank.nearest import did_you_mean

# Of a network that is made. A cluster has 132 nodes at most.
SUBNET = "192.168.77.0/24"
# Owners of the ports of a router towards its subnets.
OF_ROUTERS = ("network:router_interface", "network:ha_router_replicated_interface")


class Network:
    """Networks, groups and addresses of a project."""

    def __init__(self, account: Account) -> None:
        self.account = account

    def wanted(self, spec: ClusterSpec, lease: Lease) -> list[Wanted]:
        """Security group, and where the network is made, it, its subnet and its router."""
        terms = terms_of(spec)
        opens = {"ssh_from": terms.ssh_from, "clients_from": terms.clients_from}
        found = [Wanted("security-group", lease.label, detail=opens)]
        if openstack_of(spec).network == "made":
            found += [
                Wanted("network", lease.label),
                Wanted("subnet", lease.label),
                Wanted("router", lease.label, detail=self.outside(spec)),
            ]
        return found

    def server_network(self, spec: ClusterSpec) -> str | None:
        """Id of the network of servers; None where it is made."""
        named = openstack_of(spec).network
        return None if named == "made" else str(network_of(self.account, named)["id"])

    def outside(self, spec: ClusterSpec) -> dict[str, object]:
        """The external network, for what needs it."""
        named = openstack_of(spec).external
        if named is None:
            raise ProviderError("cloud.openstack.external is needed: name the external network")
        return {"external": str(network_of(self.account, named, external=True)["id"])}

    def own(self, key: Key, kind: str) -> str:
        """Id of the cluster's own thing of a kind of which it has one.

        Raises:
            ProviderError: there is none.
        """
        for made in of_network(self.account, kind, key):
            return made.key
        raise ProviderError(f"OpenStack made {kind} {key.label}, and does not know it")

    def make(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        """Make a thing of Neutron, or find that of an earlier try of the same call; then what belongs to it."""
        key = Key(lease.cluster, lease.token)
        kind = wanted.kind
        identifier = next((made.key for made in of_network(self.account, kind, key)), None)
        if identifier is None:
            name = OF_NEUTRON[kind].removesuffix("s")
            body = {name: {"description": description(lease), **self._body(wanted, key)}}
            made = self.account.call("neutron", "POST", path_of(kind), body=body)
            identifier = str(made[name]["id"])
        if kind == "security-group":
            self._open(identifier, wanted.detail)
        if kind == "router" and not self._interfaces(identifier):
            interface = {"subnet_id": self.own(key, "subnet")}
            path = path_of("router", f"{identifier}/add_router_interface")
            self.account.call("neutron", "PUT", path, body=interface)
        return (identifier,)

    def remove(self, made: Made) -> None:
        """Remove a thing of Neutron. Raises AnswerError with status 409 while it is in use, and 404 when it is gone."""
        if made.kind == "router":
            for port in self._interfaces(made.key):
                path = path_of("router", f"{made.key}/remove_router_interface")
                self.account.call("neutron", "PUT", path, body={"port_id": port})
        self.account.call("neutron", "DELETE", path_of(made.kind, made.key))

    def _body(self, wanted: Wanted, key: Key) -> dict[str, Any]:
        if wanted.kind == "address":
            return {
                "floating_network_id": wanted.detail["external"],
                "port_id": self._port(key, str(wanted.detail["node"])),
            }
        body: dict[str, Any] = {"name": wanted.name}
        if wanted.kind == "subnet":
            network = self.own(key, "network")
            body |= {"network_id": network, "ip_version": 4, "cidr": SUBNET}
        if wanted.kind == "router":
            body["external_gateway_info"] = {"network_id": wanted.detail["external"]}
        return body

    def _open(self, group: str, opens: Mapping[str, Any]) -> None:
        """Everything from the group itself, port 22 from one network, and all ports from clients' networks."""
        ports = [(opens["ssh_from"], 22, 22), *((each, 1, 65535) for each in opens["clients_from"])]
        for rule in (
            {"remote_group_id": group},
            *(
                {"protocol": "tcp", "port_range_min": first, "port_range_max": last, "remote_ip_prefix": network}
                for network, first, last in ports
            ),
        ):  # fmt: skip
            asked = {
                "security_group_id": group,
                "direction": "ingress",
                "ethertype": "IPv4",
                **rule,
            }
            body = {"security_group_rule": asked}
            try:
                self.account.call("neutron", "POST", "/security-group-rules", body=body)
            except AnswerError as error:
                if not error.exists:
                    raise

    def _port(self, key: Key, node: str) -> str:
        """Id of the port of a node's server.

        Raises:
            ProviderError: it has none.
        """
        for made in servers(self.account, key):
            if made.node == node:
                for port in self.account.pages("neutron", "/ports", "ports", device_id=made.key):
                    return str(port["id"])
        raise ProviderError(f"the server of {node} has no port of Neutron")

    def _interfaces(self, router: str) -> list[str]:
        """Ids of the ports of a router towards its subnets."""
        return [
            str(port["id"])
            for port in self.account.pages("neutron", "/ports", "ports", device_id=router)
            if str(port.get("device_owner", "")).startswith(OF_ROUTERS)
        ]


def openstack_of(spec: ClusterSpec) -> OpenStackTerms:
    """What it says of what is there.

    Raises:
        ProviderError: nothing.
    """
    found = terms_of(spec).openstack
    if found is None:
        raise ProviderError(f"cluster {spec.name} has no key cloud.openstack")
    return found


def flavors(account: Account) -> dict[str, dict[str, Any]]:
    """Flavors that the project may use, by name."""
    return {str(each["name"]): each for each in account.pages("nova", "/flavors/detail", "flavors")}


def flavor_of(account: Account, name: str) -> dict[str, Any]:
    """A flavor by its name.

    Raises:
        ProviderError: there is none.
    """
    known = flavors(account)
    if name not in known:
        raise none_such(account, f"instance {name}", "no such flavor", name, known)
    return known[name]


def image_of(account: Account, spec: ClusterSpec) -> dict[str, Any]:
    """The image that a cluster asks for.

    Raises:
        ProviderError: there is none, there are several of the name, or it cannot be used.
    """
    named = openstack_of(spec).image
    key = f"cloud.openstack.image {named}"
    found = list(account.pages("glance", "/images", "images", name=named))
    if not found:
        try:
            found = [account.call("glance", "GET", f"/images/{named}")]
        except AnswerError as error:
            if error.status not in (400, 404):
                raise
    if not found:
        known = {str(each["name"]) for each in account.pages("glance", "/images", "images")}
        raise none_such(account, key, "no such image", named, known)
    usable = [each for each in found if each.get("status") == "active"]
    if not usable:
        raise ProviderError(f"{key} is {found[0].get('status')}: take one that is active")
    return _only(key, usable)


def network_of(account: Account, named: str, *, external: bool = False) -> dict[str, Any]:
    """A network by its name or id.

    Args:
        account: to ask.
        named: as the specification does.
        external: whether it has to be one of the outside.

    Raises:
        ProviderError: there is none, or there are several of the name.
    """
    key = f"cloud.openstack.{'external' if external else 'network'} {named}"
    query: dict[str, object] = {"router:external": "true"} if external else {}
    known = account.pages("neutron", "/networks", "networks", **query)
    return one_named(account, key, "no such network", named, known)


def one_named(
    account: Account, key: str, none: str, named: str, known: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    """What a key names by its name or id, of what is known.

    Args:
        account: that was asked.
        key: of the specification, with its value.
        none: "no such network".
        named: the value.
        known: each with its id and name.

    Raises:
        ProviderError: there is none, or there are several of the name.
    """
    there = list(known)
    found = [each for each in there if named in (each["id"], each["name"])]
    if not found:
        raise none_such(account, key, none, named, [str(each["name"]) for each in there])
    return _only(key, found)


def none_such(
    account: Account, key: str, none: str, named: str, known: Iterable[str]
) -> ProviderError:
    """That the cloud has nothing of a name, with the names that it has; as ``one_named``."""
    names = sorted(known)
    return ProviderError(
        f"{key}: {account.region} has {none}; it has {', '.join(names) or 'none'}.{did_you_mean(named, names)}"
    )


def _only(key: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The one that was found. Several of one name are told by their ids."""
    if len(found) > 1:
        ids = ", ".join(str(each["id"]) for each in found)
        raise ProviderError(
            f"{key}: there are {len(found)} of this name: write the id of one ({ids})"
        )
    return found[0]


def zones_of(account: Account, spec: ClusterSpec) -> tuple[str, ...]:
    """Availability zones of Nova that are up, in the order of their names; that of the specification where it names one.

    Raises:
        ProviderError: there is none.
    """
    answer = account.call("nova", "GET", "/os-availability-zone")
    known = sorted(
        str(each["zoneName"])
        for each in answer["availabilityZoneInfo"]
        if each.get("zoneState", {}).get("available")
    )
    named = terms_of(spec).zone
    found = known if named == "any" else [zone for zone in known if zone == named]
    if not found:
        raise ProviderError(
            f"cloud.zone {named}: {account.region} has no such availability zone that is up; it has {', '.join(known) or 'none'}"
        )
    return tuple(found)
