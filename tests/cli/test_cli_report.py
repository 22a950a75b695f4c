"""``wavetank report`` and ``wavetank plot`` as a user calls them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.errors import WavetankError

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "report" / "fixtures"))
import campaign_examples


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
    assert "wavetank campaign run" in str(result.exception)
    assert not (tmp_path / "r.html").exists()


def test_a_report_that_cannot_be_written_leaves_the_old_one(folder, tmp_path) -> None:
    result = run("report", folder, "-o", tmp_path / "missing" / "r.html")
    assert isinstance(result.exception, WavetankError)
    assert "missing" in str(result.exception)
