"""What there is in an account, by the tags of wavetank: asked anew each time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from wavetank.cluster.clouds.aws.account import Account
from wavetank.cluster.clouds.cloud import (
    LABEL,
    PREFIX,
    TOKEN_TAG,
    Key,
    Lease,
    Made,
    Wanted,
    of_tags,
)
from wavetank.cluster.clouds.disks import ROOT_GB, Volume
from wavetank.units import MIB

MOST_EPHEMERAL = 4  # sdb to sde


def tag_specifications(lease: Lease, *kinds: str) -> list[dict[str, object]]:
    """All tags of a cluster, for things of these kinds."""
    tags = [{"Key": key, "Value": value} for key, value in lease.tags().items()]
    return [{"ResourceType": kind, "Tags": tags} for kind in kinds]


def instances_request(wanted: Wanted, lease: Lease, security_group: str) -> dict[str, Any]:
    """Parameters of RunInstances: all of a role or none, ended with all they have, by themselves at the ttl."""
    detail: dict[str, Any] = dict(wanted.detail)
    n = len(wanted.nodes)
    tags = {**lease.tags(), f"{PREFIX}node": nodes_tag(wanted.nodes)}
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    request: dict[str, Any] = {
        "ImageId": detail["image"],
        "InstanceType": detail["type"],
        "MinCount": n,
        "MaxCount": n,
        "ClientToken": wanted.name[:64],
        "KeyName": lease.label,
        "UserData": detail["user_data"],
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpTokens": "required", "HttpPutResponseHopLimit": 1, "HttpEndpoint": "enabled",
        },
        "BlockDeviceMappings": [
            _device(str(detail["root"]), Volume("gp3", ROOT_GB)),
            *(
                _device(f"/dev/sd{chr(ord('f') + i)}", volume)
                for i, volume in enumerate(detail["volumes"])
            ),
            # types of the Nitro generation have their disks without this, and ignore it
            *(
                {"DeviceName": f"/dev/sd{chr(ord('b') + i)}", "VirtualName": f"ephemeral{i}"}
                for i in range(min(detail["own_disks"], MOST_EPHEMERAL))
            ),
        ],
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": listed}
            for kind in ("instance", "volume", "network-interface")
        ],
        "Placement": {"GroupName": detail["group"], "AvailabilityZone": wanted.zone},
        "SubnetId": detail["subnets"][wanted.zone],
        "SecurityGroupIds": [security_group],
    }  # fmt: skip
    if detail["spot"]:
        options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": options}
    return request


def _device(name: str, volume: Volume) -> dict[str, object]:
    ebs: dict[str, object] = {
        "VolumeSize": volume.size_gb,
        "VolumeType": volume.kind,
        "DeleteOnTermination": True,
        "Encrypted": True,
    }
    if volume.iops is not None:
        ebs["Iops"] = volume.iops
    if volume.throughput_bytes_per_s is not None:
        ebs["Throughput"] = volume.throughput_bytes_per_s // MIB
    return {"DeviceName": name, "Ebs": ebs}


# Instances that are gone stay in the list for about an hour.
ENDED = ("terminated",)
PROVISIONED = (
    "gp3",
    "io1",
    "io2",
)  # types whose IOPS are paid for; those of others follow from the size
_NODES = re.compile(r"^([a-z]+)([0-9]+)-[a-z]+([0-9]+)$")
_ENDED = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)")


def filters_of(key: Key | None) -> list[dict[str, object]]:
    """Filters of EC2: one cluster's things, or those of all."""
    if key is None:
        return [{"Name": "tag-key", "Values": [TOKEN_TAG]}]
    return [
        {"Name": f"tag:{TOKEN_TAG}", "Values": [key.token]},
        {"Name": f"tag:{PREFIX}cluster", "Values": [key.cluster]},
    ]


def everything(account: Account, key: Key | None) -> tuple[Made, ...]:
    """All things of one cluster, or of all clusters, in the region; instances first, as all else is in use by them."""
    return tuple(itertools.chain(*lookups(account, key)))


def lookups(account: Account, key: Key | None) -> tuple[Iterator[Made], ...]:
    """What ``everything`` asks for, one call each: asked when it is read."""
    return (
        _schedules(account, key),
        instances(account, key),
        _volumes(account, key),
        _tagged(
            account, key, "DescribeNetworkInterfaces", "NetworkInterfaces", "network-interface",
            "NetworkInterfaceId", "Status", tags="TagSet",
        ),
        _tagged(account, key, "DescribeSecurityGroups", "SecurityGroups", "security-group", "GroupId"),
        _tagged(
            account, key, "DescribePlacementGroups", "PlacementGroups", "placement-group", "GroupName", "State"
        ),
        _tagged(account, key, "DescribeKeyPairs", "KeyPairs", "key-pair", "KeyName"),
    )  # fmt: skip


