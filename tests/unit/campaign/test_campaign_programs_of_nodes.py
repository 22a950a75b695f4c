"""Programs that perform kernels are asked of the nodes: of this machine where nodes are made of it, else of the hosts."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from measure_fakes import abyss_kernel

from wavetank.campaign import load
from wavetank.campaign.clusters import read_cluster, read_site_cluster
from wavetank.campaign.load import load_campaign
from wavetank.campaign.plan import make_plan
from wavetank.campaign.spec import read_campaign
from wavetank.cluster import deploy
from wavetank.cluster.needs import FIO
from wavetank.cluster.providers import ssh
from wavetank.cluster.remote import hosts
from wavetank.measure import benchmarks

BODY = {
    "instance": {"name": "c5.large"},
    "nodes": {"compute": 2},
    "file_system": {"kind": "none"},
}
HOSTS = {"hosts": {"c1": "192.0.2.1", "c2": "192.0.2.2"}, "user": "me", "identity_file": "/key", "known_hosts": "/known"}  # fmt: skip
TERMS = {"region": "us-east-1", "ttl": "2 h", "budget": "5 USD"}
PROVIDERS = {
    "here": {"provider": "local", "scale": 1},
    "hosts": {"provider": "ssh", "ssh": HOSTS},
    "cloud": {"provider": "aws", "cloud": TERMS},
    "image": {"provider": "aws", "cloud": TERMS | {"image": "ami-0123456789abcdef0"}},
}


@pytest.fixture(autouse=True)
def can_come_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but programs is there; this machine has no fio and no IOR."""
    monkeypatch.setattr(deploy, "check", lambda spec: [])
    monkeypatch.setattr(ssh, "_problems", lambda spec: [])
    monkeypatch.setattr(hosts, "examine", lambda spec, needs: [])
    monkeypatch.setattr(benchmarks, "find_program", lambda name: None)
    monkeypatch.setenv("PATH", "/nonexistent")


def impossible(folder: Path, program: str) -> tuple[dict[str, str], list[str]]:
    """Of a campaign on one cluster of each provider: cluster -> why it cannot be measured on; why it is refused whole."""
    abyss_kernel().write(folder / "k.json")
    for name, more in PROVIDERS.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({"name": name} | BODY | more))
    campaign = {
        "name": "test",
        "applications": [{"kernel": "k.json", "program": program}],
        "clusters": [f"{name}.yaml" for name in PROVIDERS],
        "oversubscribe": True,
    }
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(campaign))
    spec = read_campaign(path)
    loaded = load_campaign(spec, folder, read_cluster)
    plan = make_plan(spec, loaded.applications, loaded.clusters)
    return {part.cluster: part.reason for part in plan.impossible}, loaded.missing_everywhere()


def test_fio_is_asked_of_hosts_and_missing_here_only_for_nodes_made_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = "program: fio: fio is not installed: apt-get install fio"
    assert impossible(tmp_path, "fio") == ({"here": why}, [])

    def examine(spec: object, needs: object) -> list[str]:
        assert needs == dict.fromkeys(("c1", "c2"), FIO)
        return ["c2: fio is missing: apt-get install fio"]

    monkeypatch.setattr(hosts, "examine", examine)
    found, refused = impossible(tmp_path, "fio")
    assert refused == []
    assert set(found) == {"here", "hosts"}
    assert found["hosts"] == "program: fio: c2: fio is missing: apt-get install fio"


def test_ior_is_brought_from_this_machine_so_it_must_be_here_for_every_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "why_not_with", lambda kernel, program: None)  # it has no IOR line
    found, refused = impossible(tmp_path, "ior")
    assert refused == [found["here"]]
    assert set(found) == set(PROVIDERS)
    assert all("IOR is not installed. Build it from its source" in why for why in found.values())


def test_the_replay_needs_neither(tmp_path: Path) -> None:
    assert impossible(tmp_path, "replay") == ({}, [])


def test_of_the_nodes_of_a_slurm_job_nothing_is_known_before(tmp_path: Path) -> None:
    body = BODY | {"name": "site", "provider": "null"}
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(body))
    assert set(read_cluster(tmp_path / "site.yaml").lacks) == {"fio", "ior"}
    assert read_site_cluster(tmp_path / "site.yaml").lacks == {}
