"""Campaigns on a real NFS cluster of this machine: interrupted, terminated, killed and gone on with."""

import json
import os
import signal
import subprocess
import sys

import pytest
import yaml
from reader_campaigns import reader

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of
from wavetank.launchers.registry import launcher

NAME = f"int{os.getpid()}"
SPEC = {
    "name": NAME,
    "instance": {"name": "c3.2xlarge", "vcpus": 2, "memory": "512 MiB", "disk_read": "50 MB/s"},
    "nodes": {"compute": 2, "io": 1},
    "file_system": {"kind": "nfs"},
    "storage": {"size": "512 MiB"},
}


def missing() -> str | None:
    if launcher("openmpi").available() is None:
        return "Open MPI is not installed"
    return "; ".join(deploy.check(ClusterSpec.model_validate(SPEC))) or None


pytestmark = [
    pytest.mark.cluster,
    pytest.mark.e2e,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    reader(2, 1000, 8191, "readers").write(tmp_path / "k.json")
    (tmp_path / "nfs.yaml").write_text(yaml.safe_dump(SPEC))
    body = {
        "name": "interrupted",
        "applications": [{"kernel": "k.json"}],
        "clusters": ["nfs.yaml"],
        "mappings": ["1PxCN", "2PxCN"],
        "repetitions": 3,
        "output": "results",
    }
    (tmp_path / "campaign.yaml").write_text(yaml.safe_dump(body))
    yield tmp_path
    if directory_of(NAME).path.is_dir():
        deploy.take_down(NAME)


def start(folder):
    code = "from wavetank.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", str(folder / "campaign.yaml"),
         "--format", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def until_measuring(process, n_done):
    """Read progress until a measurement after ``n_done`` finished ones is under way."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        done = any(f"{n_done} of 6 measurements done" in each for each in lines)
        if done and "measuring" in line:
            return
    pytest.fail("it ended early: " + "".join(lines))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_campaign_leaves_no_cluster_and_keeps_what_is_finished(
    folder, number, status
):
    process = start(folder)
    until_measuring(process, 1)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=HANG_S)
    assert process.returncode == status, stderr
    assert not directory_of(NAME).path.exists()
    results = json.loads((folder / "results" / "comparison.json").read_text())
    assert sum(each["n_repetitions"] for each in results["configurations"]) >= 1


def test_a_killed_campaign_goes_on_and_cleans_up_what_it_left(folder):
    process = start(folder)
    until_measuring(process, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert directory_of(NAME).path.is_dir()  # it had no time to take its cluster down
    again = start(folder)
    stdout, stderr = again.communicate(timeout=HANG_S)
    assert again.returncode == 0, stderr
    assert "an earlier run left it" in stderr
    assert not directory_of(NAME).path.exists()
    ranking = json.loads(stdout)["ranking_of_readers_by_time"]
    assert len(ranking) == 2
    comparison = json.loads((folder / "results" / "comparison.json").read_text())
    assert [each["n_repetitions"] for each in comparison["configurations"]] == [3, 3]
    # Two files of 8 MB cold from one disk of 50 MB/s, whose limit counts in slices of 0.1 s: even with two slices
    # (10 MB) let through at once, 6.4 MB at 50 MB/s make 128 MB/s of all. From a warm cache it would be several times that.
    assert all(each["rate_bytes_per_s"] < 150e6 for each in ranking)
