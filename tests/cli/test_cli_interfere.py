"""``wavetank interfere`` from the command line, on clusters that need no root: this machine for every node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from wavetank.cli.main import cli
from wavetank.interfere.spec import read_interfere
from wavetank.report.watch.follow import Follower

EXAMPLES = Path(__file__).parents[2] / "examples" / "interfere"


def invoke(*args: object) -> Result:
    return CliRunner().invoke(cli, ["interfere", *map(str, args)])


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "files").mkdir()
    cluster = {
        "name": "here",
        "provider": "null",
        "instance": {"name": "laptop", "vcpus": 2},
        "nodes": {"compute": 2},
        "file_system": {"kind": "existing", "path": str(tmp_path / "files")},
    }
    (tmp_path / "here.yaml").write_text(yaml.safe_dump(cluster))
    objects = {"size": "16 KiB", "file_size": "64 KiB"}
    spec = {
        "name": "small",
        "clusters": ["here.yaml"],
        "groups": [{"name": name, "clients": 1, "objects": objects} for name in ("one", "two")],
        "duration": "0.4 s",
        "settle": "0.1 s",
    }
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(spec))
    return path


def test_a_plan_is_printed_and_nothing_is_made(study: Path) -> None:
    result = invoke(study, "--dry-run", "--format", "json")
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    assert {(row["point"], row["nodes"]) for row in plan["plan"]} == {
        ("alone", "c1"),
        ("alone", "c2"),
        ("together", "c1 c2"),
    }
    assert not (study.parent / "results").exists()


def test_a_study_that_is_stopped_says_what_is_kept_and_how_to_go_on(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wavetank.interfere.run.run_study", stopped)
    monkeypatch.setattr("sys.argv", ["wavetank", "interfere", str(study), "--fresh"])
    result = invoke(study, "--fresh")
    assert result.exit_code != 0
    said = " ".join(result.stderr.split())
    assert "wavetank: 0 of " in said
    assert f"runs kept; run again: wavetank interfere {study}" in said and "--fresh" not in said
    # Its folder can be watched.
    follower = Follower(study.parent / "results")
    assert (
        follower.look().sentence
        == "The study was stopped: 0 of 3 runs are made. Run it again to go on."
    )
    assert b"stopped before its first run ended" in follower.page()


def test_a_study_runs_goes_on_and_is_reported(study: Path, tmp_path: Path) -> None:
    first = invoke(study, "--format", "json")
    assert first.exit_code == 0, first.output
    found = {
        row["group"] for row in json.loads(first.stdout)["rates"] if row["point"] == "together"
    }
    assert found == {"one", "two"}
    again = invoke(study)
    assert "3 done already" in again.stderr
    kept = CliRunner().invoke(cli, ["results", str(tmp_path / "results"), "--full"])
    assert "Slowdown" in kept.stdout, kept.output
    for kind in ("html", "markdown", "csv", "json"):
        page = tmp_path / f"report.{kind}"
        args = ["report", str(tmp_path / "results"), "--format", kind, "-o", str(page)]
        made = CliRunner().invoke(cli, args)
        assert made.exit_code == 0, made.output
        assert "one" in page.read_text() and "two" in page.read_text()


def test_a_report_does_not_need_the_comparison(study: Path, tmp_path: Path) -> None:
    assert invoke(study).exit_code == 0
    (tmp_path / "results" / "comparison.json").unlink()  # as after a kill
    page = tmp_path / "report.json"
    args = ["report", str(tmp_path / "results"), "--format", "json", "-o", str(page)]
    assert CliRunner().invoke(cli, args).exit_code == 0
    printed = CliRunner().invoke(cli, ["results", str(tmp_path / "results"), "--full"])
    assert "Slowdown" in printed.stdout, printed.output
    (part,) = json.loads(page.read_text())["applications"]
    assert {row["group"] for row in part["tables"]["study-rates"]} == {"one", "two"}


@pytest.mark.parametrize("name", ["slides.yaml", "quick.yaml"])
def test_the_examples_fit_their_schema(name: str) -> None:
    spec = read_interfere(EXAMPLES / name)
    assert spec.intervals is not None
    assert min(spec.intervals.values) == 0 and max(spec.intervals.values) == 2
    assert [path.stem for path in spec.clusters] == ["nfs", "glusterfs", "gateway"]


def test_a_dry_run_says_that_results_cannot_be_kept_and_leaves_no_folder(
    study: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    refused = invoke(study, "--dry-run", "-o", str(tmp_path / "file" / "results"))
    assert refused.exit_code == 1
    said = str(refused.exception)
    assert "cannot use" in said and "Not a directory" in said
    done = invoke(study, "--dry-run", "-o", str(tmp_path / "new" / "results"))
    assert done.exit_code == 0
    assert not (tmp_path / "new").exists()
