"""The ABySS tutorial, its commands run as they stand, at small size."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tutorials import not_possible, script_of

from waiting import HANG_S

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorials" / "abyss-study.md"
CLUSTERS = ROOT / "examples" / "abyss" / "clusters"


def missing() -> str | None:
    if not Path("/usr/lib/abyss/ABYSS-P").is_file():
        return "ABySS is not installed"
    if shutil.which("mpirun.openmpi") is None:
        return "Open MPI is not installed"
    return not_possible(CLUSTERS, ("nfs", "glusterfs-2", "glusterfs-3"))


pytestmark = [
    pytest.mark.cluster,
    pytest.mark.e2e,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


def test_the_abyss_tutorial_runs_as_it_stands(tmp_path):
    script = script_of(TUTORIAL, 8)
    # The tutorial's clusters get names of their own, so that a demo beside it is not disturbed.
    rename = f"sed -i 's/^name: abyss-/name: tut{os.getpid() % 1000}-/' clusters/*.yaml\n"
    script = script.replace("cat > campaign.yaml", rename + "cat > campaign.yaml", 1)
    done = subprocess.run(
        # ABySS asks for messages and yields: on a busy machine each time costs it a turn of all that run.
        ["nice", "-n", "-15", "bash", "-c", script],
        cwd=tmp_path,
        env=os.environ
        | {
            "WAVETANK": str(ROOT),
            "WAVETANK_STATE_DIR": str(tmp_path / "state"),
            "PAIRS": "500",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=1.9 * HANG_S,  # of some 50 steps
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    comparison = json.loads((tmp_path / "results" / "comparison.json").read_text())
    measured = {(each["cluster_title"], each["mapping"]) for each in comparison["configurations"]}
    assert len(measured) == 6  # three clusters, two mappings
    # 15 pairs: 2 / C(12, 6) = 0.2 % <= 5 % / 15. The first run had 6 pairs, and 5 repetitions.
    assert all(each["n_repetitions"] == 6 for each in comparison["configurations"])
    assert comparison["price"]["table"] == "papers-2016"
    reads = [
        phase
        for phase in comparison["configurations"][0]["phases"]
        if phase["file_name"].startswith("reads")
    ]
    assert [(phase["rs"], phase["ranks"]) for phase in reads] == [(8191, [0]), (8191, [1])]
    assert (tmp_path / "plots" / "temporal.png").stat().st_size > 10_000
    assert (tmp_path / "report.html").stat().st_size > 10_000
