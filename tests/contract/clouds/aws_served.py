"""File systems that AWS runs, for the emulator of AWS: in front of moto's FSx and EFS, what these leave out.

moto (5.2.5) has no states of FSx, no tokens, no capacities that it refuses, and everything is there, or gone, at once. What is added is
as the API descriptions of FSx (2018-03-01) and EFS (2015-02-01) in botocore have it: CreateFileSystem is idempotent by its token and is
CREATING for a while; a file system that is being made cannot be deleted; a mount target needs a file system that is available; a file
system of EFS with mount targets is in use; what is deleted is DELETING for a while, and uses its security group until it is gone.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from moto.backends import get_backend

ACCOUNT = "123456789012"
SYSTEM, TARGET = "/2015-02-01/file-systems", "/2015-02-01/mount-targets"
EFS_CALLS = {
    ("POST", SYSTEM): "CreateFileSystem",
    ("GET", SYSTEM): "DescribeFileSystems",
    ("DELETE", SYSTEM): "DeleteFileSystem",
    ("POST", TARGET): "CreateMountTarget",
    ("GET", TARGET): "DescribeMountTargets",
    ("DELETE", TARGET): "DeleteMountTarget",
}
Error = tuple[int, str, str]


def efs_call(method: str, path: str) -> str:
    """Name of a call of EFS."""
    return EFS_CALLS.get((method, "/".join(path.split("/")[:3])), "?")


class Served:
    """States of file systems and mount targets, by their id."""

    def __init__(self) -> None:
        self.slow = 1  # descriptions for which what is new is being made, and what is deleted is being deleted
        self.failure = ""  # why a file system of FSx cannot be made
        self.hide = 0  # descriptions that do not show a new file system
        self.states: dict[str, list[Any]] = {}  # state, descriptions that it lasts
        self.hidden: dict[str, int] = {}
        self.tokens: dict[str, tuple[str, bytes]] = {}
        self.since: dict[str, float] = {}
        self.stored: dict[str, int] = {}

    def left(self) -> list[str]:
        """What there is, in all regions."""
        found = []
        for region, fsx in get_backend("fsx")[ACCOUNT].items():
            found += [f"{region} fsx {each}" for each in fsx.file_systems]
        for region, efs in get_backend("efs")[ACCOUNT].items():
            found += [f"{region} efs {each}" for each in efs.file_systems_by_id]
            found += [f"{region} mount target {each}" for each in efs.mount_targets_by_id]
        return found

    def before(
        self, service: str, name: str, region: str, path: str, body: bytes
    ) -> Error | tuple[str, bytes] | None:
        """What is answered without moto; None where moto is to answer."""
        if service == "fsx":
            return self._fsx_before(name, region, json.loads(body or b"{}"), body)
        if service == "elasticfilesystem":
            return self._efs_before(name, unquote(path), json.loads(body or b"{}"))
        return None

    def _fsx_before(
        self, name: str, region: str, asked: dict[str, Any], body: bytes
    ) -> Error | tuple[str, bytes] | None:
        if name == "CreateFileSystem":
            token = asked.get("ClientRequestToken", "")
            if token in self.tokens:
                same, text = self.tokens[token]
                if same != json.dumps(asked, sort_keys=True):
                    return 400, "IncompatibleParameterError", "The token has other parameters"
                return "application/json", text
            return _fsx_refusal(asked, region)
        if name == "DeleteFileSystem":
            key = asked["FileSystemId"]
            state = self.states.get(key, [""])[0]
            if state == "CREATING":
                return 400, "BadRequest", f"{key} cannot be deleted while it is CREATING"
            if state and state != "DELETING":
                self.states[key] = ["DELETING", self.slow]
            if state:
                answer = {"FileSystemId": key, "Lifecycle": "DELETING"}
                return "application/json", json.dumps(answer).encode()
        return None

    def _efs_before(self, name: str, path: str, asked: dict[str, Any]) -> Error | tuple[str, bytes] | None:  # fmt: skip
        key = path.rsplit("/", maxsplit=1)[-1]
        if name == "CreateFileSystem":
            mode, rate = asked.get("ThroughputMode"), asked.get("ProvisionedThroughputInMibps")
            if (mode == "provisioned") != (rate is not None):
                return 400, "BadRequest", "provisioned throughput goes with its mode, and alone"
        if name == "CreateMountTarget":
            state = self.states.get(asked["FileSystemId"], ["available"])[0]
            if state != "available":
                return 409, "IncorrectFileSystemLifeCycleState", f"the file system is {state}"
        if name == "DeleteMountTarget" and key in self.states:
            if self.states[key][0] != "deleting":
                self.states[key] = ["deleting", self.slow]
            return "application/json", b"{}"
        if (
            name == "DeleteFileSystem" and key in self.states
        ):  # moto refuses one with mount targets by itself
            efs = next(each for each in get_backend("efs")[ACCOUNT].values() if key in each.file_systems_by_id)  # fmt: skip
            if not efs.file_systems_by_id[key].number_of_mount_targets:
                if self.states[key][0] != "deleting":
                    self.states[key] = ["deleting", self.slow]
                return "application/json", b"{}"
        return None

    def after(
        self, service: str, name: str, region: str, body: bytes, text: bytes, uses: dict[str, Any]
    ) -> bytes:
        """moto's answer with the states that there are; what is gone is gone."""
        if service not in ("fsx", "elasticfilesystem") or not text:
            return text
        said, is_fsx = json.loads(text), service == "fsx"
        if name in ("CreateFileSystem", "CreateMountTarget"):
            one = said["FileSystem"] if is_fsx else said
            key = one.get("MountTargetId") or one["FileSystemId"]
            self.states[key] = ["CREATING" if is_fsx else "creating", self.slow]
            self.since[key] = datetime.now(UTC).timestamp()
            self.hidden[key] = self.hide
            groups = json.loads(body).get("SecurityGroupIds" if is_fsx else "SecurityGroups", [])
            if groups:
                uses[key] = tuple(groups)
            self._restate(one)
            text = json.dumps(said).encode()
            if is_fsx:
                asked = json.loads(body)
                self.tokens[asked["ClientRequestToken"]] = (json.dumps(asked, sort_keys=True), text)
            return text
        listed = said.get("FileSystems", said.get("MountTargets"))
        if listed is None:
            return text
        shown = []
        for one in listed:
            key = one.get("MountTargetId") or one["FileSystemId"]
            if self.hidden.get(key, 0) > 0:
                self.hidden[key] -= 1
                continue
            if self._pass(key, is_fsx=is_fsx):
                self._forget(key, region, is_fsx=is_fsx)
                uses.pop(key, None)
                continue
            self._restate(one)
            shown.append(one)
        listed[:] = shown
        return json.dumps(said).encode()

    def _pass(self, key: str, *, is_fsx: bool) -> bool:
        """One more description; whether the thing is gone with it."""
        state = self.states.get(key)
        if state is None:
            return False
        if state[1] > 0:
            state[1] -= 1
            return False
        if state[0].lower() == "creating":
            state[0] = ("FAILED" if self.failure else "AVAILABLE") if is_fsx else "available"
        return bool(state[0].lower() == "deleting")

    def _forget(self, key: str, region: str, *, is_fsx: bool) -> None:
        del self.states[key]
        backend = get_backend("fsx" if is_fsx else "efs")[ACCOUNT][region]
        if is_fsx:
            backend.file_systems.pop(key)
        elif key.startswith("fsmt-"):
            backend.delete_mount_target(key)
        else:
            backend.delete_file_system(key)

    def _restate(self, one: dict[str, Any]) -> None:
        key = one.get("MountTargetId") or one["FileSystemId"]
        state = self.states.get(key, ["available"])[0]
        if "MountTargetId" not in one:
            one["CreationTime"] = self.since.get(key, datetime.now(UTC).timestamp())
        if "FileSystemType" not in one:
            one["LifeCycleState"] = state
            if key in self.stored:
                one["SizeInBytes"] = {"Value": self.stored[key]}
            return
        one["Lifecycle"] = state
        one.setdefault("LustreConfiguration", {})["MountName"] = "a1b2cbev"
        if state == "FAILED":
            one["FailureDetails"] = {"Message": self.failure}


