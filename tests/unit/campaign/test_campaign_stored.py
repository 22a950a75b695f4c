"""What a folder says after its campaign was killed."""

import json
from functools import partial

import pytest
from click.testing import CliRunner
from killed_campaigns import measure_some, write_campaign

from wavetank.campaign.results_folder import open_store
from wavetank.campaign.stored_campaign import current_comparison
from wavetank.cli.main import cli
from wavetank.errors import MeasurementError


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """Run a campaign of two clusters; ``n`` measurements, and then it is killed."""
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: [])
    write_campaign(tmp_path)
    return partial(measure_some, tmp_path)


def recalled(folder):
    with open_store(folder) as store:
        return current_comparison(store)


def test_a_campaign_that_never_compared_is_compared_from_its_store(measure):
    folder = measure(3)
    found = recalled(folder)
    assert {(c.cluster, c.n_repetitions) for c in found.configurations} == {("a", 2), ("b", 1)}
    assert found.campaign == "killed" and found.price.table == "papers-2016"
    assert [c.other_costs[0].purchase for c in found.configurations] == ["spot", "spot"]
    assert not (folder / "comparison.json").exists()


def test_clusters_that_cannot_come_up_here_keep_their_results(measure, monkeypatch):
    folder = measure(3)
    monkeypatch.setattr("wavetank.cluster.deploy.check", lambda spec: ["needs root"])
    assert len(recalled(folder).configurations) == 2


def test_a_comparison_that_is_older_than_a_measurement_is_made_anew(measure):
    folder = measure(1, compares=True)
    path = folder / "comparison.json"
    text = path.read_text()
    year = text.index('"created_utc": "20') + len('"created_utc": "')
    path.write_text(f"{text[:year]}2020{text[year + 4 :]}")
    measure(1)
    assert sum(c.n_repetitions for c in recalled(folder).configurations) == 2


def test_the_comparison_that_is_there_is_taken(measure):
    folder = measure(2, compares=True)
    path = folder / "comparison.json"
    path.write_text(path.read_text().replace('"campaign": "killed"', '"campaign": "as written"'))
    assert recalled(folder).campaign == "as written"


def test_nothing_measured_is_said_with_what_to_do(measure):
    with pytest.raises(MeasurementError, match="wavetank run"):
        recalled(measure(0))


def test_results_of_a_run_that_was_stopped_say_so(measure):
    folder = measure(3)
    argv = ["results", str(folder)]
    assert "stopped before its end; run it again to go on" in CliRunner().invoke(cli, argv).stderr
    measure(1)
    assert "stopped" not in CliRunner().invoke(cli, argv).stderr


def printed(folder, *options):
    argv = ["results", str(folder), *options, "--format", "json"]
    return json.loads(CliRunner().invoke(cli, argv, catch_exceptions=False).stdout)


def test_results_are_shown_in_another_currency_and_for_a_month(measure, tmp_path):
    folder = measure(4, compares=True)
    kept = (folder / "comparison.json").read_text()
    euro = tmp_path / "euro.yaml"
    euro.write_text("{of: USD, to: EUR, rate: '0.5', date: 2026-11-20, source: the test}")
    dollars = printed(folder)
    euros = printed(folder, "--currency", str(euro), "--runs-per-month", "300")
    before, after = dollars["cost"][0], euros["cost"][0]
    assert after["cost_tot"] == pytest.approx(before["cost_tot"] / 2)
    assert after["runs_per_unit"] == pytest.approx(1 / after["cost_tot"])
    assert any("1 USD = 0.5 EUR (2026-11-20, the test)" in note["text"] for note in euros["notes"])
    month = euros["cost_of_a_month"][0]
    assert month["io_of_runs"] == pytest.approx(300 * after["cost_tot"])
    assert month["all_up"] == pytest.approx(730 * 3 * 0.42 / 2)
    assert "cost_of_a_month" not in dollars
    assert (folder / "comparison.json").read_text() == kept
