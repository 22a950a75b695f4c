"""The provider openstack: what it makes in a project, with what, and that nothing is left, also where the cloud is at its worst."""

from __future__ import annotations

import base64
import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("openstack", reason="openstacksdk is not installed: make setup-test")

from click.testing import CliRunner
from emulated_account import Emulator, create, make_twice
from openstack_account import PASSWORD, body_of, environment, spec_of
from openstack_identity import TOKEN
from openstack_images import IMAGES

from wavetank.cli.main import cli
from wavetank.cluster import deploy
from wavetank.cluster.clouds.bill import holdings
from wavetank.cluster.clouds.cloud import Key
from wavetank.cluster.clouds.engine import noted_lease
from wavetank.cluster.clouds.hosts import as_hosts, read_inventory, ssh_command
from wavetank.cluster.clouds.openstack.cloud import OpenStackCloud
from wavetank.cluster.clouds.provider import ended_instances
from wavetank.cluster.remote.connection import configuration
from wavetank.cluster.state import directory_of
from wavetank.errors import ProviderError

pytestmark = pytest.mark.usefixtures("unreached")


def key_of(name: str = "lab") -> Key:
    found = noted_lease(directory_of(name))
    assert found is not None
    return found[1]


def made(openstack: Emulator, call: str) -> list[dict[str, Any]]:
    """Bodies of the calls that made things of a kind."""
    return [json.loads(each["Body"][0]) for each in openstack.made() if each["Action"] == [call]]


def servers(openstack: Emulator) -> list[str]:
    return [each for each in openstack.left() if each.startswith("server wavetank")]


def test_servers_have_their_groups_volumes_metadata_and_user_data(openstack: Emulator) -> None:
    create(spec_of(openstack={"volume_type": "ssd"}, cloud={"clients_from": ["10.0.0.0/16"]}))
    label = key_of().label
    groups = made(openstack, "POST nova:/os-server-groups")
    assert {each["server_group"]["policy"] for each in groups} == {"soft-affinity", "anti-affinity"}
    asked = {
        each["server"]["metadata"]["wavetank:node"]: each
        for each in made(openstack, "POST nova:/servers")
    }
    assert list(asked) == ["c1", "c2", "io1", "io2"]
    hints = {node: each["os:scheduler_hints"]["group"] for node, each in asked.items()}
    assert hints["c1"] == hints["c2"] != hints["io1"] == hints["io2"]
    for node, each in asked.items():
        server = each["server"]
        assert server["name"] == f"{label}-{node}" and server["config_drive"] is True
        tags = server["metadata"]
        assert tags["wavetank:owner"] == "alice of lab" and tags["wavetank:budget"] == "5 USD"
        disks = server["block_device_mapping_v2"]
        assert [disk["source_type"] for disk in disks] == [
            "image",
            *["volume"] * (2 * node.startswith("io")),
        ]
        config = yaml.safe_load(base64.b64decode(server["user_data"]))
        assert "shutdown -P" in config["bootcmd"][0][2]
        assert "glusterfs-server" in config["packages"] or node.startswith("c")
    volumes = [each["volume"] for each in made(openstack, "POST cinder:/volumes")]
    assert [(each["size"], each["volume_type"]) for each in volumes] == [(20, "ssd")] * 4
    rules = [
        each["security_group_rule"]
        for each in made(openstack, "POST neutron:/security-group-rules")
    ]
    assert rules[1]["remote_ip_prefix"] == "192.0.2.0/24" and rules[1]["port_range_min"] == 22
    assert rules[0]["remote_group_id"] == rules[0]["security_group_id"]
    (of_clients,) = rules[2:]
    ports = of_clients["port_range_min"], of_clients["port_range_max"]
    assert (of_clients["remote_ip_prefix"], *ports) == ("10.0.0.0/16", 1, 65535)
    deploy.take_down("lab")
    assert openstack.left() == []


def test_servers_of_a_flavor_without_a_disk_start_from_volumes_of_the_image(
    openstack: Emulator,
) -> None:
    openstack.behave(slow=2, no_room=["nova"])  # the volumes are kept for the next zone
    create(spec_of(instance={"name": "v1.large"}, openstack={"root_size": "20 GiB"}))
    volumes = [each["volume"] for each in made(openstack, "POST cinder:/volumes")]
    roots = [each for each in volumes if "imageRef" in each]
    assert len(volumes) == 8
    assert [(each["size"], each["imageRef"]) for each in roots] == [(20, IMAGES[0]["id"])] * 4
    assert [each["metadata"]["wavetank:node"] for each in roots] == ["c1", "c2", "io1", "io2"]
    servers_made = [each["server"] for each in made(openstack, "POST nova:/servers")]
    for server in servers_made:
        is_server = server["metadata"]["wavetank:node"].startswith("io")
        assert "imageRef" not in server
        indexes = [each["boot_index"] for each in server["block_device_mapping_v2"]]
        assert indexes == [0, -1, -1] if is_server else [0]
        assert not any(each["delete_on_termination"] for each in server["block_device_mapping_v2"])
    deploy.take_down("lab")
    assert openstack.left() == []


