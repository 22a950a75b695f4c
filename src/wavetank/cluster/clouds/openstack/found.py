"""What there is in a project of wavetank's clusters: by metadata, by descriptions, by names; asked anew each time."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from wavetank.cluster.clouds.cloud import LABEL, PREFIX, Key, Lease, Made, is_of, of_tags
from wavetank.cluster.clouds.disks import CINDER, Volume
from wavetank.cluster.clouds.openstack.account import Account

# Nova's states in the engine's words; what is not here stays as Nova calls it.
STATES = {"ACTIVE": "running", "BUILD": "pending", "SHUTOFF": "stopped", "ERROR": "error"}
# What Neutron has, by its own names, and the kind of thing that it is. None of its calls that make things take tags, but descriptions.
OF_NEUTRON = {
    "address": "floatingips",
    "router": "routers",
    "subnet": "subnets",
    "network": "networks",
    "security-group": "security_groups",
}
ROOT_TAG = f"{PREFIX}root"  # of a volume that a server starts from
IN_DESCRIPTION = ("cluster", "token", "owner", "expires")
MOST_OWNER = 100  # characters: a description has 255


def description(lease: Lease) -> str:
    """What tells whose a thing of Neutron is, given in the call that makes it."""
    tags = {**lease.tags(), f"{PREFIX}owner": lease.owner[:MOST_OWNER]}
    return json.dumps({key: tags[f"{PREFIX}{key}"] for key in IN_DESCRIPTION})


def path_of(kind: str, identifier: str = "") -> str:
    """Path of a thing of Neutron, or of all of its kind."""
    base = "/" + OF_NEUTRON[kind].replace("_", "-")
    return f"{base}/{identifier}" if identifier else base


def everything(account: Account, key: Key | None) -> tuple[Made, ...]:
    """All things of one cluster, or of all clusters, in the project; servers first, as all else is in use by them."""
    of_neutron = (of_network(account, kind, key) for kind in OF_NEUTRON)
    return tuple(
        itertools.chain(
            servers(account, key), volumes(account, key), *of_neutron, _server_groups(account, key), _key_pairs(account, key)
        )
    )  # fmt: skip


def servers(account: Account, key: Key | None) -> Iterator[Made]:
    """Servers, with the address of the outside of those that have one."""
    outside = {
        str(each["fixed_ip_address"]): str(each["floating_ip_address"])
        for each in _described(account, "address", key)
        if each.get("fixed_ip_address")
    }
    for each in account.pages("nova", "/servers/detail", "servers"):
        tags = each.get("metadata", {})
        if not is_of(tags, key):
            continue
        fixed = [
            str(address["addr"])
            for of_network in each.get("addresses", {}).values()
            for address in of_network
            if address.get("version") == 4 and address.get("OS-EXT-IPS:type", "fixed") == "fixed"
        ]
        fault = each.get("fault") or {}
        status = str(each["status"])
        deleting = each.get("OS-EXT-STS:task_state") == "deleting"
        yield Made(
            "instance",
            str(each["id"]),
            state="deleting" if deleting else STATES.get(status, status.lower()),
            node=str(tags.get(f"{PREFIX}node", "")),
            instance_type=str(each.get("flavor", {}).get("original_name", "")),
            since=time_of(each.get("OS-SRV-USG:launched_at")),
            until=time_of(each.get("OS-SRV-USG:terminated_at")),
            private_address=fixed[0] if fixed else None,
            public_address=next((outside[each] for each in fixed if each in outside), None),
            reason=str(fault.get("message", "")),
            **of_tags(tags),
        )


def volumes(account: Account, key: Key | None) -> Iterator[Made]:
    """Volumes of Cinder."""
    for each in account.pages("cinder", "/volumes/detail", "volumes"):
        tags = each.get("metadata", {})
        if is_of(tags, key):
            yield Made(
                "volume",
                str(each["id"]),
                state=str(each["status"]),
                node=str(tags.get(f"{PREFIX}node", "")),
                since=time_of(each.get("created_at")),
                is_root=ROOT_TAG in tags,
                volume=Volume(str(each.get("volume_type") or ""), int(each["size"]), family=CINDER),
                **of_tags(tags),
            )


def of_network(account: Account, kind: str, key: Key | None) -> Iterator[Made]:
    """Things of Neutron of a kind."""
    for each in _described(account, kind, key):
        yield Made(
            kind, str(each["id"]), state=str(each.get("status", "")).lower(), **of_tags(_said(each))
        )


def _described(account: Account, kind: str, key: Key | None) -> Iterator[dict[str, Any]]:
    items = OF_NEUTRON[kind]
    for each in account.pages("neutron", path_of(kind), items, project_id=account.project):
        if is_of(_said(each), key):
            yield each


def _said(thing: Mapping[str, Any]) -> dict[str, str]:
    """Tags from a description; none from one that somebody else wrote."""
    try:
        found = json.loads(str(thing.get("description", "")))
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {f"{PREFIX}{key}": str(found[key]) for key in IN_DESCRIPTION if key in found}


def all_server_groups(account: Account) -> Iterator[dict[str, Any]]:
    """Server groups of everybody in the project. Their list has no links to its next page: it is counted."""
    n, more = 0, True
    while more:
        page = account.call("nova", "GET", "/os-server-groups", query={"offset": n})
        found = page["server_groups"]
        yield from found
        n += len(found)
        more = bool(found)


def _server_groups(account: Account, key: Key | None) -> Iterator[Made]:
    for each in all_server_groups(account):
        yield from _named("server-group", str(each["name"]), str(each["id"]), key)


def _key_pairs(account: Account, key: Key | None) -> Iterator[Made]:
    for each in account.pages("nova", "/os-keypairs", "keypairs"):
        name = str(each["keypair"]["name"])
        yield from _named("key-pair", name, name, key)


def _named(kind: str, name: str, identifier: str, key: Key | None) -> Iterator[Made]:
    """Key pairs and server groups have neither metadata nor a description: their names say whose they are."""
    match = LABEL.match(name)
    if match is not None and key in (None, Key(match["cluster"], match["token"])):
        yield Made(kind, identifier, match["cluster"], match["token"])


def time_of(text: object) -> datetime | None:
    """A time of a service, which is UTC and says so only sometimes; None where it is none."""
    try:
        found = datetime.fromisoformat(str(text).removesuffix("Z"))
    except ValueError:
        return None
    return found.replace(tzinfo=UTC)
