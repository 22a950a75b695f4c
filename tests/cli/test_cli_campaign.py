import json
import subprocess
import sys

import click
import pytest
import yaml
from click.testing import CliRunner
from measure_fakes import FakeCluster, FakePerformer, abyss_kernel, abyss_result

from waiting import HANG_S
from wavetank.cli.main import cli
from wavetank.errors import WavetankError
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.measure.perform import RawOutput

CLUSTER = """\
name: {name}
provider: "null"
instance: {{name: c3.2xlarge, vcpus: 8}}
nodes: {{compute: {compute}}}
file_system: {{kind: none}}
"""


@pytest.fixture
def folder(tmp_path):
    abyss_kernel().write(tmp_path / "k.json")
    (tmp_path / "one.yaml").write_text(CLUSTER.format(name="one", compute=2))
    (tmp_path / "two.yaml").write_text(CLUSTER.format(name="two", compute=1))
    body = {
        "name": "test",
        "applications": [{"kernel": "k.json"}],
        "clusters": ["one.yaml", "two.yaml"],
        "mappings": ["1PxCN", "2PxCN"],
        "repetitions": 3,
        "prices": "papers-2016",
    }
    (tmp_path / "campaign.yaml").write_text(yaml.safe_dump(body))
    return tmp_path


@pytest.fixture
def faked(monkeypatch):
    """Clusters that come up at once, and a kernel that is performed at once."""
    performer = FakePerformer(abyss_result)
    monkeypatch.setattr("wavetank.measure.perform.ReplayPerformer", lambda **_: performer)
    monkeypatch.setattr("wavetank.measure.disturbance.MachineWatch", lambda: None)
    monkeypatch.setattr("wavetank.cluster.deploy.bring_up", lambda spec: FakeCluster(spec.name))
    monkeypatch.setattr("wavetank.cluster.deploy.take_down", lambda name: None)
    return performer


def call(*argv):
    return CliRunner().invoke(cli, [*map(str, argv)], catch_exceptions=False)


def test_a_dry_run_prints_the_plan_and_starts_nothing(folder, faked):
    result = call("run", folder / "campaign.yaml", "--dry-run", "--format", "json")
    plan = json.loads(result.stdout)
    assert [row["repetitions"] for row in plan["plan"]] == [3, 3, 0, 3]
    assert "needs 2 compute nodes" in plan["plan"][2]["cannot_run"]
    assert plan["measurements"] == 9 and plan["currency"] == "USD"
    assert faked.calls == [] and not (folder / "results").exists()


def searching(folder, n_clusters):
    """The campaign of the folder as a search over n clusters with one mapping."""
    names = [f"c{index}" for index in range(n_clusters)]
    for name in names:
        (folder / f"{name}.yaml").write_text(CLUSTER.format(name=name, compute=2))
    body = yaml.safe_load((folder / "campaign.yaml").read_text())
    del body["repetitions"]
    body |= {
        "clusters": [f"{name}.yaml" for name in names],
        "mappings": ["1PxCN"],
        "strategy": {"kind": "search"},
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(body))


@pytest.mark.parametrize(
    ("n_clusters", "words"),
    [
        (10, ("at most 22 measurements (the full grid takes 70)", "10, then 4 configurations once each; 2 finalists, 4 rep")),
        (2, ("at most 8 measurements (the full grid takes 8)", "the full grid takes no more measurements")),
    ],
)  # fmt: skip
def test_the_plan_of_a_search_says_what_it_takes_and_what_the_grid_would(
    folder, faked, n_clusters, words
):
    searching(folder, n_clusters)
    shown = call("run", folder / "campaign.yaml", "--dry-run").stdout
    for part in words:
        assert part in shown
    plan = json.loads(call("run", folder / "campaign.yaml", "--dry-run", "--format", "json").stdout)
    assert (plan["measurements"], plan["full_grid"]) == tuple(
        int(words[0].split()[index].strip(")")) for index in (2, -1)
    )


def test_a_search_prints_what_it_dropped(folder, faked):
    searching(folder, 10)
    printed = json.loads(call("run", folder / "campaign.yaml", "--format", "json").stdout)
    assert len(faked.calls) == 22
    assert len(printed["ranking_of_abyss_p_by_time"]) == 2
    assert len(printed["dropped_by_the_search"]) == 8
    assert "Dropped by the search" in call("results", folder / "results", "--full").stdout


