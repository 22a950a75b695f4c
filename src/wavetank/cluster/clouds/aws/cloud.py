"""AWS as a cloud: what a cluster is made of there, how each thing is made, and how it is removed.

Each call that makes something carries all tags, so that there is no moment in which it is there without them.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from wavetank.cluster.clouds.aws import found as tagged
from wavetank.cluster.clouds.aws.account import Account, AnswerError
from wavetank.cluster.clouds.aws.check import check
from wavetank.cluster.clouds.aws.found import instances_request, tag_specifications
from wavetank.cluster.clouds.aws.managed import ManagedFileSystems, wanted_of
from wavetank.cluster.clouds.aws.network import (
    image_of,
    subnets_by_zone,
    zones_with_types,
)
from wavetank.cluster.clouds.cloud import (
    SERVED,
    Key,
    Keys,
    Lease,
    Made,
    Removal,
    Wanted,
    looks,
    terms_of,
)
from wavetank.cluster.clouds.disks import data_volumes, on_own_disks
from wavetank.cluster.clouds.packages import first_start, role_name, roles
from wavetank.cluster.needs import Examined
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

# A schedule ends what the instances' own end did not: a while after it.
REAPER_DELAY = timedelta(minutes=15)
MOST_LOOKS = 8
ADDRESS_TIMEOUT_S = 10
MY_ADDRESS = "https://checkip.amazonaws.com"

EXISTS = {
    "InvalidKeyPair.Duplicate",
    "InvalidGroup.Duplicate",
    "InvalidPlacementGroup.Duplicate",
    "InvalidPermission.Duplicate",
    "ConflictException",  # of schedules
}
GONE = {
    "InvalidKeyPair.NotFound",
    "InvalidGroup.NotFound",
    "InvalidGroupId.Malformed",
    "InvalidPlacementGroup.Unknown",
    "InvalidInstanceID.NotFound",
    "InvalidVolume.NotFound",
    "InvalidNetworkInterfaceID.NotFound",
    "ResourceNotFoundException",
}
IN_USE = {
    "DependencyViolation",
    "InvalidPlacementGroup.InUse",
    "VolumeInUse",
    "InvalidParameterValue",  # of a network interface in use
    "InvalidNetworkInterface.InUse",
    "IncorrectState",
    "IncorrectInstanceState",
    "OperationNotPermitted",
}
REMOVALS = {
    "key-pair": ("DeleteKeyPair", "KeyName"),
    "security-group": ("DeleteSecurityGroup", "GroupId"),
    "placement-group": ("DeletePlacementGroup", "GroupName"),
    "volume": ("DeleteVolume", "VolumeId"),
    "network-interface": ("DeleteNetworkInterface", "NetworkInterfaceId"),
}


class AwsCloud:
    """One account in one region."""

    name = "aws"

    def __init__(self, region: str | None) -> None:
        self.account = Account(region)
        self.region = self.account.region
        self._managed = ManagedFileSystems(self.account)

    def owner(self) -> str:
        """User or role of the credentials."""
        arn = str(self.account.call("sts", "GetCallerIdentity")["Arn"])
        return arn.split(":", 5)[-1]

    def check(self, spec: ClusterSpec) -> Examined:
        """See aws/check.py."""
        return check(self.account, spec)

    def regions(self) -> tuple[str, ...]:
        """Regions that are enabled for the account."""
        found = self.account.call("ec2", "DescribeRegions", AllRegions=False)["Regions"]
        return tuple(sorted(str(each["RegionName"]) for each in found))

    def public_address(self) -> str:
        """Of this machine, by AWS's own service."""
        try:
            with urllib.request.urlopen(MY_ADDRESS, timeout=ADDRESS_TIMEOUT_S) as answer:
                return str(ipaddress.IPv4Address(answer.read(64).decode().strip()))
        # a proxy's page is no address, nor is half of one
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ProviderError(
                f"this machine's public address is not known ({MY_ADDRESS}: {error}): write cloud.ssh_from, e.g. 192.0.2.7/32"
            ) from error

    def zones(self, spec: ClusterSpec) -> tuple[str, ...]:
        """Zones with a subnet and all instance types; that of the specification where it names one."""
        return zones_with_types(self.account, spec)

    def plan(self, spec: ClusterSpec, lease: Lease, keys: Keys) -> tuple[Wanted, ...]:
        """Key pair, security group, placement group, one call for each role, a managed file system, and schedules."""
        terms = terms_of(spec)
        image, root_device = image_of(self.account, spec)
        subnets = subnets_by_zone(self.account, spec)
        network = next(iter(subnets.values()))["VpcId"]
        by_zone = {zone: str(subnet["SubnetId"]) for zone, subnet in subnets.items()}
        from_network = terms.ssh_from
        if from_network == "caller":
            from_network = f"{self.public_address()}/32"
        wanted = [
            Wanted("key-pair", lease.label, detail={"public": keys.user_public}),
            Wanted(
                "security-group",
                lease.label,
                detail={
                    "vpc": network,
                    "ssh_from": from_network,
                    "clients_from": terms.clients_from,
                },
            ),
            Wanted("placement-group", lease.label, detail={"strategy": strategy_of(spec)}),
        ]
        for nodes in roles(spec):
            detail = {
                "type": spec.instance_of(nodes[0]).name,
                "image": image,
                "root": root_device,
                "volumes": data_volumes(spec, nodes[0]),
                "own_disks": spec.storage.devices if on_own_disks(spec, nodes[0]) else 0,
                "spot": terms.spot,
                "group": lease.label,
                "subnets": by_zone,
                "user_data": first_start(spec, terms, lease, keys, nodes[0]),
            }
            wanted.append(Wanted("instances", role_name(lease, nodes), nodes=nodes, detail=detail))
        wanted += wanted_of(spec, lease, by_zone, terms.reaper)
        if terms.reaper != "none":
            detail = {"role": terms.reaper, "of": "instances"}
            wanted.append(Wanted("schedule", lease.label, detail=detail))
        return tuple(wanted)

    def make(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        """See the protocol."""
        if wanted.kind in SERVED:
            return self._managed.make(wanted, lease, self._security_group(lease))
        makers = {
            "key-pair": self._make_key_pair,
            "security-group": self._make_security_group,
            "placement-group": self._make_placement_group,
            "instances": self._make_instances,
            "schedule": self._make_schedule,
        }
        return makers[wanted.kind](wanted, lease)

    def found(self, key: Key | None) -> tuple[Made, ...]:
        """See the protocol."""
        return (*tagged.everything(self.account, key), *self._managed.found(key))

    def served(self, key: Key) -> tuple[Made, ...]:
        """See the protocol."""
        return tuple(self._managed.found(key))

    def instances(self, key: Key) -> tuple[Made, ...]:
        """Instances of a cluster, also those that ended, as long as AWS remembers them."""
        return tuple(tagged.instances(self.account, key, ended=True))

    def remove(self, made: Made) -> Removal:
        """See the protocol."""
        if made.kind in SERVED:
            return self._managed.remove(made)
        try:
            if made.kind == "instance":
                if made.state != "shutting-down":
                    self.account.call("ec2", "TerminateInstances", InstanceIds=[made.key])
                return Removal.AGAIN  # gone when it is no longer found
            if made.kind == "schedule":
                self.account.call("scheduler", "DeleteSchedule", Name=made.key)
                return Removal.GONE
            operation, parameter = REMOVALS[made.kind]
            self.account.call("ec2", operation, **{parameter: made.key})
        except AnswerError as error:
            if error.code in GONE:
                return Removal.GONE
            if error.code in IN_USE:
                return Removal.AGAIN
            raise
        return Removal.GONE

    def _make_key_pair(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        with _once():
            self.account.call(
                "ec2", "ImportKeyPair", KeyName=wanted.name,
                PublicKeyMaterial=str(wanted.detail["public"]).encode(),
                TagSpecifications=tag_specifications(lease, "key-pair"),
            )  # fmt: skip
        return (wanted.name,)

    def _make_placement_group(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        with _once():
            self.account.call(
                "ec2", "CreatePlacementGroup", GroupName=wanted.name,
                Strategy=wanted.detail["strategy"],
                TagSpecifications=tag_specifications(lease, "placement-group"),
            )  # fmt: skip
        return (wanted.name,)

    def _make_security_group(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        with _once():
            self.account.call(
                "ec2", "CreateSecurityGroup", GroupName=wanted.name, VpcId=wanted.detail["vpc"],
                Description=f"wavetank cluster {lease.cluster}",
                TagSpecifications=tag_specifications(lease, "security-group"),
            )  # fmt: skip
        group = self._security_group(lease)
        ssh = {
            "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22,
            "IpRanges": [{"CidrIp": wanted.detail["ssh_from"], "Description": "ssh of who made it"}],
        }  # fmt: skip
        itself: dict[str, Any] = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
        networks: Any = wanted.detail["clients_from"]
        clients = [
            {
                "IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535,
                "IpRanges": [{"CidrIp": each, "Description": "clients"}],
            }
            for each in networks
        ]  # fmt: skip
        # one a call: a rule that is there already refuses a whole call
        for rule in (itself, ssh, *clients):
            with _once():
                self.account.call(
                    "ec2", "AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=[rule]
                )
        return (group,)

    def _security_group(self, lease: Lease) -> str:
        """Id of the cluster's security group; AWS may take a while to know it.

        Raises:
            ProviderError: it does not.
        """
        for _ in looks(self.account.pause, MOST_LOOKS):
            filters = [
                {"Name": "group-name", "Values": [lease.label]},
                *tagged.filters_of(Key(lease.cluster, lease.token)),
            ]
            found = self.account.call("ec2", "DescribeSecurityGroups", Filters=filters)
            if found["SecurityGroups"]:
                return str(found["SecurityGroups"][0]["GroupId"])
        raise ProviderError(f"AWS made security group {lease.label}, and does not know it")

    def _make_instances(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        request = instances_request(wanted, lease, self._security_group(lease))
        for look in looks(self.account.pause, MOST_LOOKS):
            try:
                made = self.account.call("ec2", "RunInstances", **request)["Instances"]
            except AnswerError as error:  # what was made just now is not known everywhere yet
                if error.code not in GONE or look == MOST_LOOKS:
                    raise
            else:
                break
        made.sort(key=lambda instance: int(instance["AmiLaunchIndex"]))
        for node, instance in zip(wanted.nodes, made, strict=True):
            self._name(str(instance["InstanceId"]), lease.tags(node)["Name"])
        return tuple(str(instance["InstanceId"]) for instance in made)

    def _name(self, instance: str, name: str) -> None:
        """Its own name, for people: which node it is, the tag of its role and its place tell already."""
        tags = [{"Key": "Name", "Value": name}]
        with contextlib.suppress(AnswerError):
            self.account.call("ec2", "CreateTags", Resources=[instance], Tags=tags)

    def _make_schedule(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        kind, delay = str(wanted.detail["of"]), timedelta()
        call, given = "ec2:terminateInstances", dict[str, object]()
        if kind == "instances":
            key = Key(lease.cluster, lease.token)
            given["InstanceIds"] = [made.key for made in tagged.instances(self.account, key)]
        else:
            call, of_one, delay = self._managed.deletion(kind, lease)
            given |= of_one
        at = (lease.expires + REAPER_DELAY + delay).strftime("%Y-%m-%dT%H:%M:%S")
        with _once():
            self.account.call(
                "scheduler", "CreateSchedule", Name=wanted.name, ScheduleExpression=f"at({at})",
                FlexibleTimeWindow={"Mode": "OFF"}, ActionAfterCompletion="DELETE", ClientToken=wanted.name,
                Target={
                    "Arn": f"arn:aws:scheduler:::aws-sdk:{call}",
                    "RoleArn": wanted.detail["role"],
                    "Input": json.dumps(given),
                },
            )  # fmt: skip
        return (wanted.name,)


def strategy_of(spec: ClusterSpec) -> str:
    """Of the placement group: close to each other, where the specification does not say otherwise."""
    return spec.placement or "cluster"


@contextlib.contextmanager
def _once() -> Iterator[None]:
    """What is there already was made by an earlier try of the same call: its name holds the token."""
    try:
        yield
    except AnswerError as error:
        if error.code not in EXISTS:
            raise
