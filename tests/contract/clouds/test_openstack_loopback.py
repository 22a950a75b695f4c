"""The provider openstack with hosts that are there: the contract suite on servers that are nodes of a local cluster, by one jump host."""

from __future__ import annotations

import pytest

pytest.importorskip("openstack", reason="openstacksdk is not installed: make setup-test")

from contract_clusters import IN_CLOUDS
from loopback_runs import (
    CHOSEN,
    contract_holds,
    kills_asked_for,
    kills_leave_nothing,
    kinds,
    marks,
    skip_where_not_packaged,
    spaces_hold,
)

from wavetank.cluster import deploy

pytestmark = marks
# A few of one file system: a cluster in AWS shows the rest; of GlusterFS, on two volumes of each server, what differs.
# With WAVETANK_TEST_CLOUD_CHOSEN what that names, with every file system.
CHOSEN_OF = {
    "openstack-nfs": "placed or global or is_a_running or settings",
    "openstack-glusterfs": "placed",
}
if CHOSEN is not None:
    CHOSEN_OF = {f"openstack-{name}": CHOSEN for name in IN_CLOUDS}


@pytest.fixture
def possible(kind: str) -> None:
    skip_where_not_packaged(kind)


@pytest.mark.parametrize(("machines", "kind"), kinds(CHOSEN_OF), indirect=["machines"])
def test_the_contract_holds_on_servers(
    possible: None, machines: deploy.DeployedCluster, kind: str
) -> None:
    contract_holds(machines, kind, CHOSEN_OF[kind])


@pytest.mark.parametrize("machines", [4], indirect=True)
def test_a_tool_killed_after_any_call_that_changes_something_leaves_nothing_after_prune(
    machines: deploy.DeployedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first server on: when there are two servers, and at a command on one of them."""
    monkeypatch.setenv("WAVETANK_TEST_CLOUD_REUSED", "1")
    found = kills_leave_nothing("openstack", "prune", machines, kills_asked_for("2,10"))
    # a key, groups, a network with its subnet, router and ports, a volume, and what was made of servers by then
    assert all(each["left_then"] >= 9 for each in found), found


@pytest.mark.parametrize(
    ("machines", "kind"),
    [(2, "nfs"), *([(4, "glusterfs")] if CHOSEN else [])],
    indirect=["machines"],
)
def test_a_service_of_spaces_brings_servers_up_on_servers(
    machines: deploy.DeployedCluster, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVETANK_TEST_CLOUD_REUSED", "1")
    spaces_hold("openstack", machines, kind)
