import pytest
from campaign_fakes import APPLICATION, FakeDeployer, FakeObserver, facts, spec
from measure_fakes import FakePerformer, abyss_result
from pydantic import ValidationError

from wavetank.campaign.budget import Holds, Spending
from wavetank.campaign.clusters import facts_of
from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.plan import forecast, make_plan
from wavetank.campaign.results_folder import forget, write_store
from wavetank.campaign.run import run_campaign
from wavetank.campaign.spec import Budget
from wavetank.cluster.spec import ClusterSpec

HOUR_S = 3600.0
CLUSTERS = [facts("nfs", n_cores=24.0), facts("gluster", n_cores=40.0)]


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def run(folder, core_hours, **more):
    asked = spec(budget=Budget(core_hours=core_hours), **more)
    plan = make_plan(asked, [APPLICATION], CLUSTERS)
    observer, deployer = FakeObserver(), FakeDeployer()
    with write_store(folder) as store:
        outcome = run_campaign(
            asked, plan, store, deployer=deployer, performer=FakePerformer(abyss_result),
            observer=observer,
        )  # fmt: skip
        return outcome, compare_campaign(asked, plan, store, None), deployer, observer


def test_clusters_that_are_up_at_once_are_all_held(tmp_path):
    clock = Clock()
    with write_store(tmp_path) as store:
        holds = Holds(store, clock)
        spending = Spending(Budget(core_hours=200.0), CLUSTERS, None, holds)
        with holds.holding(CLUSTERS[0]):
            clock.now += HOUR_S
            with holds.holding(CLUSTERS[1]):
                clock.now += HOUR_S / 2
                assert spending.spent_core_hours(store) == pytest.approx(24 * 1.5 + 40 * 0.5)
                # 144 are left, and 64 cores are held: 2.25 hours.
                assert spending.refuses(store, 2.24 * HOUR_S, CLUSTERS[0]) is None
                refused = spending.refuses(store, 2.26 * HOUR_S, CLUSTERS[0])
                assert refused == "the budget of 200 core-hours is spent (56 until now)"
        clock.now += 100 * HOUR_S  # nothing is held
        assert spending.spent_core_hours(store) == pytest.approx(56)


def test_what_was_held_counts_over_all_runs_until_it_is_forgotten(tmp_path):
    clock = Clock()
    with write_store(tmp_path) as store:
        holds = Holds(store, clock)
        with holds.holding(CLUSTERS[0]):
            clock.now += HOUR_S
            holds.note()  # with each measurement: what a kill leaves
            assert store.held_s() == {CLUSTERS[0].key: HOUR_S}
    with write_store(tmp_path) as store:
        assert Spending(None, CLUSTERS, None, Holds(store, clock)).spent_core_hours(store) == 24.0
        forget(store)
        assert Spending(None, CLUSTERS, None, Holds(store, clock)).spent_core_hours(store) == 0.0


def test_jobs_count_while_they_measure(tmp_path):
    with write_store(
        tmp_path
    ) as store:  # nothing is brought up: only times of measurements are known
        store.add_disturbed(CLUSTERS[0].key, HOUR_S)
        assert Spending(None, CLUSTERS, None, Holds(store)).spent_core_hours(store) == 24.0


@pytest.mark.parametrize("redeploy", [True, False])
def test_a_campaign_stops_in_order_and_goes_on_when_the_budget_is_raised(tmp_path, redeploy):
    # To bring up nfs is expected to take 10 s of 24 cores, and a measurement more than 3 s.
    outcome, comparison, deployer, observer = run(tmp_path, 0.05, redeploy=redeploy)
    assert (outcome.n_measured, outcome.n_failed, outcome.n_not_afforded) == (0, 0, 12)
    assert deployer.log == []
    assert (
        "the budget of 0.05 core-hours is spent (0 until now)" in comparison.not_measured[0].reason
    )
    assert any("core-hours" in text for text in observer.said)
    outcome, comparison, deployer, _ = run(tmp_path, 1000.0, redeploy=redeploy)
    assert outcome.n_measured == 12 and comparison.not_measured == ()
    assert deployer.up_now == []
    with write_store(tmp_path) as store:
        held = store.held_s()
        assert held.keys() == {each.key for each in CLUSTERS}
        for each in CLUSTERS:  # held while it came up and while it was measured
            assert held[each.key] >= store.beside_s()[each.key] + sum(store.spent_s()[each.key])


def test_a_cluster_that_would_take_too_many_cores_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("wavetank.campaign.work.Holds", lambda store: Holds(store, Clock()))
    # About 13 s are expected at first: 24 cores fit, 40 do not.
    outcome, comparison, deployer, _ = run(tmp_path, 24 * 20 / HOUR_S)
    assert outcome.n_measured == 6
    assert {name for what, name in deployer.log if what == "up"} == {"nfs"}
    assert {each.cluster for each in comparison.not_measured} == {"gluster"}


def test_what_is_held_too_long_goes_down_before_the_campaign_ends(tmp_path, monkeypatch):
    """Every look at the clock finds an hour gone: the budget is spent after some measurements."""
    clock = Clock()

    def an_hour_later():
        clock.now += HOUR_S
        return clock.now

    monkeypatch.setattr("wavetank.campaign.work.Holds", lambda store: Holds(store, an_hour_later))
    outcome, _, deployer, observer = run(tmp_path, 500.0)
    assert 0 < outcome.n_measured < 12
    assert outcome.n_not_afforded == 12 - outcome.n_measured
    assert deployer.up_now == []
    assert any("the budget of 500 core-hours is spent" in text for text in observer.said)


def test_all_nodes_count_each_with_the_vcpus_of_its_instance():
    found = facts_of(
        ClusterSpec.model_validate(
            {
                "name": "mixed",
                "instance": {"name": "c3.2xlarge", "vcpus": 8},
                "io_instance": {"name": "i3.large", "vcpus": 2},
                "nodes": {"compute": 3, "io": 2},
                "file_system": {"kind": "glusterfs"},
                "storage": {"size": "1 GiB"},
            }
        )
    )
    assert found.n_cores == 3 * 8 + 2 * 2


def test_the_forecast_has_the_core_hours_of_each_cluster_for_itself():
    plan = make_plan(spec(), [APPLICATION], CLUSTERS[:1])
    ahead = forecast(plan, set(), spent_s={}, prices=None)
    assert ahead.core_hours == pytest.approx(24 * ahead.duration_s / HOUR_S)


@pytest.mark.parametrize("core_hours", [0, -1, float("nan"), float("inf"), "many"])
def test_what_is_no_number_of_core_hours_is_refused(core_hours):
    with pytest.raises(ValidationError, match="core_hours"):
        Budget.model_validate({"core_hours": core_hours})
