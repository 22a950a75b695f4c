"""``wavetank report`` and ``wavetank plot`` as a user calls them."""

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


def test_plot_writes_every_kind_and_prints_their_names(model, tmp_path) -> None:
    result = run("plot", model, "-o", tmp_path / "plots")
    assert result.exit_code == 0, result.output
    names = ["temporal", "spatial", "sizes", "operations", "gantt"]
    assert result.stdout.split() == [str(tmp_path / "plots" / f"{name}.svg") for name in names]
    assert all(Path(name).read_text().startswith("<?xml") for name in result.stdout.split())


def test_a_model_without_times_is_plotted_over_tick_only(tmp_path) -> None:
    model = report_examples.abyss()
    phases = tuple(p.model_copy(update={"start_s": None, "end_s": None}) for p in model.phases)
    points = tuple(p.model_copy(update={"start_s": None, "end_s": None}) for p in model.timeline)
    path = tmp_path / "m.json"
    model.model_copy(update={"phases": phases, "timeline": points}).write(path)
    over_time = run("plot", path, "-o", tmp_path, "--kind", "temporal")
    assert "--axis tick" in str(over_time.exception)
    over_tick = run("plot", path, "-o", tmp_path, "--kind", "temporal", "--axis", "tick")
    assert over_tick.exit_code == 0, over_tick.output


def test_a_damaged_model_leaves_no_folder_behind(tmp_path) -> None:
    (tmp_path / "m.json").write_text("{")
    result = run("plot", tmp_path / "m.json", "-o", tmp_path / "plots")
    assert isinstance(result.exception, WavetankError)
    assert not (tmp_path / "plots").exists()


@pytest.mark.parametrize(
    ("report_format", "start"),
    [("markdown", "# abyss-study"), ("csv", "# ABYSS-P: By I/O time"), ("json", "{")],
)
def test_other_formats_go_to_standard_output_when_asked(folder, report_format, start) -> None:
    result = run("report", folder, "--format", report_format, "-o", "-")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(start)
    assert result.stderr == ""
