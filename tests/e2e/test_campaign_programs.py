"""A campaign that performs a kernel by the replay, by fio, and by IOR (a stand-in that looks at its files)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from reader_campaigns import reader, replay_is_possible

from waiting import HANG_S
from wavetank.campaign.results_folder import open_store
from wavetank.kernel.benchmarks.ior import ior_lines
from wavetank.programs import find_program

pytestmark = [
    pytest.mark.e2e,
    *replay_is_possible,
    pytest.mark.skipif(find_program("fio") is None, reason="fio is not installed"),
]

N, RS = 100, 8192
WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]

# As IOR 4.1 does: each task looks for its own file, task 0 prints the summary. Read in 20 ms.
STAND_IN = f"""#!{sys.executable}
# libmpi.so
import json, os, sys
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
name = sys.argv[sys.argv.index("-o") + 1]
path = f"{{name}}.{{rank:08d}}" if "-F" in sys.argv else name
if os.path.getsize(path) < {N * RS}:
    sys.exit(f"ERROR: {{path}} is too short")
if rank == 0:
    times = {{"access": "read", "openTime": 0.001, "wrRdTime": 0.02, "closeTime": 0.001, "totalTime": 0.022}}
    print(json.dumps({{"Version": "4.1.0", "tests": [{{"Results": [{{"bwMiB": 1.0, "iops": 1.0, **times}}]}}]}}))
"""


def write_campaign(folder: Path, programs: list[str]) -> None:
    kernel = reader(2, N, RS)
    lines, _ = ior_lines(kernel, (), "4.0")
    kernel.model_copy(update={"ior": tuple(lines)}).write(folder / "k.json")
    cluster = {
        "name": f"prog{os.getpid()}",
        "provider": "null",
        "instance": {"name": "c3.2xlarge", "vcpus": 2},
        "nodes": {"compute": 2},
        "file_system": {"kind": "existing", "path": str(folder / "files")},
    }
    (folder / "files").mkdir()
    (folder / "c.yaml").write_text(yaml.safe_dump(cluster))
    body = {
        "name": "programs",
        "applications": [{"kernel": "k.json", "program": program} for program in programs],
        "clusters": ["c.yaml"],
        "repetitions": 1,
        "cache": "warm",  # emptying this machine's caches would disturb others
        "output": "results",
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(body))


def run(folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WAVETANK, "run", "campaign.yaml", "--format", "json"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=HANG_S,
        env=os.environ | {"PATH": path, "WAVETANK_STATE_DIR": str(folder / "state")},
    )  # fmt: skip


def test_each_program_is_an_application_of_its_own_with_the_same_bytes(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ior").write_text(STAND_IN)
    (tmp_path / "bin" / "ior").chmod(0o755)
    write_campaign(tmp_path, ["replay", "fio", "ior"])
    done = run(tmp_path, f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    with open_store(tmp_path / "results") as store:
        found = {each.application: each for each in store.measurements()}
        assert len(store.done()) == 3
    assert set(found) == {"reader", "reader by fio", "reader by IOR"}
    for measurement in found.values():
        phases = measurement.result.phases
        assert [(phase.ph_id, phase.bytes, phase.operations) for phase in phases] == [
            (1, N * RS, N),
            (2, N * RS, N),
        ]
        assert [phase.ranks[0].rank for phase in phases] == [0, 1]
    by_ior = found["reader by IOR"]
    # Lines run one after the other: two of 22 ms, of which 1 ms opens and 1 ms closes.
    assert by_ior.result.io.total_s == pytest.approx(2 * 0.022)
    assert by_ior.result.io.metadata_s == pytest.approx(2 * 0.002)
    assert (by_ior.versions["ior"], by_ior.result.settings["program"]) == ("4.1.0", "ior")
    assert found["reader by fio"].versions["fio"].startswith("fio-")
    assert [host for phase in by_ior.result.phases for host in [phase.ranks[0].host]] == [
        "c1",
        "c2",
    ]
    # the copy of the campaign can be run again, and has nothing to do
    again = run(tmp_path / "results", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert again.returncode == 0, again.stderr
    assert "3 done already" in again.stderr
    assert json.loads(again.stdout)["ranking_of_reader_by_fio_by_time"]
    assert list((tmp_path / "files").iterdir()) == []


def test_a_program_that_is_missing_is_said_before_anything_starts(tmp_path):
    write_campaign(tmp_path, ["replay", "ior"])
    (tmp_path / "empty").mkdir()
    done = run(tmp_path, str(tmp_path / "empty"))
    assert done.returncode == 1
    assert "IOR is not installed" in done.stderr and not (tmp_path / "results").exists()
