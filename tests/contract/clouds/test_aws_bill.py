"""The computed bill of a cluster in a cloud: each amount worked out by hand, kept when the cluster is gone."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import Emulator, QuickClock, create, spec_of
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.cluster import deploy
from wavetank.cluster.clouds import engine
from wavetank.cluster.clouds.aws.cloud import AwsCloud
from wavetank.cluster.clouds.bill import ClusterBill, bill_so_far, holdings, kept_bills
from wavetank.cluster.clouds.engine import noted_lease
from wavetank.cluster.clouds.provider import CloudProvider
from wavetank.cluster.state import directory_of
from wavetank.errors import CostError, ProviderError

pytestmark = pytest.mark.usefixtures("unreached")

HOUR = 3600
# us-east-1, 2026-07: c5.large 0.085 USD an hour, gp3 0.08 USD a month of 730 hours, a public address 0.005 USD an hour
AN_HOUR = 3 * Decimal("0.085") + 110 * Decimal("0.08") / 730 + 3 * Decimal("0.005")
A_SECOND = AN_HOUR / HOUR


def told(*arguments: str) -> dict[str, list[dict[str, Any]]]:
    result = CliRunner().invoke(cli, ["cluster", *arguments, "--format", "json"])
    assert result.exit_code == 0, (result.output, result.exception)
    return dict(json.loads(result.stdout))


def only_bill() -> ClusterBill:
    (found,) = kept_bills("lab")
    return found


def about(amount: Decimal, hours: Decimal | int, late_s: int = 600) -> bool:
    """Whether it is that of so many hours, and of what passed meanwhile at most."""
    return hours * AN_HOUR <= amount <= hours * AN_HOUR + late_s * A_SECOND


def test_the_bill_is_of_the_time_from_the_accounts_start_to_the_accounts_end(aws: Emulator) -> None:
    create(spec_of())
    aws.behave(older_s=HOUR)
    deploy.take_down("lab")
    found = only_bill()
    by_what = {line.resource: line for line in found.computed.lines}
    assert {what: line.number for what, line in by_what.items()} == {
        "c5.large": 3, "ebs-gp3 of 20 GiB, 3000 IOPS, 125 MiB/s": 1, "ebs-gp3 of 30 GiB": 3, "public IPv4 address": 3,
    }  # fmt: skip
    assert about(found.computed.total, 1)
    seconds = by_what["c5.large"].seconds
    assert seconds is not None and 3 * HOUR <= seconds < 3 * HOUR + 1800
    assert found.end_utc is not None and found.begin_utc < found.end_utc
    assert found.assumed == ()
    # the estimate is of two hours and ten minutes of the same
    assert found.estimate.total == pytest.approx(AN_HOUR * 7800 / HOUR)
    assert [line.resource for line in found.estimate.lines] == list(by_what)


def test_a_cluster_that_is_up_has_a_bill_until_now_and_list_shows_it(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(spec_of())
    clock = QuickClock()
    clock.sleep(HOUR)
    now = bill_so_far(directory_of("lab"), clock.now())
    assert now is not None and now.end_utc is None
    assert about(now.computed.total, 1)
    clock.sleep(10 * HOUR)  # nobody took it down: instances ended themselves at the ttl
    late = bill_so_far(directory_of("lab"), clock.now())
    assert late is not None and late.computed.total <= late.estimate.total + AN_HOUR
    (row,) = told("list")["clusters"]
    assert row["usd_so_far"] is not None and Decimal(row["usd_so_far"]) < 1
    assert told("bill", "lab")["computed_bill"][-1]["what"] == "all"
    deploy.take_down("lab")
    assert told("list")["clusters"] == []


def test_down_prints_the_bill_beside_the_estimate_and_it_can_be_had_again(aws: Emulator) -> None:
    create(spec_of())
    aws.behave(older_s=HOUR)
    result = CliRunner().invoke(cli, ["cluster", "down", "lab"])
    assert result.exit_code == 0, (result.output, result.exception)
    assert "Computed bill of lab" in result.stdout
    assert "without data that leaves the zone" in result.stdout
    assert not directory_of("lab").path.exists()
    rows = told("bill", "lab")["computed_bill"]
    assert [row["what"] for row in rows][-1] == "all"
    whole = rows[-1]
    assert about(Decimal(whole["usd"]) + Decimal("0.0001"), 1)
    difference = Decimal(whole["usd"]) - Decimal(whole["estimated_usd"])
    assert abs(Decimal(whole["difference_usd"]) - difference) <= Decimal("0.0001")
    (kept,) = told("bill")["bills_of_clusters_that_are_down"]
    assert (kept["cluster"], kept["usd"]) == ("lab", whole["usd"])


def test_what_it_cost_so_far_is_the_same_by_the_journal_and_by_the_account_alone(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "WallClock", QuickClock)
    create(spec_of())
    later = datetime.now(UTC) + timedelta(hours=1)
    (here,) = holdings(AwsCloud("us-east-1"), later)
    assert here.is_here and here.spent_usd is not None and about(here.spent_usd, 1)
    directory_of("lab").erase()
    (elsewhere,) = holdings(AwsCloud("us-east-1"), later)
    # volumes and addresses too; times of instances and volumes are the account's
    assert not elsewhere.is_here and elsewhere.spent_usd is not None
    assert about(elsewhere.spent_usd, 1)
    assert abs(elsewhere.spent_usd - here.spent_usd) <= 600 * A_SECOND
    (row,) = told("prune", "--provider", "aws", "--token", elsewhere.key.token)["in_the_account"]
    assert row["state"] == "removed" and row["usd_so_far"] is not None
    assert aws.left() == []


def test_instances_that_a_full_zone_gave_back_are_on_the_bill(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = AwsCloud._make_instances

    def full(self: AwsCloud, wanted: Any, lease: Any) -> tuple[str, ...]:
        if wanted.nodes == ("io1",) and wanted.zone == "us-east-1a":
            aws.behave(no_room=["us-east-1a"])
        return make(self, wanted, lease)

    monkeypatch.setattr(AwsCloud, "_make_instances", full)
    create(spec_of())
    aws.behave(no_room=[])
    deploy.take_down("lab")
    by_what = {line.resource: line for line in only_bill().computed.lines}
    assert by_what["c5.large"].number == 5  # two that were given back, and three


def test_an_instance_that_was_taken_back_earlier_is_paid_until_then(aws: Emulator) -> None:
    create(spec_of(cloud={"spot": True}))
    found = noted_lease(directory_of("lab"))
    assert found is not None
    taken = next(each for each in AwsCloud("us-east-1").instances(found[1]) if each.node == "c2")
    aws.behave(ended={taken.key: ["Server.SpotInstanceTermination", "taken"]})
    deploy.take_down("lab")
    assert only_bill().assumed == ()
    assert only_bill().end_utc is not None


def test_ends_that_the_account_forgot_are_taken_from_the_ttl_and_said(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(spec_of())
    aws.behave(forgets=True)
    late = QuickClock()
    late.sleep(50 * HOUR)
    monkeypatch.setattr(CloudProvider, "clock", late)
    deploy.take_down("lab")
    found = only_bill()
    assert len(found.assumed) == 3
    assert "does not say when c1" in found.assumed[0]
    # 2 h and 10 min, and not the 50 h until somebody looked
    assert found.computed.total == pytest.approx(found.estimate.total, rel=Decimal("0.05"))


def test_a_damaged_state_leaves_volumes_out_and_the_bill_says_so(aws: Emulator) -> None:
    create(spec_of())
    directory_of("lab").state_file.write_text("{")
    deploy.take_down("lab")
    assert "volumes are not in this bill" in only_bill().assumed[0]
    assert {line.resource for line in only_bill().computed.lines} == {
        "c5.large",
        "public IPv4 address",
    }


def test_a_cluster_that_failed_has_a_bill_of_what_ran(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(self: CloudProvider, spec: object) -> None:
        raise ProviderError("c1 does not answer ssh")

    monkeypatch.setattr(CloudProvider, "wait_ready", never)
    with pytest.raises(ProviderError, match="c1 does not answer ssh"):
        create(spec_of())
    assert aws.left() == []
    assert only_bill().computed.total > 0


def test_an_account_that_refuses_keeps_no_bill_from_the_next_down(aws: Emulator) -> None:
    create(spec_of())
    aws.behave(refuse={"DescribeInstances": "ExpiredToken"})
    with pytest.raises(ProviderError, match="does not accept the credentials"):
        deploy.take_down("lab")
    assert kept_bills() == []
    aws.behave(refuse={})
    deploy.take_down("lab")
    assert only_bill().computed.missing == ()


def test_a_cluster_that_has_no_bill_says_which_do(aws: Emulator) -> None:
    assert told("bill")["bills_of_clusters_that_are_down"] == []
    result = CliRunner().invoke(cli, ["cluster", "bill", "nosuch"])
    assert isinstance(result.exception, CostError)
    assert "no bill of 'nosuch'" in str(result.exception)
