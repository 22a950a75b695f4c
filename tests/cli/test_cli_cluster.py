"""The cluster commands, on clusters of the null provider: no root, no nodes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wavetank.cli.main import cli
from wavetank.cluster import deploy
from wavetank.errors import ClusterError, SpecError, WavetankError

SPEC = """\
name: lab
provider: "null"
instance: {name: c3.2xlarge, vcpus: 8, memory: 15 GiB, network: 1 Gbit/s}
nodes: {compute: 2}
file_system: {kind: none}
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.yaml").write_text(SPEC)
    return tmp_path / "state"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["cluster", *arguments])


def succeed(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def fail(error: type[WavetankError], *arguments: str) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, error), (result.output, result.exception)
    return str(result.exception)


def listed() -> list[dict[str, object]]:
    return json.loads(succeed("list", "--format", "json"))["clusters"]


def test_how_far_a_cluster_is_in_coming_up_is_told_by_steps() -> None:
    result = CliRunner().invoke(cli, ["--progress", "json", "cluster", "up", "lab.yaml"])
    lines = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    (begun, *_, ended) = [line for line in lines if line["event"] == "progress"]
    assert (begun["state"], begun["what"].partition(":")[0]) == ("begun", "bringing up lab")
    # Nodes and a file system are there before the last step, mounting it.
    assert (ended["state"], ended["done"], ended["total"], ended["unit"]) == (
        "ended",
        2,
        3,
        "steps",
    )
    assert json.loads(succeed("list", "--format", "json"))["clusters"][0]["status"] == "up"
    succeed("down", "lab")


def test_a_cluster_is_listed_while_it_is_up_and_gone_after_it_is_down() -> None:
    assert listed() == []
    succeed("up", "lab.yaml")
    (row,) = listed()
    assert (row["name"], row["status"], row["nodes"]) == ("lab", "up", 2)
    succeed("down", "lab")
    assert listed() == []


def test_down_all_takes_every_cluster_down(tmp_path: Path, state: Path) -> None:
    (tmp_path / "two.yaml").write_text(SPEC.replace("name: lab", "name: two"))
    succeed("up", "lab.yaml")
    succeed("up", "two.yaml")
    succeed("down", "--all")
    assert listed() == []
    assert not list((state / "clusters").iterdir())


def test_one_cluster_that_is_not_there_does_not_keep_the_others_up() -> None:
    succeed("up", "lab.yaml")
    assert "nosuch" in fail(ClusterError, "down", "nosuch", "lab")
    assert listed() == []


def test_a_half_made_cluster_is_listed_and_can_be_taken_down(state: Path) -> None:
    (state / "clusters" / "broken").mkdir(parents=True)
    (state / "clusters" / "broken" / "cluster.json").write_text("{")
    assert listed()[0]["status"] == "half made"
    succeed("down", "broken")
    assert listed() == []


def test_check_reports_every_problem_at_once(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        SPEC.replace("compute: 2", "compute: 0, oi: 1") + "scale: 0\n"
    )
    message = fail(SpecError, "check", "bad.yaml")
    for place in ("nodes.compute", "nodes.oi", "scale"):
        assert place in message


def test_plan_says_what_an_hour_costs_on_all_nodes() -> None:
    # P16: c3.2xlarge 0.42 USD per hour; two nodes of it.
    tables = json.loads(succeed("plan", "lab.yaml", "--prices", "papers-2016", "--format", "json"))
    assert [row["node"] for row in tables["nodes"]] == ["c1", "c2"]
    assert tables["cost_per_hour"][-1]["cost_per_h"] == 0.84
    assert [(row["node"], row["where"]) for row in tables["processes"]] == [
        ("c1", "node"),
        ("c2", "node"),
    ]


def test_status_names_nodes_and_health() -> None:
    succeed("up", "lab.yaml")
    tables = json.loads(succeed("status", "lab", "--format", "json"))
    assert [row["node"] for row in tables["nodes"]] == ["c1", "c2"]
    assert tables["healthy"] is True


