"""OpenStack as a cloud: what a cluster is made of there, how each thing is made, and how it is removed.

Each call that makes something carries whose it is: metadata, a description, or a name. A server whose start fails is given back.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from wavetank.cluster.clouds.cloud import (
    CapacityError,
    Key,
    Keys,
    Lease,
    Made,
    Removal,
    Wanted,
    looks,
    terms_of,
)
from wavetank.cluster.clouds.disks import data_volumes, jump_node, root_volumes
from wavetank.cluster.clouds.openstack import found as there
from wavetank.cluster.clouds.openstack import shares
from wavetank.cluster.clouds.openstack.account import Account, AnswerError
from wavetank.cluster.clouds.openstack.check import check
from wavetank.cluster.clouds.openstack.offers import (
    Network,
    flavor_of,
    image_of,
    zones_of,
)
from wavetank.cluster.clouds.packages import first_start, role_name, roles
from wavetank.cluster.needs import Examined
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

MOST_LOOKS = 120  # with pauses of up to 10 s: about 20 minutes
# Nova's words where hosts, not the project, are at their end.
NO_ROOM = ("No valid host", "Exceeded maximum number of retries", "Insufficient compute resources")
APART, TOGETHER = "anti-affinity", "soft-affinity"


class OpenStackCloud:
    """One project in one region."""

    name = "openstack"

    def __init__(self, region: str | None) -> None:
        self.account = Account(region)
        self.region = self.account.region
        self._network = Network(self.account)

    def owner(self) -> str:
        """User and project of the credentials."""
        return self.account.owner()

    def check(self, spec: ClusterSpec) -> Examined:
        """See openstack/check.py."""
        return check(self.account, spec)

    def regions(self) -> tuple[str, ...]:
        """Regions of the catalogue."""
        return self.account.regions()

    def public_address(self) -> str:
        """Not known to the cloud, so that the key cloud.ssh_from has no default there.

        Raises:
            ProviderError: always.
        """
        raise ProviderError(
            "an OpenStack cloud does not tell this machine's address: write cloud.ssh_from"
        )

    def zones(self, spec: ClusterSpec) -> tuple[str, ...]:
        """Availability zones of Nova that are up; that of the specification where it names one."""
        return zones_of(self.account, spec)

    def plan(self, spec: ClusterSpec, lease: Lease, keys: Keys) -> tuple[Wanted, ...]:
        """Key pair, network, server groups, volumes, servers role by role, and one address."""
        terms = terms_of(spec)
        image = str(image_of(self.account, spec)["id"])
        wanted = [
            Wanted("key-pair", lease.label, detail={"public": keys.user_public}),
            *self._network.wanted(spec, lease),
        ]
        policies = {node: _policy(spec, node) for node in spec.node_names()}
        wanted += [
            Wanted("server-group", f"{lease.label}-{policy}", detail={"policy": policy})
            for policy in dict.fromkeys(policies.values())
        ]
        for node in spec.node_names():
            wanted += [
                Wanted(
                    "volume",
                    f"{lease.label}-{node}-{name}",
                    detail={"node": node, "gb": volume.size_gb, "type": _given(spec), "image": of},
                )
                for volumes, of in ((root_volumes(spec), image), (data_volumes(spec, node), None))
                for name, volume in enumerate(volumes, 0 if of else 1)
            ]
        for nodes in roles(spec):
            kind = spec.instance_of(nodes[0]).name
            detail = {
                "flavor": str(flavor_of(self.account, kind)["id"]),
                "flavor_name": kind,
                "image": image,
                "group": f"{lease.label}-{policies[nodes[0]]}",
                "policy": policies[nodes[0]],
                "volumes": len(data_volumes(spec, nodes[0])) + len(root_volumes(spec)),
                "has_root_volume": bool(root_volumes(spec)),
                "network": self._network.server_network(spec),
                "user_data": first_start(spec, terms, lease, keys, nodes[0]),
            }
            wanted.append(Wanted("instances", role_name(lease, nodes), nodes=nodes, detail=detail))
        wanted += shares.wanted_of(self.account, spec, lease)
        jump = jump_node(spec)
        if jump is not None:
            detail = {"of": "instances", "node": jump, **self._network.outside(spec)}
            wanted.append(Wanted("address", lease.label, detail=detail))
        return tuple(wanted)

    def make(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        """See the protocol."""
        makers: dict[str, Callable[[Wanted, Lease], tuple[str, ...]]] = {
            "key-pair": self._make_key_pair,
            "server-group": self._make_server_group,
            "volume": self._make_volume,
            "instances": self._make_servers,
            shares.KIND: partial(shares.make_share, self.account),
            shares.ACCESS: partial(shares.open_share, self.account),
        }
        maker = makers.get(wanted.kind, self._network.make)
        return maker(wanted, lease)

    def found(self, key: Key | None) -> tuple[Made, ...]:
        """See the protocol."""
        return (*there.everything(self.account, key), *shares.shares(self.account, key))

    def served(self, key: Key) -> tuple[Made, ...]:
        """Shares of Manila."""
        return tuple(shares.served(self.account, key))

    def instances(self, key: Key) -> tuple[Made, ...]:
        """Servers of a cluster; those that were deleted are forgotten at once."""
        return tuple(there.servers(self.account, key))

    def remove(self, made: Made) -> Removal:
        """See the protocol."""
        if made.state == "deleting":
            return Removal.AGAIN
        try:
            if made.kind in (shares.KIND, shares.ACCESS):
                return shares.remove_share(self.account, made)
            if made.kind in there.OF_NEUTRON:
                self._network.remove(made)
                return Removal.GONE
            service, path = {
                "instance": ("nova", f"/servers/{made.key}"),
                "server-group": ("nova", f"/os-server-groups/{made.key}"),
                "key-pair": ("nova", f"/os-keypairs/{made.key}"),
                "volume": ("cinder", f"/volumes/{made.key}"),
            }[made.kind]
            self.account.call(service, "DELETE", path)
        except AnswerError as error:
            if error.status == 404:
                return Removal.GONE
            # Cinder says 400 of a volume that is in use or still being attached, all others 409
            if error.status == 409 or (error.status == 400 and made.kind == "volume"):
                return Removal.AGAIN
            raise
        # gone when they are no longer found
        return Removal.AGAIN if made.kind in ("instance", "volume") else Removal.GONE

    def _make_key_pair(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        del lease
        body = {"keypair": {"name": wanted.name, "public_key": wanted.detail["public"]}}
        try:
            self.account.call("nova", "POST", "/os-keypairs", body=body)
        except AnswerError as error:  # its name holds the token
            if not error.exists:
                raise
        return (wanted.name,)

    def _make_server_group(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        del lease
        group = self._server_group(wanted.name)
        if group is None:
            body = {"server_group": {"name": wanted.name, "policy": wanted.detail["policy"]}}
            made = self.account.call("nova", "POST", "/os-server-groups", body=body)
            group = str(made["server_group"]["id"])
        return (group,)

    def _server_group(self, name: str) -> str | None:
        for each in there.all_server_groups(self.account):
            if each["name"] == name:
                return str(each["id"])
        return None

    def _make_volume(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        for each in self.account.pages("cinder", "/volumes/detail", "volumes", name=wanted.name):
            return (str(each["id"]),)
        detail: Mapping[str, Any] = wanted.detail
        optional = {"volume_type": detail["type"], "imageRef": detail["image"]}
        tags = lease.tags(detail["node"])
        body = {
            "volume": {
                "name": wanted.name,
                "size": detail["gb"],
                "metadata": tags if detail["image"] is None else {**tags, there.ROOT_TAG: "yes"},
                **{key: value for key, value in optional.items() if value is not None},
            }
        }
        made = self.account.call("cinder", "POST", "/volumes", body=body)
        return (str(made["volume"]["id"]),)

    def _make_servers(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        """Each server of a role, and wait till all run; where one does not, all are given back."""
        key = Key(lease.cluster, lease.token)
        volumes = self._attachable(wanted, key)
        have = {
            made.node: made.key
            for made in there.servers(self.account, key)
            if made.state in ("pending", "running")
        }
        try:
            beside = self._beside(wanted, key)
            for node in wanted.nodes:
                if node not in have:
                    body = self._server(wanted, lease, node, volumes.get(node, ()), beside)
                    made = self.account.call("nova", "POST", "/servers", body=body)
                    have[node] = str(made["server"]["id"])
                    if not self._is_seen(have[node], wanted, is_first=len(have) == 1):
                        break  # which one failed, and why, is said below
            keys = [have[node] for node in wanted.nodes if node in have]
            self._wait_started(keys, key, wanted)
        except ProviderError:
            self._give_back([have[node] for node in wanted.nodes if node in have], key)
            raise
        return tuple(keys)

    def _beside(self, wanted: Wanted, key: Key) -> dict[str, str | None]:
        """Ids of what all servers of a role share."""
        network = wanted.detail["network"] or self._network.own(key, "network")
        return {
            "network": str(network),
            "security-group": self._network.own(key, "security-group"),
            "server-group": self._server_group(str(wanted.detail["group"])),
        }

    def _server(
        self, wanted: Wanted, lease: Lease, node: str, volumes: Sequence[Made], beside: Mapping[str, str | None],
    ) -> dict[str, Any]:  # fmt: skip
        detail: Mapping[str, Any] = wanted.detail
        tags = lease.tags(node)
        on_flavor = {
            "boot_index": 0, "uuid": detail["image"], "source_type": "image", "destination_type": "local",
            "delete_on_termination": True,
        }  # fmt: skip
        disks = [
            *([] if detail["has_root_volume"] else [on_flavor]),
            *(  # they stay with a server that is given back, for the next one; they are removed by their metadata
                {
                    "boot_index": 0 if volume.is_root else -1, "uuid": volume.key, "source_type": "volume",
                    "destination_type": "volume", "delete_on_termination": False,
                }
                for volume in volumes
            ),
        ]  # fmt: skip
        server = {
            "name": tags["Name"],
            "flavorRef": detail["flavor"],
            **({} if detail["has_root_volume"] else {"imageRef": detail["image"]}),
            "key_name": lease.label,
            "user_data": base64.b64encode(str(detail["user_data"]).encode()).decode(),
            "config_drive": True,
            "metadata": tags,
            "networks": [{"uuid": beside["network"]}],
            "security_groups": [{"name": beside["security-group"]}],
            "availability_zone": wanted.zone,
            "block_device_mapping_v2": disks,
        }
        return {"server": server, "os:scheduler_hints": {"group": beside["server-group"]}}

    def _attachable(self, wanted: Wanted, key: Key) -> dict[str, list[Made]]:
        """Volumes of each node of a role, that of its root first, when they can be attached.

        Raises:
            ProviderError: one could not be made, or they are not there in time.
        """
        needed = len(wanted.nodes) * int(str(wanted.detail["volumes"]))
        for _ in looks(self.account.pause, MOST_LOOKS) if needed else ():
            have = [made for made in there.volumes(self.account, key) if made.node in wanted.nodes]
            failed = next((made for made in have if made.state.startswith("error")), None)
            if failed is not None:
                raise ProviderError(
                    f"volume {failed.key} of {failed.node} is {failed.state}: the cloud could not make it. Take another "
                    "cloud.openstack.volume_type, or ask its operator"
                )
            # in use by a server of an earlier try of the same call
            if len(have) >= needed and all(made.state in ("available", "in-use") for made in have):
                have.sort(key=lambda made: not made.is_root)
                return {node: [m for m in have if m.node == node] for node in wanted.nodes}
        if needed:
            raise ProviderError(
                f"volumes of {', '.join(wanted.nodes)} are not there after {MOST_LOOKS} looks"
            )
        return {}

    def _is_seen(self, server: str, wanted: Wanted, *, is_first: bool) -> bool:
        """Wait till Nova's scheduler sees a server when it places the next one of its group; False where the server failed.

        Hosts that anti-affinity leaves out are those that servers have been given. Soft-affinity leads to hosts where servers were
        started: the first one of a group leads all others.
        """
        if wanted.detail["policy"] == TOGETHER and not is_first:
            return True
        for _ in looks(self.account.pause, MOST_LOOKS):
            found = self.account.call("nova", "GET", f"/servers/{server}")["server"]
            if found["status"] != "BUILD":
                return bool(found["status"] != "ERROR")
            if wanted.detail["policy"] == APART and found.get("hostId"):
                return True
        return True  # it is waited for with the others

    def _wait_started(self, servers: Sequence[str], key: Key, wanted: Wanted) -> None:
        """Wait till Nova has a host for each server and has started it.

        Raises:
            CapacityError: no host has room.
            ProviderError: one failed otherwise, or they do not start in time.
        """
        for _ in looks(self.account.pause, MOST_LOOKS):
            have = {made.key: made for made in there.servers(self.account, key)}
            for server in servers:
                made = have.get(server)
                if made is not None and made.state == "error":
                    said = f"flavor {wanted.detail['flavor_name']}: {made.node}: {made.reason or 'no reason is given'}"
                    if any(words in made.reason for words in NO_ROOM):
                        raise CapacityError(said)
                    raise ProviderError(f"{said} (server {server}): ask the cloud's operator")
            if all(server in have and have[server].state != "pending" for server in servers):
                return
        raise ProviderError(
            f"servers of {', '.join(wanted.nodes)} do not start; {MOST_LOOKS} looks"
        )

    def _give_back(self, servers: Sequence[str], key: Key) -> None:
        """Delete servers, and wait till they are gone, so that their volumes are free; what stays is removed by ``down``."""
        for server in servers:
            self.remove(Made("instance", server, key.cluster, key.token))
        for _ in looks(self.account.pause, MOST_LOOKS):
            if not any(made.key in servers for made in there.servers(self.account, key)):
                return


def _policy(spec: ClusterSpec, node: str) -> str:
    """Of the server group of a node: compute nodes close to each other, I/O nodes on hosts of their own, unless it is said."""
    if spec.placement is not None:
        return APART if spec.placement == "spread" else TOGETHER
    return APART if node.startswith("io") else TOGETHER


def _given(spec: ClusterSpec) -> str | None:
    """The volume type that is asked for; None for the cloud's own."""
    there_is = terms_of(spec).openstack
    return None if there_is is None else there_is.volume_type
