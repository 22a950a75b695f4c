"""``wavetank report --watch`` in a real browser, while results are added."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from browsers import browser_is_possible
from killed_campaigns import measure_some, write_campaign

from waiting import HANG_S, until
from wavetank.campaign.results_folder import write_store

pytestmark = browser_is_possible
CODE = "from wavetank.cli.main import main; main()"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files of a campaign of four measurements, of which one is made."""
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: [])
    write_campaign(tmp_path)
    measure_some(tmp_path, 1)
    return tmp_path


@pytest.fixture
def watching(folder) -> Iterator[subprocess.Popen[str]]:
    argv = ["report", str(measure_some(folder, 0)), "--watch", "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *argv],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield process
    if process.poll() is None:
        process.kill()
        process.communicate()


def test_the_page_renews_itself_as_results_come_and_says_when_the_campaign_is_over(
    folder, watching, chromium
) -> None:
    def says(words: str, n_measurements: int) -> bool:
        return chromium.execute_script(
            """return document.querySelector('#watch span')?.textContent.includes(arguments[0])
                 && document.querySelector('#provenance summary')?.textContent.includes(arguments[1])""",
            words,
            f"All {n_measurements} measurement",
        )

    chromium.get(watching.stdout.readline().strip())
    until(lambda: says("The campaign was stopped: 1 of 4 measurements are made. Run it again", 1))
    measure_some(folder, 1)
    until(lambda: says("2 of 4", 2))

    # What a reader has opened stays, until the reader asks for what is new.
    chromium.execute_script("document.querySelector('#provenance summary').click()")
    with write_store(folder / "results"):
        until(lambda: says("The campaign is running: 2 of 4 measurements are made, about", 2))
    measure_some(folder, 2, compares=True)
    until(lambda: says("The campaign is over: all 4 measurements are made.", 2))
    renew = "return document.querySelector('#watch button').checkVisibility()"
    assert chromium.execute_script(renew)
    assert chromium.execute_script("return document.querySelector('#provenance details').open")
    chromium.execute_script("document.querySelector('#watch button').click()")
    until(lambda: says("The campaign is over: all 4 measurements are made.", 4))
    assert chromium.get_log("browser") == []  # the page's own policy lets it ask its server

    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=HANG_S)
    assert watching.returncode == 0
    assert "wavetank: The campaign is over: all 4 measurements are made." in said
    assert "Traceback" not in said
    assert said.splitlines()[-1] == "wavetank: the page is not served any more"
    until(lambda: says("This page is not served any more", 4))
