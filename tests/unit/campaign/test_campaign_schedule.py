import pytest
from campaign_fakes import APPLICATION, app, facts, spec
from measure_fakes import abyss_kernel
from pydantic import ValidationError
from search_fakes import search_plan

from wavetank.application.own import OwnProgram
from wavetank.campaign.plan import forecast, make_plan
from wavetank.campaign.schedule import make_schedule
from wavetank.campaign.spec import ApplicationEntry, GridRule, SearchRule

THIRD = 1 / 3


def schedule(counts, n=7, **more):
    asked = {"at_most": THIRD, "finalists": None, "final_repetitions": None, "error": 0.05}
    return make_schedule(counts, grid_repetitions=n, **(asked | more))


@pytest.mark.parametrize(
    ("k", "n", "sizes", "finalists", "final"),
    [
        (10, 7, (10, 4), 2, 4),  # 22 of 70
        (12, 7, (12, 4), 2, 4),  # 24 of 84
        (16, 8, (16, 8, 4), 2, 4),  # 36 of 128
        (20, 8, (20, 10, 5), 3, 5),  # 50 of 160
    ],
)
def test_a_search_takes_a_third_of_the_grid_at_most(k, n, sizes, finalists, final):
    found = schedule({"app": k}, n)
    assert found.n_at_most <= k * n / 3
    assert found.n_grid == k * n
    rounds = found.applications["app"]
    assert (rounds.sizes, rounds.finalists, found.final) == (sizes, finalists, final)


def test_every_round_is_smaller_than_the_one_before():
    for k in range(2, 60):
        for baseline in ((), ("app",)):
            found = schedule({"app": k}, with_baseline=baseline)
            rounds = found.applications["app"]
            sizes = (*rounds.sizes, rounds.finalists)
            assert sizes[0] == k and sorted(set(sizes), reverse=True) == list(sizes)
            assert found.n_at_most <= found.n_grid


def test_where_no_search_is_short_enough_the_shortest_is_taken():
    found = schedule({"app": 6}, 6)
    assert (found.applications["app"].sizes, found.n_at_most) == ((6,), 6 + 2 * 4)


@pytest.mark.parametrize(("k", "n"), [(1, 3), (2, 4)])
def test_where_nothing_can_be_left_out_it_is_the_full_grid(k, n):
    found = schedule({"app": k}, n)
    assert found.applications["app"].sizes == ()
    assert (found.selection, found.final, found.n_at_most) == (0, n, n * k)


def test_the_finals_of_all_applications_share_the_protection():
    alone, three = schedule({"a": 30}, 9), schedule({"a": 30, "b": 30, "c": 30}, 9)
    assert alone.applications["a"].finalists == three.applications["a"].finalists == 3
    assert (alone.final, three.final) == (5, 6)  # 3 and 9 pairs


def test_finalists_and_their_repetitions_can_be_asked_for():
    found = schedule({"app": 20}, 8, finalists=5, final_repetitions=3)
    assert (found.applications["app"].finalists, found.final) == (5, 3)


def test_the_baseline_has_a_place_of_its_own_in_every_round():
    found = schedule({"app": 20}, 8, baseline="nfs", with_baseline=("app",))
    rounds = found.applications["app"]
    assert rounds.sizes[0] == 20
    assert [rounds.kept(position) + 1 for position in range(len(rounds.sizes))] == [
        *rounds.sizes[1:], rounds.finalists,
    ]  # fmt: skip


def test_a_deployment_serves_one_repetition_or_all_that_wait_for_no_result():
    found = schedule({"app": 10})
    assert found.deployments(redeploy=True) == tuple(range(each, each + 1) for each in range(6))
    assert found.deployments(redeploy=False) == (range(1), range(1, 2), range(2, 6))


def test_the_plan_counts_what_a_search_takes_at_most():
    asked, plan, _ = search_plan(10)
    ahead = forecast(plan, set(), spent_s={}, prices=None)
    whole = make_plan(
        asked.model_copy(update={"strategy": GridRule(kind="grid")}), [APPLICATION], plan.clusters
    )
    assert (ahead.n_done, ahead.n_runs, plan.schedule.n_grid) == (0, 22, len(whole.runs))
    assert plan.schedule.n_at_most == 22
    of_grid = forecast(whole, set(), spent_s={}, prices=None)
    assert ahead.duration_s / of_grid.duration_s == pytest.approx(22 / 70)


def test_rounds_that_an_application_does_not_have_are_not_in_the_plan():
    few = app(abyss_kernel(), "few")
    many = app(abyss_kernel().model_copy(update={"application": "many"}), "many")
    asked = spec(mappings=("1PxCN",), repetitions=None, strategy=SearchRule(kind="search"))
    plan = make_plan(asked, [few, many], [facts(name) for name in "abcdefghij"])
    assert {run.repetition for run in plan.runs if run.application == "few"} == set(
        range(plan.schedule.repetitions)
    )


def test_a_search_does_not_select_by_costs_that_it_does_not_know():
    more = {"add_to_cost": ("idle",), "rank_by": "cost", "prices": "papers-2016"}
    with pytest.raises(ValidationError, match="leave 'add_to_cost' out"):
        spec(strategy=SearchRule(kind="search"), **more)


def test_the_application_itself_does_not_go_with_a_search(tmp_path):
    entries = (
        ApplicationEntry(kernel=tmp_path / "k.json"),
        ApplicationEntry(
            kernel=tmp_path / "k.json", program="own", own=OwnProgram(argv=("./app",))
        ),
    )
    with pytest.raises(ValidationError, match="leave one of the two out"):
        spec(strategy=SearchRule(kind="search"), applications=entries)
