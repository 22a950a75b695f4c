"""From a kernel to the report, on real file systems on this machine; and what is left when it is cut short."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from machine_state import machine_state
from waiting import HANG_S, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.cluster,
    pytest.mark.skipif(os.geteuid() != 0, reason="virtual clusters on this machine need root"),
]

Run = Callable[..., subprocess.CompletedProcess[str]]
WAVETANK = Path(sys.executable).parent / "wavetank"
INSTANCE = {
    "name": "c3.2xlarge",
    "vcpus": 8,
    "memory": "512 MiB",
    "network": "1 Gbit/s",
    "disk_read": "100 MB/s",
    "disk_write": "100 MB/s",
}
REPETITIONS = 2
NEVER_DONE = 1000
"""Repetitions of a campaign that is stopped in the middle, however late the test sees that it is there."""
OWN = f"e2e-{os.getpid()}"  # another run of these tests may be at work on this machine


def cluster(name: str, io_nodes: int, **file_system: object) -> dict[str, object]:
    return {
        "name": name,
        "instance": INSTANCE,
        "nodes": {"compute": 2, "io": io_nodes},
        "file_system": file_system,
    }


def write_campaign(
    folder: Path, assembled: Path, clusters: list[dict[str, object]], repetitions: int = REPETITIONS
) -> None:
    """A campaign in its own folder, with the model and kernel of the traced assembler."""
    for name in ("abyss.model.json", "abyss.kernel.json"):
        shutil.copy(assembled / name, folder / name)
    for body in clusters:
        (folder / f"{body['name']}.yaml").write_text(yaml.safe_dump(body))
    campaign = {
        "name": "small",
        "applications": [
            {"name": "ABYSS-P", "model": "abyss.model.json", "kernel": "abyss.kernel.json"}
        ],
        "clusters": [f"{body['name']}.yaml" for body in clusters],
        "mappings": ["1PxCN", "2PxCN"],
        "repetitions": repetitions,
        "seed": 7,
        "prices": "papers-2016",
        "output": "out",
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(campaign))


@pytest.fixture
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    directory = tmp_path / "state"
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(directory))
    yield directory
    subprocess.run([str(WAVETANK), "cluster", "down", "--all"], check=False, timeout=HANG_S)


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(WAVETANK), *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until_it_says(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if words in line:
            return
    pytest.fail(f"ended without saying {words!r}:\n{''.join(seen)}")


def until_ranks_are_started(process: subprocess.Popen[str], state: Path, name: str) -> None:
    """Wait until a launcher or a rank of a replay is there; whatever it is at, all must go."""

    def are_started() -> bool:
        assert process.poll() is None
        return any("bin/wavetank-replay" in line for line in machine_state(state, name).processes)

    until(are_started, "the ranks of a replay")


def test_a_campaign_measures_ranks_resumes_and_reports(
    tmp_path: Path, assembled: Path, wavetank: Run, state_directory: Path
) -> None:
    clusters = [
        cluster(f"{OWN}-nfs", 1, kind="nfs"),
        cluster(f"{OWN}-gluster", 2, kind="glusterfs", stripe={"kind": "sharded", "size": "4 MiB"}),
    ]
    write_campaign(tmp_path, assembled, clusters)
    before = machine_state(state_directory, OWN)

    wavetank("run", "campaign.yaml", cwd=tmp_path)

    assert machine_state(state_directory, OWN) == before
    comparison = json.loads((tmp_path / "out" / "comparison.json").read_text())
    text = json.dumps(comparison)
    for name in (f"{OWN}-nfs", f"{OWN}-gluster", "1PxCN", "2PxCN", "emulated"):
        assert name in text

    again = wavetank("run", "campaign.yaml", cwd=tmp_path)
    assert f"{2 * 2 * REPETITIONS} done already" in again.stderr
    assert "bringing up" not in again.stderr

    wavetank("report", "out", "-o", "report.html", cwd=tmp_path)
    page = (tmp_path / "report.html").read_text()
    for name in (f"{OWN}-nfs", f"{OWN}-gluster", "reads1.fastq", "8191"):
        assert name in page


def test_a_kill_in_the_middle_of_a_measurement_leaves_nothing_after_down_all(
    tmp_path: Path, assembled: Path, wavetank: Run, state_directory: Path
) -> None:
    clusters = [cluster(f"{OWN}-killed", 1, kind="nfs")]
    write_campaign(tmp_path, assembled, clusters, NEVER_DONE)
    before = machine_state(state_directory, f"{OWN}-killed")

    process = start(tmp_path, "run", "campaign.yaml")
    wait_until_it_says(process, "measuring")
    until_ranks_are_started(process, state_directory, f"{OWN}-killed")
    process.kill()
    process.wait(timeout=HANG_S)
    during = machine_state(state_directory, f"{OWN}-killed")
    assert during.processes and during.control_groups and during.loop_devices

    wavetank("cluster", "down", "--all", cwd=tmp_path)
    assert machine_state(state_directory, f"{OWN}-killed") == before

    write_campaign(tmp_path, assembled, clusters)
    wavetank("run", "campaign.yaml", cwd=tmp_path)
    assert (tmp_path / "out" / "comparison.json").exists()
    assert machine_state(state_directory, f"{OWN}-killed") == before


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("moment", ["bringing up", "measuring"])
def test_a_stopped_campaign_takes_its_cluster_down_itself(
    tmp_path: Path, assembled: Path, state_directory: Path, stop: signal.Signals, moment: str
) -> None:
    write_campaign(tmp_path, assembled, [cluster(f"{OWN}-stopped", 1, kind="nfs")], NEVER_DONE)
    before = machine_state(state_directory, f"{OWN}-stopped")

    process = start(tmp_path, "run", "campaign.yaml")
    wait_until_it_says(process, moment)
    if moment == "measuring":
        until_ranks_are_started(process, state_directory, f"{OWN}-stopped")
    os.killpg(process.pid, stop)  # as a terminal does it: the whole process group
    process.communicate(timeout=HANG_S)

    assert process.returncode not in (0, 1)
    assert machine_state(state_directory, f"{OWN}-stopped") == before