def instances(
    account: Account, key: Key | None, *, ended: bool = False, everyones: bool = False
) -> Iterator[Made]:
    """Instances of a cluster, or of all clusters of wavetank.

    Args:
        account: to ask.
        key: of one cluster.
        ended: also those that are gone, as long as AWS remembers them.
        everyones: also those that are none of wavetank's.
    """
    asked: dict[str, object] = {} if everyones else {"Filters": filters_of(key)}
    for reservation in account.pages("ec2", "DescribeInstances", "Reservations", **asked):
        for instance in reservation["Instances"]:
            state = str(instance["State"]["Name"])
            if state in ENDED and not ended:
                continue
            tags = _tags(instance.get("Tags", []))
            reason = instance.get("StateReason") or {}
            yield Made(
                "instance",
                str(instance["InstanceId"]),
                state=state,
                node=node_of(tags.get(f"{PREFIX}node", ""), int(instance.get("AmiLaunchIndex", 0))),
                instance_type=str(instance.get("InstanceType", "")),
                since=utc(instance.get("LaunchTime")),
                until=_ended_at(str(instance.get("StateTransitionReason", ""))),
                private_address=instance.get("PrivateIpAddress"),
                public_address=instance.get("PublicIpAddress") or None,
                reason=": ".join(
                    str(reason[part]) for part in ("Code", "Message") if reason.get(part)
                ),
                is_spot=instance.get("InstanceLifecycle") == "spot",
                **of_tags(tags),
            )


def nodes_tag(nodes: tuple[str, ...]) -> str:
    """Nodes of one call in a tag: "c1-c4". Each is told by its place in the call (launch index)."""
    return nodes[0] if len(nodes) == 1 else f"{nodes[0]}-{nodes[-1]}"


def node_of(tag: str, index: int) -> str:
    """The node of an instance, from its tag and its place in the call that made it."""
    match = _NODES.match(tag)
    return tag if match is None else f"{match[1]}{int(match[2]) + index}"


def _tagged(
    account: Account, key: Key | None, operation: str, items: str, kind: str, identifier: str, state: str = "",
    tags: str = "Tags",
) -> Iterator[Made]:  # fmt: skip
    for each in account.pages("ec2", operation, items, Filters=filters_of(key)):
        found = str(each.get(state, "")) if state else ""
        if found in ("deleted", "deleting"):
            continue
        yield Made(kind, str(each[identifier]), state=found, **of_tags(_tags(each.get(tags, []))))


def _volumes(account: Account, key: Key | None) -> Iterator[Made]:
    for each in account.pages("ec2", "DescribeVolumes", "Volumes", Filters=filters_of(key)):
        state = str(each.get("State", ""))
        if state in ("deleted", "deleting"):
            continue
        throughput = each.get("Throughput")  # MiB/s
        yield Made(
            "volume",
            str(each["VolumeId"]),
            state=state,
            since=utc(each.get("CreateTime")),
            volume=Volume(
                str(each["VolumeType"]),
                int(each["Size"]),
                each.get("Iops") if each["VolumeType"] in PROVISIONED else None,
                None if throughput is None else int(throughput) * MIB,
            ),
            **of_tags(_tags(each.get("Tags", []))),
        )


def _schedules(account: Account, key: Key | None) -> Iterator[Made]:
    """Schedules have no tags: their names say whose they are."""
    prefix = "wavetank-" if key is None else key.label
    for each in account.pages("scheduler", "ListSchedules", "Schedules", NamePrefix=prefix):
        match = LABEL.match(str(each["Name"]))
        if match is not None:
            yield Made("schedule", str(each["Name"]), match["cluster"], match["token"])


def _tags(listed: list[dict[str, str]]) -> dict[str, str]:
    return {each["Key"]: each["Value"] for each in listed}


def _ended_at(transition: str) -> datetime | None:
    """When an instance ended, from the reason of its last transition; None where that has no time.

    Samples (EC2 user guide, "terminated instances"): ``User initiated (2026-11-23 07:21:09 GMT)``,
    ``Server.SpotInstanceTermination``. The emulator of the tests writes UTC.
    """
    match = _ENDED.search(transition)
    if match is None:
        return None
    return datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)


def utc(value: object) -> datetime | None:
    """A time that boto3 read; None where it is none."""
    return value.astimezone(UTC) if isinstance(value, datetime) else None
