"""The provider aws with hosts that are there: the contract suite and a campaign, on instances that are nodes of a local cluster."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from loopback_runs import (
    CHOSEN,
    contract_holds,
    in_cloud,
    kills_asked_for,
    kills_leave_nothing,
    kinds,
    marks,
    skip_where_not_packaged,
    spaces_hold,
)
from tracer_run import FAMILIES, compile_c

from waiting import HANG_S
from wavetank.cluster import deploy

pytestmark = marks
# What hosts over ssh show is left out; of all but one file system, too, what does not differ.
CHOSEN_OF = {
    "aws-nfs": "aws-nfs",
    "aws-glusterfs": "placed or global or settings",
    "aws-cephfs": "placed",
    "aws-gateway": "placed",
    "aws-orangefs": "placed",
}


@pytest.fixture
def possible(kind: str) -> None:
    skip_where_not_packaged(kind)


@pytest.mark.parametrize(("machines", "kind"), kinds(CHOSEN_OF), indirect=["machines"])
def test_the_contract_holds_on_instances(
    possible: None, machines: deploy.DeployedCluster, kind: str
) -> None:
    contract_holds(machines, kind, CHOSEN_OF[kind])


@pytest.mark.parametrize("machines", [4], indirect=True)
def test_a_tool_killed_at_any_step_on_hosts_leaves_neither_instances_nor_connections_after_down(
    machines: deploy.DeployedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step is a call to the account or a command on an instance, from the start of the instances on."""
    monkeypatch.setenv("WAVETANK_TEST_CLOUD_REUSED", "1")
    found = kills_leave_nothing("aws", "down", machines, kills_asked_for("22,40"))
    assert all(each["scratch"] == [] for each in found), found
    # the kills came when there were instances, volumes, a key and groups
    assert all(each["left_then"] >= 4 for each in found), found


@pytest.mark.parametrize(
    ("machines", "kind"),
    [(4, "glusterfs"), *([(2, "nfs")] if CHOSEN else [])],
    indirect=["machines"],
)
def test_a_service_of_spaces_brings_servers_up_on_instances(
    machines: deploy.DeployedCluster, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVETANK_TEST_CLOUD_REUSED", "1")
    spaces_hold("aws", machines, kind)


def bt_io(folder: Path) -> list[str]:
    """BT-IO on four ranks."""
    binary = compile_c("bt_io.c", folder / "bt_io", "-lm", compiler="mpicc.openmpi")
    return [*FAMILIES["openmpi"][2], "-np", "4", str(binary), "out", "12", "3"]


def traced_kernel(folder: Path, name: str, program: list[str]) -> str:
    """The kernel of a program, traced here."""
    for words in (
        ["trace", "-o", f"{name}.trace", "--", *program],
        ["model", f"{name}.trace", "-o", f"{name}.model.json"],
        ["kernel", f"{name}.model.json", "-o", f"{name}.json"],
    ):
        command = [sys.executable, "-m", "wavetank", *words]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=HANG_S)
    return str(folder / f"{name}.json")


@pytest.mark.parametrize("machines", [9], indirect=True)
def test_a_campaign_loses_a_cluster_and_its_credentials_and_ranks_all_when_it_is_run_again(
    machines: deploy.DeployedCluster, tmp_path: Path
) -> None:
    lost = "io1"  # the NFS server: no client reads or writes any more
    kernel = traced_kernel(tmp_path, "btio", bt_io(tmp_path))
    # fio has no engine for BT-IO's collective calls
    writes = ["dd", "if=/dev/zero", "of=written", "bs=64k", "count=32"]
    for_fio = traced_kernel(tmp_path, "dd", writes)
    program = str(Path(__file__).with_name("aws_campaign.py"))
    name = machines.name.removesuffix("-cloud")
    asked = [str(tmp_path), kernel, for_fio, name, lost]
    said = json.loads(in_cloud("aws", machines, sys.executable, program, *asked))
    status, output, error = said["first"]
    assert status == 1, error
    # refused by its budget before anything is made
    assert f"cannot run btio on {name}-dear" in output, error
    assert (
        output.count(f"bringing up {name}-nfs") == output.count(f"bringing up {name}-gluster") == 1
    )
    # by its seed one of them is first
    assert re.search(rf"failed: (btio|byfio) on {name}-nfs", output), output
    assert f"{lost}: the cloud took its spot instance i-" in output
    # the credentials expired in the last measurement: said then, where it cannot go down, and at the end
    gluster = f"{name}-gluster"
    assert re.search(rf"doubt: \w+ on {gluster} .*does not accept the credentials", output), output
    assert f"{gluster} did not go down whole: AWS does not accept the credentials" in output
    assert f"Not taken down, for the reason above: {gluster}." in error
    assert f"'wavetank cluster down {gluster}'" in error
    assert sum(each.endswith(" running") for each in said["left"]) == 3
    assert not any(f"{name}-nfs" in each for each in said["left"])
    # what its own instances cost: before, and each cluster's bill after
    assert f"instances of {name}-nfs, {name}-gluster cost about " in output
    assert "on rented instances" not in output
    for cluster in (f"{name}-nfs", f"{name}-gluster"):
        assert output.count(f"{cluster}: the computed bill of its instances is ") == 1
    status, output, error = said["again"]
    assert status == 0, error
    assert f"taking {gluster} down: an earlier run left it" in output
    assert "6 done already" in output  # two of NFS, and all four of GlusterFS
    assert f"bringing up {name}-gluster" not in output
    found = json.loads(said["found"])
    for ranking in (
        "ranking_of_byfio_by_time",
        "ranking_of_btio_by_time",
    ):  # by fio there, and by the replay
        of = {each["cluster"]: each for each in found[ranking]}
        assert set(of) == {f"{name}-nfs", f"{name}-gluster"}
        assert all(each["n_repetitions"] == 2 and each["usage_percent"] for each in of.values())
    assert all(each["n_instances"] == 3 and each["cost_tot"] > 0 for each in found["cost"])
    assert "budget" not in of[f"{name}-nfs"]["title"]  # nothing that is measured depends on it
    bills = json.loads(said["bill"])["bills_of_clusters_that_are_down"]
    assert Counter(each["cluster"] for each in bills) == {f"{name}-nfs": 2, f"{name}-gluster": 1}
    # at least a minute of three c5.large, and no more than the whole ttl
    assert all(3 * 0.085 / 60 < each["usd"] < each["estimated_usd"] < 5 for each in bills)
