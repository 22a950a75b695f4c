"""What keeps an account from making a cluster, and what it does not tell: asked, with nothing changed."""

from __future__ import annotations

from collections.abc import Iterator

from wavetank.cluster.clouds.aws.account import Account, AnswerError, Unknown
from wavetank.cluster.clouds.aws.network import (
    differences,
    image_of,
    instance_types,
    zones_with_types,
)
from wavetank.cluster.clouds.aws.quotas import quotas
from wavetank.cluster.clouds.aws.rights import identity_of, to_change, to_look, to_make
from wavetank.cluster.clouds.cloud import findings
from wavetank.cluster.instance_types import aws_instances, nearest
from wavetank.cluster.needs import Examined
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

MOST_SPREAD = 7  # instances of a spread placement group in a zone (EC2 user guide)


def check(account: Account, spec: ClusterSpec) -> Examined:
    """All findings at once, and what is not known; a refused account is one finding, as nothing else can be asked then."""
    try:
        identity = identity_of(account)
    except ProviderError as error:
        return Examined([str(error)], [])
    of_types = findings(_types(account, spec))
    found: list[str | Unknown] = [*of_types]
    zone: str | None = None
    image: str | None = None
    if not found:
        try:
            zone = zones_with_types(account, spec)[0]
        except ProviderError as error:
            found.append(str(error))
        try:
            image = image_of(account, spec)[0]
        except ProviderError as error:
            found.append(str(error))
        found += findings(quotas(account, spec))
    found += findings(to_look(account, spec))
    found += findings(to_make(account, spec, zone, image))
    found += findings(to_change(account, spec, identity))
    said = list(dict.fromkeys(found))  # several may need the same right
    return Examined(
        [each for each in said if isinstance(each, str)],
        [each.words for each in said if isinstance(each, Unknown)],
    )


def _types(account: Account, spec: ClusterSpec) -> Iterator[str]:
    """Each by itself, so that the wrong one is named."""
    if spec.placement == "spread" and len(spec.node_names()) > MOST_SPREAD:
        yield f"placement: spread has room for {MOST_SPREAD} instances in a zone, and there are {len(spec.node_names())} nodes"
    for name in instance_types(spec):
        try:
            found = account.call("ec2", "DescribeInstanceTypes", InstanceTypes=[name])[
                "InstanceTypes"
            ]
        except AnswerError as error:
            if error.code != "InvalidInstanceType":
                raise
            found = []
        if not found:
            yield f"instance {name}: {account.region} has no such type. Near it: {', '.join(nearest(name)[:3])}"
            continue
        strategies = found[0].get("PlacementGroupInfo", {}).get("SupportedStrategies", [])
        strategy = spec.placement or "cluster"
        if strategy not in strategies:
            yield (
                f"instance {name} cannot be in a placement group of strategy {strategy}: take a type that can, e.g. c5.large"
            )
        known = aws_instances().get(name)
        if known is not None:
            yield from differences(known, found[0])
