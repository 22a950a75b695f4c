import pytest
from campaign_fakes import facts
from search_fakes import search_plan, walk

from wavetank.campaign.spec import SearchRule
from wavetank.cost.prices import load_prices

LETTERS = "abcdefghij"


def by_letter(run):
    """a is the fastest: 1.0 s, b 1.1 s, ..."""
    return 1.0 + LETTERS.index(run.cluster) / 10


def test_the_better_ones_go_on_and_the_best_are_measured_anew():
    _, plan, selection = search_plan(10)
    made = walk(plan, selection, by_letter)
    assert len(made) == plan.schedule.n_at_most == 22
    assert selection.finalists("ABYSS-P") == (("a", "1PxCN"), ("b", "1PxCN"))
    counted = [run for run in plan.runs if selection.is_counted(run)]
    assert {run.repetition for run in counted} == {2, 3, 4, 5}
    assert {run.cluster for run in counted} == {"a", "b"}
    assert [(each.cluster, each.round) for each in selection.dropped] == [
        *[(name, 1) for name in "efghij"], ("c", 2), ("d", 2),
    ]  # fmt: skip
    last = selection.dropped[-1]
    assert (last.place, last.of, last.io_times_s, last.first_s) == (4, 4, (1.3, 1.3), 1.0)
    assert [(each.measured, each.went_on) for each in selection.rounds] == [(10, 4), (4, 2)]


def test_nothing_of_a_round_is_ready_before_the_one_before_is_decided():
    _, plan, selection = search_plan(10)
    first = [run for run in plan.runs if run.repetition == 0]
    for run in first[:-1]:
        selection.learn(run.key, by_letter(run))
    assert {run.repetition for run in plan.runs if selection.is_ready(run)} == {0}
    assert not selection.not_needed
    selection.learn(first[-1].key, by_letter(first[-1]))
    ready = {(run.cluster, run.repetition) for run in plan.runs if selection.is_ready(run)}
    assert ready == {(name, repetition) for name in "abcd" for repetition in (0, 1)}


def test_a_round_looks_at_all_measurements_until_then():
    _, plan, selection = search_plan(10)
    # b is slow once, d is fast once; over both rounds a and b have the shortest medians.
    odd = {("b", 0): 1.25, ("d", 1): 1.2, ("b", 1): 0.9}
    walk(plan, selection, lambda run: odd.get((run.cluster, run.repetition), by_letter(run)))
    assert {place[0] for place in selection.finalists("ABYSS-P")} == {"a", "b"}


def test_the_final_does_not_decide_who_is_in_it():
    _, plan, selection = search_plan(10)
    walk(plan, selection, lambda run: by_letter(run) if run.repetition < 2 else 100.0)
    assert {place[0] for place in selection.finalists("ABYSS-P")} == {"a", "b"}


def test_it_is_the_same_in_whatever_order_measurements_are_heard():
    _, plan, selection = search_plan(10)
    made = walk(plan, selection, by_letter)
    _, _, again = search_plan(10)
    for run in reversed(made):
        again.learn(run.key, by_letter(run))
    assert again.finalists("ABYSS-P") == selection.finalists("ABYSS-P")
    assert again.dropped == selection.dropped
    assert again.not_needed == selection.not_needed


def test_equal_values_go_on_by_the_order_of_the_clusters():
    _, plan, selection = search_plan(10)
    walk(plan, selection, lambda run: 1.0)
    assert [place[0] for place in selection.finalists("ABYSS-P")] == ["a", "b"]


def test_a_measurement_that_failed_is_left_out_of_its_round():
    _, plan, selection = search_plan(10)
    for run in plan.runs:
        if run.repetition == 0:
            if run.cluster == "a":
                selection.miss(run.key)
            else:
                selection.learn(run.key, by_letter(run))
    assert {
        run.cluster for run in plan.runs if selection.is_ready(run) and run.repetition == 1
    } == set("bcde")
    assert "a" not in {each.cluster for each in selection.dropped}  # its failure says why
    assert all(
        run.key in selection.not_needed
        for run in plan.runs
        if run.cluster == "a" and run.repetition
    )


def test_the_baseline_reaches_the_final_whatever_its_place():
    _, plan, selection = search_plan(10, baseline="j")
    made = walk(plan, selection, by_letter)
    assert {place[0] for place in selection.finalists("ABYSS-P")} == {"a", "b", "j"}
    assert len(made) == plan.schedule.n_at_most


def test_a_baseline_among_the_best_takes_no_place_more():
    _, plan, selection = search_plan(10, baseline="a")
    made = walk(plan, selection, by_letter)
    assert {place[0] for place in selection.finalists("ABYSS-P")} == {"a", "b"}
    assert len(made) < plan.schedule.n_at_most


def test_the_best_that_is_comparable_with_hardware_reaches_the_final_for_no_measurement_more():
    _, plan, selection = search_plan(10)
    made = walk(plan, selection, by_letter, guests="abcde")
    # a to d are the best four, a and b the best two: f comes in for d, and then for b
    assert {place[0] for place in selection.finalists("ABYSS-P")} == {"a", "f"}
    assert len(made) == plan.schedule.n_at_most == 22
    assert [(each.measured, each.went_on) for each in selection.rounds] == [(10, 4), (4, 2)]
    kept = {each.cluster: each.incomparable_kept for each in selection.dropped}
    assert kept == dict(zip("bcdeghij", (0, 0, 0, 0, 3, 3, 3, 3), strict=True))


@pytest.mark.parametrize("guests", ["", "a", "abcdefghij"])
def test_guests_keep_their_places_where_a_comparable_one_goes_on_or_there_is_none(guests):
    _, plan, selection = search_plan(10)
    walk(plan, selection, by_letter, guests=guests)
    assert {place[0] for place in selection.finalists("ABYSS-P")} == {"a", "b"}


def test_neither_the_first_nor_the_baseline_makes_room_for_one_that_is_comparable():
    _, plan, selection = search_plan(10, baseline="b")
    walk(plan, selection, by_letter, guests="ab")
    assert {place[0] for place in selection.finalists("ABYSS-P")} == {"a", "b"}


def test_the_cheapest_go_on_where_costs_are_asked_for():
    prices = load_prices("papers-2016")
    large = {"c3.2xlarge": 9}
    clusters = [facts(name, instances=large) if name in "ab" else facts(name) for name in LETTERS]
    asked = {"prices": "papers-2016", "clusters": clusters}
    _, plan, selection = search_plan(10, rank_by="cost", **(asked | {"prices": prices}))
    walk(plan, selection, by_letter)
    # a and b take three times as many instances and a fifth less time.
    assert {place[0] for place in selection.finalists("ABYSS-P")} == {"c", "d"}


def test_what_a_store_holds_beyond_the_search_is_no_part_of_it():
    _, plan, selection = search_plan(10, strategy=SearchRule(kind="search", finalists=2))
    for run in plan.runs:  # a full grid was measured before
        selection.learn(run.key, by_letter(run))
    parts = [run for run in plan.runs if selection.is_part(run)]
    assert len(parts) == plan.schedule.n_at_most
    assert {run.cluster for run in plan.runs if selection.is_counted(run)} == {"a", "b"}
