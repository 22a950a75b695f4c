"""Rights and quotas that a cluster needs are asked for, and each that is missing is named; those that it does not need are not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import LUSTRE, NFS_BY_AWS, REAPER, Emulator, body_of, served_of, spec_of
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.cluster.clouds.aws.cloud import AwsCloud
from wavetank.cluster.needs import Examined
from wavetank.cluster.spec import ClusterSpec

NO = "AccessDenied"
WITH_ROLE = {"cloud": {"reaper": REAPER}}


@pytest.fixture(scope="module")
def kept() -> dict[str, AwsCloud]:
    """The account's connections: the server is one for all tests."""
    return {}


@pytest.fixture
def cloud(aws: Emulator, kept: dict[str, AwsCloud]) -> AwsCloud:
    if aws.url not in kept:
        kept[aws.url] = AwsCloud("us-east-1")
    return kept[aws.url]


def with_service(service: str) -> ClusterSpec:
    """A cluster that needs the rights of a service."""
    if service == "elasticfilesystem":
        return served_of(NFS_BY_AWS)
    return served_of(LUSTRE) if service == "fsx" else spec_of(**WITH_ROLE)


def test_all_rights_that_are_missing_are_named_at_once(aws: Emulator, cloud: AwsCloud) -> None:
    # one of each way of asking: looking, dry runs, simulation; and of each form of an answer
    missing = (
        "ec2:DescribeVolumes", "elasticfilesystem:DescribeFileSystems", "scheduler:ListSchedules",
        "servicequotas:GetServiceQuota", "ssm:GetParameter", "ec2:ImportKeyPair", "ec2:CreateSecurityGroup", "ec2:TerminateInstances",
        "ec2:CreateTags", "ec2:AuthorizeSecurityGroupIngress", "ec2:DeleteSecurityGroup", "fsx:CreateFileSystem",
        "scheduler:CreateSchedule", "iam:PassRole",
    )  # fmt: skip
    aws.behave(refuse={action.partition(":")[2]: NO for action in missing})
    findings = "\n".join(cloud.check(served_of(LUSTRE)).findings)
    assert [action for action in missing if f"may not call {action} (" not in findings] == []
    assert "wavetank cluster policy aws" in findings


def test_rights_that_the_cluster_does_not_need_are_not_asked_for(
    aws: Emulator, cloud: AwsCloud
) -> None:
    calls = (
        "CreateFileSystem",
        "DeleteFileSystem",
        "CreateMountTarget",
        "CreateSchedule",
        "DeleteSchedule",
        "PassRole",
    )
    aws.behave(refuse=dict.fromkeys((*calls, "GetRole", "CreateNetworkInterface"), NO))
    assert cloud.check(spec_of()) == Examined([], [])


@pytest.mark.parametrize("spec", [spec_of(**WITH_ROLE), served_of(LUSTRE), served_of(NFS_BY_AWS)])
def test_the_shipped_policy_is_enough_as_iam_simulates_it(
    aws: Emulator, cloud: AwsCloud, spec: ClusterSpec
) -> None:
    assert cloud.check(spec) == Examined([], [])
    assert "iam:SimulatePrincipalPolicy" in aws.calls()
    assert aws.made() == []
    assert aws.left() == []


def test_what_may_not_be_simulated_is_said_not_to_be_known(aws: Emulator, cloud: AwsCloud) -> None:
    aws.behave(refuse={"SimulatePrincipalPolicy": NO})
    found = cloud.check(served_of(LUSTRE))
    assert found.findings == []
    mine, of_role = found.unknown
    for action in (
        "ec2:TerminateInstances",
        "ec2:CreateTags",
        "fsx:CreateFileSystem",
        "iam:PassRole",
    ):
        assert action in mine
    assert mine.endswith("is not known: iam:SimulatePrincipalPolicy is not allowed")
    assert "elasticfilesystem" not in mine
    assert f"may be called by cloud.reaper {REAPER} is not known" in of_role


