"""``cluster check`` with provider openstack: what a project cannot make is said before anything is made."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("openstack", reason="openstacksdk is not installed: make setup-test")

from emulated_account import Emulator
from openstack_account import spec_of
from openstack_images import IMAGES

from wavetank.cluster.clouds.provider import OpenStackProvider


def findings(**changes: Any) -> str:
    return "\n".join(OpenStackProvider().check(spec_of(**changes)))


def test_a_cluster_that_can_be_made_has_no_finding_and_nothing_is_changed(
    openstack: Emulator,
) -> None:
    assert findings() == ""
    assert all(call.startswith("GET ") for call in openstack.calls())
    said = " ".join(OpenStackProvider().ask(spec_of()).unknown)
    assert "prune --provider openstack --expired" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instance": {"name": "m1.larg"}}, "no such flavor; it has i1.large, m1.large"),
        ({"instance": {"name": "m1.tiny"}}, "flavor m1.tiny has a root disk of 1 GB, and 10 GB are needed"),
        ({"instance": {"name": "m1.tiny"}}, "512 MiB of memory, and the image needs 1024 MiB"),
        ({"instance": {"name": "v1.large"}}, "flavor v1.large has no root disk: write cloud.openstack.root_size, e.g. 20 GiB"),
        ({"openstack": {"root_size": "9 GiB"}}, "cloud.openstack.root_size 9 GiB: 10 GB are needed"),
        ({"openstack": {"root_size": "20 GiB", "image": IMAGES[3]["id"]}}, "root_size 20 GiB: 30 GB are needed"),
        ({"storage": {"on": "instance"}}, "flavor m1.large has no ephemeral disk"),
        ({"instance": {"name": "i1.large"}, "storage": {"on": "instance", "devices": 2}}, "one disk of its own"),
        ({"openstack": {"image": "Debian 13"}}, "no such image; it has Debian 12, old, twice"),
        ({"openstack": {"image": "old"}}, "is deactivated"),
        ({"openstack": {"image": "twice"}}, "there are 2 of this name: write the id of one"),
        ({"openstack": {"image": IMAGES[3]["id"]}}, "a root disk of 20 GB, and 30 GB are needed"),
        ({"openstack": {"network": "labnet"}}, "cloud.openstack.network labnet: RegionOne has no such network"),
        ({"openstack": {"external": "lab-net"}}, "cloud.openstack.external lab-net"),
        ({"openstack": {"volume_type": "nvme"}}, "no such type; it has hdd, ssd"),
        ({"cloud": {"zone": "down"}}, "cloud.zone down: RegionOne has no such availability zone that is up; it has nova, west"),
        ({"cloud": {"budget": "0.10 USD"}}, "price table lab-cloud"),
    ],
)  # fmt: skip
def test_what_the_cloud_does_not_have_is_said_with_what_it_has(
    openstack: Emulator, changes: dict[str, Any], said: str
) -> None:
    assert said in findings(**changes)
    assert openstack.left() == []


@pytest.mark.parametrize(
    ("quota", "said"),
    [
        ({"Instances": 3}, "quota of servers: 4 are needed, and the project has 0 of 3"),
        ({"Cores": 7}, "quota of cores: 8 are needed"),
        ({"RAMSize": 16383}, "quota of memory (MiB): 16384 are needed"),
        ({"ServerGroups": 1}, "quota of server groups: 2 are needed"),
        ({"members": 3}, "quota of servers of a group: 4 are needed"),
        ({"volumes": 3}, "quota of volumes: 4 are needed"),
        ({"gigabytes": 79}, "quota of volumes (GB): 80 are needed"),
        ({"floatingip": 0}, "quota of floating addresses: 1 are needed"),
        ({"security_group": 0}, "quota of security groups: 1 are needed"),
        ({"network": 2}, "quota of networks: 1 are needed, and the project has 2 of 2"),
    ],
)
def test_a_quota_that_is_too_small_is_named_with_what_is_needed(
    openstack: Emulator, quota: dict[str, int], said: str
) -> None:
    openstack.behave(quota=quota)
    assert said in findings()
    openstack.behave(quota=dict.fromkeys(quota, -1))  # no limit
    assert findings() == ""


def test_volumes_that_servers_start_from_are_in_the_quota(openstack: Emulator) -> None:
    from_volumes = {"instance": {"name": "v1.large"}, "openstack": {"root_size": "20 GiB"}}
    assert findings(**from_volumes) == ""
    openstack.behave(quota={"volumes": 7, "gigabytes": 159})
    said = findings(**from_volumes)
    # four nodes, two of which have two volumes of 20 GiB each
    assert "quota of volumes: 8 are needed" in said and "quota of volumes (GB): 160 are" in said


def test_a_call_that_a_policy_forbids_is_a_finding_and_the_others_are_asked_still(
    openstack: Emulator,
) -> None:
    words = "Policy doesn't allow os_compute_api:os-availability-zone:list to be performed."
    openstack.behave(refuse={"GET nova:/os-availability-zone": [403, words]}, quota={"Cores": 1})
    said = findings()
    assert "may not call GET nova:/os-availability-zone" in said and "quota of cores" in said
