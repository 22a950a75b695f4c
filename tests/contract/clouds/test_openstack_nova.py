"""The provider openstack with a real Nova: hosts that its scheduler takes, what servers are made of, and quotas.

Keystone, Neutron, Cinder and Glance are the stand-ins of the other tests, which Nova calls as it calls the services.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

pytest.importorskip("openstack", reason="openstacksdk is not installed: make setup-test")

from click.testing import CliRunner
from emulated_account import Emulator, ask, create
from openstack_account import WITH_NOVA, spec_of

# of quotas the same tests as with the stand-in of Nova
from test_openstack_calls import (  # noqa: F401
    test_a_quota_that_ends_on_the_way_leaves_nothing,
)
from test_openstack_check import (  # noqa: F401
    test_a_quota_that_is_too_small_is_named_with_what_is_needed,
)

from wavetank.cli.main import cli
from wavetank.cluster.clouds.engine import noted_lease
from wavetank.cluster.clouds.openstack.cloud import OpenStackCloud
from wavetank.cluster.clouds.provider import ended_instances
from wavetank.cluster.state import directory_of
from wavetank.errors import ProviderError

pytestmark = [*WITH_NOVA, pytest.mark.usefixtures("unreached")]

HERE = ["--provider", "openstack", "--region", "RegionOne"]
HOST = "OS-EXT-SRV-ATTR:host"
ONE_VOLUME = {"size": "20 GiB"}


@pytest.fixture
def openstack(nova: Emulator) -> Emulator:
    """In place of the stand-ins."""
    return nova


def servers(nova: Emulator) -> dict[str, dict[str, Any]]:
    """By node, as Nova's operator sees them."""
    return {each["metadata"]["wavetank:node"]: each for each in ask(nova.url, "servers")}


def test_servers_are_made_as_asked_for_and_without_the_folder_they_are_found_and_removed(
    nova: Emulator,
) -> None:
    """Compute nodes are close: by all else that Nova weighs, it would spread them."""
    create(spec_of(nodes={"compute": 2, "io": 1}, storage=ONE_VOLUME))
    found = servers(nova)
    assert sorted(found) == ["c1", "c2", "io1"]
    assert found["c1"][HOST] == found["c2"][HOST]
    (volume,) = [each.split() for each in nova.left() if each.startswith("volume ")]
    assert volume[1].endswith("-io1-1") and volume[2] == "in-use"
    lease = noted_lease(directory_of("lab"))
    assert lease is not None
    for node, each in found.items():
        attached = each["os-extended-volumes:volumes_attached"]
        assert [disk["delete_on_termination"] for disk in attached] == [False] * (node == "io1")
        assert each["config_drive"] == "True"
        config = yaml.safe_load(base64.b64decode(each["OS-EXT-SRV-ATTR:user_data"]))
        assert "shutdown -P" in config["bootcmd"][0][2]
        assert each["metadata"]["wavetank:owner"] == "alice of lab"
        assert each["key_name"] == lease[1].label
        assert each["OS-EXT-AZ:availability_zone"] == "nova"
    nova.behave(shut_off=["c2"], page=1)  # it is in the quota still
    ended = ended_instances(found, OpenStackCloud("RegionOne").instances(lease[1]))
    assert list(ended) == ["c2"] and "is stopped" in ended["c2"]
    directory_of("lab").erase()
    listed = CliRunner().invoke(cli, ["cluster", "list", *HERE])
    assert lease[1].token in listed.stdout and "alice of lab" in listed.stdout
    done = CliRunner().invoke(cli, ["cluster", "prune", *HERE, "--token", lease[1].token])
    assert done.exit_code == 0, done.output
    assert nova.left() == []


def test_io_nodes_do_not_share_a_host_and_no_valid_host_names_the_flavor_and_leaves_nothing(
    nova: Emulator,
) -> None:
    """One host of one zone has room: for the compute node and an I/O node, and not for a second one beside it."""
    nova.behave(no_room=["host1", "host2", "west"])
    with pytest.raises(
        ProviderError,
        match=r"(?s)nova: flavor m1.large: io2: No valid host.*west: flavor m1.large: c1: No valid host",
    ):
        create(spec_of(nodes={"compute": 1, "io": 2}, storage=ONE_VOLUME))
    assert nova.left() == []
