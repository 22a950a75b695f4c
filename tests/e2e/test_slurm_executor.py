"""A campaign through a real Slurm: jobs, results, a kill, Ctrl-C, jobs that fail or are cancelled."""

import json
import os
import signal
import subprocess
import sys

import pytest
import yaml
from reader_campaigns import finished, reader, replay_is_possible
from slurm_cluster import child_of, missing

from waiting import HANG_S, until
from wavetank.campaign.results_folder import open_store

RS, N = 4096, 500

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.e2e,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    *replay_is_possible,
]


@pytest.fixture
def folder(tmp_path):
    """A campaign of two readers on two nodes and two directories, two repetitions each."""
    tmp_path = tmp_path / "50 %j 'it"  # what Slurm and a shell would read otherwise
    tmp_path.mkdir()
    reader(2, N, RS).write(tmp_path / "k.json")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        body = {
            "name": f"site-{name}",
            "provider": "null",
            "instance": {"name": "c3.2xlarge", "vcpus": 2},
            "nodes": {"compute": 2},
            "file_system": {"kind": "existing", "path": str(tmp_path / name)},
        }
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(body))
    body = {
        "name": "site",
        "applications": [{"kernel": "k.json"}],
        "clusters": ["one.yaml", "two.yaml"],
        "repetitions": 2,
        "cache": "warm",  # emptying this machine's caches would disturb others
        "executor": "slurm",
        "output": "results",
    }
    (tmp_path / "campaign.yaml").write_text(yaml.safe_dump(body))
    return tmp_path


def start(slurm, folder, *more):
    argv = [sys.executable, "-m", "wavetank", "run", str(folder / "campaign.yaml")]
    return subprocess.Popen(
        slurm.argv([*argv, *more]),
        env=slurm.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def jobs_of(slurm, folder):
    """Every job that was ever submitted for a campaign, as Slurm tells of it."""
    lines = slurm.run("scontrol", "show", "job", "--oneliner").splitlines()
    return [line for line in lines if f"WorkDir={folder.resolve()}/" in line]


def nothing_is_left(slurm, folder):
    """Files on the mounted file systems, folders of jobs, jobs in the queue."""
    assert list((folder / "one").iterdir()) == list((folder / "two").iterdir()) == []
    assert not (folder / "results" / "jobs").exists()
    assert slurm.run("squeue", "--noheader").strip() == ""


def end_of(process):
    stdout, stderr = process.communicate(timeout=HANG_S)
    assert "Traceback" not in stderr, stderr
    return stdout, stderr


def test_a_campaign_of_jobs_that_is_killed_goes_on_and_submits_nothing_twice(slurm, folder):
    process = start(slurm, folder)
    until(lambda: finished(folder), "the end of a job")
    os.kill(child_of(process), signal.SIGKILL)
    process.communicate()
    first = finished(folder)
    again = start(slurm, folder, "--format", "json")
    stdout, stderr = end_of(again)
    assert again.returncode == 0, stderr
    last = finished(folder)
    assert set(last) == {
        ("reader", f"site-{name}", "1PxCN", n) for name in ("one", "two") for n in (0, 1)
    }
    assert {key: last[key] for key in first} == first
    assert len(jobs_of(slurm, folder)) == len(last)
    assert all("JobState=COMPLETED" in line for line in jobs_of(slurm, folder))
    nothing_is_left(slurm, folder)

    ranking = json.loads(stdout)["ranking_of_reader_by_time"]
    assert {row["cluster"] for row in ranking} == {"site-one", "site-two"}
    assert {row["origin"] for row in ranking} == {"measured"}
    raw = slurm.run(sys.executable, "-m", "wavetank", "raw", str(folder / "results"), "1")
    assert "wavetank-replay-result 1" in raw and raw.count(f",{N * RS},{N},") == 2  # ranks
    with open_store(folder / "results") as store:
        limits = {each.limits["limits"] for each in store.measurements()}
    assert all("nodes n1, n2 of Slurm job" in text for text in limits)


def test_an_interrupted_campaign_takes_its_jobs_out_of_the_queue(slurm, folder):
    process = start(slurm, folder, "--sbatch-option=--partition=down")
    until(lambda: len(jobs_of(slurm, folder)) == 4, "jobs in the queue")
    os.kill(child_of(process), signal.SIGINT)
    _, stderr = end_of(process)
    assert process.returncode == 130, stderr
    assert all("JobState=CANCELLED" in line for line in jobs_of(slurm, folder))
    nothing_is_left(slurm, folder)


def test_cancelled_and_failed_jobs_are_recorded_and_tried_again_the_next_time(slurm, folder):
    campaign = folder / "campaign.yaml"
    campaign.write_text(campaign.read_text().replace("repetitions: 2", "repetitions: 1"))
    process = start(slurm, folder, "--sbatch-option=--partition=down")
    until(lambda: len(jobs_of(slurm, folder)) == 2, "jobs in the queue")
    submitted = [line.split()[0].removeprefix("JobId=") for line in jobs_of(slurm, folder)]
    slurm.run("scancel", *submitted)
    _, stderr = end_of(process)
    assert process.returncode == 1, stderr
    assert all(f"Slurm job {job} ended as CANCELLED" in stderr for job in submitted)
    # These jobs cannot find the programs that they need.
    failing = start(slurm, folder, "--sbatch-option=--export=PATH=/nonexistent")
    _, stderr = end_of(failing)
    assert failing.returncode == 1, stderr
    assert "ended as FAILED" in stderr and "scontrol is not installed" in stderr
    assert finished(folder) == {}
    nothing_is_left(slurm, folder)


def test_what_sbatch_refuses_is_said_in_its_own_words(slurm, folder):
    process = start(slurm, folder, "--sbatch-option=--partition=nowhere")
    _, stderr = end_of(process)
    assert process.returncode == 1
    assert "invalid partition specified: nowhere" in stderr
    nothing_is_left(slurm, folder)
