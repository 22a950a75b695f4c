import pytest
from campaign_fakes import APPLICATION, FakeDeployer, FakeObserver, facts, spec
from search_fakes import Timed

from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.plan import forecast, make_plan
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.run import run_campaign
from wavetank.campaign.spec import Budget, GridRule, SearchRule
from wavetank.cluster.guests.hypervisors import RATES, RATES_KEY
from wavetank.compare.comparison import Comparison
from wavetank.compare.tables.all import comparison_tables
from wavetank.errors import MeasurementError
from wavetank.notes import texts

LETTERS = "abcdefghij"


def by_letter(cluster):
    return 1.0 + LETTERS.index(cluster) / 10


class Searched:
    """A search over ten clusters with everything faked but plan, store and comparison."""

    def __init__(self, folder, time_of=by_letter, deployer=None, **more):
        asked = {
            "mappings": ("1PxCN",), "repetitions": None, "strategy": SearchRule(kind="search"),
        }  # fmt: skip
        self.spec = spec(**(asked | more))
        self.plan = make_plan(self.spec, [APPLICATION], [facts(name) for name in LETTERS])
        self.folder = folder
        self.deployer = deployer or FakeDeployer()
        self.observer = FakeObserver()
        self.performer = Timed(self.observer, time_of)

    def run(self):
        with write_store(self.folder) as store:
            outcome = run_campaign(
                self.spec, self.plan, store, deployer=self.deployer, performer=self.performer,
                observer=self.observer,
            )  # fmt: skip
            return outcome, compare_campaign(self.spec, self.plan, store, None)

    def compared(self):
        with write_store(self.folder) as store:
            return compare_campaign(self.spec, self.plan, store, None)


@pytest.mark.parametrize("redeploy", [True, False])
def test_a_search_measures_a_third_and_finds_the_best(tmp_path, redeploy):
    searched = Searched(tmp_path, redeploy=redeploy)
    outcome, comparison = searched.run()
    assert (outcome.n_measured, outcome.n_failed) == (22, 0)
    assert searched.performer.measured[:10] != sorted(searched.performer.measured[:10])
    assert set(searched.performer.measured[:10]) == set(LETTERS)
    assert set(searched.performer.measured[10:14]) == set("abcd")
    assert sorted(searched.performer.measured[14:]) == ["a"] * 4 + ["b"] * 4
    assert [place.configuration for place in comparison.rankings[0].places] == [
        "ABYSS-P / a / 1PxCN", "ABYSS-P / b / 1PxCN",
    ]  # fmt: skip
    assert comparison.not_measured == ()
    assert searched.deployer.up_now == []
    assert searched.observer.seen[-1][:2] == (22, 22)


def test_clusters_that_were_dropped_do_not_come_up_again(tmp_path):
    searched = Searched(tmp_path)
    searched.run()
    ups = [name for what, name in searched.deployer.log if what == "up"]
    assert set(ups[:10]) == set(LETTERS) and set(ups[10:14]) == set("abcd")
    assert sorted(ups[14:]) == ["a"] * 4 + ["b"] * 4


def test_only_the_final_is_ranked_and_tested(tmp_path):
    fast_then_slow = {}

    def time_of(cluster):
        fast_then_slow[cluster] = fast_then_slow.get(cluster, 0) + 1
        return by_letter(cluster) * (1 if fast_then_slow[cluster] <= 2 else 2)

    _, comparison = Searched(tmp_path, time_of).run()
    best = comparison.configurations[0]
    assert best.io_time_s.values == pytest.approx([2.0] * 4)
    assert comparison.family.n_pairs == 1
    assert comparison.search.final_repetitions == 4
    assert comparison.search.dropped[-1].io_times_s == pytest.approx([1.3, 1.3])


def test_the_comparison_says_what_was_dropped_and_claims_no_more(tmp_path):
    _, comparison = Searched(tmp_path).run()
    found = comparison.search
    assert (found.n_measured, found.n_at_most, found.n_grid, found.finished) == (22, 22, 70, True)
    assert len(found.dropped) == 8
    assert any("may be as good" in note for note in texts(comparison.notes))
    (choice,) = comparison.verdicts
    assert choice.verb == "choose"
    assert "The search dropped 8 others" in choice.sentence
    table = next(each for each in comparison_tables(comparison) if each.name == "dropped")
    assert [row["cluster"] for row in table.records()] == list("cdefghij")
    # The tenth cluster: one measurement of 1.0 s + 9 * 0.1 s.
    assert table.records()[-1]["io_times_s"] == pytest.approx([1.9])
    assert (
        table.shown[-1][-1].text
        == "place 10 of 10 by time after 1 measurement; the first had 1.00 s"
    )
    comparison.write(tmp_path / "comparison.json")
    again = Comparison.read(tmp_path / "comparison.json")
    assert again.search == found


