"""File systems that AWS runs: FSx for Lustre, EFS and its mount targets. Made, found by their tags, and deleted.

Calls, states and errors: the API descriptions of FSx and EFS in botocore 1.44.5. A mount target has no tags: it is found by its
file system. What deletes them at the ttl is a schedule each, as nothing of theirs ends itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from wavetank.cluster.clouds.aws.account import Account, AnswerError
from wavetank.cluster.clouds.aws.found import utc
from wavetank.cluster.clouds.cloud import (
    Key,
    Lease,
    Made,
    Removal,
    Wanted,
    is_of,
    looks,
    of_tags,
)
from wavetank.cluster.components import AWS
from wavetank.cluster.managed import (
    Service,
    Stored,
    fsx_capacity,
    fsx_deployment,
    fsx_price_name,
    fsx_throughput_per_tib,
)
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError
from wavetank.units import GIB, MIB

MOST_LOOKS = 8
# Of Lustre. Without it AWS makes SCRATCH_2 of 2.10 (2018), which the clients that known images get may not mount. The API has 2.15 for
# all kinds of deployment, and recommends it.
FSX_VERSION = "2.15"
GONE = {"FileSystemNotFound", "MountTargetNotFound", "ResourceNotFound"}
IN_USE = {"FileSystemInUse", "DependencyTimeout", "IncorrectFileSystemLifeCycleState"}
# The file system is deleted when its mount targets are surely gone: they take up to some minutes.
AFTER_MOUNT_TARGETS = timedelta(minutes=15)
# What a schedule calls: the service's name in AWS's own SDK, and the parameter with what is deleted.
DELETIONS = {
    "fsx-lustre": ("fsx:deleteFileSystem", "FileSystemId"),
    "efs": ("efs:deleteFileSystem", "FileSystemId"),
    "mount-target": ("efs:deleteMountTarget", "MountTargetId"),
}


def wanted_of(spec: ClusterSpec, lease: Lease, subnets: dict[str, str], role: str) -> list[Wanted]:
    """What a cluster with a managed file system is made of beside its instances: each followed by the schedule that deletes it.

    Args:
        spec: of the cluster.
        lease: of the cluster.
        subnets: subnet of each zone.
        role: that the schedules have.
    """
    fs = spec.file_system
    if fs.facts.made_by != AWS:
        return []
    detail: dict[str, object]
    if fs.kind == "fsx-lustre":
        detail = {
            "deployment": fsx_deployment(fs),
            "capacity_gib": fsx_capacity(fs) // GIB,
            "per_tib": fsx_throughput_per_tib(fs),
        }
    else:
        detail = {"throughput": fs.throughput or "elastic"}
    kinds = (fs.kind, "mount-target") if fs.kind == "efs" else (fs.kind,)
    found = []
    for kind in kinds:
        found.append(Wanted(kind, lease.label, detail={**detail, "subnets": subnets}))
        schedule = f"{lease.label}-{kind}"
        found.append(Wanted("schedule", schedule, detail={"role": role, "of": kind}))
    return found


class ManagedFileSystems:
    """Those of one account and region."""

    def __init__(self, account: Account) -> None:
        self.account = account

    def make(self, wanted: Wanted, lease: Lease, security_group: str) -> tuple[str, ...]:
        """Begin to make one; calling again makes no second one.

        Raises:
            RefusedError, ProviderError: AWS refuses.
        """
        subnet = wanted.detail["subnets"][str(wanted.zone)]  # type: ignore[index]
        if wanted.kind == "fsx-lustre":
            return (self._make_fsx(wanted, lease, subnet, security_group),)
        if wanted.kind == "efs":
            return (self._make_efs(wanted, lease),)
        return (self._make_mount_target(lease, subnet, security_group),)

    def _make_fsx(self, wanted: Wanted, lease: Lease, subnet: str, group: str) -> str:
        lustre: dict[str, object] = {"DeploymentType": wanted.detail["deployment"]}
        if wanted.detail["per_tib"] is not None:
            lustre |= {"PerUnitStorageThroughput": wanted.detail["per_tib"]}
            lustre |= {"AutomaticBackupRetentionDays": 0}  # backups outlive it, and cost
        found = self.account.call(
            "fsx", "CreateFileSystem", ClientRequestToken=wanted.name, FileSystemType="LUSTRE",
            FileSystemTypeVersion=FSX_VERSION, StorageCapacity=wanted.detail["capacity_gib"], StorageType="SSD", SubnetIds=[subnet],
            SecurityGroupIds=[group], LustreConfiguration=lustre, Tags=_listed(lease),
        )  # fmt: skip
        return str(found["FileSystem"]["FileSystemId"])

    def _make_efs(self, wanted: Wanted, lease: Lease) -> str:
        throughput = wanted.detail["throughput"]
        asked: dict[str, object] = {"ThroughputMode": throughput}
        if isinstance(throughput, int):
            asked = {
                "ThroughputMode": "provisioned",
                "ProvisionedThroughputInMibps": throughput / MIB,
            }
        try:
            found = self.account.call(
                "efs", "CreateFileSystem", CreationToken=wanted.name, PerformanceMode="generalPurpose", Encrypted=True,
                Backup=False, Tags=_listed(lease), **asked,
            )  # fmt: skip
        except AnswerError as error:
            if error.code != "FileSystemAlreadyExists":
                raise
            return self._one(Key(lease.cluster, lease.token), "efs").key
        return str(found["FileSystemId"])

    def _make_mount_target(self, lease: Lease, subnet: str, group: str) -> str:
        key = Key(lease.cluster, lease.token)
        try:
            found = self.account.call(
                "efs", "CreateMountTarget", FileSystemId=self._one(key, "efs").key, SubnetId=subnet,
                SecurityGroups=[group],
            )  # fmt: skip
        except AnswerError as error:
            if (
                error.code != "MountTargetConflict"
            ):  # made by an earlier try: there is one in a zone
                raise
            return self._one(key, "mount-target").key
        return str(found["MountTargetId"])

    def deletion(self, kind: str, lease: Lease) -> tuple[str, dict[str, str], timedelta]:
        """What a schedule calls, with what, and how long after it is due.

        Raises:
            ProviderError: there is nothing of this kind.
        """
        call, parameter = DELETIONS[kind]
        made = self._one(Key(lease.cluster, lease.token), kind)
        return call, {parameter: made.key}, AFTER_MOUNT_TARGETS if kind == "efs" else timedelta()

    def _one(self, key: Key, kind: str) -> Made:
        """The one of a cluster; AWS may take a while to show it."""
        for _ in looks(self.account.pause, MOST_LOOKS):
            found = [made for made in self.found(key) if made.kind == kind]
            if found:
                return found[0]
        raise ProviderError(f"AWS made {kind} {key.label}, and does not know it")

    def found(self, key: Key | None) -> Iterator[Made]:
        """Those of a cluster, or of all clusters; mount targets first, as file systems are in use by them."""
        systems = list(itertools.chain(*self.lookups(key)))
        for made in systems:
            if made.kind == "efs":
                yield from self._mount_targets(made)
        yield from systems

    def lookups(self, key: Key | None) -> tuple[Iterator[Made], ...]:
        """File systems of each service, without mount targets: asked when they are read."""
        return self._efs(key), self._fsx(key)

    def _efs(self, key: Key | None) -> Iterator[Made]:
        if not self.account.has("efs"):
            return
        for each in self.account.pages("efs", "DescribeFileSystems", "FileSystems"):
            state, tags = str(each["LifeCycleState"]), _tags(each)
            if not is_of(tags, key) or state == "deleted":
                continue
            mibps = each.get("ProvisionedThroughputInMibps")
            rate = None if mibps is None else int(mibps * MIB)
            stored = int(each.get("SizeInBytes", {}).get("Value", 0))
            by_moved = each.get("ThroughputMode") == "elastic"
            yield Made(
                "efs", str(each["FileSystemId"]), state=state, since=utc(each.get("CreationTime")),
                stored=Stored("efs", stored, rate, by_moved), **of_tags(tags),
            )  # fmt: skip

    def _mount_targets(self, system: Made) -> Iterator[Made]:
        try:
            found = self.account.call("efs", "DescribeMountTargets", FileSystemId=system.key)
        except AnswerError as error:
            if error.code in GONE:
                return
            raise
        name = f"{system.key}.efs.{self.account.region}.amazonaws.com"
        for each in found["MountTargets"]:
            state = str(each["LifeCycleState"])
            if state == "deleted":
                continue
            yield Made(
                "mount-target", str(each["MountTargetId"]), system.cluster, system.token, system.owner, system.expires,
                state=state, service=Service(str(each.get("IpAddress", "")), name),
            )  # fmt: skip

    def _fsx(self, key: Key | None) -> Iterator[Made]:
        if not self.account.has("fsx"):
            return
        for each in self.account.pages("fsx", "DescribeFileSystems", "FileSystems"):
            tags = _tags(each)
            if each.get("FileSystemType") != "LUSTRE" or not is_of(tags, key):
                continue
            lustre = each.get("LustreConfiguration", {})
            name = str(each.get("DNSName", ""))
            price = fsx_price_name(
                str(lustre.get("DeploymentType", "")), lustre.get("PerUnitStorageThroughput")
            )
            yield Made(
                "fsx-lustre", str(each["FileSystemId"]), state=str(each.get("Lifecycle", "")).lower(),
                reason=str(each.get("FailureDetails", {}).get("Message", "")), since=utc(each.get("CreationTime")),
                stored=Stored(price, int(each["StorageCapacity"]) * GIB),
                service=Service(f"{name}@tcp:/{lustre.get('MountName', '')}", name), **of_tags(tags),
            )  # fmt: skip

    def remove(self, made: Made) -> Removal:
        """Begin to delete one. It is gone when it is no longer found."""
        if made.state == "deleting":
            return Removal.AGAIN
        try:
            if made.kind == "fsx-lustre":
                self.account.call("fsx", "DeleteFileSystem", FileSystemId=made.key)
            elif made.kind == "efs":
                self.account.call("efs", "DeleteFileSystem", FileSystemId=made.key)
            else:
                self.account.call("efs", "DeleteMountTarget", MountTargetId=made.key)
        except AnswerError as error:
            if error.code in GONE:
                return Removal.GONE
            # FSx does not tell by a code of its own that a file system is being made
            if error.code in IN_USE or (error.code == "BadRequest" and made.state == "creating"):
                return Removal.AGAIN
            raise
        return Removal.AGAIN


def _listed(lease: Lease) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in lease.tags().items()]


def _tags(said: dict[str, Any]) -> dict[str, str]:
    return {each["Key"]: each["Value"] for each in said.get("Tags", [])}
