"""What keeps an account from making a cluster, and what it does not tell: asked, with nothing changed."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from wavetank.cluster.clouds.aws.account import Account, AnswerError, Unknown
from wavetank.cluster.clouds.aws.found import instances
from wavetank.cluster.clouds.aws.network import (
    differences,
    image_of,
    instance_types,
    zones_with_types,
)
from wavetank.cluster.clouds.aws.rights import identity_of, to_change, to_look, to_make
from wavetank.cluster.clouds.cloud import findings
from wavetank.cluster.clouds.disks import ROOT_GB, Volume, data_volumes
from wavetank.cluster.instance_types import aws_instances, nearest
from wavetank.cluster.managed import fsx_capacity, fsx_deployment
from wavetank.cluster.needs import Examined
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError
from wavetank.units import GIB

# Letters that a type begins with -> codes of its vCPUs on demand, and spot; None: AWS names none.
# p: spot, of its generation, see P_SPOT.
STANDARD = ("L-1216C47A", "L-34B43A08")
GRAPHICS = ("L-DB2E81BA", "L-3819A6DF")
INSTANCES: dict[str, tuple[str, str | None]] = {
    **dict.fromkeys(("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"), STANDARD),
    **dict.fromkeys(("g", "gr", "vt"), GRAPHICS),
    "dl": ("L-6E869C2A", "L-85EED4F7"),
    "f": ("L-74FC7D96", "L-88CF9481"),
    "hpc": ("L-F7808C92", None),
    "inf": ("L-1945791B", "L-B5D1601B"),
    "p": ("L-417A185B", None),
    "trn": ("L-2C3B7624", "L-6B0D517C"),
    "u": ("L-43DA4232", None),
    "x": ("L-7295265B", "L-E3A00192"),
}
P_SPOT = {"2": "L-7212CCBC", "3": "L-7212CCBC", "4": "L-7212CCBC", "5": "L-C4BD4855"}
# Type of volumes -> code of their storage in TiB.
VOLUMES = {
    "gp2": "L-D18FCD1D",
    "gp3": "L-7A658B76",
    "io2": "L-09BD8365",
    "st1": "L-82ACEF56",
}
IO2_IOPS = "L-8D977E7E"
# Deployment of FSx for Lustre -> code of their storage in GiB. Those of one code are counted together.
LUSTRE = {
    "SCRATCH_1": "L-AD2FC696",
    "SCRATCH_2": "L-AD2FC696",
    "PERSISTENT_2": "L-8F1B9C74",
}
# Others do not count (general reference): stopped ones, and those that end. One that begins will count soon.
COUNTED = ("pending", "running")
GIB_IN_TIB = 1024


@dataclass(frozen=True)
class Use:
    """What is needed of one quota.

    Attributes:
        service: as Service Quotas calls it.
        code: of the quota.
        what: is counted, in its unit: "vCPUs".
        of: which: "on demand, g4dn".
        needed, in_use: in that unit.
    """

    service: str
    code: str
    what: str
    of: str
    needed: float
    in_use: float


Uses = Callable[[Account, ClusterSpec], Iterator[Use | Unknown]]


def instance_code(kind: str, *, spot: bool) -> str | None:
    """Code of the quota that the vCPUs of an instance type count for; None where it is not known."""
    match = re.match(r"([a-z]+)-?(\d*)", kind)
    if match is None or match[1] not in INSTANCES:
        return None
    on_demand, of_spot = INSTANCES[match[1]]
    if not spot:
        return on_demand
    return P_SPOT.get(match[2]) if match[1] == "p" else of_spot


def quotas(account: Account, spec: ClusterSpec) -> Iterator[str | Unknown]:
    """Findings of quotas that are too small for a cluster beside what there is, and which are not known."""
    yield from _said(account, _of_instances, spec)
    yield from _said(account, _of_volumes, spec)
    if spec.file_system.kind == "fsx-lustre":
        yield from _said(account, _of_lustre, spec)


def _said(account: Account, uses: Uses, spec: ClusterSpec) -> Iterator[str | Unknown]:
    try:
        for use in uses(account, spec):
            yield from [use] if isinstance(use, Unknown) else _too_small(account, use)
    except ProviderError as error:
        yield str(error)


def _too_small(account: Account, use: Use) -> Iterator[str | Unknown]:
    try:
        answer = account.call(
            "service-quotas", "GetServiceQuota", ServiceCode=use.service, QuotaCode=use.code
        )
    except AnswerError as error:
        yield Unknown(f"the quota of {use.what} ({use.of}) is not known: {error}")
        return
    most = float(answer["Quota"]["Value"])
    wanted = use.needed + use.in_use
    if wanted > most:
        yield (
            f"{use.needed:g} {use.what} are needed and {use.in_use:g} are in use, but the account's quota in {account.region} "
            f"is {most:g} ({use.of}): ask AWS for more: aws service-quotas request-service-quota-increase --service-code "
            f"{use.service} --quota-code {use.code} --desired-value {math.ceil(wanted)}"
        )


def _of_instances(account: Account, spec: ClusterSpec) -> Iterator[Use | Unknown]:
    spot = spec.cloud is not None and spec.cloud.spot
    word = "spot" if spot else "on demand"
    asked = Counter(spec.instance_of(node).name for node in spec.node_names())
    codes = {kind: instance_code(kind, spot=spot) for kind in asked}
    for kind, code in codes.items():
        if code is None:
            family = kind.partition(".")[0]
            yield Unknown(f"the quota of this family is not known: {family} ({word})")
    there = Counter(
        each.instance_type
        for each in instances(account, None, everyones=True)
        if each.state in COUNTED and each.is_spot == spot
    )
    vcpus = _vcpus(account, {*asked, *there})
    for code in dict.fromkeys(code for code in codes.values() if code is not None):
        needed = sum(n * vcpus[kind] for kind, n in asked.items() if codes[kind] == code)
        in_use = sum(
            n * vcpus[kind] for kind, n in there.items() if instance_code(kind, spot=spot) == code
        )
        families = "standard families"
        if code not in STANDARD:
            of_code = (kind.partition(".")[0] for kind in asked if codes[kind] == code)
            families = ", ".join(dict.fromkeys(of_code)) + " and its like"
        yield Use("ec2", code, "vCPUs", f"{word}, {families}", needed, in_use)


def _vcpus(account: Account, kinds: Iterable[str]) -> dict[str, int]:
    """By type: of the catalogue, and of the account where that does not have it."""
    known = aws_instances()
    found = {kind: known[kind].vcpus for kind in kinds if kind in known}
    unknown = sorted(set(kinds) - set(found))
    if unknown:
        answer = account.call("ec2", "DescribeInstanceTypes", InstanceTypes=unknown)
        for each in answer["InstanceTypes"]:
            found[str(each["InstanceType"])] = int(each["VCpuInfo"]["DefaultVCpus"])
    return found


def _of_volumes(account: Account, spec: ClusterSpec) -> Iterator[Use | Unknown]:
    wanted = [Volume("gp3", ROOT_GB) for _ in spec.node_names()]
    wanted += [volume for node in spec.node_names() for volume in data_volumes(spec, node)]
    for kind in dict.fromkeys(volume.kind for volume in wanted):
        code = VOLUMES.get(kind)
        if code is None:
            yield Unknown(f"the quota of volumes of {kind} is not known")
            continue
        filters = [{"Name": "volume-type", "Values": [kind]}]
        there = list(account.pages("ec2", "DescribeVolumes", "Volumes", Filters=filters))
        of_kind = [volume for volume in wanted if volume.kind == kind]
        size = sum(volume.size_gb for volume in of_kind) / GIB_IN_TIB
        in_use = sum(int(each["Size"]) for each in there) / GIB_IN_TIB
        yield Use("ebs", code, "TiB", f"volumes of {kind}", size, in_use)
        if kind == "io2":
            iops = sum(volume.iops or 0 for volume in of_kind)
            iops_in_use = sum(int(each.get("Iops") or 0) for each in there)
            yield Use("ebs", IO2_IOPS, "IOPS", f"volumes of {kind}", iops, iops_in_use)


def _of_lustre(account: Account, spec: ClusterSpec) -> Iterator[Use | Unknown]:
    deployment = fsx_deployment(spec.file_system)
    code = LUSTRE[deployment]
    in_use = sum(
        int(each.get("StorageCapacity", 0))
        for each in account.pages("fsx", "DescribeFileSystems", "FileSystems")
        if each.get("FileSystemType") == "LUSTRE"
        and LUSTRE.get(each.get("LustreConfiguration", {}).get("DeploymentType", "")) == code
    )
    needed = fsx_capacity(spec.file_system) // GIB
    yield Use("fsx", code, "GiB", f"FSx for Lustre, {deployment}", needed, in_use)


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
