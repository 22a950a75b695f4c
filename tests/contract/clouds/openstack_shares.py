"""The stand-in of Manila: shares, their rules of access and export locations, their states, and what is refused.

After the sources of Manila (api/v1/shares.py, share/api.py, exception.py): what its state forbids is 403, a share that is made has no
host to take rules, a list is counted by limit and offset and knows no marker. The version is asked for by a header, and is 2.0 without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from openstack_answers import RefusedCallError, due, need
from openstack_volumes import now

SHARE_TYPES = [
    {"id": str(i) * 36, "name": name, "is_default": name == "cephfs",
     "extra_specs": {}, "required_extra_specs": {"driver_handles_share_servers": handles}}
    for i, (name, handles) in enumerate([("cephfs", "False"), ("netapp", "False"), ("generic", "True")])
]  # fmt: skip
SHARE_NETWORKS = [
    {"id": "n" * 36, "name": "lab-shares"},
    {"id": "1" * 36, "name": "twice"},
    {"id": "2" * 36, "name": "twice"},
]
RULES_LISTED, DEFAULTS_SHOWN = (2, 45), (2, 46)
NEWEST = (2, 78)
HEADER = "HTTP_X_OPENSTACK_MANILA_API_VERSION"
# What a call that makes a share may be given.
OF_SHARE = {
    "name", "share_proto", "size", "is_public", "metadata", "share_type", "share_network_id", "description", "availability_zone",
}  # fmt: skip
DELETABLE = ("available", "error", "inactive")
MOST_VALUE = 1023  # characters of metadata


def version_of(environ: Mapping[str, Any]) -> tuple[int, int]:
    """The version that a call asks for."""
    asked = str(environ.get(HEADER, "2.0"))
    major, _, minor = asked.partition(".")
    found = int(major), int(minor)
    if found > NEWEST:
        raise RefusedCallError(406, f"Version {asked} is not supported by the API.")
    return found


class Manila:
    """What a project has of shares."""

    def __init__(self, quota: dict[str, int]) -> None:
        self.quota = quota
        self.shares: dict[str, dict[str, Any]] = {}
        self.rules: dict[str, dict[str, Any]] = {}
        self.looks: dict[str, int] = {}
        self.slow = self.linger = 0
        self.version = (2, 0)  # that the call asks for
        self.fails = False  # shares that are made
        self.no_rules = False  # that can be applied

    def left(self) -> list[str]:
        return [f"share {each['name']} {each['status']}" for each in self.shares.values()]

    def answer(
        self, method: str, path: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        _, what, identifier, more = [*path.split("/"), "", ""][:4]
        if (method, path) == ("GET", "/shares/detail"):
            self._look()
            return 200, {"shares": _part(list(self.shares.values()), query)}
        if (method, path) == ("POST", "/shares"):
            return 200, {"share": self._make(asked["share"])}
        if what == "shares" and method == "DELETE":
            self._delete(need(self.shares, identifier, "The resource could not be found."))
            return 202, None
        if what == "shares" and more == "action":
            share = need(self.shares, identifier, "The resource could not be found.")
            return 200, {"access": self._allow(share, asked["allow_access"])}
        if what == "shares" and more == "export_locations":
            share = need(self.shares, identifier, "The resource could not be found.")
            return 200, {"export_locations": share["locations"]}
        if what == "share-access-rules" and self.version >= RULES_LISTED:
            self._look()
            return 200, {
                "access_list": [
                    each for each in self.rules.values() if each["share_id"] in query["share_id"]
                ]
            }
        if path == "/types":
            hidden = () if self.version >= DEFAULTS_SHOWN else ("is_default",)
            return 200, {
                "share_types": [
                    {key: each[key] for key in each if key not in hidden} for each in SHARE_TYPES
                ]
            }
        if path == "/share-networks/detail":
            return 200, {"share_networks": _part(SHARE_NETWORKS, query)}
        if path == "/limits":
            return 200, {"limits": {"rate": [], "absolute": self._limits()}}
        raise RefusedCallError(404, "The resource could not be found.")

    def _limits(self) -> dict[str, int]:
        return {
            "maxTotalShares": self.quota.get("shares", 50),
            "totalSharesUsed": len(self.shares),
            "maxTotalShareGigabytes": self.quota.get("share_gigabytes", 1000),
            "totalShareGigabytesUsed": sum(each["size"] for each in self.shares.values()),
        }

    def _make(self, asked: Any) -> dict[str, Any]:
        unknown = set(asked) - OF_SHARE
        if unknown:
            raise RefusedCallError(
                400, f"Additional properties are not allowed ({unknown} was unexpected)"
            )
        if asked["share_proto"] not in ("NFS", "CIFS"):
            raise RefusedCallError(400, f"Invalid share protocol provided: {asked['share_proto']}.")
        if not isinstance(asked["size"], int) or asked["size"] < 1:
            raise RefusedCallError(
                400, "Invalid input received: Share size must be an integer and greater than 0"
            )
        if any(len(str(value)) > MOST_VALUE for value in asked["metadata"].values()):
            raise RefusedCallError(400, "Metadata property value is greater than 1023 characters.")
        named = asked.get("share_type")
        kind = next(
            (each for each in SHARE_TYPES if (named in (each["id"], each["name"]) if named else each["is_default"])), None,
        )  # fmt: skip
        if kind is None:
            raise RefusedCallError(404, "Share type not found.")
        network = asked.get("share_network_id")
        handles = kind["required_extra_specs"]["driver_handles_share_servers"] == "True"
        if handles and network is None:
            raise RefusedCallError(
                400, "Share network must be set when the driver_handles_share_servers is true."
            )
        if network is not None and network not in [each["id"] for each in SHARE_NETWORKS]:
            raise RefusedCallError(404, f"Share network {network} could not be found.")
        limits = self._limits()
        if limits["totalShareGigabytesUsed"] + asked["size"] > limits["maxTotalShareGigabytes"]:
            raise RefusedCallError(
                413, "Requested share exceeds allowed project/user or share type gigabytes quota."
            )
        if limits["totalSharesUsed"] >= limits["maxTotalShares"]:
            raise RefusedCallError(
                413,
                f"Maximum number of shares allowed ({limits['maxTotalShares']}) either per project/user or share type "
                "quota is exceeded.",
            )
        made = {
            "id": str(uuid4()), "name": asked["name"], "size": asked["size"], "metadata": asked["metadata"], "status": "creating",
            "share_proto": asked["share_proto"], "share_type_name": kind["name"], "created_at": now(), "locations": [],
            "access_rules_status": "active",
        }  # fmt: skip
        self.shares[made["id"]] = made
        self.looks[made["id"]] = self.slow
        return made

    def _delete(self, share: dict[str, Any]) -> None:
        if share["status"] not in DELETABLE:
            raise RefusedCallError(403, f"Invalid share: Share status must be one of {DELETABLE}.")
        share["status"] = "deleting"
        self.looks[share["id"]] = self.linger

    def _allow(self, share: dict[str, Any], asked: Any) -> dict[str, Any]:
        if asked["access_type"] not in ("ip", "user", "cert") or asked["access_level"] not in (
            "rw",
            "ro",
        ):
            raise RefusedCallError(400, "Invalid access.")
        if share["status"] != "available":
            raise RefusedCallError(
                400,
                "New access rules cannot be applied while the share or any of its replicas or migration copies lacks a valid host or is "
                "in an invalid state.",
            )
        if share["access_rules_status"] == "error":
            raise RefusedCallError(
                400, "Access rules cannot be added while the share or any of its replicas or migration copies has its "
                "access_rules_status set to error. Deny any rules in error state and try again."
            )  # fmt: skip
        if any(
            each["share_id"] == share["id"] and each["access_to"] == asked["access_to"]
            for each in self.rules.values()
        ):
            raise RefusedCallError(
                400, f"Share access {asked['access_type']}:{asked['access_to']} exists."
            )
        made = {"id": str(uuid4()), "share_id": share["id"], "state": "queued_to_apply", **asked}
        self.rules[made["id"]] = made
        share["access_rules_status"] = "syncing"
        self.looks[made["id"]] = self.slow
        return made

    def _look(self) -> None:
        """One look more at all shares and rules: those whose time has come are in their next state."""
        for identifier, share in due(self.looks, self.shares):
            if share["status"] == "deleting":
                del self.shares[identifier]
                self.rules = {
                    key: each for key, each in self.rules.items() if each["share_id"] != identifier
                }
            elif self.fails:
                share["status"] = "error"
            else:
                paths = ((f"10.1.0.1:/admin/{identifier}", True, False), (f"10.1.0.2:/slow/{identifier}", False, False),
                         (f"10.1.0.3:/shares/{identifier}", False, True))  # fmt: skip
                share |= {
                    "status": "available",
                    "locations": [
                        {
                            "id": str(uuid4()),
                            "path": path,
                            "is_admin_only": admin,
                            "preferred": preferred,
                        }
                        for path, admin, preferred in paths
                    ],
                }
        for _, rule in due(self.looks, self.rules):
            rule["state"] = "error" if self.no_rules else "active"
        for identifier, share in self.shares.items():
            states = {
                each["state"] for each in self.rules.values() if each["share_id"] == identifier
            }
            if states:
                share["access_rules_status"] = (
                    "error"
                    if "error" in states
                    else "active"
                    if states == {"active"}
                    else "syncing"
                )


def _part(items: list[dict[str, Any]], query: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """By limit and offset; a marker is not looked at."""
    (offset,), (limit,) = query.get("offset", ["0"]), query.get("limit", ["1000"])
    return items[int(offset) : int(offset) + int(limit)]
