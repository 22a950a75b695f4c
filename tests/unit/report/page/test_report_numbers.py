"""The numbers that the page's scripts take apart: the same as in the comparison, small, and safe in a page."""

from __future__ import annotations

import json

import campaign_examples
import pytest
import report_examples

from wavetank.compare.configuration import OtherCost
from wavetank.report.gather import read_folder
from wavetank.report.page.content import in_rank_order
from wavetank.report.page.numbers import names_of_surroundings, numbers
from wavetank.report.tables.provenance import provenance_table, told_once


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaign")
    model = report_examples.abyss(report_examples.SCRIPT_NAME)
    campaign_examples.make_campaign(folder, [model], clusters=("nfs", "gluster-1", "gluster-2"))
    return read_folder(folder)


def parsed(campaign, members, **limits):
    made_in = names_of_surroundings(provenance_table(campaign.measurements)[0])
    text = numbers(campaign.comparison, members, campaign.measurements, made_in, **limits)
    return str(text), json.loads(text)


@pytest.fixture(scope="module")
def members(campaign):
    return in_rank_order(campaign.comparison, "ABYSS-P")


def test_medians_intervals_and_places_are_those_of_the_comparison(campaign, members) -> None:
    _, data = parsed(campaign, members)
    time = data["metrics"][0]
    assert (time["key"], time["higher"]) == ("time", False)
    for each, shown, values in zip(members, time["estimates"], time["values"], strict=True):
        told = each.io_time_s
        assert shown == pytest.approx([told.median, told.low, told.high, told.range_of], rel=1e-4)
        assert values == pytest.approx(told.values, rel=1e-4)
    (ranking,) = (r for r in campaign.comparison.rankings if r.by == "time")
    assert [place.split("\N{EN DASH}")[0] for place in time["places"]] == [
        str(place.best) for place in ranking.places
    ]
    assert {m["key"] for m in data["metrics"]} >= {"rate", "iops", "cost", "ratio", "flush"}
    assert all(m["places"] for m in data["metrics"] if m["key"] in ("time", "cost", "ratio"))
    assert not any(m["places"] for m in data["metrics"] if m["key"] in ("rate", "flush"))


def test_behind_a_number_are_its_repetitions_and_phases(campaign, members) -> None:
    _, data = parsed(campaign, members)
    first = members[0]
    runs = data["runs"][0]
    assert [run[0] for run in runs] == [0, 1, 2]
    assert [run[4] for run in runs] == pytest.approx(first.io_time_s.values, rel=1e-4)
    assert [phase[0] for phase in data["phases"]] == [1, 2, 3, 4, 5, 6]
    for at, phase in enumerate(first.phases):
        assert data["by_phase"][0][at][0] == pytest.approx(phase.time_s.median, rel=1e-4)
        times = [run[6][at] for run in runs]
        assert times == pytest.approx(phase.time_s.values, rel=1e-4)


def test_names_of_files_begin_no_element(campaign, members) -> None:
    text, data = parsed(campaign, members)
    assert report_examples.SCRIPT_NAME in [phase[1] for phase in data["phases"]]
    assert not {"<", ">", "&"} & set(text)


def test_each_price_table_has_its_costs_and_only_the_first_has_places(campaign, members) -> None:
    cost = members[0].cost
    assert cost is not None
    spot = OtherCost(
        table="aws-spot", date="2025-05-28", purchase="spot", currency="EUR",
        cost_tot=cost.cost_tot, perf_cost=cost.perf_cost,
    )  # fmt: skip
    priced = (members[0].model_copy(update={"other_costs": (spot,)}), *members[1:])
    _, data = parsed(campaign, priced)
    costs = {m["prices"]: m for m in data["metrics"] if m["key"] == "cost"}
    assert list(costs) == ["papers-2016", "aws-spot"]
    assert costs["papers-2016"]["places"]
    assert costs["aws-spot"]["places"] is None
    assert costs["aws-spot"]["currency"] == "EUR"
    assert [bool(each) for each in costs["aws-spot"]["estimates"]] == [True] + [False] * 5


def test_without_prices_there_are_no_costs(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs",), with_prices=False, n_repetitions=1)
    campaign = read_folder(tmp_path)
    _, data = parsed(campaign, in_rank_order(campaign.comparison, "ABYSS-P"))
    assert not {"cost", "ratio"} & {m["key"] for m in data["metrics"]}
    assert [len(each) for each in data["metrics"][0]["estimates"]] == [1, 1]  # no interval


def test_of_many_measurements_fewer_phases_are_kept(campaign, members) -> None:
    _, data = parsed(campaign, members, phase_times=0)
    assert (len(data["phases"]), data["n_phases"]) == (5, 6)
    weights = {phase.ph_id: phase.weight_bytes for phase in members[0].phases}
    kept = {phase[0] for phase in data["phases"]}
    assert min(weights[i] for i in kept) >= max(w for i, w in weights.items() if i not in kept)


def test_what_all_surroundings_share_is_told_once(campaign) -> None:
    _, surroundings = provenance_table(campaign.measurements)
    common, rest = told_once(surroundings)
    assert common["Host"]["name"] == "bench"
    assert all("Host" not in each.facts for each in rest)
    for before, after in zip(surroundings, rest, strict=True):
        assert after.facts["Cluster"] == {"name": before.cluster, **(
            {} if "instances" in common.get("Cluster", {}) else
            {"instances": before.facts["Cluster"]["instances"]}
        )}  # fmt: skip
    assert told_once(surroundings[:1]) == ({}, surroundings[:1])
