"""A campaign of three applications on six clusters, killed twice, ends with the same results."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from reader_campaigns import finished, reader, replay_is_possible

from waiting import HANG_S, until

pytestmark = [pytest.mark.e2e, *replay_is_possible]

N_APPLICATIONS, N_CLUSTERS = 3, 6


def write_campaign(folder: Path) -> None:
    prefix = f"killed{os.getpid()}"
    for number in range(N_APPLICATIONS):
        reader(1, 100, 1000 * (number + 1), f"reader{number}").write(folder / f"k{number}.json")
    for number in range(N_CLUSTERS):
        body = {
            "name": f"{prefix}-{number}",
            "provider": "null",
            "instance": {"name": "c3.2xlarge", "vcpus": 2},
            "nodes": {"compute": 1},
            "file_system": {"kind": "none"},
        }
        (folder / f"c{number}.yaml").write_text(yaml.safe_dump(body))
    body = {
        "name": "killed",
        "applications": [{"kernel": f"k{n}.json"} for n in range(N_APPLICATIONS)],
        "clusters": [f"c{n}.yaml" for n in range(N_CLUSTERS)],
        "repetitions": 1,
        "cache": "warm",  # emptying this machine's caches would disturb others
        "output": "results",
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(body))


def start(folder: Path) -> subprocess.Popen:
    code = "from wavetank.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", str(folder / "campaign.yaml")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"WAVETANK_STATE_DIR": str(folder / "state")},
    )


def kill_after(folder: Path, n: int) -> None:
    """Kill the campaign in a measurement after the n-th: when it has started its launcher."""
    process = start(folder)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")

    def is_measuring() -> bool:
        assert process.poll() is None
        return len(finished(folder)) >= n and any(
            "wavetank-replay" in words_of(int(child)) for child in children.read_text().split()
        )

    try:
        until(is_measuring, f"a measurement after {n} finished ones")
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def words_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""  # it has ended


def test_a_campaign_that_is_killed_twice_ends_with_every_result_once(tmp_path):
    write_campaign(tmp_path)
    kill_after(tmp_path, 4)
    first = finished(tmp_path)
    kill_after(tmp_path, 9)
    second = finished(tmp_path)
    process = start(tmp_path)
    _, stderr = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, stderr
    last = finished(tmp_path)
    assert {key[0] for key in last} == {f"reader{n}" for n in range(N_APPLICATIONS)}
    assert len(last) == N_APPLICATIONS * N_CLUSTERS
    # Nothing finished was lost or measured again: the times stay.
    assert 4 <= len(first) <= len(second) < len(last)
    assert {key: last[key] for key in second} == second
    assert {key: second[key] for key in first} == first
    assert (tmp_path / "results" / "comparison.json").is_file()
