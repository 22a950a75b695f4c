"""The command papers: lists, shows and plans studies, and judges what follows from models alone."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from measure_fakes import FakeCluster, FakePerformer, abyss_kernel, abyss_result

from wavetank.cli.main import cli
from wavetank.papers.study import find_study

MODEL = find_study("P18").path(Path("models/abyss.model.json"))

ROWS = f"""
paper: alone
title: rows only
reference: nowhere
models: [{{name: m, files: [{MODEL}]}}]
scaled: [files are smaller]
statements:
  - id: right
    quote: 8191 bytes
    source: table 1
    says: {{claim: rows, model: m, tolerance: 0, rows: [{{np: 2, operation: read, phases: 2, request: 8191}}]}}
  - id: wrong
    quote: 4096 bytes
    source: table 2
    says: {{claim: rows, model: m, tolerance: 0, rows: [{{np: 2, operation: read, phases: 2, request: 4096}}]}}
"""


def run(*arguments):
    return CliRunner().invoke(cli, ["papers", *map(str, arguments)])


def test_list_names_each_study_with_what_it_measures():
    done = run("list", "--format", "json")
    assert done.exit_code == 0, done.output
    measures = {row["name"]: row["measures"] for row in json.loads(done.output)["studies"]}
    assert measures == {
        "DN": "interfere",
        "P12": "campaign",
        "P15": "campaign",
        "P16": "campaign",
        "P18": "campaign",
    }


def test_show_prints_quotes_with_their_sources_and_what_is_scaled():
    done = run("show", "P18")
    assert done.exit_code == 0, done.output
    assert "NFS reports more data transfer rate and IOPS than PVFS" in done.output
    assert "section 4.4, figure 4" in done.output
    assert "Not as in the paper: The input files have 16,950,000 bytes" in done.output


def test_dry_run_plans_and_leaves_nothing(tmp_path):
    for name in ("P18", "DN"):
        done = run("run", name, "--dry-run", "--results", tmp_path / "out", "--format", "json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.output)["plan"]
    assert list(tmp_path.iterdir()) == []


def test_a_study_of_models_alone_is_judged_at_once(tmp_path):
    (tmp_path / "statements.yaml").write_text(ROWS)
    done = run("run", tmp_path, "--format", "json")
    assert done.exit_code == 0, done.output
    body = json.loads(done.output)
    assert [(row["statement"], row["verdict"]) for row in body["statements"]] == [
        ("right", "holds"),
        ("wrong", "does not hold"),
    ]
    assert body["verdicts"] == {"holds": 1, "does not hold": 1, "cannot be told": 0}
    assert body["not_as_in_the_paper"] == ["files are smaller"]
    assert list(tmp_path.iterdir()) == [tmp_path / "statements.yaml"]


def test_a_study_whose_clusters_cannot_come_up_judges_its_models_and_fails_with_the_reason(tmp_path):  # fmt: skip
    (tmp_path / "pvfs2.yaml").write_text(
        "name: papers-nowhere\n"
        "instance: {name: small, vcpus: 1, memory: 256 MiB}\n"
        "nodes: {compute: 2, io: 1}\n"
        "file_system: {kind: orangefs, prefix: /nowhere/orangefs}\n"
    )
    (tmp_path / "campaign.yaml").write_text(
        f"name: nowhere\napplications: [{{name: m, model: {MODEL}}}]\nclusters: [pvfs2.yaml]\n"
    )
    better = (
        "  - id: better\n    quote: more\n    source: figure 1\n"
        "    says: {claim: better, these: {mappings: [1PxCN]}, those: {clusters: [papers-nowhere]}}\n"
    )
    (tmp_path / "statements.yaml").write_text(ROWS + better + "campaign: campaign.yaml\n")
    done = run("run", tmp_path, "--results", tmp_path / "out", "--format", "json")
    assert done.exit_code == 1
    assert "can be measured on this machine" in str(done.exception)
    body = json.loads(done.output)
    assert [row["verdict"] for row in body["statements"]] == [
        "holds",
        "does not hold",
        "cannot be told",
    ]
    (missing,) = body["not_measured"]
    assert "/nowhere/orangefs" in missing["reason"]
    assert not (tmp_path / "out").exists()


def test_a_study_that_is_not_there_is_a_usage_error():
    done = run("run", "P13")
    assert done.exit_code != 0
    assert "DN, P12, P15, P16, P18" in str(done.exception)


LOCAL = """
name: {name}
provider: "null"
instance: {{name: c3.2xlarge, vcpus: 8}}
nodes: {{compute: 2}}
file_system: {{kind: none}}
"""

THREE = """
paper: three
title: two clusters alike, and one that cannot be had
reference: nowhere
campaign: campaign.yaml
statements:
  - id: one-is-better
    quote: one gives more than two
    source: figure 1
    says: {claim: better, these: {clusters: [one]}, those: {clusters: [two]}}
  - id: two-is-no-gain
    quote: two does not help
    source: figure 1
    says: {claim: no gain, before: {clusters: [one]}, after: {clusters: [two]}}
  - id: pvfs2-is-worse
    quote: PVFS2 gives less
    source: figure 1
    says: {claim: better, these: {clusters: [one]}, those: {clusters: [pvfs2]}}
