"""Zones and subnets that a cluster can be in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wavetank.cluster.clouds.aws.account import Account, AnswerError
from wavetank.cluster.clouds.cloud import terms_of
from wavetank.cluster.instance_types import GIGABYTE, InstanceType, aws_instances, row_of
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


# name -> parameter, of each architecture
PARAMETERS = {
    "debian-12": {
        "x86_64": "/aws/service/debian/release/12/latest/amd64",
        "arm64": "/aws/service/debian/release/12/latest/arm64",
    },
    "ubuntu-24.04": {
        "x86_64": "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id",
        "arm64": "/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/hvm/ebs-gp3/ami-id",
    },
    "amazon-linux-2023": {
        "x86_64": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
        "arm64": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64",
    },
}


def architectures(spec: ClusterSpec) -> set[str]:
    """Of the instance types of a cluster; of types that the catalogue does not have nothing is known."""
    known = aws_instances()
    kinds = {spec.instance_of(node).name for node in spec.node_names()}
    return {
        "arm64" if "arm64" in known[kind].architecture else "x86_64"
        for kind in kinds
        if kind in known
    }


def image_of(account: Account, spec: ClusterSpec) -> tuple[str, str]:
    """Id and name of the root device of the image that a cluster asks for.

    Raises:
        ProviderError: there is none, or it is of another architecture than the instances.
    """
    named = spec.cloud.image if spec.cloud is not None else "debian-12"
    asked = architectures(spec)
    if len(asked) > 1:
        raise ProviderError(
            "instances of x86_64 and arm64 in one cluster: one image serves all nodes. Take types of one architecture"
        )
    architecture = next(iter(asked), "x86_64")
    image = named if named.startswith("ami-") else _newest(account, named, architecture)
    try:
        found = account.call("ec2", "DescribeImages", ImageIds=[image])["Images"]
    except AnswerError as error:
        raise ProviderError(f"cloud.image {named}: {error}") from error
    if not found:
        raise ProviderError(f"cloud.image {named}: {image} is not in {account.region}")
    if found[0].get("Architecture", architecture) != architecture:
        raise ProviderError(
            f"cloud.image {named} is of {found[0]['Architecture']}, and the instances are of {architecture}"
        )
    return image, str(found[0].get("RootDeviceName") or "/dev/xvda")


def _newest(account: Account, named: str, architecture: str) -> str:
    parameter = PARAMETERS[named][architecture]
    try:
        found = account.call("ssm", "GetParameter", Name=parameter)
    except AnswerError as error:
        raise ProviderError(
            f"cloud.image {named}: {parameter} is not in {account.region} ({error.code}): name an ami-... of it"
        ) from error
    return str(found["Parameter"]["Value"])


NETWORK, RATE = "network", "rate of the network"
RENEW = "'wavetank instances refresh' renews it"


def differences(known: InstanceType, entry: Mapping[str, Any]) -> Iterator[str]:
    """Findings, one for each property that both name, and name otherwise.

    Args:
        known: of the catalogue.
        entry: of the answer of EC2's DescribeInstanceTypes.

    Raises:
        ProviderError: the answer lacks what EC2 says of every type.
    """
    try:
        said = row_of(entry)
    except KeyError as error:
        raise ProviderError(
            f"AWS: ec2:DescribeInstanceTypes says nothing of {error} of {known.name}, as it should"
        ) from error
    here, there = _words(known.model_dump()), _words(said)
    both = [what for what in here if what in there]
    if RATE in both:  # the words are of it
        both.remove(NETWORK)
    for what in both:
        if here[what] != there[what]:
            yield (
                f"instance {known.name} has {there[what]} in this account, and {here[what]} in wavetank's catalogue: {RENEW}"
            )


def _words(row: Mapping[str, Any]) -> dict[str, str]:
    """Properties that decide what is measured, in the units of AWS; without those that the row does not have."""
    n, size = row["n_local_disks"], row["local_disk_bytes"] / GIGABYTE
    network, volumes = row["network_baseline_bytes_per_s"], row["ebs_baseline_bytes_per_s"]
    found = {
        "vcpus": f"{row['vcpus']} vCPUs",
        "memory": f"{row['memory_bytes'] // 2**20} MiB of memory",
        NETWORK: f"a network of {row['network_text']!r}",
        "disks": f"{n} x {size:g} GB of local disks" if n else "no local disks",
    }
    if network is not None:
        found[RATE] = f"{network * 8 / GIGABYTE:g} Gbit/s of network for long"
    if volumes is not None:
        found["volumes"] = f"{volumes / 10**6:g} MB/s to its volumes for long"
    if row["ebs_baseline_iops"] is not None:
        found["iops"] = f"{row['ebs_baseline_iops']} IOPS of its volumes for long"
    return found
