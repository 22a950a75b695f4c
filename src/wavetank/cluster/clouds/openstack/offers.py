"""What a cloud offers to a cluster: its image, flavors, networks and zones, by name or id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wavetank.cluster.clouds.openstack.account import Account, AnswerError
from wavetank.cluster.clouds.terms import OpenStackTerms, Terms
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError
from wavetank.nearest import did_you_mean


def terms_of(spec: ClusterSpec) -> Terms:
    """What a cluster's specification says of the cloud.

    Raises:
        ProviderError: nothing.
    """
    if spec.cloud is None:
        raise ProviderError(f"cluster {spec.name} has no key cloud")
    return spec.cloud


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