def test_a_run_prints_the_ranking_and_keeps_everything_in_its_folder(folder, faked):
    result = call("run", folder / "campaign.yaml", "--format", "json")
    printed = json.loads(result.stdout)
    assert len(printed["ranking_of_abyss_p_by_time"]) == 3
    assert len(faked.calls) == 9
    kept = {str(path.relative_to(folder / "results")) for path in (folder / "results").rglob("*.*")}
    assert kept >= {
        "store.sqlite",
        "comparison.json",
        "campaign.yaml",
        "applications/ABYSS-P.kernel.json",
        "clusters/one.yaml",
        "clusters/two.yaml",
    }


def test_progress_goes_to_standard_error(folder, faked):
    result = call("run", folder / "campaign.yaml")
    assert "9 of 9 measurements done" in result.stderr
    assert "measurements done" not in result.stdout
    assert result.stdout.startswith("Not conclusive: ")
    full = call("results", folder / "results", "--full")
    assert "Ranking of ABYSS-P by time" in full.stdout
    assert (
        call("results", folder / "results", "--brief").stdout == result.stdout.splitlines(True)[0]
    )


def test_a_second_run_measures_nothing_and_a_fresh_one_everything(folder, faked):
    call("run", folder / "campaign.yaml")
    call("run", folder / "campaign.yaml")
    assert len(faked.calls) == 9
    call("run", folder / "campaign.yaml", "--fresh")
    assert len(faked.calls) == 18


def test_results_prints_what_a_folder_holds(folder, faked):
    call("run", folder / "campaign.yaml", "-o", folder / "out")
    result = call("results", folder / "out", "--format", "csv")
    assert "# Ranking of ABYSS-P by time" in result.stdout
    assert result.stdout.count("measured under emulated limits") > 0


def test_the_answer_has_the_cost_of_a_month_where_runs_are_told(folder, faked):
    body = yaml.safe_load((folder / "campaign.yaml").read_text())
    (folder / "campaign.yaml").write_text(yaml.safe_dump(body | {"runs_per_month": 100}))
    assert "USD a month" in call("run", folder / "campaign.yaml").stdout
    more = call("results", folder / "results", "--runs-per-month", 200).stdout
    assert "USD a month" in more and "USD of the I/O" not in more


def test_results_that_no_check_can_use_say_how_many_repetitions_could(folder, faked):
    said = call("run", folder / "campaign.yaml").stderr
    assert "A check can tell nothing of" in said and "Write 'repetitions: " in said


def test_a_failed_part_fails_the_command_and_is_listed(folder, monkeypatch, faked):
    from wavetank.errors import ClusterError, MeasurementError

    def broken(spec):
        raise ClusterError("no namespaces here")

    monkeypatch.setattr("wavetank.cluster.deploy.bring_up", broken)
    with pytest.raises(MeasurementError, match="9 of 9 measurements failed"):
        call("run", folder / "campaign.yaml")
    assert "no namespaces here" in call("results", folder / "results").stdout


def test_nothing_that_can_run_is_an_error_with_the_plan(folder, faked):
    from wavetank.errors import MeasurementError

    body = yaml.safe_load((folder / "campaign.yaml").read_text())
    body |= {"clusters": ["two.yaml"], "mappings": ["1PxCN"]}
    (folder / "campaign.yaml").write_text(yaml.safe_dump(body))
    with pytest.raises(MeasurementError, match=r"nothing in campaign test can be measured"):
        call("run", folder / "campaign.yaml")
    assert not (folder / "results").exists()


