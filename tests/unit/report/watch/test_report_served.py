"""A report that is served while its campaign runs."""

from __future__ import annotations

import http.client
import json
import re
import socket
from functools import partial
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from killed_campaigns import measure_some, write_campaign

from wavetank.campaign.invocations import Ending
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.stored_campaign import HowFar
from wavetank.cli.main import cli
from wavetank.errors import MeasurementError, ReportError, UsageError
from wavetank.report.watch import follow
from wavetank.report.watch.follow import Follower, far_sentence
from wavetank.report.watch.serve import served

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """Run a campaign of four measurements; ``n`` of them, and then it is killed."""
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: [])
    write_campaign(tmp_path)
    return partial(measure_some, tmp_path)


@pytest.fixture
def quick(monkeypatch):
    """Pages of a line, each of which takes a second of the clock that is returned."""
    now = [0.0]

    def render(campaign, watched):
        now[0] += 1
        return f"{len(campaign.measurements)} measurements, {watched.version}"

    monkeypatch.setattr(follow, "render", render)
    return now


@pytest.mark.parametrize(
    ("done", "total", "at_most", "is_running", "sentence"),
    [
        (3, 8, False, True, "The campaign is running: 3 of 8 measurements are made, about 50 s left."),
        (3, 8, True, True, "The campaign is running: 3 of at most 8 measurements are made, about 50 s left."),
        (8, 8, False, True, "The campaign is running: 8 of 8 measurements are made."),
        (8, 8, False, False, "The campaign is over: all 8 measurements are made."),
        (3, 8, False, False, "No campaign is running: 3 of 8 measurements are made."),
    ],
)  # fmt: skip
def test_how_far_it_is_is_one_sentence(done, total, at_most, is_running, sentence) -> None:
    far = HowFar("campaign", done, total, "measurements", 50.0, at_most)
    assert far_sentence(far, is_running) == sentence


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [
        (None, "No campaign is running: 3 of at most 8 measurements are made."),
        (Ending(False), "The campaign was stopped: 3 of at most 8 measurements are made. Run it again to go on."),
        (Ending(True), "The campaign is over: 3 of at most 8 measurements are made, and no more are needed."),
        (
            Ending(True, n_failed=2, n_not_afforded=1),
            "The campaign ended: 3 of at most 8 measurements are made, 2 failed, 1 left out, as the budget is spent. "
            "Run it again to go on.",
        ),
    ],
)  # fmt: skip
def test_what_is_over_is_told_from_what_was_stopped(ending, sentence) -> None:
    far = HowFar("campaign", 3, 8, "measurements", 50.0, at_most=True, ending=ending)
    assert far_sentence(far, False) == sentence


def test_a_campaign_with_a_stop_rule_says_whether_it_is_over(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: [])
    write_campaign(tmp_path, strategy={"kind": "until", "width": 0.05, "at_most": 6})
    folder = measure_some(tmp_path, 3)
    follower = Follower(folder)
    assert follower.look().sentence == (
        "The campaign was stopped: 3 of at most 12 measurements are made. Run it again to go on."
    )
    before = follower.look().version
    measure_some(tmp_path, 1)  # equal times: two repetitions on each of two clusters are enough
    assert follower.look().version != before
    assert follower.look().sentence == (
        "The campaign is over: 4 of at most 12 measurements are made, and no more are needed."
    )
    with write_store(folder) as store:  # it is run again, and killed at once
        assert "is running" in follower.look().sentence
        assert store.done()
    assert "was stopped: 4 of at most 12" in follower.look().sentence


def test_other_results_are_another_version_and_another_page(measure, quick) -> None:
    follower = Follower(measure(1), clock=lambda: quick[0])
    first = follower.look()
    assert first.sentence == (
        "The campaign was stopped: 1 of 4 measurements are made. Run it again to go on."
    )
    assert follower.page().decode() == f"1 measurements, {first.version}"
    assert follower.look() == first
    assert follower.page().decode() == f"1 measurements, {first.version}"
    assert quick == [1.0]  # it was not made again
    measure(3)
    second = follower.look()
    assert second.version != first.version
    assert second.sentence == "The campaign is over: all 4 measurements are made."
    assert follower.page().decode() == f"4 measurements, {second.version}"


