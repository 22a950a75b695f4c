"""Zones and subnets that a cluster can be in."""

from __future__ import annotations

from typing import Any

from wavetank.cluster.clouds.aws.account import Account, AnswerError
from wavetank.cluster.clouds.terms import Terms
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError


def instance_types(spec: ClusterSpec) -> tuple[str, ...]:
    """Of all nodes, each once."""
    return tuple(dict.fromkeys(spec.instance_of(node).name for node in spec.node_names()))


def subnets_by_zone(account: Account, spec: ClusterSpec) -> dict[str, dict[str, Any]]:
    """The subnet of each zone: the default ones, or the one that is named.

    Raises:
        ProviderError: there is none.
    """
    terms = terms_of(spec)
    asked: dict[str, object] = (
        {"Filters": [{"Name": "default-for-az", "Values": ["true"]}]}
        if terms.subnet == "default"
        else {"SubnetIds": [terms.subnet]}
    )
    try:
        found = list(account.pages("ec2", "DescribeSubnets", "Subnets", **asked))
    except AnswerError as error:
        raise ProviderError(f"cloud.subnet {terms.subnet}: {error}") from error
    by_zone = {str(each["AvailabilityZone"]): each for each in found}
    if not by_zone:
        raise ProviderError(
            f"cloud.subnet {terms.subnet}: {account.region} has none. Name one, or make the default network: aws ec2 create-default-vpc"
        )
    return dict(sorted(by_zone.items()))


def zones_with_types(account: Account, spec: ClusterSpec) -> tuple[str, ...]:
    """Zones with a subnet and every instance type of a cluster.

    Raises:
        ProviderError: there is none; with what is where.
    """
    terms = terms_of(spec)
    with_subnet = subnets_by_zone(account, spec)
    offered: dict[str, set[str]] = {kind: set() for kind in instance_types(spec)}
    for each in account.pages(
        "ec2", "DescribeInstanceTypeOfferings", "InstanceTypeOfferings",
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": list(offered)}],
    ):  # fmt: skip
        offered[str(each["InstanceType"])].add(str(each["Location"]))
    nowhere = [kind for kind, zones in offered.items() if not zones]
    if nowhere:
        raise ProviderError(f"instance {', '.join(nowhere)}: {account.region} does not offer it")
    zones = [zone for zone in with_subnet if all(zone in of_type for of_type in offered.values())]
    if terms.zone != "any":
        zones = [zone for zone in zones if zone == terms.zone]
    if not zones:
        said = "; ".join(f"{kind}: {', '.join(sorted(where))}" for kind, where in offered.items())
        raise ProviderError(
            f"no zone has all instance types and a subnet (cloud.zone {terms.zone}; subnets: {', '.join(with_subnet)}; {said})"
        )
    return tuple(zones)


def terms_of(spec: ClusterSpec) -> Terms:
    """What a cluster's specification says of the cloud.

    Raises:
        ProviderError: nothing.
    """
    if spec.cloud is None:
        raise ProviderError(f"cluster {spec.name} has no key cloud")
    return spec.cloud