def test_a_search_says_where_it_prefers_guests_that_are_not_comparable_with_hardware(tmp_path):
    # a and e run in guests that translate every instruction; b to d and f to j as before
    guests = {name: {RATES_KEY: RATES["tcg"]} for name in "ae"}
    _, comparison = Searched(tmp_path, deployer=FakeDeployer(limits=guests)).run()
    found = {each.cluster: each for each in comparison.search.dropped}
    # a stays to the end before all that are dropped; e is dropped after the first round
    assert {name: each.incomparable_kept for name, each in found.items()} == dict(
        zip("cdefghij", (1, 1, 0, 1, 1, 1, 1, 1), strict=True)
    )
    assert [name for name, each in found.items() if not each.comparable] == ["e"]
    (choice,) = comparison.verdicts
    said = "dropped 7 configurations that are comparable with hardware, behind others that went on and are not"
    assert choice.verb == "inconclusive"
    assert any(said in note for note in texts(comparison.notes))
    table = next(each for each in comparison_tables(comparison) if each.name == "dropped")
    why = {row[1].text: row[-1].text for row in table.shown}
    assert why["c"].endswith(
        "; 1 that went on is not comparable with hardware, and this one is comparable"
    )
    assert why["e"].endswith("; its numbers are not comparable with hardware")


def test_a_search_among_guests_alone_prefers_none_to_hardware(tmp_path):
    guests = {name: {RATES_KEY: RATES["tcg"]} for name in LETTERS}
    _, comparison = Searched(tmp_path, deployer=FakeDeployer(limits=guests)).run()
    assert not any(each.comparable for each in comparison.search.dropped)
    assert not any(each.incomparable_kept for each in comparison.search.dropped)
    assert not any("this selection" in note for note in texts(comparison.notes))


@pytest.mark.parametrize("after", [3, 10, 12, 14, 17])
def test_an_interrupted_search_goes_on_with_the_same_rounds(tmp_path, after):
    count = 0

    def time_of(cluster):
        nonlocal count
        count += 1
        return KeyboardInterrupt() if count > after else by_letter(cluster)

    with pytest.raises(KeyboardInterrupt):
        Searched(tmp_path / "parts", time_of).run()
    first = Searched(tmp_path / "parts").compared()
    assert first.search.n_measured == after
    assert first.search.finished == (after >= 14)
    if after < 14:
        assert first.configurations == () and first.not_measured
        assert any("not finished" in note for note in texts(first.notes))
    again = Searched(tmp_path / "parts")
    outcome, comparison = again.run()
    assert outcome.n_measured == 22 - after
    _, whole = Searched(tmp_path / "whole").run()
    assert comparison.search == whole.search
    assert comparison.rankings == whole.rankings


def test_a_plan_of_a_search_under_way_knows_what_is_left(tmp_path):
    count = 0

    def time_of(cluster):
        nonlocal count
        count += 1
        return KeyboardInterrupt() if count > 12 else by_letter(cluster)

    searched = Searched(tmp_path, time_of)
    with pytest.raises(KeyboardInterrupt):
        searched.run()
    with write_store(tmp_path) as store:
        ahead = forecast(searched.plan, store.done(), spent_s={}, prices=None)
    assert (ahead.n_done, ahead.n_runs) == (12, 22)


def test_a_failed_measurement_is_left_out_and_tried_again(tmp_path):
    failing = Searched(
        tmp_path,
        lambda cluster: MeasurementError("rank 0 died") if cluster == "a" else by_letter(cluster),
    )
    outcome, comparison = failing.run()
    assert outcome.n_failed == 1
    assert [each.cluster for each in comparison.configurations] == ["b", "c"]
    assert [(each.cluster, each.reason) for each in comparison.not_measured] == [
        ("a", "rank 0 died")
    ]
    assert "a" not in {each.cluster for each in comparison.search.dropped}
    outcome, comparison = Searched(tmp_path).run()
    assert [each.cluster for each in comparison.configurations] == ["a", "b"]
    assert outcome.n_measured == 1 + 1 + 4  # its two rounds, and the final


def test_a_cluster_that_does_not_come_up_leaves_the_search_to_the_others(tmp_path):
    searched = Searched(tmp_path)
    searched.deployer.broken = ["a"]
    outcome, comparison = searched.run()
    assert outcome.n_failed == 1
    assert [each.cluster for each in comparison.configurations] == ["b", "c"]
    assert [each.cluster for each in comparison.not_measured] == ["a"]


def test_a_budget_stops_a_search_where_it_is(tmp_path):
    outcome, comparison = Searched(tmp_path, budget=Budget(time=5.0)).run()
    assert (outcome.n_measured, outcome.n_not_afforded) == (0, 10)
    assert not comparison.search.finished
    assert {each.cluster for each in comparison.not_measured} == set(LETTERS)
    outcome, comparison = Searched(tmp_path, budget=Budget(time=3600.0)).run()
    assert outcome.n_measured == 22 and comparison.search.finished


def test_without_the_search_the_rest_of_the_grid_is_measured(tmp_path):
    Searched(tmp_path).run()
    outcome, comparison = Searched(tmp_path, strategy=GridRule(kind="grid"), repetitions=7).run()
    assert outcome.n_measured == 70 - 22
    assert len(comparison.configurations) == 10 and comparison.search is None