def test_while_it_runs_a_page_is_made_for_a_twentieth_of_the_time_at_most(
    measure, quick, monkeypatch
) -> None:
    monkeypatch.setattr(follow, "is_being_written", lambda folder: True)
    follower = Follower(measure(1), clock=lambda: quick[0])
    first = follower.look()
    page = follower.page()
    measure(1)
    assert follower.look().version == first.version
    assert "2 of 4 measurements" in follower.look().sentence  # that costs nothing
    assert follower.page() == page
    quick[0] = 20.0  # the page took the first second of twenty
    assert follower.look().version != first.version
    assert follower.page() != page
    measure(1)
    monkeypatch.setattr(follow, "is_being_written", lambda folder: False)
    assert follower.page().startswith(b"3 measurements")  # at once, as nothing is measured any more


def test_a_campaign_runs_as_long_as_somebody_may_add_to_its_results(measure) -> None:
    folder = measure(1)
    follower = Follower(folder)
    with write_store(folder):
        assert follower.look().is_running
        assert follower.look().sentence.startswith("The campaign is running: 1 of 4")
    assert not follower.look().is_running


def test_before_the_first_result_the_page_says_that_there_is_none(measure) -> None:
    folder = measure(0)
    with write_store(folder):
        page = Follower(folder).page().decode()
    assert "There is nothing to show yet." in page
    assert "stopped before its first measurement ended" in page
    assert "0 of 4 measurements" in page


def test_the_page_knows_its_version_and_may_ask_nothing_but_its_server(measure) -> None:
    follower = Follower(measure(2))
    page = follower.page().decode()
    assert re.findall(r'data-version="([^"]+)"', page) == [follower.look().version]
    assert "connect-src 'self'" in page and "default-src 'none'" in page


def ask(address: str, path: str = "/", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


def test_the_server_gives_the_page_and_how_far_it_is_to_this_machine_alone(measure, quick) -> None:
    follower = Follower(measure(1), clock=lambda: quick[0])
    with served(follower, 0) as address:
        status, headers, page = ask(address)
        assert (status, page) == (200, follower.page())
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        assert headers["Cache-Control"] == "no-store"
        state = json.loads(ask(address, "/state", Host="localhost:80")[2])
        assert state == {
            "version": follower.look().version, "is_running": False,
            "sentence": "The campaign was stopped: 1 of 4 measurements are made. Run it again to go on.",
        }  # fmt: skip
        assert ask(address, "/other")[0] == 404
        assert ask(address, "/", Host="elsewhere.example:80")[0] == 403
        port = urlsplit(address).port
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port)).close()
    with pytest.raises(ConnectionRefusedError):
        ask(address)


def test_a_folder_that_goes_away_is_said_to_who_asks(measure, tmp_path, quick) -> None:
    folder = measure(1)
    with served(Follower(folder), 0) as address:
        folder.rename(tmp_path / "elsewhere")
        status, _, said = ask(address)
    assert status == 503
    assert b"holds no campaign results" in said


def report(*arguments: object):
    return CliRunner().invoke(cli, ["report", *(str(each) for each in arguments)])


def test_a_port_that_is_taken_is_said_with_what_to_do(measure, monkeypatch) -> None:
    monkeypatch.setattr("os.nice", lambda increment: 0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = report(measure(1), "--watch", "--port", port)
    assert isinstance(result.exception, ReportError)
    said = str(result.exception)
    assert f"port {port} of 127.0.0.1: it is taken" in said and "--port" in said
    assert result.stdout == ""


def test_a_folder_without_results_is_not_served(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("os.nice", lambda increment: 0)
    result = report(tmp_path, "--watch", "--port", 0)
    assert isinstance(result.exception, MeasurementError)
    assert "wavetank run" in str(result.exception)


@pytest.mark.parametrize(
    ("options", "word"),
    [(("--watch", "-o", "r.html"), "--output"), (("--watch", "--format", "csv"), "--format"), (("--port", 1), "--watch")],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused(tmp_path, options, word) -> None:
    result = report(tmp_path, *options)
    assert isinstance(result.exception, UsageError)
    assert word in str(result.exception)
