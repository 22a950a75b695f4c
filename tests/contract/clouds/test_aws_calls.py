"""What the provider aws asks of AWS: everything tagged, ended with all it has, and nothing left when it is down."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

import yaml
from aws_account import (
    LUSTRE,
    NFS_BY_AWS,
    SECRETS,
    Emulator,
    body_of,
    create,
    of,
    served_of,
    spec_of,
)
from click.testing import CliRunner
from recorded_hosts import Recorder

from wavetank.cli.main import cli
from wavetank.cluster import deploy
from wavetank.cluster.clouds.aws.account import TALKERS
from wavetank.cluster.clouds.cloud import PREFIX
from wavetank.cluster.clouds.engine import noted_lease
from wavetank.cluster.state import directory_of
from wavetank.errors import ProviderError

TAGS = {
    f"{PREFIX}{key}" for key in ("cluster", "token", "owner", "expires", "budget", "spec", "node")
}


def test_a_cluster_that_can_be_made_has_no_findings_and_nothing_is_made(aws: Emulator) -> None:
    assert deploy.check(spec_of()) == []
    assert aws.left() == []


@pytest.mark.usefixtures("unreached")
def test_everything_is_made_with_all_tags_and_down_leaves_nothing(aws: Emulator) -> None:
    spec = spec_of(cloud={"reaper": "arn:aws:iam::123456789012:role/reaper"})
    create(spec)
    made = aws.made()
    assert {each["Action"][0] for each in made} == {
        "ImportKeyPair", "CreateSecurityGroup", "CreatePlacementGroup", "RunInstances", "CreateSchedule",
    }  # fmt: skip
    for each in made:
        kinds = [v[0] for k, v in each.items() if k.endswith(".ResourceType")]
        for i in range(1, len(kinds) + 1):
            keys = {
                v[0]
                for k, v in each.items()
                if k.startswith(f"TagSpecification.{i}.Tag.") and k.endswith("Key")
            }
            assert keys >= TAGS, f"{each['Action']} of {kinds[i - 1]}"
    assert len([each for each in aws.left() if " i-" in each]) == 3
    assert any("schedule wavetank-lab-" in each for each in aws.left())
    deploy.take_down("lab")
    assert aws.left() == []
    assert not directory_of("lab").path.exists()


@pytest.mark.usefixtures("unreached")
def test_each_role_is_one_call_for_all_or_none_that_ends_with_all_it_has(aws: Emulator) -> None:
    create(spec_of(cloud={"spot": True}))
    compute, io = of(aws.made(), "RunInstances")
    assert (compute["MinCount"], compute["MaxCount"]) == ("2", "2")
    assert (io["MinCount"], io["MaxCount"]) == ("1", "1")
    assert compute["ClientToken"] != io["ClientToken"]
    for each in (compute, io):
        assert each["InstanceInitiatedShutdownBehavior"] == "terminate"
        assert each["MetadataOptions.HttpTokens"] == "required"
        assert each["InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior"] == "terminate"
        assert each["Placement.GroupName"].startswith("wavetank-lab-")
        devices = [k for k in each if k.endswith("Ebs.VolumeSize")]
        for device in devices:
            prefix = device.removesuffix("VolumeSize")
            assert each[f"{prefix}Encrypted"] == "true"
            assert each[f"{prefix}DeleteOnTermination"] == "true"
    # io1 holds the data: a root and a volume of the storage's size
    sizes = [
        sorted(v for k, v in each.items() if k.endswith("VolumeSize")) for each in (compute, io)
    ]
    assert sizes == [["30"], ["20", "30"]]
    deploy.take_down("lab")
    assert aws.left() == []


@pytest.mark.usefixtures("unreached")
def test_the_end_of_an_instance_is_the_first_thing_that_it_does(aws: Emulator) -> None:
    create(spec_of())
    for each in of(aws.made(), "RunInstances"):
        text = base64.b64decode(each["UserData"]).decode()
        assert text.startswith("#cloud-config\nbootcmd:\n")
        config = yaml.safe_load(text)
        assert next(iter(config)) == "bootcmd"
        assert "shutdown -P +$m" in config["bootcmd"][0][2]
        assert (
            "-le 120 ]" in config["bootcmd"][0][2]
        )  # at most the ttl of 2 h, whatever the clock says
        assert any(name.startswith("glusterfs-") for name in config["packages"])
        public = config["ssh_keys"]["ed25519_public"]
        known = (directory_of("lab").path / "known-hosts").read_text()
        assert known.splitlines()
        assert all(line.endswith(public) for line in known.splitlines())
    deploy.take_down("lab")


@pytest.mark.usefixtures("unreached")
def test_only_the_named_network_reaches_ssh(aws: Emulator) -> None:
    create(spec_of())
    calls = [call for call in aws.calls() if call == "ec2:AuthorizeSecurityGroupIngress"]
    assert len(calls) == 2  # itself, and port 22
    deploy.take_down("lab")


@pytest.mark.usefixtures("unreached")
def test_networks_of_clients_reach_all_ports(aws: Emulator) -> None:
    import boto3

    create(spec_of(cloud={"clients_from": ["10.0.0.0/16", "172.31.0.0/16"]}))
    found = boto3.client("ec2").describe_security_groups(
        Filters=[{"Name": f"tag:{PREFIX}cluster", "Values": ["lab"]}]
    )
    opened = {
        (network["CidrIp"], rule["IpProtocol"], rule["FromPort"], rule["ToPort"])
        for rule in found["SecurityGroups"][0]["IpPermissions"]
        for network in rule["IpRanges"]
    }
    assert opened == {
        ("192.0.2.0/24", "tcp", 22, 22),
        ("10.0.0.0/16", "tcp", 0, 65535),
        ("172.31.0.0/16", "tcp", 0, 65535),
    }
    deploy.take_down("lab")


@pytest.mark.usefixtures("unreached")
def test_no_file_holds_credentials(aws: Emulator) -> None:
    create(spec_of())
    folder = directory_of("lab").path
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert not any(secret in text for secret in SECRETS), path
    assert all(secret not in json.dumps(aws.made()) for secret in SECRETS)
    assert (folder / "keys").stat().st_mode & 0o077 == 0
    assert (folder / "keys" / "user-key").stat().st_mode & 0o077 == 0
    deploy.take_down("lab")


@contextlib.contextmanager
def logs_of_a_new_process() -> Iterator[None]:
    """Nothing is set that a test or pytest set before; all that is set here is undone."""
    root, talkers = logging.getLogger(), [logging.getLogger(name) for name in TALKERS]
    handlers, levels = root.handlers[:], [each.level for each in (root, *talkers)]
    root.handlers[:] = []
    for each in talkers:
        each.setLevel(logging.NOTSET)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        for each, level in zip((root, *talkers), levels, strict=True):
            each.setLevel(level)


def test_no_log_holds_credentials_or_keys_however_much_is_asked_for(
    aws: Emulator, recorders: dict[str, Recorder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recorders == {}
    monkeypatch.setattr("wavetank.cli.cluster._print_status", lambda name, output_format: None)
    path = tmp_path / "lab.yaml"
    path.write_text(
        json.dumps(body_of(file_system={"kind": "nfs", "options": {"server": "kernel"}}))
    )
    said = ""
    for words in (["check", str(path)], ["up", str(path)], ["down", "lab"]):
        with logs_of_a_new_process():
            done = CliRunner().invoke(cli, ["-vv", "cluster", *words])
            assert logging.getLogger().level == logging.DEBUG
        assert done.exit_code == 0, done.output
        said += done.stdout + done.stderr
    assert "lab is down" in said
    assert not any(secret in said for secret in SECRETS)
    assert "PRIVATE KEY" not in said
    for each in of(aws.made(), "RunInstances"):
        key = yaml.safe_load(base64.b64decode(each["UserData"]))["ssh_keys"]["ed25519_private"]
        # pieces that no encoding of the request changes
        pieces = re.findall(r"[A-Za-z0-9]{24}", each["UserData"] + key)
        assert len(pieces) > 10
        assert not any(piece in said for piece in pieces)


@pytest.mark.usefixtures("unreached")
def test_the_shipped_policy_allows_the_calls_that_are_made_and_no_others(aws: Emulator) -> None:
    from wavetank.cluster.clouds.aws.cloud import AwsCloud

    for spec in (served_of(LUSTRE), served_of(NFS_BY_AWS)):
        assert deploy.check(spec) == []
        create(spec)
        deploy.take_down("lab")
    AwsCloud("us-east-1").regions()
    names = {"service-quotas": "servicequotas"}
    made = {
        ":".join((names.get(s := call.split(":")[0], s), call.split(":")[1]))
        for call in aws.calls()
    }
    text = resources.files("wavetank.cluster").joinpath("data", "aws-policy.json").read_text()
    statements = json.loads(text)["Statement"]
    allowed = set()
    for statement in statements:
        actions = statement["Action"]
        allowed |= {actions} if isinstance(actions, str) else set(actions)
    assert made <= allowed
    # needed too: what RunInstances, CreateSchedule, CreateMountTarget and calls with tags ask for, and what removes things that
    # lost their instance
    unused = {
        "iam:PassRole", "ec2:DeleteVolume", "ec2:DeleteNetworkInterface", "ec2:CreateNetworkInterface",
        "elasticfilesystem:TagResource", "fsx:TagResource",
    }  # fmt: skip
    assert allowed - made == unused
    assert not any(fnmatchcase(action, "*[*]*") for action in allowed)


@pytest.mark.usefixtures("unreached")
def test_what_the_journal_names_is_removed_also_without_its_tags(aws: Emulator) -> None:
    import boto3

    create(spec_of())
    found = noted_lease(directory_of("lab"))
    assert found is not None
    ec2 = boto3.client("ec2")
    groups = ec2.describe_security_groups(
        Filters=[{"Name": f"tag:{PREFIX}token", "Values": [found[1].token]}]
    )["SecurityGroups"]
    ec2.delete_tags(Resources=[groups[0]["GroupId"]], Tags=[{"Key": f"{PREFIX}token"}])
    deploy.take_down("lab")
    assert aws.left() == []


@pytest.mark.usefixtures("unreached")
def test_what_fails_in_the_middle_is_removed_before_the_error_is_said(aws: Emulator) -> None:
    aws.behave(refuse={"CreatePlacementGroup": "UnauthorizedOperation"})
    with pytest.raises(ProviderError, match=r"may not call ec2:CreatePlacementGroup.*policy aws"):
        create(spec_of())
    assert aws.left() == []
