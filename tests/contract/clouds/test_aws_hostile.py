"""The provider aws where AWS is at its worst: late, throttled, full, in use, refusing, taking instances back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import Emulator, QuickClock, body_of, create, of, spec_of
from click.testing import CliRunner
from emulated_account import make_twice

from wavetank.cli.main import cli
from wavetank.cluster import deploy
from wavetank.cluster.clouds import engine
from wavetank.cluster.clouds.aws.account import NOT_ACCEPTED
from wavetank.cluster.clouds.aws.cloud import AwsCloud
from wavetank.cluster.clouds.bill import holdings
from wavetank.cluster.clouds.cloud import Key
from wavetank.cluster.clouds.engine import noted_lease, remove_all
from wavetank.cluster.clouds.provider import CloudProvider, ended_instances
from wavetank.cluster.state import directory_of
from wavetank.errors import ProviderError

pytestmark = pytest.mark.usefixtures("unreached")


def key_of(name: str) -> Key:
    found = noted_lease(directory_of(name))
    assert found is not None
    return found[1]


def test_without_room_in_a_zone_all_instances_are_made_in_the_next(aws: Emulator) -> None:
    aws.behave(no_room=["us-east-1a"], linger=2)
    create(spec_of())
    assert {each["Placement.AvailabilityZone"] for each in of(aws.made(), "RunInstances")} == {
        "us-east-1b"
    }
    deploy.take_down("lab")
    assert aws.left() == []


def test_without_room_for_the_second_role_the_first_is_ended_and_both_go_to_the_next_zone(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = AwsCloud._make_instances

    def full_after_the_first(self: AwsCloud, wanted, lease):
        aws.behave(no_room=["us-east-1a"] if wanted.nodes[0] == "io1" else [], linger=2)
        return make(self, wanted, lease)

    monkeypatch.setattr(AwsCloud, "_make_instances", full_after_the_first)
    create(spec_of())
    zones = [each["Placement.AvailabilityZone"] for each in of(aws.made(), "RunInstances")]
    assert zones == ["us-east-1a", "us-east-1b", "us-east-1b"]
    assert len([each for each in aws.left() if " i-" in each]) == 3
    deploy.take_down("lab")
    assert aws.left() == []


def test_without_room_anywhere_each_zone_is_named_and_nothing_is_left(aws: Emulator) -> None:
    aws.behave(no_room=[f"us-east-1{letter}" for letter in "abcdef"])
    with pytest.raises(
        ProviderError, match=r"(?s)no zone of us-east-1 has room.*us-east-1a.*us-east-1f.*Try later"
    ):
        create(spec_of())
    assert aws.left() == []


def test_what_is_shown_late_is_waited_for_and_removed(aws: Emulator) -> None:
    aws.behave(hide=2, linger=2)
    create(spec_of())
    deploy.take_down("lab")
    assert aws.left() == []


def test_what_was_made_a_moment_ago_and_is_not_shown_yet_is_found_by_down(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An instance that was started without an answer: the journal has the intent alone, AWS shows nothing at first."""
    aws.behave(hide=4)
    call = AwsCloud._make_instances

    def dies(self: AwsCloud, wanted, lease):
        call(self, wanted, lease)
        raise KeyboardInterrupt

    monkeypatch.setattr(AwsCloud, "_make_instances", dies)
    with pytest.raises(KeyboardInterrupt):
        create(spec_of())
    assert aws.left() == []


