"""Every reason for which an account cannot make a cluster is named before anything is made, with what to do."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import ENVIRONMENT, SECRETS, Emulator, body_of, create, spec_of
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.cluster import deploy
from wavetank.cluster.clouds.engine import noted_lease
from wavetank.cluster.state import directory_of
from wavetank.errors import ClusterError


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instance": {"name": "c5.lorge"}}, "instance c5.lorge: us-east-1 has no such type. Near it: c5.large"),
        ({"cloud": {"image": "ami-00000000"}}, "cloud.image ami-00000000"),
        ({"cloud": {"subnet": "subnet-00000000"}}, "cloud.subnet subnet-00000000"),
        ({"cloud": {"zone": "us-east-1z"}}, "no zone has all instance types and a subnet (cloud.zone us-east-1z"),
        ({"cloud": {"budget": "0.10 USD"}}, "instances may cost"),
        ({"cloud": {"region": "eu-west-1"}}, "no shipped price table is of region eu-west-1"),
        ({"cloud": {"image": "amazon-linux-2023"}}, "has no packages of glusterfs-cli, glusterfs-client, glusterfs-server"),
        ({"scale": 2}, "instances of a cloud are as they are"),
        ({"placement": "spread", "nodes": {"compute": 7, "io": 1}}, "has room for 7 instances in a zone"),
        ({"io_instance": {"name": "c6g.large"}}, "x86_64 and arm64 in one cluster"),
        ({"file_system": {"kind": "nfs"}, "storage": {"devices": 2, "size": "20 GiB"}}, "nfs has one server with one device on a node"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_before_anything_is_made(
    aws: Emulator, changes: dict[str, Any], said: str
) -> None:
    assert said in "\n".join(deploy.check(spec_of(**changes)))
    assert aws.left() == []


# of c6id.2xlarge: an element of AWS's answer, what it says in its place, and both as they are told
ALTERED = [
    ("defaultVCpus", "8", "16", "16 vCPUs", "8 vCPUs"),
    ("sizeInMiB", "16384", "32768", "32768 MiB of memory", "16384 MiB of memory"),
    ("baselineBandwidthInGbps", "3.125", "6.25", "6.25 Gbit/s of network", "3.125 Gbit/s of network"),
    ("baselineThroughputInMBps", "312.5", "81.25", "81.25 MB/s to its volumes", "312.5 MB/s to its volumes"),
    ("baselineIops", "12000", "4000", "4000 IOPS of its volumes", "12000 IOPS of its volumes"),
    ("count", "1", "2", "2 x 474 GB of local disks", "1 x 474 GB of local disks"),
]  # fmt: skip


@pytest.mark.parametrize(("element", "value", "other", "said", "known"), ALTERED)
def test_a_type_that_is_another_one_in_the_account_is_named_with_both_numbers(
    aws: Emulator, element: str, value: str, other: str, said: str, known: str
) -> None:
    whole = f"<{element}>{{}}</{element}>"
    aws.behave(alter={"DescribeInstanceTypes": {whole.format(value): whole.format(other)}})
    (finding,) = deploy.check(spec_of(instance={"name": "c6id.2xlarge"}))
    assert finding.startswith(f"instance c6id.2xlarge has {said}")
    assert f" in this account, and {known}" in finding
    assert "'wavetank instances refresh' renews it" in finding
    assert aws.made() == []


def test_a_quota_that_is_too_small_is_named_with_what_to_ask_for(aws: Emulator) -> None:
    aws.behave(quotas={"L-1216C47A": 4})
    (finding,) = deploy.check(spec_of())
    # three c5.large of 2 vCPUs
    assert (
        "6 vCPUs are needed and 0 are in use, but the account's quota in us-east-1 is 4" in finding
    )
    assert "request-service-quota-increase" in finding
    assert "--desired-value 6" in finding


def test_credentials_that_are_over_are_said_to_be(aws: Emulator) -> None:
    aws.behave(refuse={"GetCallerIdentity": "ExpiredToken"})
    (finding,) = deploy.check(spec_of())
    assert "AWS does not accept the credentials (ExpiredToken" in finding
    assert "aws sso login" in finding


@pytest.mark.usefixtures("aws")
def test_without_credentials_it_is_said_how_to_give_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    (finding,) = deploy.check(spec_of())
    assert "AWS: no credentials" in finding
    assert "AWS_ACCESS_KEY_ID" in finding


@pytest.mark.usefixtures("aws")
def test_a_network_that_does_not_answer_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    from wavetank.cluster.clouds.aws import account

    monkeypatch.setitem(account.SETTINGS, "retries", {"total_max_attempts": 1, "mode": "standard"})
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # discard: nothing listens
    (finding,) = deploy.check(spec_of())
    assert "Is the network up" in finding


def said_by(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, ["cluster", *words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.usefixtures("unreached")
def test_an_account_is_listed_and_pruned_by_token_alone(aws: Emulator) -> None:
    create(spec_of())
    found = noted_lease(directory_of("lab"))
    assert found is not None
    token = found[1].token
    status, out, _ = said_by("list", "--provider", "aws", "--format", "json")
    assert status == 0
    assert token in out
    assert "here" in out
    status, out, _ = said_by("prune", "--provider", "aws", "--format", "json")
    assert (status, token in out) == (0, False)  # it has a folder: 'down' is for it
    directory_of("lab").erase()
    status, out, err = said_by("prune", "--provider", "aws", "--expired")
    assert (status, token in out) == (0, True)
    assert len([each for each in aws.left() if " i-" in each]) == 3  # its time is not over
    status, out, err = said_by("prune", "--provider", "aws", "--token", token, "--dry-run")
    assert len([each for each in aws.left() if " i-" in each]) == 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wavetank.cluster.clouds.engine.WallClock.sleep", lambda self, seconds: None)
        status, out, err = said_by("prune", "--provider", "aws", "--token", token)
    assert status == 0, err
    assert "removed" in out
    assert aws.left() == []
    status, out, _ = said_by("list", "--provider", "aws")
    assert "Nothing of wavetank's is in us-east-1." in out


@pytest.mark.usefixtures("unreached")
def test_down_of_a_cluster_whose_folder_is_lost_names_the_command_that_finds_it(
    aws: Emulator,
) -> None:
    create(spec_of())
    directory_of("lab").erase()
    with pytest.raises(ClusterError, match="no cluster is called 'lab'") as caught:
        said_by("down", "lab")
    hint = re.search(r"'wavetank cluster (prune --provider aws) --all-regions'", str(caught.value))
    assert hint is not None
    status, out, _ = said_by(*hint[1].split(), "--format", "json")
    (held,) = json.loads(out)["in_the_account"]
    assert (status, held["cluster"]) == (0, "lab")


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--region", "us-east-1"),
        ("prune", "--expired"),
        ("prune", "--provider", "aws", "--expired", "--token", "00000000"),
        ("list", "--provider", "aws", "--region", "us-east-1", "--all-regions"),
    ],
)
@pytest.mark.usefixtures("aws")
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...]) -> None:
    from wavetank.errors import UsageError

    with pytest.raises(UsageError):
        said_by(*words)


@pytest.mark.usefixtures("aws")
def test_the_price_is_shown_without_an_account(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    path = tmp_path / "lab.yaml"
    path.write_text(json.dumps(body_of()))
    status, out, _ = said_by("plan", str(path))
    assert status == 0
    assert "Within the budget of 5 USD" in out
    assert not any(secret in out for secret in (*SECRETS, ENVIRONMENT["AWS_ACCESS_KEY_ID"]))


def test_the_policy_is_printed_as_it_is_shipped() -> None:
    status, out, _ = said_by("policy", "aws")
    assert status == 0
    assert json.loads(out)["Version"] == "2012-10-17"


def test_up_says_the_price_before_the_account_is_asked_and_refuses_what_costs_more(
    aws: Emulator, tmp_path: Any
) -> None:
    from wavetank.errors import SpecError

    path = tmp_path / "lab.yaml"
    path.write_text(json.dumps(body_of(cloud={"budget": "0.50 USD"})))
    runner = CliRunner()
    done = runner.invoke(cli, ["cluster", "up", str(path)])
    assert isinstance(done.exception, SpecError)
    assert "USD until the instances end themselves after 2 h 00 min (budget 0.50 USD" in done.stderr
    assert "cloud.budget 0.50 USD: 3 instances may cost" in str(done.exception)
    assert aws.left() == []
    assert not directory_of("lab").path.exists()
