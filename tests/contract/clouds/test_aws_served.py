"""File systems that AWS runs: made with the cluster, waited for, mounted by its nodes, deleted with it, and by a schedule at the ttl."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import LUSTRE, NFS_BY_AWS, REAPER, Emulator, create, served_of, spec_of
from recorded_hosts import Recorder

from wavetank.cluster import deploy, registry
from wavetank.cluster.clouds import bill
from wavetank.cluster.clouds.aws.cloud import AwsCloud
from wavetank.cluster.clouds.bill import holdings
from wavetank.cluster.clouds.engine import noted_end, remove_all
from wavetank.cluster.clouds.packages import package_problems
from wavetank.cluster.clouds.price import over_budget
from wavetank.cluster.clouds.provider import CloudProvider, managed_problems, noted_service
from wavetank.cluster.managed import Service
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of
from wavetank.errors import ProviderError, SpecError
from wavetank.units import GIB

PERSISTENT = {"kind": "fsx-lustre", "deployment": "PERSISTENT_2", "throughput_per_tib": 125}


def bodies(aws: Emulator, action: str) -> list[dict[str, Any]]:
    return [json.loads(each["Body"][0]) for each in aws.made() if each["Action"] == [action]]


def test_a_lustre_is_made_beside_its_clients_and_mounted_with_its_stripes(
    aws: Emulator, recorders: dict[str, Recorder]
) -> None:
    stripe = {"kind": "sharded", "count": 2, "size": "1 MiB"}
    cluster = deploy.bring_up(served_of({**LUSTRE, "stripe": stripe, "capacity": "2400 GiB"}))
    (asked,) = bodies(aws, "CreateFileSystem")
    assert (asked["FileSystemType"], asked["StorageCapacity"]) == ("LUSTRE", 2400)
    assert asked["LustreConfiguration"] == {"DeploymentType": "SCRATCH_2"}
    assert asked["FileSystemTypeVersion"] == "2.15"  # not AWS's 2.10
    tags = {each["Key"]: each["Value"] for each in asked["Tags"]}
    assert tags["wavetank:cluster"] == "lab" and tags["wavetank:node"] == "all"
    subnet = next(each["SubnetId"] for each in aws.made() if each["Action"] == ["RunInstances"])
    assert asked["SubnetIds"] == subnet
    for node in ("c1", "c2"):
        (mount,) = recorders[node].ran("mount")
        assert mount[:5] == ["mount", "-t", "lustre", "-o", "relatime,flock"]
        source, at = mount[5:]
        assert source.endswith(".fsx.us-east-1.amazonaws.com@tcp:/a1b2cbev")
        assert at == cluster.mount_path == "/wavetank"
    assert ["lfs", "setstripe", "-c", "2", "-S", "1048576", "/wavetank"] in recorders["c1"].commands
    assert not recorders["c2"].ran("lfs")  # once is enough
    service = noted_service(directory_of("lab"))  # also for another process
    assert service is not None and service.address == recorders["c1"].ran("mount")[0][5]
    deploy.take_down("lab")
    assert aws.left() == []


def test_throughput_of_a_persistent_one_is_bought_and_it_has_no_backups(
    aws: Emulator, recorders: dict[str, Recorder]
) -> None:
    assert recorders == {}
    deploy.bring_up(served_of(PERSISTENT, cloud={"budget": "20 USD"}))
    (asked,) = bodies(aws, "CreateFileSystem")
    assert asked["FileSystemTypeVersion"] == "2.15"
    assert asked["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 125, "AutomaticBackupRetentionDays": 0,
    }  # fmt: skip
    deploy.take_down("lab")
    assert aws.left() == []


@pytest.mark.parametrize("tls", [False, True])
def test_efs_is_mounted_by_its_mount_target_as_it_is_or_through_tls(
    aws: Emulator, recorders: dict[str, Recorder], monkeypatch: pytest.MonkeyPatch, tls: bool
) -> None:
    started: list[list[str]] = []

    def start_tls(host: Recorder, service: Service) -> None:
        started.append([host.name, service.address, service.name])

    monkeypatch.setattr("wavetank.cluster.filesystems.efs.driver._start_tls", start_tls)
    deploy.bring_up(served_of({**NFS_BY_AWS, "throughput": "10 MiB/s", "tls": tls}))
    system, target = bodies(aws, "CreateFileSystem")[0], bodies(aws, "CreateMountTarget")[0]
    assert (system["ThroughputMode"], system["ProvisionedThroughputInMibps"]) == ("provisioned", 10)
    assert system["Encrypted"] and not system["Backup"]
    assert target["FileSystemId"].startswith("fs-") and len(target["SecurityGroups"]) == 1
    words = "nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport"
    for node in ("c1", "c2"):
        (mount,) = recorders[node].ran("mount")
        assert mount[:5] == ["mount", "-t", "nfs4", "-o", f"{words},port=20049" if tls else words]
        assert (mount[5] == "127.0.0.1:/") is tls
    assert sorted(node for node, _, _ in started) == (["c1", "c2"] if tls else [])
    for _, address, name in started:
        assert address.startswith("172.31.") and name.startswith(f"{target['FileSystemId']}.efs.")
    deploy.take_down("lab")
    assert aws.left() == []


@pytest.mark.usefixtures("unreached")
@pytest.mark.parametrize(
    ("file_system", "deleted"),
    [(LUSTRE, ["fsx:deleteFileSystem"]), (NFS_BY_AWS, ["efs:deleteFileSystem", "efs:deleteMountTarget"])],
)  # fmt: skip
def test_a_schedule_of_the_cloud_deletes_what_does_not_end_itself(
    aws: Emulator, file_system: dict[str, str], deleted: list[str]
) -> None:
    create(served_of(file_system))
    at: dict[str, datetime] = {}
    given: dict[str, dict[str, Any]] = {}
    for each in bodies(aws, "CreateSchedule"):
        call = each["Target"]["Arn"].rpartition("aws-sdk:")[2]
        assert each["Target"]["RoleArn"] == REAPER and each["ActionAfterCompletion"] == "DELETE"
        at[call] = datetime.fromisoformat(each["ScheduleExpression"][3:-1] + "+00:00")
        given[call] = json.loads(each["Target"]["Input"])
    assert sorted(at) == sorted(["ec2:terminateInstances", *deleted])
    end = noted_end(directory_of("lab"))
    assert end is not None and all(each > end for each in at.values())
    if "efs:deleteMountTarget" in at:  # a file system with mount targets cannot be deleted
        assert at["efs:deleteMountTarget"] < at["efs:deleteFileSystem"]
        assert given["efs:deleteMountTarget"]["MountTargetId"].startswith("fsmt-")
    left = " ".join(aws.left())
    assert all(given[call]["FileSystemId"] in left for call in deleted if call.endswith("System"))
    # the schedule follows at once: between the two calls a kill leaves what 'prune' finds and nothing ends
    calls = [each for each in aws.calls() if "Create" in each]
    made = next(i for i, each in enumerate(calls) if each.endswith("CreateFileSystem"))
    assert calls[made + 1] == "scheduler:CreateSchedule"
    deploy.take_down("lab")
    assert aws.left() == []


@pytest.mark.usefixtures("unreached")
def test_a_file_system_that_cannot_be_made_is_said_and_everything_is_removed(aws: Emulator) -> None:
    aws.behave(served_failure="Insufficient capacity in the Availability Zone.")
    with pytest.raises(ProviderError, match=r"fsx-lustre fs-\w+ is failed: Insufficient capacity"):
        create(served_of(LUSTRE))
    assert aws.left() == []


@pytest.mark.usefixtures("unreached")
@pytest.mark.parametrize("file_system", [LUSTRE, NFS_BY_AWS])
def test_what_is_shown_late_is_neither_made_twice_nor_left(
    aws: Emulator, file_system: dict[str, str]
) -> None:
    aws.behave(served_hide=3, served_slow=3)
    create(served_of(file_system))
    assert len(bodies(aws, "CreateFileSystem")) == 1
    deploy.take_down("lab")
    assert aws.left() == []
    calls = [each.partition(":")[2] for each in aws.calls()]
    # instances first: their mounts would wait for servers that are gone
    assert calls.index("TerminateInstances") < calls.index("DeleteFileSystem")


@pytest.mark.usefixtures("unreached")
def test_it_is_found_and_removed_where_nothing_is_known_of_it(aws: Emulator) -> None:
    create(served_of(NFS_BY_AWS))
    directory_of("lab").erase()
    (held,) = holdings(AwsCloud("us-east-1"))
    assert held.key.cluster == "lab" and held.owner and held.expires is not None
    remove_all(AwsCloud("us-east-1"), held.key, CloudProvider.clock)
    assert aws.left() == []


@pytest.mark.usefixtures("unreached")
def test_file_systems_of_others_are_neither_listed_nor_touched(aws: Emulator) -> None:
    import boto3

    boto3.client("efs").create_file_system(CreationToken="theirs")
    boto3.client("fsx").create_file_system(
        FileSystemType="LUSTRE", StorageCapacity=1200, ClientRequestToken="theirs",
        SubnetIds=[boto3.client("ec2").describe_subnets()["Subnets"][0]["SubnetId"]],
        LustreConfiguration={"DeploymentType": "SCRATCH_2"},
    )  # fmt: skip
    theirs = aws.left()
    assert holdings(AwsCloud("us-east-1")) == []
    create(served_of(LUSTRE))
    deploy.take_down("lab")
    assert aws.left() == theirs


@pytest.mark.usefixtures("unreached")
def test_the_bill_has_the_file_system_for_the_time_that_it_was_there(aws: Emulator) -> None:
    create(served_of(NFS_BY_AWS))
    (system,) = [each.split()[-1] for each in aws.left() if " efs " in each]
    aws.behave(served_stored={system: 3 * GIB})
    deploy.take_down("lab")
    (kept,) = bill.kept_bills("lab")
    (line,) = [each for each in kept.computed.lines if each.resource.startswith("efs")]
    assert line.resource == "efs of 3 GiB" and line.amount is not None and line.amount > 0
    assert any(f"written to {system} is not known" in said for said in kept.assumed)
    (before,) = [each for each in kept.estimate.lines if each.resource.startswith("efs")]
    # 10 GiB are 10.74 GB: stored for 3 h of 730 at 0.30 USD a GiB-month, written (0.06) and read (0.03) once
    assert before.resource == "efs of 10 GiB" and before.amount is not None
    assert float(before.amount) == pytest.approx(3 / 730 * 10 * 0.30 + 10.737 * 0.09, rel=0.01)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (served_of(LUSTRE, cloud={"reaper": "none"}), "name a role by cloud.reaper"),
        (served_of({"kind": "efs"}), "say what is stored at most"),
        (served_of(LUSTRE, cloud={"image": "debian-12"}), "take ubuntu-24.04 or amazon-linux-2023"),
        (served_of({**LUSTRE, "options": {"x": 1}}), "options.x: fsx-lustre has no such options"),
        (served_of(NFS_BY_AWS, layout="one-server-per-file"), "EFS does not tell, or choose"),
        (served_of({**LUSTRE, "capacity": "48000 GiB"}), "2 instances and fsx-lustre may cost"),
        # 2400 GiB for 3 h of 730 at 0.60 USD a GiB-month alone are 5.92 USD
        (spec_of(file_system={**PERSISTENT, "throughput_per_tib": 1000, "capacity": "2400 GiB"}), "cloud.budget 5 USD"),
    ],
)  # fmt: skip
def test_what_cannot_be_or_is_too_dear_is_refused_without_asking_the_account(
    spec: ClusterSpec, said: str
) -> None:
    driver = registry.file_system(spec.file_system.kind)
    findings = [
        *over_budget(spec), *package_problems(spec), *managed_problems(spec), *driver.check(spec)
    ]  # fmt: skip
    assert any(said in each for each in findings), findings


def test_nothing_is_made_of_what_is_refused(aws: Emulator) -> None:
    with pytest.raises(SpecError, match=r"cloud\.reaper"):
        deploy.bring_up(served_of(LUSTRE, cloud={"reaper": "none"}))
    assert aws.made() == [] and aws.left() == []


def test_what_can_be_is_not_refused(aws: Emulator) -> None:
    assert deploy.check(served_of(LUSTRE, cloud={"image": "amazon-linux-2023"})) == []
    assert deploy.check(served_of({**NFS_BY_AWS, "tls": True}, cloud={"image": "debian-12"})) == []
    assert aws.left() == []