def test_one_address_is_made_and_all_servers_are_reached_by_it_with_the_clusters_own_keys(
    openstack: Emulator,
) -> None:
    spec = spec_of(nodes={"compute": 1, "io": 2, "head": 1})
    create(spec)
    assert len(made(openstack, "POST neutron:/floatingips")) == 1
    cloud = OpenStackCloud("RegionOne")
    by_node = {each.node: each for each in cloud.instances(key_of())}
    outside = by_node["h1"].public_address  # a head node where there is one
    assert outside is not None
    assert [node for node, each in by_node.items() if each.public_address] == ["h1"]
    hosts = as_hosts(spec)
    assert hosts.ssh is not None and hosts.ssh.jump == f"wavetank@{outside}"
    assert read_inventory(directory_of("lab")) == {
        node: each.private_address for node, each in by_node.items()
    }
    jump, *nodes = configuration(hosts).split("\n\n")
    assert (
        f"HostName {outside}" in jump
        and f"IdentityFile {directory_of('lab').path}/keys/user-key" in jump
    )
    assert all("ProxyJump jump" in node for node in nodes)
    assert outside in (directory_of("lab").path / "known-hosts").read_text()
    command = ssh_command(spec, "io1")
    assert (
        command is not None
        and "ProxyCommand=ssh -i " in command
        and f"wavetank@{outside}" in command
    )
    deploy.take_down("lab")
    assert openstack.left() == []


def test_a_network_that_is_there_is_used_and_stays_and_by_a_bastion_no_address_is_made(
    openstack: Emulator,
) -> None:
    spec = spec_of(openstack={"network": "lab-net", "external": None}, cloud={"bastion": "me@gate"})
    create(spec)
    for kind in ("networks", "subnets", "routers", "floatingips"):
        assert made(openstack, f"POST neutron:/{kind}") == []
    hosts = as_hosts(spec)
    assert hosts.ssh is not None and hosts.ssh.jump == "me@gate"
    deploy.take_down("lab")
    assert openstack.left() == []


def test_no_valid_host_in_a_zone_gives_back_what_was_made_and_the_next_zone_is_taken(
    openstack: Emulator,
) -> None:
    openstack.behave(no_room=["nova"], slow=2, linger=2)
    create(spec_of())
    zones = [each["server"]["availability_zone"] for each in made(openstack, "POST nova:/servers")]
    assert zones == ["nova", *["west"] * 4]
    assert len(servers(openstack)) == 4
    assert len(made(openstack, "POST cinder:/volumes")) == 4  # they are kept for the next zone
    deploy.take_down("lab")
    assert openstack.left() == []


def test_no_valid_host_anywhere_names_the_flavor_and_nothing_is_left(openstack: Emulator) -> None:
    # three hosts a zone, and each I/O node on a host of its own
    with pytest.raises(
        ProviderError,
        match=r"(?s)nova: flavor m1.large: io4: No valid host.*west: flavor m1.large: io4",
    ):
        create(spec_of(nodes={"compute": 1, "io": 4}, storage={"size": "1 GiB"}))
    assert openstack.left() == []


def test_a_server_that_fails_otherwise_ends_the_bringing_up_with_novas_words(
    openstack: Emulator,
) -> None:
    openstack.behave(fault="Failed to allocate the network(s)")
    with pytest.raises(
        ProviderError,
        match=r"flavor m1.large: c1: Build of instance \S+ aborted: Failed to allocate the network.*operator",
    ):
        create(spec_of())
    assert openstack.left() == []


def test_volumes_that_cannot_be_made_end_it_and_nothing_is_left(openstack: Emulator) -> None:
    openstack.behave(bad_volumes=True)
    with pytest.raises(ProviderError, match=r"volume .* of io1 is error: .*volume_type"):
        create(spec_of())
    assert openstack.left() == []


@pytest.mark.parametrize(
    ("quota", "said"),
    [
        ({"Instances": 3}, "Quota exceeded for instances"),
        ({"volumes": 3}, "VolumeLimitExceeded"),
        ({"router": 1}, "Quota exceeded for resources"),
        ({"ServerGroups": 1}, "Quota exceeded, too many server groups"),
    ],
)
def test_a_quota_that_ends_on_the_way_leaves_nothing(
    openstack: Emulator, quota: dict[str, int], said: str
) -> None:
    openstack.behave(quota=quota)
    with pytest.raises(ProviderError, match=said):
        create(spec_of())
    assert openstack.left() == []