def test_a_call_whose_answer_was_lost_makes_no_second_instances_when_it_is_repeated(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_twice(monkeypatch, AwsCloud, "_make_instances")
    create(spec_of())
    assert len([each for each in aws.left() if " i-" in each]) == 3
    deploy.take_down("lab")
    assert aws.left() == []


def test_throttled_calls_are_repeated(aws: Emulator) -> None:
    aws.behave(throttle={"RunInstances": 1, "DescribeInstances": 1, "TerminateInstances": 1})
    create(spec_of())
    deploy.take_down("lab")
    assert aws.left() == []
    assert aws.calls().count("ec2:RunInstances") == 3  # two roles, one of them twice


def test_groups_in_use_are_removed_when_their_instances_are_gone(aws: Emulator) -> None:
    create(spec_of())
    aws.behave(linger=4)
    deploy.take_down("lab")
    assert aws.left() == []


@pytest.mark.parametrize("code", ["ExpiredToken", "UnauthorizedOperation"])
def test_when_the_account_refuses_in_the_middle_of_down_the_folder_stays_and_down_goes_on_later(
    aws: Emulator, code: str
) -> None:
    create(spec_of())
    aws.behave(refuse={"DeleteSecurityGroup": code})
    expected = (
        "does not accept the credentials"
        if code in NOT_ACCEPTED
        else "may not call ec2:DeleteSecurityGroup"
    )
    with pytest.raises(ProviderError, match=expected):
        deploy.take_down("lab")
    assert directory_of("lab").path.exists()
    aws.behave(refuse={})
    deploy.take_down("lab")
    assert aws.left() == []
    assert not directory_of("lab").path.exists()


def test_when_credentials_expire_in_the_middle_of_up_it_is_said_and_down_removes_the_rest_later(
    aws: Emulator,
) -> None:
    later = ("RunInstances", "DeleteKeyPair", "DeleteSecurityGroup", "DeletePlacementGroup")
    aws.behave(refuse=dict.fromkeys(later, "ExpiredToken"))
    with pytest.raises(ProviderError, match="does not accept the credentials"):
        create(spec_of())
    assert len(aws.left()) == 3  # a key pair and two groups, and no instance
    aws.behave(refuse={})
    deploy.take_down("lab")
    assert aws.left() == []


def test_what_cannot_be_removed_is_named_with_what_to_do(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "GONE_WITHIN", 2 * engine.SETTLES_AFTER)  # looks are alike after
    create(spec_of())
    aws.behave(refuse={"DeleteSecurityGroup": "DependencyViolation"})
    with pytest.raises(
        ProviderError, match=r"(?s)left: security-group sg-.*cluster down lab.*--token [0-9a-f]{8}"
    ):
        deploy.take_down("lab")
    aws.behave(refuse={})
    deploy.take_down("lab")
    assert aws.left() == []


def test_an_instance_that_the_cloud_took_back_is_a_finding_that_says_so(aws: Emulator) -> None:
    spec = spec_of(cloud={"spot": True})
    create(spec)
    cloud = AwsCloud("us-east-1")
    taken = next(made for made in cloud.instances(key_of("lab")) if made.node == "c2")
    assert ended_instances(spec.node_names(), cloud.instances(key_of("lab"))) == {}
    aws.behave(ended={taken.key: ["Server.SpotInstanceTermination", "Spot instance termination"]})
    findings = ended_instances(spec.node_names(), cloud.instances(key_of("lab")))
    assert list(findings) == ["c2"]
    assert f"took its spot instance {taken.key} back" in findings["c2"]
    assert "a campaign then goes on" in findings["c2"]
    aws.behave(ended={taken.key: ["Client.InternalError", "disk"]})
    assert "is terminated (Client.InternalError: disk)" in "".join(
        ended_instances(spec.node_names(), cloud.instances(key_of("lab"))).values()
    )
    deploy.take_down("lab")


def test_an_instance_that_ends_while_it_starts_ends_the_bringing_up(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = AwsCloud._make_instances

    def loses_one(self: AwsCloud, wanted, lease):
        keys = make(self, wanted, lease)
        if wanted.nodes == ("io1",):
            aws.behave(ended={keys[0]: ["Client.VolumeLimitExceeded", "Volume limit exceeded"]})
        return keys

    monkeypatch.setattr(AwsCloud, "_make_instances", loses_one)
    with pytest.raises(ProviderError, match=r"io1 .* is terminated: Client.VolumeLimitExceeded"):
        create(spec_of())
    assert [each for each in aws.left() if "running" not in each] == []


def test_without_its_folder_a_cluster_is_found_and_removed_by_its_token(aws: Emulator) -> None:
    create(spec_of())
    key = key_of("lab")
    directory_of("lab").erase()
    (found,) = holdings(AwsCloud("us-east-1"))
    assert (found.key, found.n_instances, found.is_here, found.is_over) == (key, 3, False, False)
    assert found.owner == "user/moto"
    later = holdings(AwsCloud("us-east-1"), datetime.now(UTC) + timedelta(hours=3))
    assert later[0].is_over
    assert remove_all(AwsCloud("us-east-1"), key, QuickClock()) >= 6
    assert aws.left() == []


def test_two_clusters_of_one_name_in_an_account_are_told_apart(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    create(spec_of())
    mine = key_of("lab")
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "another-machine"))
    create(spec_of())
    assert {each.key for each in holdings(AwsCloud("us-east-1"))} == {mine, key_of("lab")}
    deploy.take_down("lab")
    assert {each.key for each in holdings(AwsCloud("us-east-1"))} == {mine}
    assert len([each for each in aws.left() if " i-" in each]) == 3
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    deploy.take_down("lab")
    assert aws.left() == []


def test_instances_that_never_get_ready_stay_where_that_is_asked_for_with_price_end_and_way_out(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    def never(self: CloudProvider, spec: object) -> None:
        raise ProviderError("io1: its first start failed: E: Unable to locate package")

    monkeypatch.setattr(CloudProvider, "wait_ready", never)
    file = tmp_path / "lab.yaml"
    file.write_text(json.dumps(body_of()))
    result = CliRunner().invoke(cli, ["cluster", "up", str(file), "--keep-on-failure"])
    assert "Unable to locate package" in str(result.exception)
    running = [each for each in aws.left() if each.endswith("running")]
    assert len(running) == 3
    # 3 c5.large, 110 GiB of gp3 and 3 addresses: 0.28 USD an hour
    assert "at most 0.28 USD an hour, until its instances end themselves at " in result.stderr
    assert "(ttl 2 h 00 min)" in result.stderr
    found = [made for made in AwsCloud("us-east-1").instances(key_of("lab")) if made.node == "io1"]
    assert f"wavetank@{found[0].public_address or found[0].private_address}" in result.stderr
    assert "UserKnownHostsFile=" in result.stderr
    assert "cluster status" not in result.stderr
    assert "'wavetank cluster down lab'" in result.stderr
    assert CliRunner().invoke(cli, ["cluster", "down", "lab"]).exit_code == 0
    assert aws.left() == []
    assert not directory_of("lab").path.exists()
