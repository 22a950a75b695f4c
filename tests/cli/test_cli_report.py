"""``wavetank report`` and the figures of ``wavetank summary`` as a user calls them."""

from __future__ import annotations

from pathlib import Path

import campaign_examples
import pytest
import report_examples
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.errors import WavetankError


@pytest.fixture
def folder(tmp_path):
    where = tmp_path / "campaign"
    where.mkdir()
    campaign_examples.make_campaign(where, clusters=("nfs", "gluster-1"))
    return where


def run(*arguments: object):
    return CliRunner().invoke(cli, [str(a) for a in arguments])


def test_report_writes_one_file_and_says_so_on_standard_error(folder, tmp_path) -> None:
    output = tmp_path / "r.html"
    result = run("report", folder, "-o", output)
    assert result.exit_code == 0, result.output
    assert output.read_text().startswith("<!doctype html>")
    assert result.stdout == ""
    assert f"wrote {output}" in result.stderr


def test_a_folder_without_results_is_an_error_that_says_what_to_do(tmp_path) -> None:
    result = run("report", tmp_path, "-o", tmp_path / "r.html")
    assert isinstance(result.exception, WavetankError)
    assert "wavetank run" in str(result.exception)
    assert not (tmp_path / "r.html").exists()


def test_a_report_that_cannot_be_written_leaves_the_old_one(folder, tmp_path) -> None:
    result = run("report", folder, "-o", tmp_path / "missing" / "r.html")
    assert isinstance(result.exception, WavetankError)
    assert "missing" in str(result.exception)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "abyss.model.json"
    report_examples.abyss().write(path)
    return path


def test_summary_writes_every_figure_and_prints_their_names(model, tmp_path) -> None:
    result = run("summary", model, "--figures", tmp_path / "plots")
    assert result.exit_code == 0, result.output
    names = ["heat", "temporal", "spatial", "sizes", "operations", "gantt"]
    files = [f"{name}.{kind}" for name in names for kind in ("svg", "png")]
    assert result.stdout.split() == [str(tmp_path / "plots" / name) for name in files]
    drawn = [Path(name) for name in result.stdout.split() if name.endswith(".svg")]
    assert all(path.read_text().startswith("<?xml") for path in drawn)


def test_figures_of_a_model_without_times_are_over_ticks(tmp_path) -> None:
    model = report_examples.abyss()
    phases = tuple(p.model_copy(update={"start_s": None, "end_s": None}) for p in model.phases)
    points = tuple(p.model_copy(update={"start_s": None, "end_s": None}) for p in model.timeline)
    path = tmp_path / "m.json"
    model.model_copy(update={"phases": phases, "timeline": points}).write(path)
    result = run("summary", path, "--figures", tmp_path / "plots")
    assert result.exit_code == 0, result.output
    assert len(list((tmp_path / "plots").iterdir())) == 12


def test_a_damaged_model_leaves_no_folder_behind(tmp_path) -> None:
    (tmp_path / "m.json").write_text("{")
    result = run("summary", tmp_path / "m.json", "--figures", tmp_path / "plots")
    assert isinstance(result.exception, WavetankError)
    assert not (tmp_path / "plots").exists()


@pytest.mark.parametrize(
    ("report_format", "start"),
    [("markdown", "# ABYSS-P: abyss.trace"), ("csv", "# ABYSS-P: By I/O time"), ("json", "{")],
)
def test_other_formats_go_to_standard_output_when_asked(folder, report_format, start) -> None:
    result = run("report", folder, "--format", report_format, "-o", "-")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(start)
    assert result.stderr == ""