def _fsx_refusal(asked: dict[str, Any], region: str) -> Error | None:
    lustre = asked.get("LustreConfiguration", {})
    size, kind = asked.get("StorageCapacity", 0), lustre.get("DeploymentType")
    per_tib = lustre.get("PerUnitStorageThroughput")
    groups = get_backend("ec2")[ACCOUNT][region].groups
    known = {each for of_vpc in groups.values() for each in of_vpc}
    if size not in (1200, 2400) and (size % 2400 or not size):
        return 400, "BadRequest", f"StorageCapacity {size} is not valid"
    if len(asked.get("SubnetIds", [])) != 1 or not set(asked.get("SecurityGroupIds", [])) <= known:
        return 400, "InvalidNetworkSettings", "one subnet, and security groups that exist"
    if kind == "PERSISTENT_2" and per_tib not in (125, 250, 500, 1000):
        return 400, "InvalidPerUnitStorageThroughput", f"{per_tib} is not valid"
    if kind == "SCRATCH_2" and (per_tib is not None or "AutomaticBackupRetentionDays" in lustre):
        return 400, "BadRequest", "SCRATCH_2 has no throughput to buy, and no backups"
    if not re.fullmatch(r"[\x21-\x7e]{1,63}", asked.get("ClientRequestToken", "")):
        return 400, "BadRequest", "ClientRequestToken: 1 to 63 ASCII characters"
    return None
