"""Shares of Manila: made with a cluster, opened for its nodes, found by their metadata, and deleted.

Calls, states and refusals: API reference and sources of Manila, version 2 (microversion 2.46, Stein). Manila answers 403 to what its state
forbids, too. Its rules of access go with their share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from wavetank.cluster.clouds.cloud import PREFIX, Key, Lease, Made, Removal, Wanted, is_of, of_tags
from wavetank.cluster.clouds.openstack.account import Account, AnswerError
from wavetank.cluster.clouds.openstack.found import servers, time_of
from wavetank.cluster.clouds.openstack.offers import none_such, one_named, openstack_of
from wavetank.cluster.filesystems.manila_share.driver import share_price_name
from wavetank.cluster.managed import Service, Stored
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError
from wavetank.units import GIB

KIND, ACCESS = "manila-share", "share-access"
PRICE_TAG = f"{PREFIX}price"  # name in the site's prices: a share does not tell whether its type was asked for
# Of the access rules of a share, while and after they are applied.
APPLIED, NOT_APPLIED = "active", "error"
NO_RULES = "the cloud could not apply its access rules: does its type take rules by address?"
NOT_MADE = "Manila could not make it: take another cloud.openstack.share_type, or ask the operator"
PAGE = 500


def wanted_of(account: Account, spec: ClusterSpec, lease: Lease) -> list[Wanted]:
    """The share of a cluster whose file system is one, and that its nodes may mount it when they have addresses.

    Raises:
        ProviderError: the cloud has no such type or share network.
    """
    fs = spec.file_system
    if fs.kind != KIND:
        return []
    there = openstack_of(spec)
    network = there.share_network
    detail = {
        "gb": (fs.capacity or 0) // GIB,
        "type": there.share_type,
        "network": None if network is None else share_network_of(account, network),
    }
    return [
        Wanted(KIND, lease.label, detail=detail),
        Wanted(ACCESS, lease.label, detail={"of": "instances"}),
    ]


def share_type_of(account: Account, named: str | None) -> dict[str, Any]:
    """A share type by its name or id; None: the cloud's default.

    Raises:
        ProviderError: there is none.
    """
    known = account.call("manila", "GET", "/types")["share_types"]
    found = [
        each
        for each in known
        if (each.get("is_default") if named is None else named in (each["id"], each["name"]))
    ]
    if not found:
        key = "cloud.openstack.share_type"
        names = [str(each["name"]) for each in known]
        if named is None:
            raise none_such(account, key, "no default share type", "", names)
        raise none_such(account, f"{key} {named}", "no such share type", named, names)
    return dict(found[0])


def needs_share_network(share_type: Mapping[str, Any]) -> bool:
    """Whether the driver of a type makes servers in a network that is named for each share."""
    specs = {**share_type.get("extra_specs", {}), **share_type.get("required_extra_specs", {})}
    return str(specs.get("driver_handles_share_servers", "")).lower() in ("true", "1", "yes")


def share_network_of(account: Account, named: str) -> str:
    """Id of a share network by its name or id.

    Raises:
        ProviderError: there is none, or there are several of the name.
    """
    key = f"cloud.openstack.share_network {named}"
    known = _listed(account, "/share-networks/detail", "share_networks")
    return str(one_named(account, key, "no such share network", named, known)["id"])


def make_share(account: Account, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
    """Begin to make a share, or find that of an earlier try of the same call."""
    for there in shares(account, Key(lease.cluster, lease.token)):
        return (there.key,)
    detail: Mapping[str, Any] = wanted.detail
    optional = {"share_type": detail["type"], "share_network_id": detail["network"]}
    share = {
        "name": wanted.name,
        "share_proto": "NFS",
        "size": detail["gb"],
        "is_public": False,
        "metadata": {**lease.tags(), PRICE_TAG: share_price_name(detail["type"])},
        **{key: value for key, value in optional.items() if value is not None},
    }
    made = account.call("manila", "POST", "/shares", body={"share": share})
    return (str(made["share"]["id"]),)


def open_share(account: Account, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
    """Let each node of a cluster read and write its share: a rule for each address that has none yet."""
    del wanted
    key = Key(lease.cluster, lease.token)
    share = next((made.key for made in shares(account, key)), None)
    if share is None:
        raise ProviderError(f"OpenStack made {KIND} {key.label}, and does not know it")
    rules = {
        str(each["access_to"]): str(each["id"])
        for each in account.call("manila", "GET", "/share-access-rules", query={"share_id": share})[
            "access_list"
        ]
    }
    for made in servers(account, key):
        address = made.private_address
        if address is None or address in rules:
            continue
        rule = {"access_type": "ip", "access_to": address, "access_level": "rw"}
        path = f"/shares/{share}/action"
        found = account.call("manila", "POST", path, body={"allow_access": rule})
        rules[address] = str(found["access"]["id"])
    return tuple(rules.values())


def shares(account: Account, key: Key | None) -> Iterator[Made]:
    """Shares of a cluster, or of all clusters; none where the cloud has no Manila. Raises as ``Account.call``."""
    if not account.has("manila"):
        return
    for each in _listed(account, "/shares/detail", "shares"):
        tags = each.get("metadata", {})
        if is_of(tags, key):
            state, reason = _state(each)
            yield Made(
                KIND,
                str(each["id"]),
                state=state,
                since=time_of(each.get("created_at")),
                reason=reason,
                stored=Stored(
                    str(tags.get(PRICE_TAG, share_price_name(None))), int(each["size"]) * GIB
                ),
                **of_tags(tags),
            )


def served(account: Account, key: Key) -> Iterator[Made]:
    """Shares of a cluster, each with its export location where it has one."""
    for made in shares(account, key):
        path = f"/shares/{made.key}/export_locations"
        try:
            found = account.call("manila", "GET", path)["export_locations"]
        except AnswerError as error:
            if error.status != 404:
                raise
            continue
        usable = [each for each in found if not each.get("is_admin_only")]
        usable.sort(key=lambda each: not each.get("preferred"))
        address = str(usable[0]["path"]) if usable else ""
        service = Service(address, address.partition(":/")[0]) if usable else None
        yield replace(made, service=service)


def remove_share(account: Account, made: Made) -> Removal:
    """Begin to delete a share. It is gone when it is no longer found."""
    if made.kind == ACCESS:  # goes with its share
        return Removal.GONE
    try:
        account.call("manila", "DELETE", f"/shares/{made.key}")
    except AnswerError as error:
        if error.status == 404:
            return Removal.GONE
        if error.status not in (403, 409):  # being made, or in use by a snapshot
            raise
    return Removal.AGAIN


def quota_of(account: Account) -> Mapping[str, Any]:
    """Limits of the project, and what is used of them."""
    found: Mapping[str, Any] = account.call("manila", "GET", "/limits")["limits"]["absolute"]
    return found


def _state(share: Mapping[str, Any]) -> tuple[str, str]:
    """State of a share for whom waits till nodes can mount it, and why it is in it."""
    status, rules = str(share["status"]), str(share.get("access_rules_status", APPLIED))
    if status == "error":
        return status, NOT_MADE
    if status == "available" and rules != APPLIED:
        return rules, NO_RULES if rules == NOT_APPLIED else ""
    return status, ""


def _listed(account: Account, path: str, items: str) -> Iterator[dict[str, Any]]:
    """The items of all pages of a list of Manila, which counts them."""
    n = 0
    while True:
        found = account.call("manila", "GET", path, query={"offset": n, "limit": PAGE})[items]
        yield from found
        n += len(found)
        if not found:
            return
