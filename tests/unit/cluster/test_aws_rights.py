"""Each right that a cluster needs is named where it alone is missing, and no other is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed: make setup-test")

from aws_account import LUSTRE, NFS_BY_AWS, REAPER, served_of, spec_of
from aws_policies import actions_of, allows, shipped_policy

from wavetank.cluster.clouds.aws.account import IAM_NAMES, AnswerError
from wavetank.cluster.clouds.aws.check import check
from wavetank.cluster.clouds.cloud import RefusedError
from wavetank.cluster.needs import Examined
from wavetank.cluster.spec import ClusterSpec

# What all regions are asked for, and what rights are asked by: without the latter they are not known.
NOT_NEEDED = {"ec2:DescribeRegions", "iam:GetRole", "iam:SimulatePrincipalPolicy"}
NEEDED = sorted(actions_of(shipped_policy()) - NOT_NEEDED)
C5_LARGE = {
    "InstanceType": "c5.large",
    "VCpuInfo": {"DefaultVCpus": 2, "DefaultCores": 1},
    "MemoryInfo": {"SizeInMiB": 4096},
    "NetworkInfo": {"NetworkPerformance": "Up to 10 Gigabit"},
    "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
    "PlacementGroupInfo": {"SupportedStrategies": ["cluster"]},
    "CurrentGeneration": True,
    "BurstablePerformanceSupported": False,
}
TRUST = {"Effect": "Allow", "Principal": {"Service": ["scheduler.amazonaws.com"]}}


class Allowing:
    """An account that is empty, and whose caller has the shipped policy but for one right."""

    region = "us-east-1"

    def __init__(self, refused: str = "") -> None:
        self.refused = refused

    def has(self, service: str) -> bool:
        return bool(service)

    def call(self, service: str, operation: str, **asked: Any) -> dict[str, Any]:
        action = f"{IAM_NAMES.get(service, service)}:{operation}"
        if action == self.refused:
            raise RefusedError(f"AWS: these credentials may not call {action} (no)")
        if asked.get("DryRun"):
            raise AnswerError("DryRunOperation", action, "it would have been done")
        if operation == "SimulatePrincipalPolicy":
            return {"EvaluationResults": [self._simulated(each, asked) for each in asked["ActionNames"]]}  # fmt: skip
        zone = {"AvailabilityZone": "us-east-1a", "SubnetId": "subnet-1", "VpcId": "vpc-1"}
        answers: dict[str, dict[str, Any]] = {
            "GetCallerIdentity": {"Arn": "arn:aws:iam::123456789012:user/ann"},
            "DescribeInstanceTypes": {"InstanceTypes": [C5_LARGE]},
            "DescribeInstanceTypeOfferings": {
                "InstanceTypeOfferings": [{"InstanceType": "c5.large", "Location": "us-east-1a"}]
            },
            "DescribeSubnets": {"Subnets": [zone]},
            "GetParameter": {"Parameter": {"Value": "ami-1"}},
            "DescribeImages": {"Images": [{"RootDeviceName": "/dev/xvda"}]},
            "GetServiceQuota": {"Quota": {"Value": 1e6}},
            "GetRole": {"Role": {"Arn": REAPER, "AssumeRolePolicyDocument": {"Statement": [TRUST]}}},
        }  # fmt: skip
        return answers.get(operation, {})

    def pages(self, service: str, operation: str, items: str, **asked: Any) -> Iterator[dict[str, Any]]:  # fmt: skip
        yield from self.call(service, operation, **asked).get(items, [])

    def _simulated(self, action: str, asked: dict[str, Any]) -> dict[str, Any]:
        context = {each["ContextKeyName"]: each["ContextKeyValues"][0] for each in asked["ContextEntries"]}  # fmt: skip
        (resource,) = asked["ResourceArns"]
        mine = asked["PolicySourceArn"] != REAPER
        good = not (mine and action == self.refused) and allows(shipped_policy(), action, resource, context)  # fmt: skip
        return {"EvalActionName": action, "EvalDecision": "allowed" if good else "implicitDeny"}


def that_needs(action: str) -> ClusterSpec:
    if action.startswith("elasticfilesystem:") or action == "ec2:CreateNetworkInterface":
        return served_of(NFS_BY_AWS)
    return served_of(LUSTRE) if action.startswith("fsx:") else spec_of(cloud={"reaper": REAPER})


@pytest.mark.parametrize("action", NEEDED)
def test_a_right_that_is_missing_is_named(action: str) -> None:
    (finding,) = check(Allowing(action), that_needs(action)).findings  # type: ignore[arg-type]
    assert f"these credentials may not call {action} (" in finding


@pytest.mark.parametrize("action", ["fsx:DescribeFileSystems", "ec2:DescribeVolumes"])
def test_what_could_be_looked_at_and_is_not_allowed_is_no_note(action: str) -> None:
    assert check(Allowing(action), that_needs(action)).unknown == []  # type: ignore[arg-type]


@pytest.mark.parametrize("spec", [spec_of(), served_of(LUSTRE), served_of(NFS_BY_AWS)])
def test_with_the_shipped_policy_no_right_is_missing(spec: ClusterSpec) -> None:
    assert check(Allowing(), spec) == Examined([], [])  # type: ignore[arg-type]
