from decimal import Decimal

import pytest
from campaign_fakes import APPLICATION, FakeDeployer, FakeObserver, facts, spec
from measure_fakes import FakePerformer, abyss_result

from wavetank.campaign.budget import Spending
from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.plan import make_plan
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.run import run_campaign
from wavetank.campaign.spec import Budget, UntilRule
from wavetank.cost.prices import load_prices

KERNEL = APPLICATION.kernel
PRICES = load_prices("papers-2016")


def run(folder, of, performer, clusters=None, prices=None):
    plan = make_plan(of, [APPLICATION], clusters or [facts("nfs")])
    observer = FakeObserver()
    with write_store(folder) as store:
        outcome = run_campaign(
            of, plan, store, deployer=FakeDeployer(), performer=performer, observer=observer,
            prices=prices,
        )  # fmt: skip
        return outcome, compare_campaign(of, plan, store, prices), observer


def steady():
    return FakePerformer(abyss_result)


def noisy():
    """Read times that jump between 1 s and 2 s: the interval stays wider than any rule here."""
    times = [1.0, 2.0] * 50
    return FakePerformer(*[abyss_result(KERNEL, read_s=time) for time in times])


RULE = {
    "repetitions": 3,
    "strategy": UntilRule(kind="until", width=0.05, at_most=8),
    "mappings": ("2PxCN",),
}


def test_equal_repetitions_stop_at_the_fewest(tmp_path):
    outcome, comparison, _ = run(tmp_path, spec(**RULE), steady())
    assert outcome.n_measured == 3
    assert comparison.not_measured == ()


def test_noisy_repetitions_go_on_to_the_most(tmp_path):
    outcome, _, _ = run(tmp_path, spec(**RULE), noisy())
    assert outcome.n_measured == 8


def test_a_rule_that_holds_is_remembered_when_the_campaign_goes_on(tmp_path):
    run(tmp_path, spec(**RULE), steady())
    outcome, _, _ = run(tmp_path, spec(**RULE), steady())
    assert outcome.n_measured == 0


def test_progress_ends_at_what_was_needed(tmp_path):
    _, _, observer = run(tmp_path, spec(**RULE), steady())
    assert observer.seen[0][:2] == (0, 8)
    assert observer.seen[-1] == (3, 3, 0)


def test_a_spent_time_budget_ends_the_campaign_in_order(tmp_path):
    # The guess for one measurement is above 3 s, for bringing up 10 s: 5 s affords nothing.
    of = spec(budget=Budget(time=5.0))
    outcome, comparison, observer = run(tmp_path, of, steady())
    assert (outcome.n_measured, outcome.n_failed, outcome.n_not_afforded) == (0, 0, 6)
    assert "time budget of 5.00 s is spent" in comparison.not_measured[0].reason
    assert any("budget" in text for text in observer.said)


def test_a_budget_that_is_raised_lets_the_campaign_go_on(tmp_path):
    run(tmp_path, spec(budget=Budget(time=5.0)), steady())
    outcome, comparison, _ = run(tmp_path, spec(budget=Budget(time=3600.0)), steady())
    assert outcome.n_measured == 6
    assert comparison.not_measured == ()


def test_money_is_billed_by_started_hours_of_each_cluster(tmp_path):
    # 3 instances x 0.42 an hour: the second cluster's first hour does not fit into 2 USD.
    of = spec(budget=Budget(money=Decimal(2)), prices="papers-2016", redeploy=False)
    outcome, comparison, _ = run(
        tmp_path, of, steady(), [facts("nfs"), facts("gluster")], prices=PRICES
    )
    assert (outcome.n_measured, outcome.n_not_afforded) == (6, 6)
    assert {each.cluster for each in comparison.not_measured} == {"gluster"}
    assert "budget of 2 USD" in comparison.not_measured[0].reason


def test_every_deployment_is_billed(tmp_path):
    with write_store(tmp_path) as store:
        spending = Spending(Budget(money=Decimal(3)), [facts("nfs")], PRICES)
        for n in (1, 2):
            store.add_deployment("key-nfs", 10.0)
            assert spending.spent_money(store) == n * Decimal("1.26")


def test_what_was_spent_before_counts(tmp_path):
    clusters = [facts("nfs")]
    with write_store(tmp_path) as store:
        store.add_deployment("key-nfs", 100.0)
        spending = Spending(Budget(time=101.0), clusters, None)
        assert spending.spent_s(store) == 100.0
        assert spending.refuses(store, 2.0, clusters[0]) is not None
        assert spending.refuses(store, 1.0, clusters[0]) is None


def test_without_a_budget_nothing_is_refused(tmp_path):
    with write_store(tmp_path) as store:
        assert Spending(None, [], None).refuses(store, 1e9, facts("nfs")) is None


@pytest.mark.parametrize("n", [1, 2])
def test_two_repetitions_are_the_fewest_that_a_rule_can_judge(tmp_path, n):
    of = spec(
        repetitions=n, strategy=UntilRule(kind="until", width=0.05, at_most=8), mappings=("2PxCN",)
    )
    outcome, _, _ = run(tmp_path, of, steady())
    assert outcome.n_measured == 2