def test_a_plan_has_every_component_and_costs_an_hour_without_being_asked(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(
        """
name: lab
instance: {name: c3.2xlarge, network: 1 Gbit/s}
nodes: {compute: 2, io: 2, head: 1}
storage: {size: 1 GiB, read: 50 MB/s, device: hdd}
temporary: {size: 512 MiB}
file_system:
  kind: orangefs
  metadata_placement: head
  stripe: {kind: sharded, size: 64 KiB, count: 1}
  options: {TroveSyncData: true}
"""
    )
    said = json.loads(succeed("plan", "lab.yaml", "--format", "json"))
    roles = {row["node"]: row["role"] for row in said["nodes"]}
    assert (
        roles["c1"] == "compute"
        and roles["io2"] == "data server"
        and roles["h1"] == "metadata server"
    )
    io1 = next(row for row in said["nodes"] if row["node"] == "io1")
    assert (io1["device"], io1["disk_read_bytes_per_s"], io1["scratch_bytes"]) == (
        "hdd",
        50_000_000,
        None,
    )
    settings = {row["setting"]: row["value"] for row in said["settings"]}
    assert settings["stripe"] == "sharded, blocks of 64.0 KiB, over 1 servers"
    assert settings["option TroveSyncData"] == "True"
    assert said["cost_per_hour"][-1]["cost_per_h"] == 2.1  # five of 0.42


VOLUMES = """
name: lab
instance: {name: c5.large}
nodes: {compute: 2, io: 1}
file_system: {kind: nfs}
storage: {on: ebs, size: 1 GiB, volume_size: 500 GiB, iops: 6000, throughput: 500 MiB/s}
placement: cluster
"""


def test_a_plan_says_what_its_cost_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(VOLUMES.replace("on: ebs, ", "on: ebs, volume_type: io2, ").replace(
        "6000, throughput: 500 MiB/s", "40000"))  # fmt: skip
    assert "known up to 32,000 IOPS, not of 40,000" in succeed("plan", "lab.yaml")
    efs = VOLUMES.replace("kind: nfs", "kind: efs").partition("storage:")[0]
    (tmp_path / "lab.yaml").write_text(efs)
    assert "0.30 for each GB-month that is stored" in succeed("plan", "lab.yaml")
    (tmp_path / "lab.yaml").write_text(VOLUMES.partition("storage:")[0])
    assert "storage not included: storage.on says" in succeed("plan", "lab.yaml")


def test_check_says_what_the_driver_refuses_beside_what_is_misspelt(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(
        SPEC.replace("{kind: none}", "{kind: none, typo: 1, options: {a: 1}}") + "scale: 0.5\n"
    )
    result = run("check", "lab.yaml")
    assert isinstance(result.exception, SpecError)
    for words in ("typo: no such key", "scale: ", "none has no such options"):
        assert words in str(result.exception)


def test_prune_clears_what_a_killed_replay_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wavetank.cluster.namespaces.orphans.find_orphans", list)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "wavetank-replay-abandoned"
    left.mkdir()
    (left / "in-use").touch()
    (left / "plan").write_text("x")
    assert run("prune", "--dry-run").exit_code == 0 and left.is_dir()
    result = run("prune")
    assert result.exit_code == 0 and not left.exists()
    assert f"{left}, left by a killed replay, is removed" in result.stderr


@pytest.fixture
def unmountable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that cannot be mounted."""
    from wavetank.cluster.filesystems.none.driver import NoFileSystem

    def mount(self: NoFileSystem, site: object) -> None:
        raise ClusterError("c1 cannot mount it")

    monkeypatch.setattr(NoFileSystem, "mount", mount)


@pytest.mark.usefixtures("unmountable")
def test_what_fails_leaves_nothing_unless_it_is_asked_for(state: Path) -> None:
    assert "c1 cannot mount it" in fail(ClusterError, "up", "lab.yaml")
    assert not (state / "clusters" / "lab").exists()


@pytest.mark.usefixtures("unmountable")
def test_a_cluster_that_is_kept_is_shown_with_its_reason_and_removed_by_down(state: Path) -> None:
    result = run("up", "lab.yaml", "--keep-on-failure")
    assert isinstance(result.exception, ClusterError)
    assert "cluster status lab" in result.stderr and "cluster down lab" in result.stderr
    assert "USD" not in result.stderr  # nothing is paid for here
    assert listed()[0]["status"] == "failed"
    assert (state / "clusters" / "lab" / "storage").is_dir()
    looked = run("status", "lab", "--format", "json")
    assert isinstance(looked.exception, ClusterError)
    assert "it did not come up: c1 cannot mount it" in str(looked.exception)
    assert [row["node"] for row in json.loads(looked.stdout)["nodes"]] == ["c1", "c2"]
    # it is no cluster to measure on, and its name is taken
    with pytest.raises(ClusterError, match="not up but failed"):
        deploy.find("lab")
    assert "exists already" in fail(ClusterError, "up", "lab.yaml")
    succeed("down", "lab")
    assert listed() == []
    assert not (state / "clusters" / "lab").exists()


def test_nodes_that_cannot_be_made_stay_half_made(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wavetank.cluster.providers.null import NullProvider

    def find(self: NullProvider, spec: object) -> None:
        raise ClusterError("the nodes do not answer")

    monkeypatch.setattr(NullProvider, "find", find)
    result = run("up", "lab.yaml", "--keep-on-failure")
    assert isinstance(result.exception, ClusterError)
    assert "cluster status" not in result.stderr  # it has no nodes to look at
    assert (state / "clusters" / "lab" / "nodes.map").exists()
    succeed("down", "lab")
    assert not (state / "clusters" / "lab").exists()


def test_an_interrupt_takes_also_that_cluster_down(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wavetank.cluster.filesystems.none.driver import NoFileSystem

    def mount(self: NoFileSystem, site: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(NoFileSystem, "mount", mount)
    result = run("up", "lab.yaml", "--keep-on-failure")
    assert result.exit_code != 0
    assert "is taken down again" in result.stderr
    assert not (state / "clusters" / "lab").exists()


def test_what_is_refused_before_anything_is_made_is_not_kept(tmp_path: Path, state: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        SPEC.replace("kind: none", "kind: nfs").replace("compute: 2", "compute: 1, io: 1")
    )
    assert "no nodes to put servers on" in fail(SpecError, "up", "bad.yaml", "--keep-on-failure")
    assert not (state / "clusters" / "lab").exists()
