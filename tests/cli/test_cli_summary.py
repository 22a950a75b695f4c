"""``wavetank summary``: an answer of 25 lines, a line for each of several logs, everything as tables, JSON and a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.darshan_logs import without_dxt

from wavetank.cli.answer import MOST_LINES
from wavetank.cli.main import OLD_NAMES, cli
from wavetank.cli.summary_answer import lines, summary_of

DARSHAN = Path(__file__).parents[1] / "data" / "darshan"
BT_IO = DARSHAN / "bt.W.4.mpi_io_full.darshan"
LOGS = sorted([*DARSHAN.glob("*.darshan"), *DARSHAN.glob("recorded/*.darshan")])


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
@pytest.mark.parametrize("width", [80, 120])
def test_the_answer_is_one_screen(log: Path, width: int) -> None:
    summary = summary_of(log)
    assert summary is not None
    printed = lines(summary, width)
    assert len(printed) <= MOST_LINES
    assert printed[0].startswith(summary.answer[: width // 2])
    # Pasted lines and the last one are kept whole.
    assert all(len(line) <= width for line in printed[:-1] if "->" not in line)


def test_with_and_without_segments_the_answer_is_the_same(tmp_path: Path) -> None:
    whole, counted = summary_of(BT_IO), summary_of(without_dxt(BT_IO, tmp_path))
    assert whole is not None and counted is not None
    assert whole.answer == counted.answer
    # MPIIO_F_*_TIME of the record; POSIX_F_*_TIME are 12 ms in all.
    times = counted.source.run_times
    assert times.mpiio_s == pytest.approx(12.6, rel=0.01)
    assert times.below_s == pytest.approx(0.0117, rel=0.01)


def test_several_logs_get_a_line_each_and_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    found = run("summary", *LOGS[:3], tmp_path / "text", "--format", "json")
    assert found.exit_code == 1 and "text" in found.stderr
    rows = json.loads(found.stdout)["summaries"]
    assert {row["log"] for row in rows} == {log.name for log in LOGS[:3]}
    grave = [(row["n_critical"], row["n_warning"]) for row in rows]
    assert grave == sorted(grave, reverse=True)


def test_json_has_the_answer_and_each_finding_with_its_severity(tmp_path: Path) -> None:
    body = json.loads(run("summary", BT_IO, "--format", "json").stdout)
    assert body["answer"] == run("summary", BT_IO, "--brief").stdout.strip()
    first = body["findings"][0]
    assert (first["kind"], first["severity"]) == ("time-above-posix", "critical")
    assert first["paste"] == "romio_cb_write=disable" and first["share_of_time"] > 0.99
    assert {"phases", "ranks", "calls"} <= set(body)


def test_a_page_needs_nothing_else(tmp_path: Path) -> None:
    assert run("summary", BT_IO, "--html", tmp_path / "page.html").exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert "<svg" in page and "romio_cb_write=disable" in page
    assert "http://" not in page.replace("http://www.w3.org/", "")


@pytest.mark.parametrize("old", OLD_NAMES)
def test_old_names_tell_the_new_one(old: str) -> None:
    found = run(old, "m.json")
    assert found.exit_code == 2 and f"wavetank {OLD_NAMES[old]}" in found.stderr


def test_a_trace_has_a_summary_as_the_log_that_it_is_made_from(tmp_path: Path) -> None:
    log = DARSHAN / "bt.W.4.mpi_io_full.darshan"
    trace = tmp_path / "run.trace"
    assert CliRunner().invoke(cli, ["convert", str(log), "-o", str(trace)]).exit_code == 0
    of_log = CliRunner().invoke(cli, ["summary", str(log)]).stdout.splitlines()
    of_trace = CliRunner().invoke(cli, ["summary", str(trace)])
    assert of_trace.exit_code == 0, of_trace.output
    assert of_trace.stdout.splitlines()[:5] == of_log[:5]