def test_a_misspelt_key_is_a_message_and_exit_status_1(folder):
    with (folder / "campaign.yaml").open("a") as stream:
        stream.write("repetitons: 5\n")
    done = subprocess.run(
        [sys.executable, "-c", "from wavetank.cli.main import main; main()",
         "run", str(folder / "campaign.yaml")],
        capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "repetitons: no such key" in done.stderr and "Traceback" not in done.stderr


def test_a_campaign_stopped_before_its_first_measurement_leaves_no_comparison(folder, faked):
    faked.results = [KeyboardInterrupt()]
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        cli.main(["run", str(folder / "campaign.yaml")], standalone_mode=False)
    assert not (folder / "results" / "comparison.json").exists()


def test_a_campaign_stopped_later_compares_what_it_has(folder, faked):
    faked.results = [abyss_result, KeyboardInterrupt()]
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        cli.main(["run", str(folder / "campaign.yaml")], standalone_mode=False)
    found = json.loads((folder / "results" / "comparison.json").read_text())
    assert [each["n_repetitions"] for each in found["configurations"]] == [1]


def test_a_campaign_that_was_stopped_says_what_is_kept_and_how_to_go_on(
    folder, faked, monkeypatch, capsys
):
    words = ["run", str(folder / "campaign.yaml"), "--fresh"]
    monkeypatch.setattr("sys.argv", ["wavetank", *words])
    faked.results = [abyss_result, abyss_result, KeyboardInterrupt()]
    with pytest.raises((KeyboardInterrupt, click.Abort)):
        cli.main(words, standalone_mode=False)
    again = " ".join(words[:-1])  # --fresh would forget what is kept
    said = f"wavetank: 2 of 9 measurements kept; run again: wavetank {again}\n"
    assert said in capsys.readouterr().err


def test_every_measurement_is_listed_with_what_it_was_made_with(folder, faked):
    faked.raw_output = RawOutput("said by the replay\n", "warned by the launcher\n")
    call("run", folder / "campaign.yaml")
    result = call("measurements", folder / "results", "--format", "json")
    rows = json.loads(result.stdout)["measurements"]
    assert [row["number"] for row in rows] == list(range(1, 10))
    assert {row["kernel_sha256"] for row in rows} == {kernel_hash(abyss_kernel())}
    assert {row["raw_output"] for row in rows} == {True}
    assert call("raw", folder / "results", 9).stdout == "said by the replay\n"
    assert call("raw", folder / "results", 9, "--stderr").stdout == "warned by the launcher\n"
    with pytest.raises(WavetankError, match="number 10"):
        call("raw", folder / "results", 10)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--sbatch-option=--partition=x",), "--executor slurm only"),
        (("--executor", "slurm", "--sbatch-option=partition=x"), "must start with a dash"),
        (("--executor", "slurm", "--sbatch-option=--array=1-2"), "set by the campaign itself"),
    ],
)
def test_options_of_sbatch_are_checked_before_anything(folder, faked, arguments, says):
    with pytest.raises(WavetankError, match=says):
        call("run", folder / "campaign.yaml", *arguments)
    assert not (folder / "results").exists()


def test_clusters_that_a_slurm_job_cannot_bring_up_are_sorted_out(folder, faked, monkeypatch):
    monkeypatch.setattr("wavetank.campaign.slurm.queue.SlurmQueue.jobs", lambda self, name: [])
    result = call(
        "run", folder / "campaign.yaml", "--executor", "slurm", "--dry-run", "--format", "json"
    )
    reasons = [row["cannot_run"] for row in json.loads(result.stdout)["plan"]]
    assert len(reasons) == 4 and all("a Slurm job brings nothing up" in each for each in reasons)


def test_a_dry_run_shows_the_first_job_and_fails_where_slurm_does_not_answer(
    folder, faked, monkeypatch
):
    from wavetank.campaign.slurm.queue import SlurmQueue, SlurmUnreachableError

    body = yaml.safe_load((folder / "one.yaml").read_text())
    existing = {"provider": "null", "file_system": {"kind": "existing", "path": str(folder)}}
    (folder / "one.yaml").write_text(yaml.safe_dump({**body, **existing}))
    words = (
        "run",
        folder / "campaign.yaml",
        "--executor",
        "slurm",
        "--dry-run",
        "--sbatch-option=--partition=short",
    )
    monkeypatch.setattr(SlurmQueue, "jobs", lambda self, name: [])
    script = call(*words).stdout.partition("#!/bin/sh\n")[2].splitlines()
    assert {"#SBATCH --nodes=2", "#SBATCH --partition=short", "#SBATCH --time=10"} <= set(script)
    assert " -m wavetank job " in script[-1]

    def silent(self, name):
        raise SlurmUnreachableError("no controller")

    monkeypatch.setattr(SlurmQueue, "jobs", silent)
    with pytest.raises(SlurmUnreachableError, match="no controller"):
        call(*words)


def test_slurm_that_is_not_there_is_said(folder, faked, monkeypatch):
    (folder / "one.yaml").write_text(
        'name: one\nprovider: "null"\ninstance: {name: c3.2xlarge, vcpus: 8}\n'
        f"nodes: {{compute: 2}}\nfile_system: {{kind: existing, path: {folder}}}\n"
    )
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(WavetankError, match="sbatch is not installed"):
        call("run", folder / "campaign.yaml", "--executor", "slurm")
