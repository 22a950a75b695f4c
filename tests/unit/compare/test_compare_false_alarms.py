"""The promise of a report: of identical configurations it tells any apart in 5 % of reports at most.

Families are drawn with a fixed seed. What a report says is counted, not single pairs.
"""

from math import comb

import numpy as np
import pytest
from identical_families import ALLOWED, N_REPORTS, NOISES, family, lognormal, says_a_difference

from wavetank.compare.decisions import decide
from wavetank.measure.rank_test import fewest_repetitions


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_identical_configurations_are_told_apart_in_5_percent_of_reports_at_most(noise, k):
    rng = np.random.default_rng(k)
    n = fewest_repetitions(comb(k, 2))
    alarms = sum(says_a_difference(family(noise(rng, (k, n)))) for _ in range(N_REPORTS))
    assert alarms / N_REPORTS <= ALLOWED


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_other_numbers_of_repetitions_keep_the_promise_too(n):
    rng = np.random.default_rng(n)
    alarms = sum(says_a_difference(family(lognormal(rng, (3, n)))) for _ in range(N_REPORTS))
    assert alarms / N_REPORTS <= ALLOWED


@pytest.mark.parametrize(
    ("by", "exponent"),
    [("time", 0.0), ("cost", 1.0), ("ratio", 0.5)],
    ids=["time", "cost", "ratio"],
)
def test_three_rankings_give_no_more_false_alarms_than_one(by, exponent):
    """Prices differ, and each family is the same by one criterion alone: cost is price * time, ratio 1 / (price * time**2)."""
    rng = np.random.default_rng(17)
    prices = np.array([1.0, 1.7, 2.9])
    n = fewest_repetitions(3)
    alarms = 0
    for _ in range(N_REPORTS):
        times = lognormal(rng, (3, n)) / prices[:, None] ** exponent
        found = decide(family(times, prices), smallest_difference=0)
        alarms += bool(found.apart[by])
    assert alarms / N_REPORTS <= ALLOWED


def test_same_prices_and_times_are_one_comparison_by_all_three_criteria():
    rng = np.random.default_rng(23)
    n = fewest_repetitions(15)
    alarms = sum(
        says_a_difference(family(lognormal(rng, (6, n)), [2.0] * 6)) for _ in range(N_REPORTS // 2)
    )
    assert alarms / (N_REPORTS // 2) <= 0.05 + 3 * (0.05 * 0.95 / (N_REPORTS // 2)) ** 0.5


@pytest.mark.parametrize("k", [2, 6, 10])
def test_a_difference_of_20_percent_is_told_in_noise_of_3_percent(k):
    rng = np.random.default_rng(k)
    n = fewest_repetitions(comb(k, 2))
    seen = 0
    for _ in range(100):
        times = np.exp(rng.normal(0, 0.03, (k, n)))
        times[0] *= 1.2
        found = decide(family(times))
        seen += all(found.told_apart("a / c0 / 1PxCN", f"a / c{i} / 1PxCN") for i in range(1, k))
    # 1.2 is 4.3 standard deviations of a difference; 7 against 7 values seldom overlap.
    assert seen >= 80


def test_the_rule_of_ranges_that_do_not_overlap_broke_the_promise():
    """What was asked before: two ranges of 3 repetitions without a common value. Shows that the counting above can fail."""
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(N_REPORTS):
        times = lognormal(rng, (6, 3))
        low, high = times.min(axis=1), times.max(axis=1)
        alarms += bool((low[:, None] > high[None, :]).any())
    assert alarms / N_REPORTS > 5 * ALLOWED


@pytest.mark.parametrize("n_variants", [1, 4])
def test_variants_that_are_the_application_are_told_apart_in_5_percent_of_reports_at_most(
    n_variants,
):
    """Two clusters, on each the application and its variants; all take the same."""
    rng = np.random.default_rng(n_variants)
    each = 1 + n_variants
    n = fewest_repetitions(1 + 2 * comb(each, 2))
    alarms = 0
    for _ in range(N_REPORTS):
        found = [
            one.model_copy(
                update={
                    "cluster": f"c{number // each}",
                    "application": "a" if number % each == 0 else f"a [{number % each}]",
                    "variant_of": None if number % each == 0 else "a",
                }
            )
            for number, one in enumerate(family(lognormal(rng, (2 * each, n))))
        ]
        decisions = decide(found)
        assert decisions.n_pairs == 1 + 2 * comb(each, 2) and decisions.n_blind == 0
        alarms += bool(decisions.apart["time"])
    assert alarms / N_REPORTS <= ALLOWED


def placed_by_chance(rng, n_deployments):
    """What a deployment draws: files that meet on one server or not, and how good its devices are."""
    return rng.choice([1.0, 1.35], size=n_deployments) * np.exp(rng.normal(0, 0.05, n_deployments))


def on_deployments(rng, k, n, n_each, n_mappings=1):
    """Times of k identical clusters with some mappings each: n repetitions, ``n_each`` of them on one deployment."""
    drawn = placed_by_chance(rng, (k, -(-n // n_each)))
    times = np.repeat(drawn, n_each, axis=1)[:, :n]
    times = np.repeat(times, n_mappings, axis=0)  # mappings share a deployment
    return times * np.exp(rng.normal(0, 0.02, times.shape))


@pytest.mark.parametrize(("k", "n_mappings"), [(2, 1), (6, 1), (3, 2)])
def test_what_deployments_draw_is_no_difference_where_each_repetition_draws_anew(k, n_mappings):
    rng = np.random.default_rng(k)
    n = fewest_repetitions(comb(k * n_mappings, 2))
    alarms = sum(
        says_a_difference(family(on_deployments(rng, k, n, 1, n_mappings)))
        for _ in range(N_REPORTS)
    )
    assert alarms / N_REPORTS <= ALLOWED


@pytest.mark.parametrize("n_deployments", [1, 2])
def test_repetitions_that_share_deployments_broke_the_promise(n_deployments):
    """Pseudo-replicates: why a campaign deploys for each repetition, and says so where it does not."""
    rng = np.random.default_rng(n_deployments)
    n = fewest_repetitions(comb(6, 2))
    alarms = sum(
        says_a_difference(family(on_deployments(rng, 6, n, n // n_deployments)))
        for _ in range(N_REPORTS)
    )
    assert alarms / N_REPORTS > 5 * ALLOWED


@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_factor_of_two_is_told_whatever_deployments_draw(k):
    rng = np.random.default_rng(k)
    n = fewest_repetitions(comb(k, 2))
    seen = 0
    for _ in range(100):
        times = on_deployments(rng, k, n, 1)
        times[0] *= 2
        found = decide(family(times))
        seen += all(found.told_apart("a / c0 / 1PxCN", f"a / c{i} / 1PxCN") for i in range(1, k))
    assert seen >= 95
