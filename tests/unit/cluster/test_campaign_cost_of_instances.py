"""What a campaign says of the cost of instances that it makes: before and after, and beside clusters that only stand for some."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from wavetank.campaign.plan import Forecast
from wavetank.cli.campaign_cost import bills_after, cost_words, rented
from wavetank.cluster.clouds import bill
from wavetank.cluster.clouds.price import estimate, price_table
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of
from wavetank.cost.prices import load_prices


def spec_of(name: str, provider: str = "aws", region: str = "us-east-1") -> ClusterSpec:
    body: dict[str, Any] = {
        "name": name, "provider": provider, "instance": {"name": "c5.large"}, "nodes": {"compute": 2, "io": 1},
        "file_system": {"kind": "nfs"}, "storage": {"size": "10 GiB"},
        "cloud": {"region": region, "ttl": "2 h", "budget": "5 USD", "ssh_from": "192.0.2.0/24"},
    }  # fmt: skip
    return ClusterSpec.model_validate(body)


def ahead_of(costs: dict[str, str]) -> Forecast:
    """Of an hour on each cluster."""
    by_cluster = {name: Decimal(cost) for name, cost in costs.items()}
    return Forecast(
        0, 4, 3600.0, sum(by_cluster.values(), Decimal(0)), None,
        cluster_s=dict.fromkeys(costs, 3600.0), cluster_cost=by_cluster,
    )  # fmt: skip


def test_of_clusters_of_a_cloud_their_own_price_is_said_and_no_other() -> None:
    spec = spec_of("lab")
    assert spec.cloud is not None
    table = price_table(spec.cloud)
    (said,) = cost_words([spec], ahead_of({"lab": "9.99"}), table)
    # all of an estimate is paid by the hour: one hour of it is its rate
    known = estimate(spec, table)
    assert said == (
        f"its instances cost about {known.per_h:.2f} USD, and {known.at_most} USD at most until they end themselves"
    )


def test_beside_them_the_rest_is_priced_as_if_it_were_rented() -> None:
    specs = [spec_of("lab"), spec_of("here", "local")]
    prices = load_prices("papers-2016")
    first, second = cost_words(specs, ahead_of({"lab": "9.99", "here": "0.25"}), prices)
    assert first.startswith("instances of lab cost about ")
    assert second == f"the rest on rented instances would cost 0.25 {prices.currency}"


def test_without_a_cluster_of_a_cloud_all_is_as_if_it_were_rented() -> None:
    prices = load_prices("papers-2016")
    (said,) = cost_words([spec_of("here", "local")], ahead_of({"here": "0.25"}), prices)
    assert said == f"the same on rented instances would cost 0.25 {prices.currency}"
    assert list(cost_words([spec_of("here", "local")], ahead_of({"here": "0.25"}), None)) == []


def test_what_has_nothing_left_to_measure_costs_nothing_more() -> None:
    assert list(cost_words([spec_of("lab")], ahead_of({}), load_prices("papers-2016"))) == []


def test_without_a_price_there_is_no_amount_and_the_reason_is_said() -> None:
    spec = spec_of("lab", region="eu-west-1")
    found = rented([spec], ahead_of({"lab": "1"}))
    assert (found.usd, found.usd_at_most) == (None, None)
    (said,) = cost_words([spec], ahead_of({"lab": "1"}), None)
    assert said.startswith("no cost of its instances: ") and "region eu-west-1" in said


@pytest.mark.parametrize("interrupted", [False, True])
def test_after_the_campaign_the_computed_bill_of_what_was_up_in_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], interrupted: bool
) -> None:  # fmt: skip
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    spec = spec_of("lab")
    assert spec.cloud is not None
    now = datetime.now(UTC)

    def comes_and_goes(token: str) -> None:
        directory = directory_of("lab")
        directory.claim()
        directory.note(
            do="lease", provider="aws", region="us-east-1", token=token, owner="me",
            expires=(now + timedelta(hours=2)).isoformat(), budget="5", spec="0",
        )  # fmt: skip
        bill.note_prices(directory, spec, spec.cloud)  # type: ignore[arg-type]
        directory.note(
            do="ran", key="i-1", node="c1", type="c5.large", state="terminated", public=1, at=now.isoformat(),
            since=(now - timedelta(hours=1)).isoformat(), until=now.isoformat(),
        )  # fmt: skip
        bill.keep_bill(directory, now)
        directory.erase()

    comes_and_goes("0" * 8)  # of another campaign
    try:
        with bills_after([spec, spec_of("here", "local")]):
            comes_and_goes("1" * 8)
            if interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert interrupted
    (line,) = capsys.readouterr().err.splitlines()
    kept = json.loads((tmp_path / "bills" / f"lab-{'1' * 8}.json").read_text())
    amounts = sum(Decimal(str(each["amount"])) for each in kept["computed"]["lines"])
    assert (
        f"lab: the computed bill of its instances is {amounts:.2f} USD; the estimate was " in line
    )
