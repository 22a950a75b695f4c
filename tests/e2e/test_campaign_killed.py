"""A campaign of three applications on six clusters, killed twice, ends with the same results."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from wavetank import native
from wavetank.launchers.registry import launcher

sys.path.append(str(Path(__file__).parents[1] / "unit" / "measure"))

from measure_fakes import PROVENANCE, phase

from wavetank.kernel.plan import Kernel, KernelFile
from wavetank.model.phase import DataStep, FileStep, Program

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not native.available("bin/wavetank-replay-openmpi")
        or not native.available("bin/wavetank-node"),
        reason="the C parts are not built: make setup",
    ),
    pytest.mark.skipif(launcher("openmpi").available() is None, reason="Open MPI is not installed"),
]

N_APPLICATIONS, N_CLUSTERS = 3, 6


def kernel(number: int) -> Kernel:
    """One rank that reads a file of 100 requests."""
    rs = 1000 * (number + 1)
    reads = phase(1, 1, [0], 100 * rs, rs=rs)
    steps = (
        FileStep(iop_type="open", file_id=1, handle=0, arg=os.O_RDONLY),
        DataStep(ph_id=1, n=100, handle=0),
        FileStep(iop_type="close", file_id=1, handle=0),
    )
    return Kernel(
        provenance=PROVENANCE,
        application=f"reader{number}",
        model_sha256="0" * 64,
        n_ranks=1,
        files=(KernelFile(file_id=1, name="in", role="input", prepare_bytes=100 * rs),),
        phases=(reads,),
        programs=(Program(ranks=(0,), steps=steps),),
        capacity_bytes=100 * rs,
        not_reproduced=(),
    )


def write_campaign(folder: Path) -> None:
    prefix = f"killed{os.getpid()}"
    for number in range(N_APPLICATIONS):
        kernel(number).write(folder / f"k{number}.json")
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
        [sys.executable, "-c", code, "campaign", "run", str(folder / "campaign.yaml")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"WAVETANK_STATE_DIR": str(folder / "state")},
    )


def finished(folder: Path) -> dict[tuple, str]:
    """Each finished measurement, and when it was finished."""
    path = folder / "results" / "store.sqlite"
    if not path.exists():
        return {}
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        rows = connection.execute(
            "SELECT application, cluster, mapping, repetition, finished_utc FROM measurement"
        ).fetchall()
    except sqlite3.OperationalError:  # the table is not there yet
        rows = []
    finally:
        connection.close()
    return {row[:4]: row[4] for row in rows}


def kill_after(folder: Path, n: int) -> None:
    """Kill the campaign somewhere in the measurement after the n-th."""
    process = start(folder)
    try:
        deadline = time.monotonic() + 120
        while len(finished(folder)) < n and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(random.Random(n).uniform(0, 0.5))
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def test_a_campaign_that_is_killed_twice_ends_with_every_result_once(tmp_path):
    write_campaign(tmp_path)
    kill_after(tmp_path, 4)
    first = finished(tmp_path)
    kill_after(tmp_path, 9)
    second = finished(tmp_path)
    process = start(tmp_path)
    _, stderr = process.communicate(timeout=200)
    assert process.returncode == 0, stderr
    last = finished(tmp_path)
    assert {key[0] for key in last} == {f"reader{n}" for n in range(N_APPLICATIONS)}
    assert len(last) == N_APPLICATIONS * N_CLUSTERS
    # Nothing finished was lost or measured again: the times stay.
    assert 4 <= len(first) <= len(second) < len(last)
    assert {key: last[key] for key in second} == second
    assert {key: second[key] for key in first} == first
    assert (tmp_path / "results" / "comparison.json").is_file()
