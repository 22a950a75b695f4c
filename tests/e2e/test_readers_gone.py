"""Commands whose output nobody reads any more: they go to their end and leave no cluster up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from reader_campaigns import reader, replay_is_possible

from waiting import HANG_S
from wavetank.campaign.results_folder import open_store
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec

NULL = {
    "provider": "null",
    "instance": {"name": "c3.2xlarge", "vcpus": 2},
    "nodes": {"compute": 1},
    "file_system": {"kind": "none"},
}
NFS = {
    "instance": {"name": "c3.2xlarge", "vcpus": 2, "memory": "512 MiB"},
    "nodes": {"compute": 1, "io": 1},
    "file_system": {"kind": "nfs"},
    "storage": {"size": "512 MiB"},
}


def missing_nfs() -> str | None:
    spec = ClusterSpec.model_validate({"name": f"gone{os.getpid()}", **NFS})
    return "; ".join(deploy.check(spec)) or None


pytestmark = [pytest.mark.e2e, *replay_is_possible]
clusters = [
    pytest.param(NULL, id="null"),
    pytest.param(
        NFS,
        id="nfs",
        marks=[
            pytest.mark.cluster,
            pytest.mark.skipif(missing_nfs() is not None, reason=str(missing_nfs())),
        ],
    ),
]


def run_unread(folder: Path, *arguments: str, lines: int) -> int:
    """Read some lines of both streams, then close the pipe, as head does; the exit status."""
    code = "from wavetank.cli.main import main; main()"
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        stdout=write,
        stderr=write,
        env=os.environ | {"WAVETANK_STATE_DIR": str(folder / "state")},
    )
    os.close(write)
    with os.fdopen(read) as stream:
        for _ in range(lines):
            stream.readline()
    return process.wait(timeout=HANG_S)


def clusters_left(folder: Path) -> list[Path]:
    return [path for path in (folder / "state").glob("**/*") if path.name.startswith("gone")]


@pytest.mark.parametrize("cluster", clusters)
def test_a_campaign_whose_reader_goes_away_ends_and_leaves_no_cluster(tmp_path, cluster):
    reader(1, 100, 1000).write(tmp_path / "k.json")
    name = f"gone{os.getpid()}"
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"name": name, **cluster}))
    body = {
        "name": "unread",
        "applications": [{"kernel": "k.json"}],
        "clusters": ["c.yaml"],
        "repetitions": 2,
        "cache": "warm",
        "output": "results",
    }
    (tmp_path / "campaign.yaml").write_text(yaml.safe_dump(body))
    # The third line says that the cluster is being brought up.
    assert run_unread(tmp_path, "run", "campaign.yaml", lines=3) == 0
    assert clusters_left(tmp_path) == []
    with open_store(tmp_path / "results") as store:
        assert len(store.done()) == 2
        assert store.comparison().configurations[0].n_repetitions == 2


def test_a_cluster_comes_up_and_goes_down_unread(tmp_path):
    name = f"gone{os.getpid()}"
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"name": name, **NULL}))
    assert run_unread(tmp_path, "cluster", "up", "c.yaml", lines=0) == 0
    assert clusters_left(tmp_path) != []
    assert run_unread(tmp_path, "cluster", "down", name, lines=0) == 0
    assert clusters_left(tmp_path) == []
