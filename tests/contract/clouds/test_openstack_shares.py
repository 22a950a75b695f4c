"""Shares of Manila: made with the cluster, opened for its nodes, mounted by them, deleted with it; what a project cannot have is said."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("openstack", reason="openstacksdk is not installed: make setup-test")

from emulated_account import Emulator, create, make_twice, prune_all
from openstack_account import share_of
from recorded_hosts import Recorder

from wavetank.cluster import deploy
from wavetank.cluster.clouds.bill import holdings, kept_bills
from wavetank.cluster.clouds.hosts import read_inventory
from wavetank.cluster.clouds.openstack.cloud import OpenStackCloud
from wavetank.cluster.clouds.price import over_budget
from wavetank.cluster.clouds.provider import OpenStackProvider, noted_service
from wavetank.cluster.state import directory_of
from wavetank.errors import ProviderError


def made(openstack: Emulator, call: str) -> list[dict[str, Any]]:
    """Bodies of the calls that made things of a kind."""
    return [json.loads(each["Body"][0]) for each in openstack.made() if each["Action"] == [call]]


def findings(**changes: Any) -> str:
    return "\n".join(OpenStackProvider().check(share_of(**changes)))


def test_a_share_is_made_opened_for_each_node_and_mounted_where_it_is_exported(
    openstack: Emulator, recorders: dict[str, Recorder]
) -> None:
    openstack.behave(slow=2, linger=2)
    options = {"hard": True, "nconnect": 4}
    spec = share_of({"mount_options": options}, openstack={"share_type": "netapp"})
    cluster = deploy.bring_up(spec)
    (asked,) = made(openstack, "POST manila:/shares")
    share = asked["share"]
    assert (share["share_proto"], share["size"], share["share_type"]) == ("NFS", 100, "netapp")
    assert share["metadata"]["wavetank:cluster"] == "lab" and share["is_public"] is False
    rules = [each["allow_access"] for each in made(openstack, "POST manila:/shares/*/action")]
    inventory = read_inventory(directory_of("lab"))
    assert inventory is not None and len(inventory) == 2
    assert {(each["access_type"], each["access_level"]) for each in rules} == {("ip", "rw")}
    assert sorted(each["access_to"] for each in rules) == sorted(inventory.values())
    for node in ("c1", "c2"):
        (mount,) = recorders[node].ran("mount")
        assert mount[:5] == ["mount", "-t", "nfs", "-o", "hard,nconnect=4"]
        source, at = mount[5:]
        assert source.startswith("10.1.0.3:/shares/")  # the preferred one, not the administrator's
        assert at == cluster.mount_path
    service = noted_service(directory_of("lab"))  # also for another process
    assert service is not None and service.address == recorders["c1"].ran("mount")[0][5]
    # no I/O nodes, no volumes
    assert made(openstack, "POST cinder:/volumes") == []
    deploy.take_down("lab")
    assert openstack.left() == []
    (kept,) = kept_bills("lab")
    # by the share's own type, of the site's prices
    line = next(each for each in kept.computed.lines if each.resource.startswith("manila-netapp"))
    assert line.amount is not None and line.amount > 0 and kept.computed.missing == ()


@pytest.mark.usefixtures("unreached")
def test_without_the_clusters_folder_its_share_is_listed_and_pruned(openstack: Emulator) -> None:
    spec = share_of()
    create(spec)
    directory_of("lab").erase()
    (found,) = holdings(OpenStackCloud("RegionOne"), datetime.now(UTC) + timedelta(hours=3))
    # two servers; key, group of servers, security group, network, subnet, router, address; the share
    assert (found.n_instances, found.n_things, found.is_over) == (2, 10, True)
    prune_all(spec)
    assert openstack.left() == []


@pytest.mark.usefixtures("unreached")
def test_calling_again_makes_neither_a_second_share_nor_second_rules(
    openstack: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_twice(monkeypatch, OpenStackCloud, "make")
    create(share_of())
    assert len(made(openstack, "POST manila:/shares")) == 1
    assert len(made(openstack, "POST manila:/shares/*/action")) == 2
    deploy.take_down("lab")
    assert openstack.left() == []


@pytest.mark.usefixtures("unreached")
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"shares": {"fails": True}}, "manila-share .* is error: Manila could not make it"),
        ({"shares": {"no_rules": True}}, "could not apply its access rules"),
        ({"quota": {"share_gigabytes": 99}}, "exceeds allowed project/user or share type gigabytes quota"),
        ({"refuse": {"POST manila:/shares": [403, "Policy doesn't allow share:create."]}}, "may not call POST manila:/shares"),
    ],
)  # fmt: skip
def test_a_share_that_cannot_be_made_ends_it_and_nothing_is_left(
    openstack: Emulator, how: dict[str, Any], said: str
) -> None:
    openstack.behave(**how)
    with pytest.raises(ProviderError, match=said):
        create(share_of())
    assert openstack.left() == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"share_type": "cephs"}, "share_type cephs: RegionOne has no such share type; it has cephfs, generic, netapp"),
        ({"share_type": "generic"}, "share type generic makes its servers in a share network"),
        ({"share_type": "generic", "share_network": "lab-share"}, "no such share network; it has lab-shares, twice"),
        ({"share_type": "generic", "share_network": "twice"}, "there are 2 of this name"),
        ({"share_network": "lab-shares"}, "share type cephfs takes none: remove it"),
    ],
)  # fmt: skip
def test_what_manila_does_not_have_is_said_with_what_it_has(
    openstack: Emulator, changes: dict[str, Any], said: str
) -> None:
    assert said in findings(openstack=changes)
    assert openstack.left() == []


def test_a_project_that_can_have_the_share_has_no_finding_and_quotas_are_looked_at(
    openstack: Emulator,
) -> None:
    assert findings() == ""
    assert findings(openstack={"share_type": "generic", "share_network": "lab-shares"}) == ""
    openstack.behave(quota={"shares": 0, "share_gigabytes": 99})
    said = findings()
    assert "quota of shares: 1 are needed, and the project has 0 of 0" in said
    assert "quota of shares (GB): 100 are needed" in said
    assert all(call.startswith("GET ") for call in openstack.calls())


@pytest.mark.usefixtures("unreached")
def test_a_cloud_without_manila_refuses_the_kind_and_is_used_without_it(
    openstack: Emulator,
) -> None:
    openstack.behave(has_manila=False)
    assert "RegionOne has no Manila" in findings()
    create(share_of({"kind": "none", "capacity": None}))
    deploy.take_down("lab")
    assert openstack.left() == []
    assert not any("manila" in call for call in openstack.calls())


def test_a_share_is_paid_by_its_size_and_a_type_without_a_price_is_refused() -> None:
    assert over_budget(share_of()) == []
    # two m1.large, an address, and 100000 GB at 0.06 a month of 730 h: above 5 USD
    (finding,) = over_budget(share_of({"capacity": "100000 GiB"}))
    assert "2 instances and manila-share may cost" in finding
    (finding,) = over_budget(share_of(openstack={"share_type": "glusterfs"}))
    assert "manila-glusterfs" in finding
