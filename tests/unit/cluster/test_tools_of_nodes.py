"""``cluster check`` names what measures besides the replay, and is missing on nodes that are not made of this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.cluster import deploy
from wavetank.cluster.needs import Examined, Needs
from wavetank.cluster.providers import ssh
from wavetank.cluster.remote import hosts
from wavetank.cluster.spec import ClusterSpec

HOSTS = """{{name: lab, provider: {provider}, instance: {{name: c5.large}}, nodes: {{compute: 2}}, file_system: {{kind: none}},
  {more}}}
"""
CLOUD = "cloud: {{region: us-east-1, ttl: 2 h, budget: 5 USD, image: {image}, reaper: '{reaper}'}}"
REAPER = "arn:aws:iam::123456789012:role/reaper"
OVER_SSH = "ssh: {hosts: {c1: 192.0.2.1, c2: 192.0.2.2}, user: me, identity_file: /key, known_hosts: /known}"


@pytest.fixture(autouse=True)
def can_come_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the programs is there; none is on this machine's PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(deploy, "examine", lambda spec: Examined([], []))


def checked(text: str) -> str:
    Path("lab.yaml").write_text(text)
    result = CliRunner().invoke(cli, ["cluster", "check", "lab.yaml"])
    assert result.exit_code == 0, result.output
    return result.output


def test_hosts_over_ssh_are_asked_and_each_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def examine(spec: ClusterSpec, needs: Mapping[str, Needs]) -> list[str]:
        return [f"{node}: {', '.join(each.programs)} are missing" for node, each in needs.items()]

    monkeypatch.setattr(hosts, "examine", examine)
    monkeypatch.setattr(ssh, "_problems", lambda spec: [])
    said = checked(HOSTS.format(provider="ssh", more=OVER_SSH))
    for node in ("c1", "c2"):
        assert f"program: fio have to do without: {node}: fio, iperf3 are missing" in said
    assert "note: program: ior has to do without: IOR is not installed" in said


def test_instances_are_known_by_their_image_before_there_are_any() -> None:
    amazon = CLOUD.format(image="amazon-linux-2023", reaper="none")
    said = checked(HOSTS.format(provider="aws", more=amazon))
    assert "note: whether cloud.image amazon-linux-2023 has fio and iperf3 is not known" in said
    debian = CLOUD.format(image="debian-12", reaper="none")
    assert "program: fio" not in checked(HOSTS.format(provider="aws", more=debian))


def test_nodes_of_this_machine_have_its_programs_and_no_note() -> None:
    assert "do without" not in checked(HOSTS.format(provider="local", more="scale: 1"))


@pytest.mark.parametrize(
    ("throughput", "moved"), [("elastic", True), ("bursting", False), ("10 MiB/s", False)]
)
def test_the_plan_says_how_much_is_stored_and_moved_for_the_price_of_efs(
    throughput: str, moved: bool
) -> None:
    efs = CLOUD.format(image="debian-12", reaper=REAPER)
    text = HOSTS.format(provider="aws", more=efs)
    kind = f"{{kind: efs, capacity: 20 GiB, throughput: {throughput}}}"
    Path("lab.yaml").write_text(text.replace("{kind: none}", kind))
    result = CliRunner().invoke(cli, ["cluster", "plan", "lab.yaml"])
    said = " ".join(result.output.split())
    assert "with a margin of 10 min, for efs of 1 h" in said
    assert "efs is counted with 20.0 GiB stored for all that time" in said
    assert ("written once and read once" in said) == moved
    # of the table of an hour
    assert ("for each GB read and" in said) == moved
    assert "a program that stores or moves more costs more than this" in said


def test_the_plan_says_nothing_of_efs_for_what_stores_otherwise() -> None:
    Path("lab.yaml").write_text(HOSTS.format(provider="aws", more=CLOUD.format(image="debian-12", reaper="none")))  # fmt: skip
    said = CliRunner().invoke(cli, ["cluster", "plan", "lab.yaml"]).output
    assert "with a margin of 10 min; without" in " ".join(said.split()) and "efs" not in said


def test_the_plan_of_a_file_for_a_cloud_shows_what_emulates_it_beside_it_by_either_provider() -> (
    None
):
    emulated, made = beside("local"), beside("aws")
    assert made == emulated
    assert made["c5.large"] == ("2 vCPUs, 4.0 GiB", "2 vCPUs, 4.0 GiB")
    assert made["placement"] == ("one machine", "not said")
    here, there = made["storage of io1"]
    assert "81.2 MB/s read" in here  # the catalogue's 81.25 of the instance
    assert "a volume (ebs-gp3) of 2.0 GiB" in there


def beside(provider: str) -> dict[str, tuple[str, str]]:
    text = HOSTS.format(provider=provider, more=CLOUD.format(image="debian-12", reaper="none"))
    with_a_server = text.replace("{compute: 2}", "{compute: 2, io: 1}").replace("none}", "nfs}", 1)
    Path("lab.yaml").write_text(with_a_server)
    result = CliRunner().invoke(cli, ["cluster", "plan", "lab.yaml", "--format", "json"])
    assert result.exit_code == 0, result.output
    tables = json.loads(result.output)
    rows = tables["emulated_and_in_the_cloud"]
    return {row["what"]: (row["emulated"], row["in_the_cloud"]) for row in rows}
