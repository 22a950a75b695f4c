"""Trying a cloud with a person's account: the price first, a typed yes, and afterwards nothing is left, whatever happened."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import Emulator
from click.testing import CliRunner, Result
from recorded_hosts import Recorder

from wavetank import smoke
from wavetank.cli.main import cli
from wavetank.cluster.clouds.aws.cloud import AwsCloud
from wavetank.cluster.clouds.bill import kept_bills
from wavetank.cluster.clouds.provider import CloudProvider
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.state import directories
from wavetank.errors import ClusterError, RemoteCommandError


@pytest.fixture(autouse=True)
def address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this machine, which the emulator does not see."""
    monkeypatch.setattr(AwsCloud, "public_address", lambda self: "192.0.2.7")


def smoke_aws(answer: str, *options: str) -> Result:
    """As ``make smoke-aws`` calls it."""
    return CliRunner().invoke(cli, ["cluster", "smoke", "aws", *options], input=answer)


@pytest.fixture
def health(recorders: dict[str, Recorder], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the cluster says of itself; recorded hosts have no mounts to be looked at."""
    found: list[str] = []
    monkeypatch.setattr(DeployedCluster, "health", lambda self: found)
    return found


@pytest.mark.usefixtures("health")
def test_it_prints_the_price_makes_measures_removes_and_shows_that_nothing_is_left(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def measured(cluster: DeployedCluster) -> str:
        seen.append(aws.left())
        return "2 ranks wrote 32 MiB"

    monkeypatch.setattr(smoke, "measure_something", measured)
    done = smoke_aws("yes\n")
    assert done.exit_code == 0, (done.output, done.exception)
    price, _, rest = done.output.partition("Type 'yes'")
    # 3 c5.large for 20 min and 10 min, with their volumes and addresses
    most = (3 * Decimal("0.085") + 98 * Decimal("0.08") / 730 + 3 * Decimal("0.005")) / 2
    assert f"at most {most.quantize(Decimal('0.01'), ROUND_CEILING)} USD" in price.replace(
        "\n", " "
    )
    assert len([each for each in seen[0] if " i-" in each]) == 3  # while it measured
    assert "passed: 2 ranks wrote 32 MiB" in rest
    assert "Nothing of wavetank's is in us-east-1" in rest  # as prune says
    assert aws.left() == [] and directories() == []
    (bill,) = kept_bills()
    assert bill.computed.at_most <= smoke.BUDGET
    assert "Computed bill" in rest


@pytest.mark.usefixtures("recorders")
@pytest.mark.parametrize("answer", ["", "y\n", "no\n", "YES\n"])
def test_nothing_is_made_without_a_typed_yes(aws: Emulator, answer: str) -> None:
    done = smoke_aws(answer)
    assert done.exit_code == 1
    assert "nothing was made" in done.output + str(done.exception)
    assert "USD" in done.output
    assert aws.made() == []


def test_a_measurement_that_fails_leaves_nothing_and_says_what_it_cost(
    aws: Emulator, health: list[str]
) -> None:
    spec = smoke.smoke_spec("aws", "us-east-1")

    def fails(cluster: DeployedCluster) -> str:
        raise RemoteCommandError("c1", ["mpirun"], 1, "no route to host")

    with pytest.raises(ClusterError, match=r"nothing of smoke-.* left \(computed cost.*no route"):
        smoke.run(spec, lambda said: None, fails)
    assert aws.left() == []
    health.append("c2: its instance is gone")
    with pytest.raises(ClusterError, match="not well: c2"):
        smoke.run(spec, lambda said: None, fails)
    assert aws.left() == []


@pytest.mark.usefixtures("health")
def test_what_cannot_be_removed_is_named_with_the_command_that_removes_it(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stays(self: CloudProvider, name: str) -> None:
        del self, name

    monkeypatch.setattr(CloudProvider, "destroy", stays)
    spec = smoke.smoke_spec("aws", "us-east-1")
    with pytest.raises(
        ClusterError, match=r"prune --provider aws --region us-east-1 --token \w{8}"
    ):
        smoke.run(spec, lambda said: None, lambda cluster: "measured")
    assert aws.left() != []