def test_long_lists_come_in_pages_and_what_takes_long_is_waited_for(openstack: Emulator) -> None:
    openstack.behave(page=1, slow=3, linger=3)
    create(spec_of())
    assert len(servers(openstack)) == 4
    deploy.take_down("lab")
    assert openstack.left() == []


def test_calling_again_makes_no_second_ones(
    openstack: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_twice(monkeypatch, OpenStackCloud, "make")
    create(spec_of())
    assert len(servers(openstack)) == 4
    deploy.take_down("lab")
    assert openstack.left() == []


def test_without_its_folder_a_cluster_is_found_and_removed_when_it_is_over(
    openstack: Emulator,
) -> None:
    create(spec_of())
    key = key_of()
    directory_of("lab").erase()
    (found,) = holdings(OpenStackCloud("RegionOne"))
    assert (found.key, found.n_instances, found.is_over, found.owner) == (
        key,
        4,
        False,
        "alice of lab",
    )
    (later,) = holdings(OpenStackCloud("RegionOne"), datetime.now(UTC) + timedelta(hours=3))
    assert later.is_over
    here = ["--provider", "openstack", "--region", "RegionOne"]
    assert CliRunner().invoke(cli, ["cluster", "prune", *here, "--expired"]).exit_code == 0
    assert len(servers(openstack)) == 4
    listed = CliRunner().invoke(cli, ["cluster", "list", *here])
    assert key.token in listed.stdout and "alice of lab" in listed.stdout
    openstack.behave(shut_off=["c1"])  # it is in the quota still
    done = CliRunner().invoke(cli, ["cluster", "prune", *here, "--token", key.token])
    assert done.exit_code == 0, done.output
    assert openstack.left() == []


def test_a_server_that_shut_down_is_a_finding(openstack: Emulator) -> None:
    spec = spec_of()
    create(spec)
    openstack.behave(shut_off=["c2"])
    findings = ended_instances(spec.node_names(), OpenStackCloud("RegionOne").instances(key_of()))
    assert list(findings) == ["c2"] and "is stopped" in findings["c2"]
    deploy.take_down("lab")


def test_when_a_policy_forbids_a_removal_it_is_said_and_down_goes_on_later(
    openstack: Emulator,
) -> None:
    create(spec_of())
    words = "Policy doesn't allow os_compute_api:os-keypairs:delete to be performed."
    openstack.behave(refuse={"DELETE nova:/os-keypairs/*": [403, words]})
    with pytest.raises(
        ProviderError, match=r"may not call DELETE nova:/os-keypairs.*os-keypairs:delete"
    ):
        deploy.take_down("lab")
    assert directory_of("lab").path.exists()
    openstack.behave(refuse={})
    deploy.take_down("lab")
    assert openstack.left() == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"OS_PASSWORD": "wrong"}, "does not accept the credentials"),
        ({"OS_PASSWORD": None}, "no credentials"),
        ({"OS_CLOUD": "nowhere"}, "Name a cloud of clouds.yaml by OS_CLOUD"),
        ({"OS_AUTH_URL": "http://127.0.0.1:9/identity"}, "Is the network up"),
    ],
)
def test_credentials_that_are_none_are_said_with_what_to_do(
    openstack: Emulator,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    changed: dict[str, str | None],
    said: str,
) -> None:
    for name, value in changed.items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    path = tmp_path / "lab.yaml"
    path.write_text(json.dumps(body_of()))
    done = CliRunner().invoke(cli, ["cluster", "check", str(path)])
    assert done.exit_code == 1 and said in str(done.exception), done.exception
    assert PASSWORD not in f"{done.output}{done.exception}" and "Traceback" not in done.output
    assert openstack.left() == []


def test_a_sign_in_page_is_no_answer(openstack: Emulator) -> None:
    cloud = OpenStackCloud("RegionOne")
    assert cloud.found(None) == ()
    openstack.behave(html=True)
    with pytest.raises(ProviderError, match="Something else may answer in its place"):
        cloud.found(None)


def test_neither_files_nor_logs_hold_credentials_however_much_is_asked_for(
    openstack: Emulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr("wavetank.cli.cluster._print_status", lambda name, output_format: None)
    create(spec_of())
    folder = directory_of("lab").path
    files = [path.read_text() for path in folder.rglob("*") if path.is_file()]
    deploy.take_down("lab")
    for text in (*files, caplog.text):
        assert PASSWORD not in text and TOKEN not in text
    assert "PRIVATE KEY" not in caplog.text
    assert environment("x")["OS_PASSWORD"] == PASSWORD
