"""A campaign on two real clusters of this machine that come up one after the other, anew for each repetition."""

import os
import re

import pytest
import yaml
from reader_campaigns import finished, reader, replay_is_possible

from machine_state import machine_state
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of

NAME = f"blk{os.getpid()}"


def spec_of(name: str) -> dict[str, object]:
    return {
        "name": name,
        "instance": {"name": "c3.2xlarge", "vcpus": 2, "memory": "512 MiB"},
        "nodes": {"compute": 1},
        "file_system": {"kind": "none"},
    }


CLUSTERS = {name: spec_of(name) for name in (f"{NAME}a", f"{NAME}b")}
WHY_NOT = "; ".join(deploy.check(ClusterSpec.model_validate(spec_of(NAME))))

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.e2e,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
    *replay_is_possible,
]


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    yield tmp_path / "state"
    for name in CLUSTERS:
        if directory_of(name).path.is_dir():
            deploy.take_down(name)


def test_clusters_take_turns_and_each_cluster_is_gone_before_the_next_one(
    tmp_path, wavetank, state
):
    reader(2, 10, 8191, "readers").write(tmp_path / "k.json")
    for name, body in CLUSTERS.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(body))
    campaign = {
        "name": "blocks",
        "applications": [{"kernel": "k.json"}],
        "clusters": [f"{name}.yaml" for name in CLUSTERS],
        "mappings": ["2PxCN"],
        "repetitions": 2,
        "repeat_disturbed": 0,
        "output": "results",
    }
    (tmp_path / "campaign.yaml").write_text(yaml.safe_dump(campaign))
    before = machine_state(state, NAME)
    said = wavetank("run", "campaign.yaml", cwd=tmp_path).stderr
    assert machine_state(state, NAME) == before

    steps = re.findall(rf"(bringing up|measuring readers on|taking) ({NAME}[ab])", said)
    turns = [name for what, name in steps if what == "bringing up"]
    # Each cluster has its turn before any comes up again.
    assert sorted(turns[:2]) == sorted(turns[2:]) == sorted(CLUSTERS)
    block = ("bringing up", "measuring readers on", "taking")
    assert steps == [(what, name) for name in turns for what in block]
    done = finished(tmp_path)
    in_order = [(cluster, number) for _, cluster, _, number in sorted(done, key=done.__getitem__)]
    assert [cluster for cluster, _ in in_order] == turns
    assert [number for _, number in in_order] == sorted(number for _, number in in_order)
