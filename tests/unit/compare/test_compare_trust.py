"""Kernels beside the application itself: errors, the order, and the sentence on both."""

from itertools import combinations

import pytest
from compare_fakes import configuration

from wavetank.compare.decisions import decide
from wavetank.compare.trust import Judged, kendall_tau, trust
from wavetank.compare.trust_advice import (
    beside_the_application,
    errors_words,
    order_words,
    verdict_words,
)

JUDGED = Judged("app", "app itself", "replay", "drop")


def around(median, n=8, width=0.01):
    """Repetitions with this median, in a narrow range."""
    return [median * (1 + width * (2 * i / (n - 1) - 1)) for i in range(n)]


def judged(kernel, own, **more):
    """By cluster name -> times."""
    configurations = [
        configuration(name, times, application=application)
        for application, by_name in (("app", kernel), ("app itself", own))
        for name, times in by_name.items()
    ]
    decisions = decide(configurations)
    return trust(JUDGED, configurations, decisions, confidence=0.95, **more), configurations


def same(**medians):
    return {name: around(median) for name, median in medians.items()}


def test_a_kernel_like_its_application_is_trusted():
    found, _ = judged(same(a=1.02, b=2.04, c=4.1), same(a=1.0, b=2.0, c=4.0))
    assert [each.difference_percent for each in found.times] == pytest.approx([2.0, 2.0, 2.5])
    assert found.median_error_percent == pytest.approx(2.0)
    assert found.worst_error_percent == pytest.approx(2.5)
    # Its own repetitions reach 1 % to both sides.
    assert found.worst_beyond_percent == pytest.approx(1.5)
    assert found.times[0].spread_low_percent == pytest.approx(-1.0)
    assert (found.n_pairs, found.n_apart, found.verdict) == (3, 3, "order and times")
    assert (found.tau.value, found.tau.low, found.tau.high) == (1.0, 1.0, 1.0)
    assert "may be trusted for this application: it puts all 3 pairs" in verdict_words(found)
    assert "2.0 % (median over 3 configurations)" in errors_words(found)


def test_a_kernel_within_the_application_s_own_spread_is_not_outside_of_it():
    kernel, own = {"a": around(1.1)}, {"a": around(1.0, width=0.2)}
    found, _ = judged(kernel, own)
    assert found.worst_error_percent == pytest.approx(10)
    assert found.worst_beyond_percent == 0
    assert found.verdict == "unknown"  # 10 % is more than 5 %, and there is no order


def test_a_kernel_that_is_far_but_in_order_is_trusted_for_the_order():
    found, _ = judged(same(a=0.5, b=1.0), same(a=1.0, b=2.0))
    assert found.verdict == "order"
    assert "for the order of these configurations, not for its times" in verdict_words(found)
    assert found.times[0].difference_percent == pytest.approx(-50)


def test_a_kernel_that_turns_a_pair_round_is_not_trusted_and_the_pair_is_named():
    found, configurations = judged(same(a=1.0, b=1.5, c=4.0), same(a=1.5, b=1.0, c=4.0))
    assert found.verdict == "not"
    (pair,) = found.reversed_pairs
    assert pair.kernel_prefers == "app / a / 1PxCN"
    assert pair.application_prefers == "app / b / 1PxCN"
    assert found.tau.value == pytest.approx(1 / 3)
    (advice,) = beside_the_application({each.id: each for each in configurations}, found)
    assert "1 of the 3 pairs" in advice.sentence
    assert any("a with 1PxCN before b with 1PxCN by the kernel" in said for said in advice.evidence)
    assert any("made no pauses" in said for said in advice.evidence)


def test_ties_do_not_count_and_are_said():
    # The application tells a from b, the kernel does not.
    found, _ = judged(same(a=1.0, b=1.001, c=4.0), same(a=1.0, b=1.5, c=4.0))
    assert (found.n_pairs, found.n_apart) == (3, 2)
    assert (found.n_kernel_only, found.n_own_only) == (0, 1)
    assert found.tau.value == 1.0
    assert "by the kernel only: 0, by the application only: 1" in order_words(found)


def test_too_few_repetitions_tell_no_order():
    found, _ = judged({"a": [1.0], "b": [3.0]}, {"a": [1.0], "b": [3.0]})
    assert found.tau is None and found.verdict == "times"
    assert (found.tau_of_medians.value, found.tau_of_medians.low) == (1.0, None)
    assert "its order cannot be judged" in verdict_words(found)
    assert "not known" in order_words(found)


def test_the_interval_of_tau_shows_what_repetitions_leave_open():
    # Medians in order; repetitions of a and b overlap widely.
    wide = {"a": around(1.0, width=0.5), "b": around(1.05, width=0.5), "c": around(9.0)}
    found, _ = judged(wide, same(a=1.0, b=1.5, c=9.0))
    assert found.tau_of_medians.value == 1.0
    assert found.tau_of_medians.low == pytest.approx(1 / 3)
    assert found.tau_of_medians.high == 1.0
    again, _ = judged(wide, same(a=1.0, b=1.5, c=9.0))
    assert again == found  # drawn with a seed


def test_only_configurations_that_both_have_are_compared():
    found, _ = judged(same(a=1.0, b=2.0), same(b=2.0, c=3.0))
    assert [each.configuration for each in found.times] == ["app / b / 1PxCN"]
    assert judged(same(a=1.0), same(b=1.0))[0] is None


def all_pairs(n):
    return list(combinations(range(n), 2))


def test_kendall_s_tau_of_known_orders():
    ascending = [(float(i), float(i)) for i in range(5)]
    assert kendall_tau(ascending, all_pairs(5)) == 1.0
    assert kendall_tau([(x, -y) for x, y in ascending], all_pairs(5)) == -1.0
    # One of ten pairs is turned round: (9 - 1) / 10.
    turned = [(0.0, 1.0), (1.0, 0.0), *ascending[2:]]
    assert kendall_tau(turned, all_pairs(5)) == pytest.approx(0.8)
    # As scipy.stats.kendalltau([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]) (1.11): -0.47140452079103173.
    points = [(12.0, 1.0), (2.0, 4.0), (1.0, 7.0), (12.0, 1.0), (2.0, 0.0)]
    assert kendall_tau(points, all_pairs(5)) == pytest.approx(-0.47140452079103173)
    assert kendall_tau([(1.0, 1.0), (1.0, 2.0)], all_pairs(2)) is None
