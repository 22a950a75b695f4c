"""What keeps an account from making a cluster: asked, with nothing changed. Rights are asked for by dry runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from wavetank.cluster.clouds.aws.account import Account, AnswerError
from wavetank.cluster.clouds.aws.found import instances
from wavetank.cluster.clouds.aws.images import image_of
from wavetank.cluster.clouds.aws.network import instance_types, subnets_by_zone, zones_with_types
from wavetank.cluster.clouds.aws.request import tag_specifications
from wavetank.cluster.clouds.cloud import CapacityError, RefusedError, new_lease
from wavetank.cluster.instance_types import InstanceType, aws_instances, nearest
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

# vCPUs of running instances of the families A, C, D, H, I, M, R, T, Z: on demand, and spot (EC2 user guide, "quotas").
STANDARD_FAMILIES = frozenset("acdhimrtz")
QUOTAS = {False: "L-1216C47A", True: "L-34B43A08"}
MOST_SPREAD = 7  # instances of a spread placement group in a zone (EC2 user guide)
DRY_RUN = "DryRunOperation"
NO_TOKEN = "0" * 8
NO_KEY = b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA dry-run"


def check(account: Account, spec: ClusterSpec) -> list[str]:
    """All findings at once; a refused account is one, as nothing else can be asked then."""
    try:
        account.call("sts", "GetCallerIdentity")
        findings = list(_types(account, spec))
        if findings:
            return findings
        zone: list[str] = []
        image: list[str] = []
        for ask in (
            lambda: zone.extend(zones_with_types(account, spec)),
            lambda: image.append(image_of(account, spec)[0]),
        ):
            findings += _asked(ask)
        findings += _asked_all(lambda: _quota(account, spec))
        if zone and image:
            findings += _rights(account, spec, zone[0], image[0])
    except ProviderError as error:
        return [str(error)]
    return findings


def _asked(ask: Callable[[], object]) -> list[str]:
    try:
        ask()
    except ProviderError as error:
        return [str(error)]
    return []


def _asked_all(ask: Callable[[], Iterator[str]]) -> list[str]:
    try:
        return list(ask())
    except ProviderError as error:
        return [str(error)]


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
            yield from _differs(name, known, found[0])


def _differs(name: str, known: InstanceType, said: dict[str, dict[str, int]]) -> Iterator[str]:
    vcpus = said.get("VCpuInfo", {}).get("DefaultVCpus", known.vcpus)
    if vcpus != known.vcpus:
        yield (
            f"instance {name} has {vcpus} vCPUs in this account, and {known.vcpus} in wavetank's catalogue: "
            "'wavetank instances refresh' renews it"
        )


def _quota(account: Account, spec: ClusterSpec) -> Iterator[str]:
    """VCPUs of the standard families; those of others have quotas of their own, which are not asked for."""
    known = aws_instances()
    asked = Counter(spec.instance_of(node).name for node in spec.node_names())
    needed = sum(n * known[kind].vcpus for kind, n in asked.items() if _is_standard(kind))
    if needed == 0:
        return
    spot = spec.cloud is not None and spec.cloud.spot
    code = QUOTAS[spot]
    quota = account.call("service-quotas", "GetServiceQuota", ServiceCode="ec2", QuotaCode=code)
    most = float(quota["Quota"]["Value"])
    in_use = sum(
        known[each.instance_type].vcpus
        for each in instances(account, None, everyones=True)
        if _is_standard(each.instance_type) and each.is_spot == spot
    )
    if needed + in_use > most:
        yield (
            f"{needed} vCPUs are needed and {in_use} are in use, but the account's quota in {account.region} is {most:g} "
            f"({'spot' if spot else 'on demand'}, standard families): ask AWS for more: aws service-quotas "
            f"request-service-quota-increase --service-code ec2 --quota-code {code} --desired-value {needed + in_use}"
        )


def _is_standard(kind: str) -> bool:
    return kind in aws_instances() and kind[0] in STANDARD_FAMILIES and not kind.startswith("hpc")


def _rights(account: Account, spec: ClusterSpec, zone: str, image: str) -> Iterator[str]:
    """Dry runs of everything that makes something: AWS says then whether it would have been allowed."""
    subnet = subnets_by_zone(account, spec)[zone]
    lease = new_lease(spec, NO_TOKEN, "dry-run", datetime.now(UTC))
    name = lease.label
    calls: list[tuple[str, tuple[str, ...], dict[str, object]]] = [
        ("ImportKeyPair", ("key-pair",), {"KeyName": name, "PublicKeyMaterial": NO_KEY}),
        (
            "CreateSecurityGroup", ("security-group",),
            {"GroupName": name, "Description": name, "VpcId": subnet["VpcId"]},
        ),
        ("CreatePlacementGroup", ("placement-group",), {"GroupName": name, "Strategy": "cluster"}),
    ]  # fmt: skip
    for kind in instance_types(spec):
        asked = {
            "ImageId": image,
            "InstanceType": kind,
            "MinCount": 1,
            "MaxCount": 1,
            "SubnetId": subnet["SubnetId"],
        }
        calls.append(("RunInstances", ("instance", "volume", "network-interface"), asked))
    for operation, kinds, asked in calls:
        tags = tag_specifications(lease, *kinds)
        try:
            account.call("ec2", operation, DryRun=True, TagSpecifications=tags, **asked)
        except RefusedError as error:
            yield str(error)
        except CapacityError:
            continue  # of one zone, and of now
        except AnswerError as error:
            # what the stand-ins of keys and names lack says nothing of the cluster
            if error.code != DRY_RUN and operation == "RunInstances":
                yield f"a dry run of {operation} was refused: {error}"