"""


@pytest.fixture
def three(tmp_path, monkeypatch):
    """A study of three clusters, two of which come up at once and are equally fast."""
    folder = tmp_path / "study"
    folder.mkdir()
    abyss_kernel().write(folder / "k.json")
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text(LOCAL.format(name=name))
    (folder / "pvfs2.yaml").write_text(
        "name: pvfs2\ninstance: {name: small, vcpus: 1, memory: 256 MiB}\nnodes: {compute: 2, io: 1}\n"
        "file_system: {kind: orangefs, prefix: /nowhere/orangefs}\n"
    )
    (folder / "campaign.yaml").write_text(
        "name: three\napplications: [{kernel: k.json}]\nclusters: [one.yaml, two.yaml, pvfs2.yaml]\n"
        "repetitions: 4\n"
    )
    (folder / "statements.yaml").write_text(THREE)
    performer = FakePerformer(abyss_result)
    monkeypatch.setattr("wavetank.measure.perform.ReplayPerformer", lambda **_: performer)
    monkeypatch.setattr("wavetank.measure.disturbance.MachineWatch", lambda: None)
    monkeypatch.setattr("wavetank.cluster.deploy.bring_up", lambda spec: FakeCluster(spec.name))
    monkeypatch.setattr("wavetank.cluster.deploy.take_down", lambda name: None)
    return folder, performer


def verdicts(output):
    return {row["statement"]: (row["verdict"], row["why"]) for row in output["statements"]}


def test_a_run_judges_what_was_measured_and_says_what_was_left_out(three, tmp_path):
    folder, performer = three
    done = run("run", folder, "--results", tmp_path / "out", "--format", "json")
    assert done.exit_code == 0, done.output
    assert len(performer.calls) == 8  # 2 clusters, 4 repetitions
    printed = json.loads(done.stdout)
    found = verdicts(printed)
    assert found["one-is-better"][0] == "does not hold"
    assert found["two-is-no-gain"] == ("holds", None)
    assert found["pvfs2-is-worse"][0] == "cannot be told"
    assert "install-orangefs.md" in found["pvfs2-is-worse"][1]
    (missing,) = printed["not_measured"]
    assert missing["cluster"].startswith("OrangeFS, programs in /nowhere/orangefs")


def test_other_clusters_in_a_studys_place_are_measured_against_the_baseline_and_drawn(
    three, tmp_path
):
    folder, performer = three
    campaign = folder / "campaign.yaml"
    campaign.write_text(campaign.read_text() + "baseline: one\n")
    others = tmp_path / "others"
    others.mkdir()
    for name in ("one", "two"):
        (others / f"{name}.yaml").write_text(LOCAL.format(name=name) + f"title: the other {name}\n")
    options = ("--clusters", others, "--results", tmp_path / "out", "--format", "json")
    wrong = run("run", folder, *options, "--plot", tmp_path / "it.gif")
    assert "ends in .svg or .png" in str(wrong.exception)
    assert not performer.calls
    done = run("run", folder, *options, "--plot", tmp_path / "it.svg")
    assert done.exit_code == 0, done.output
    assert "left out, as" in done.stderr
    assert "pvfs2.yaml" in done.stderr
    printed = json.loads(done.stdout)
    one, two = printed["ratios"]
    assert (one["cluster_title"], one["times"], one["published"]) == ("the other one", None, 1.0)
    assert (two["cluster_title"], two["times"], two["published"]) == ("the other two", 1.0, 1.0)
    assert printed["order"] == ["ABYSS-P: the paper has no order of these configurations."]
    assert "the other two" in (tmp_path / "it.svg").read_text()


def test_what_cannot_be_drawn_is_refused_before_anything_is_measured(three, tmp_path):
    folder, performer = three
    done = run("run", folder, "--plot", tmp_path / "it.svg", "--results", tmp_path / "out")
    assert "compares with no baseline" in str(done.exception)
    assert "name their folder with --results" in str(
        run("show", folder, "--plot", "it.svg").exception
    )
    assert "has no campaign" in str(run("run", "DN", "--clusters", tmp_path).exception)
    assert not performer.calls


def test_a_second_run_measures_nothing_and_show_judges_the_same_results(three, tmp_path):
    folder, performer = three
    first = run("run", folder, "--results", tmp_path / "out", "--format", "json")
    again = run("run", folder, "--results", tmp_path / "out", "--format", "json")
    shown = run("show", folder, "--results", tmp_path / "out", "--format", "json")
    assert len(performer.calls) == 8
    assert again.stdout == first.stdout == shown.stdout


def test_results_are_in_the_working_directory_unless_named(three, tmp_path, monkeypatch):
    folder, _ = three
    monkeypatch.chdir(tmp_path)
    assert run("run", folder).exit_code == 0
    assert (tmp_path / "papers-three" / "comparison.json").is_file()


def test_show_of_a_folder_without_results_says_so(three, tmp_path):
    folder, _ = three
    done = run("show", folder, "--results", tmp_path / "nothing")
    assert done.exit_code != 0
    assert "comparison.json" in str(done.exception)
