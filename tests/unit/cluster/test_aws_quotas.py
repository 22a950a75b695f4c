"""Which quota instances count for, and that what is in use is counted by quota."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed: make setup-test")

from aws_account import spec_of

from wavetank.cluster.clouds.aws.account import Unknown
from wavetank.cluster.clouds.aws.check import instance_code, quotas
from wavetank.cluster.instance_types import aws_instances


@pytest.mark.parametrize(
    ("kind", "on_demand", "spot"),
    [
        # AWS general reference, "Amazon EC2 instance type quotas": the codes in the links of its two tables
        ("c5.large", "L-1216C47A", "L-34B43A08"),
        ("im4gn.large", "L-1216C47A", "L-34B43A08"),
        ("f2.6xlarge", "L-74FC7D96", "L-88CF9481"),
        ("g4dn.xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("vt1.3xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("p4d.24xlarge", "L-417A185B", "L-7212CCBC"),
        ("p5.48xlarge", "L-417A185B", "L-C4BD4855"),
        ("p6-b200.48xlarge", "L-417A185B", None),  # it names spot quotas of P2 to P5 only
        ("inf2.xlarge", "L-1945791B", "L-B5D1601B"),
        ("x2gd.large", "L-7295265B", "L-E3A00192"),
        ("trn1.2xlarge", "L-2C3B7624", "L-6B0D517C"),
        ("dl2q.24xlarge", "L-6E869C2A", "L-85EED4F7"),
        ("hpc7a.12xlarge", "L-F7808C92", None),
        ("u7i-6tb.112xlarge", "L-43DA4232", None),
        ("u-3tb1.56xlarge", "L-43DA4232", None),
        ("mac2.metal", None, None),
    ],
)
def test_each_family_has_its_quota(kind: str, on_demand: str | None, spot: str | None) -> None:
    assert (instance_code(kind, spot=False), instance_code(kind, spot=True)) == (on_demand, spot)


def test_all_types_of_the_catalogue_but_those_of_hosts_of_their_own_have_a_quota() -> None:
    without = {kind for kind in aws_instances() if instance_code(kind, spot=False) is None}
    assert {kind.split(".")[0].split("-")[0].rstrip("12") for kind in without} == {"mac"}


class There:
    """An account with things in use."""

    region = "us-east-1"

    def __init__(self, most: float, *running: str, **others: str) -> None:
        self.most = most
        states = [*((kind, "running") for kind in running), *((kind, state) for state, kind in others.items())]  # fmt: skip
        self.instances = [
            {"InstanceId": "i-1", "InstanceType": kind, "State": {"Name": state}}
            for kind, state in states
        ]
        self.asked: list[str] = []

    def call(self, service: str, operation: str, **asked: Any) -> dict[str, Any]:
        if operation == "DescribeInstanceTypes":
            kinds = asked["InstanceTypes"]
            return {"InstanceTypes": [{"InstanceType": kind, "VCpuInfo": {"DefaultVCpus": 8}} for kind in kinds]}  # fmt: skip
        assert operation == "GetServiceQuota"
        self.asked.append(asked["QuotaCode"])
        return {"Quota": {"Value": self.most}}

    def pages(self, service: str, operation: str, items: str, **_: Any) -> Iterator[dict[str, Any]]:
        if operation == "DescribeInstances":
            yield {"Instances": self.instances}


def said(account: There, **changes: Any) -> list[str | Unknown]:
    return list(quotas(account, spec_of(**changes)))  # type: ignore[arg-type]


def test_instances_in_use_count_for_the_quota_of_their_family() -> None:
    # three nodes of g4dn.xlarge (4 vCPUs each); g5.xlarge has 4 and counts for the same, c5.large for another
    (finding,) = said(There(15, "g5.xlarge", "c5.large"), instance={"name": "g4dn.xlarge"})
    assert isinstance(finding, str)
    assert "12 vCPUs are needed and 4 are in use" in finding
    assert said(There(16, "g5.xlarge", "c5.large"), instance={"name": "g4dn.xlarge"}) == []


def test_instances_that_are_stopped_do_not_count() -> None:
    assert said(There(6, stopped="c5.large", stopping="m5.large")) == []


def test_vcpus_of_types_that_the_catalogue_lacks_are_asked_for() -> None:
    assert "c99.large" not in aws_instances()
    (finding,) = said(There(13, "c99.large"))
    assert isinstance(finding, str)
    assert "6 vCPUs are needed and 8 are in use" in finding


def test_each_quota_is_asked_for_once() -> None:
    account = There(1000)
    assert said(account, instance={"name": "m5.large"}, io_instance={"name": "c5.large"}) == []
    assert account.asked == ["L-1216C47A", "L-7A658B76"]


def test_a_family_whose_quota_is_not_known_is_said_to_be() -> None:
    (found,) = said(There(1000), instance={"name": "hpc7a.12xlarge"}, cloud={"spot": True})
    assert found == Unknown("the quota of this family is not known: hpc7a (spot)")
