from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wavetank.measure.rank_test import (
    LARGEST_COUNT,
    fewest_repetitions,
    p_of,
    p_value,
    ratio_interval,
    smaller_pairs,
)


def counted_p(u, n_first, n_second):
    """By looking at every order of the two sets."""
    everything = range(n_first + n_second)
    orders = [set(first) for first in combinations(everything, n_first)]
    as_far = 0
    for first in orders:
        wrong = sum(a > b for a in first for b in everything if b not in first)
        as_far += min(wrong, n_first * n_second - wrong) <= u
    return as_far / len(orders)


@pytest.mark.parametrize(("n_first", "n_second"), [(1, 1), (2, 3), (3, 3), (4, 3), (5, 4), (2, 7)])
def test_the_probability_is_that_of_all_orders_counted(n_first, n_second):
    for u in range((n_first * n_second + 1) // 2):
        assert p_of(u, n_first, n_second) == pytest.approx(counted_p(u, n_first, n_second))


def test_full_separation_of_n_and_n_has_two_of_all_orders():
    for n in range(1, 9):
        assert p_value(range(n), range(100, 100 + n)) == pytest.approx(2 / comb(2 * n, n))


def test_equal_values_make_no_difference_clearer():
    apart, touching = p_value([1, 2, 3], [4, 5, 6]), p_value([1, 2, 3], [3, 4, 5])
    overlapping = p_value([1, 2, 3], [2.5, 4, 5])  # one pair in the wrong order, as the tie counts
    assert apart < touching == overlapping
    assert p_value([1.0] * 9, [1.0] * 9) == 1.0
    assert smaller_pairs([1, 3], [3, 5]) == (1, 4)


def test_one_side_without_values_tells_nothing():
    assert p_value([], [1.0, 2.0]) == 1.0


@pytest.mark.parametrize(
    # Pairs of k configurations k(k-1)/2 -> smallest n with 2 / C(2n, n) <= 0.05 / pairs:
    # C(2n, n) is 20, 70, 252, 924, 3432, 12870 for n = 3 to 8, and 40 * pairs must not be more.
    ("k", "n"),
    [(2, 4), (3, 5), (4, 5), (5, 6), (7, 6), (8, 7), (10, 7), (13, 7), (14, 8)],
)
def test_the_fewest_repetitions_grow_with_the_number_of_configurations(k, n):
    pairs = comb(k, 2)
    assert fewest_repetitions(pairs) == n
    assert p_of(0, n, n) <= 0.05 / pairs < p_of(0, n - 1, n - 1)


def test_with_nothing_to_compare_there_are_still_some_repetitions():
    assert fewest_repetitions(0) == 3


def test_many_repetitions_are_bounded_without_being_counted():
    # 200 x 200 pairs: more than are counted. The bound lies above the normal approximation, and below 1 where it matters.
    assert LARGEST_COUNT < 200 * 200
    assert 1e-4 < p_of(round(0.35 * 40000), 200, 200) < 1e-3  # 2 exp(-400 * 0.15**2) = 2.5e-4
    assert p_of(20000, 200, 200) == 1.0


@settings(deadline=None)  # other work on the machine is no failure
@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=7),
    st.lists(st.integers(0, 20), min_size=1, max_size=7),
)
def test_the_order_of_the_two_and_of_their_values_does_not_matter(first, second):
    assert p_value(first, second) == p_value(second[::-1], sorted(first))


def test_more_values_of_one_side_never_take_a_wrong_pair_away():
    # What futility rests on: U grows only, and with as many wrong pairs more values mean a smaller p.
    assert p_of(2, 4, 7) > p_of(2, 5, 7) > p_of(2, 7, 7)


def test_the_interval_of_a_factor_is_what_the_test_does_not_refuse():
    before, after = [1.0, 1.1, 1.2, 1.3], [2.0, 2.2, 2.4, 2.6]
    low, high, holds = ratio_interval(before, after, 0.95)
    assert holds  # 2/70 = 2.9 % <= 5 %
    assert (low, high) == (2.0 / 1.3, 2.6 / 1.0)
    for factor, refused in ((0.999 * low, True), (1.001 * low, False), (1.001 * high, True)):
        assert (p_value([factor * each for each in before], after) <= 0.05) is refused


def test_three_repetitions_cannot_hold_a_factor_at_95_percent():
    assert ratio_interval([1.0, 1.1, 1.2], [2.0, 2.1, 2.2], 0.95)[2] is False  # 2/20 = 10 %
