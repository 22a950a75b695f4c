"""What Manila says of a share and of its access rules, in the service's words, and the other way round. Knows neither of them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

from wavetank_manila.service import ServiceError
from wavetank_manila.spaces import GIB, Mode, Rule, Space

KINDS: Mapping[str, str] = {"NFS": "nfs", "GLUSTERFS": "glusterfs"}
"""Manila's protocol -> the kind of file system that clients mount by it."""
SCOPE = "pfs:"
FIELDS: Mapping[str, str] = {
    "pfs:servers": "servers",
    "pfs:devices": "devices_per_server",
    "pfs:stripe_size": "stripe_size",
}
"""Extra spec of a share type -> what a request for a space says."""
_ADDRESS = r"[0-9.]+:\d+"
# "glusterfs:10.77.0.3:24100,10.77.0.4:24100/sp-1f?stripe=4194304"
_VOLUME = re.compile(rf"glusterfs:({_ADDRESS}(?:,{_ADDRESS})*)/([A-Za-z0-9_-]+)(?:\?.*)?")


class SpecError(ServiceError):
    """A share type says what no space can be."""


def space_name(share: str) -> str:
    """Name of the space of a share, by the share's identity: no setting of Manila changes it."""
    return f"manila-{share}"


def kind_of(protocol: str) -> str:
    """Kind of file system of a protocol.

    Raises:
        SpecError: there is none.
    """
    kind = KINDS.get(protocol.upper())
    if kind is None:
        raise SpecError(f"shares are {' or '.join(KINDS)}, not {protocol}")
    return kind


def fields_of(specs: Mapping[str, str], known: frozenset[str]) -> dict[str, int | str]:
    """What extra specs of a share type say of a space.

    Args:
        specs: all of the type; those of other scopes are not looked at.
        known: what the service lets a request say.

    Raises:
        SpecError: a spec that is none, or one that this service does not know.
    """
    found: dict[str, int | str] = {}
    for key, value in specs.items():
        if not key.startswith(SCOPE):
            continue
        if key not in FIELDS:
            raise SpecError(f"extra spec {key!r} is none; there are {', '.join(FIELDS)}")
        if FIELDS[key] not in known:
            raise SpecError(f"extra spec {key!r}: this service does not know {FIELDS[key]}")
        text = str(value).strip()
        found[FIELDS[key]] = int(text) if text.isdecimal() else text
    return found


def request_of(
    share: str, gib: int, protocol: str, mode: Mode, fields: Mapping[str, int | str]
) -> dict[str, Any]:
    """A request for the space of a share, which nobody may mount yet.

    Raises:
        SpecError: no kind of space is mounted by the protocol.
    """
    kind = kind_of(protocol)
    return {"name": space_name(share), "size": gib * GIB, "kind": kind, "mode": mode, **fields}


def locations_of(space: Space) -> list[dict[str, Any]]:
    """Where a space that was ready is mounted from, as Manila keeps it: for GlusterFS one place for each of its servers.

    Raises:
        ServiceError: it was never ready, or is told in a way that is not known.
    """
    export = space["export"]
    if export is None:
        raise ServiceError(f"space {space['name']!r} is {space['state']} and was never ready")
    paths = [str(export)]
    if space["kind"] == "glusterfs":
        found = _VOLUME.fullmatch(paths[0])
        if found is None:
            raise ServiceError(f"{export!r} is no volume of GlusterFS. Is the driver too old?")
        servers = dict.fromkeys(brick.rpartition(":")[0] for brick in found[1].split(","))
        paths = [f"{server}:/{found[2]}" for server in servers]
    return [{"path": path, "is_admin_only": False, "metadata": {}} for path in paths]


def rules_of(
    access: Sequence[Mapping[str, Any]],
) -> tuple[list[Rule], list[list[str]], dict[str, str]]:
    """Manila's rules as the service takes them.

    Returns:
        Rules, each subject once; for each of them the identities of those that it stands for; identity -> why it can be none.
    """
    rules: list[Rule] = []
    stand_for: list[list[str]] = []
    refused: dict[str, str] = {}
    places: dict[str, int] = {}
    for each in access:
        identity = str(each["access_id"])
        try:
            subject = _subject(str(each["access_type"]), str(each["access_to"]))
        except ValueError as error:
            refused[identity] = str(error)
            continue
        rule = {"kind": "ip", "subject": subject, "level": str(each["access_level"])}
        place = places.setdefault(subject, len(rules))
        if place == len(rules):
            rules.append(rule)
            stand_for.append([identity])
        elif rules[place] == rule:
            stand_for[place].append(identity)
        else:
            refused[identity] = f"{subject} has another rule, for {rules[place]['level']}"
    return rules, stand_for, refused


def _subject(kind: str, subject: str) -> str:
    """An address or a network in the one way that the service writes it: so rules that are there are known again."""
    if kind != "ip":
        raise ValueError(f"spaces are opened to addresses (ip), not by {kind}")
    network = ipaddress.ip_network(subject)
    alone = network.prefixlen == network.max_prefixlen
    return str(network.network_address if alone else network)
