"""The parameters of calls that make things."""

from __future__ import annotations

from typing import Any

from wavetank.cluster.clouds.aws.found import nodes_tag
from wavetank.cluster.clouds.cloud import PREFIX, Lease, Wanted
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