def test_check_prints_what_is_not_known_as_notes(aws: Emulator, tmp_path: Path) -> None:
    aws.behave(refuse={"SimulatePrincipalPolicy": NO})
    path = tmp_path / "lab.yaml"
    path.write_text(json.dumps(body_of()))
    done = CliRunner().invoke(cli, ["cluster", "check", str(path)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "lab can come up here" in done.stdout
    assert "note: whether ec2:TerminateInstances" in done.stdout
    # findings and notes are of one look: quotas and policies are asked for once
    of_command = aws.calls()
    AwsCloud("us-east-1").check(spec_of())
    assert Counter(aws.calls()) - Counter(of_command) == Counter(of_command)


def test_a_refusal_that_depends_on_what_was_not_given_is_not_known(
    aws: Emulator, cloud: AwsCloud
) -> None:
    aws.behave(refuse={"DeleteVolume": NO}, missing=["aws:MultiFactorAuthPresent"])
    found = cloud.check(spec_of())
    assert found.findings == []
    (said,) = found.unknown
    assert "ec2:DeleteVolume may be called" in said
    assert "policies ask for aws:MultiFactorAuthPresent" in said


def test_a_session_has_the_policies_of_its_role(aws: Emulator, cloud: AwsCloud) -> None:
    session = "arn:aws:sts::123456789012:assumed-role/maker/ann"
    aws.behave(identity=session, refuse={"TerminateInstances": NO}, roles={"maker": "ec2.amazonaws.com"})  # fmt: skip
    (finding,) = cloud.check(spec_of()).findings
    assert "by the policies of arn:aws:iam::123456789012:role/maker" in finding
    aws.behave(refuse={"TerminateInstances": NO, "GetRole": NO})  # its path is not known then
    (finding,) = cloud.check(spec_of()).findings
    assert "by the policies of arn:aws:iam::123456789012:role/maker" in finding


def test_of_who_has_no_policies_of_iam_it_is_said(aws: Emulator, cloud: AwsCloud) -> None:
    aws.behave(identity="arn:aws:iam::123456789012:root")
    found = cloud.check(spec_of())
    assert found.findings == []
    (said,) = found.unknown
    assert "ec2:TerminateInstances" in said
    assert "these credentials are of no user or role of IAM" in said


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"roles": {}}, f"cloud.reaper {REAPER}: the account has no such role"),
        ({"roles": {"reaper": "ec2.amazonaws.com"}}, "does not trust scheduler.amazonaws.com"),
        ({"refuse": {"reaper:ec2:TerminateInstances": NO}}, f"cloud.reaper {REAPER} may not call ec2:TerminateInstances"),
        ({"identity": "arn:aws:iam::210987654321:user/ann"}, "is of account 123456789012, and the credentials are of 210987654321"),
    ],
)  # fmt: skip
def test_a_role_that_cannot_end_instances_is_named(
    aws: Emulator, cloud: AwsCloud, how: dict[str, object], said: str
) -> None:
    aws.behave(**how)
    (finding,) = cloud.check(spec_of(**WITH_ROLE)).findings
    assert said in finding


@pytest.mark.parametrize(
    "right", ["fsx:DeleteFileSystem", "elasticfilesystem:DeleteMountTarget", "ec2:DeleteNetworkInterface"]
)  # fmt: skip
def test_a_role_that_cannot_delete_file_systems_is_named(
    aws: Emulator, cloud: AwsCloud, right: str
) -> None:
    aws.behave(refuse={f"reaper:{right}": NO})
    service = "fsx" if right.startswith("fsx") else "elasticfilesystem"
    (finding,) = cloud.check(with_service(service)).findings
    assert f"cloud.reaper {REAPER} may not call {right}" in finding


def test_whether_a_role_is_there_is_said_not_to_be_known(aws: Emulator, cloud: AwsCloud) -> None:
    aws.behave(refuse={"GetRole": NO})
    found = cloud.check(spec_of(**WITH_ROLE))
    assert found.findings == []
    (said,) = found.unknown
    assert f"whether cloud.reaper {REAPER} is there" in said
    assert "iam:GetRole is not allowed" in said


@pytest.mark.parametrize(
    ("changes", "quotas", "said"),
    [
        # two nodes of 2 vCPUs and one of 4
        ({"io_instance": {"name": "g4dn.xlarge"}}, {"L-DB2E81BA": 0}, "4 vCPUs are needed and 0 are in use"),
        ({"io_instance": {"name": "g4dn.xlarge"}, "cloud": {"spot": True}}, {"L-3819A6DF": 3}, "quota in us-east-1 is 3 (spot, g4dn"),
        # three roots of 30 GiB, and a volume of 20
        ({}, {"L-7A658B76": 0.1}, "0.107422 TiB are needed and 0 are in use, but the account's quota in us-east-1 is 0.1 (volumes of gp3)"),
        ({"storage": {"on": "ebs", "size": "20 GiB", "volume_type": "io2", "iops": 1000}}, {"L-8D977E7E": 900}, "1000 IOPS are needed"),
        ({"storage": {"on": "ebs", "size": "200 GiB", "volume_type": "st1"}}, {"L-82ACEF56": 0.1}, "(volumes of st1)"),
    ],
)  # fmt: skip
def test_a_quota_that_is_too_small_is_named_with_its_code(
    aws: Emulator, cloud: AwsCloud, changes: dict[str, object], quotas: dict[str, float], said: str
) -> None:
    aws.behave(quotas=quotas)
    (finding,) = cloud.check(spec_of(**changes)).findings
    assert said in finding
    assert f"--quota-code {next(iter(quotas))} " in finding


@pytest.mark.parametrize(("deployment", "code"), [("SCRATCH_2", "L-AD2FC696"), ("PERSISTENT_2", "L-8F1B9C74")])  # fmt: skip
def test_a_quota_of_lustre_that_is_too_small_is_named(
    aws: Emulator, cloud: AwsCloud, deployment: str, code: str
) -> None:
    aws.behave(quotas={code: 1000})
    (finding,) = cloud.check(served_of({**LUSTRE, "deployment": deployment})).findings
    assert "1200 GiB are needed and 0 are in use" in finding
    assert f"--service-code fsx --quota-code {code} --desired-value 1200" in finding


def test_a_quota_that_the_account_does_not_know_is_said_not_to_be_known(
    aws: Emulator, cloud: AwsCloud
) -> None:
    aws.behave(no_quotas=["L-7A658B76"])
    found = cloud.check(spec_of())
    assert found.findings == []
    (said,) = found.unknown
    assert "the quota of TiB (volumes of gp3) is not known" in said
