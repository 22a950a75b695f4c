import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wavetank.errors import MeasurementError
from wavetank.measure.statistics import (
    change_percent,
    coverage_limit,
    estimate,
    intervals_words,
    relative_width,
)

positive = st.floats(min_value=1e-3, max_value=1e9)


def test_one_repetition_has_a_median_and_no_interval():
    only = estimate([3.0], seed=1)
    assert (only.median, only.low, only.high) == (3.0, None, None)


def test_three_repetitions_span_from_the_smallest_to_the_largest():
    # The median of a resample of 3 is the smallest with probability 7/27 = 26 % > 2.5 %.
    of = estimate([5.0, 1.0, 3.0], seed=1)
    assert (of.low, of.median, of.high) == (1.0, 3.0, 5.0)


def test_the_same_seed_gives_the_same_interval():
    values = list(np.random.default_rng(3).normal(100, 10, 11))
    assert estimate(values, seed=7) == estimate(values, seed=7)


def test_an_interval_at_95_percent_holds_the_median_about_as_often():
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(200):
        of = estimate(list(rng.normal(100, 10, 15)), seed=trial)
        hits += of.low <= 100 <= of.high
    # 95 % of 200 is 190, standard deviation 3.1; the bootstrap of a median is a little off.
    assert 175 <= hits <= 200


@settings(deadline=None)  # other work on the machine is no failure
@given(st.lists(positive, min_size=2, max_size=9), st.integers(0, 100))
def test_an_interval_lies_within_the_values_and_holds_the_median(values, seed):
    of = estimate(values, seed)
    assert min(values) <= of.low <= of.median <= of.high <= max(values)


def test_nothing_has_no_estimate():
    with pytest.raises(MeasurementError):
        estimate([], seed=1)


def test_a_doubled_rate_is_a_change_of_100_percent():
    change = change_percent([10.0, 10.0, 10.0], [20.0, 20.0, 20.0], seed=1)
    assert (change.median, change.low, change.high) == (100.0, 100.0, 100.0)


def test_a_change_within_the_noise_has_an_interval_that_holds_zero():
    change = change_percent([9.0, 10.0, 11.0], [9.5, 10.1, 10.9], seed=1)
    assert change.low < 0 < change.high


def test_three_repetitions_hold_the_median_in_three_of_four_cases_at_most():
    assert coverage_limit(3) == 0.75  # 1 - 2/8
    assert coverage_limit(6) == pytest.approx(0.96875)  # 1 - 2/64
    assert coverage_limit(1) == 0


def test_width_is_relative_to_the_median():
    assert relative_width(estimate([9.0, 10.0, 11.0], seed=1)) == pytest.approx(0.2)
    assert relative_width(estimate([9.0], seed=1)) is None


def test_intervals_are_not_called_95_percent_where_repetitions_cannot_hold_them():
    # All of n on one side of the median: 2 * 0.5**n, 25 % of 3, 3.1 % of 6.
    assert "75 % of cases at most" in intervals_words([3, 6])
    assert "95" not in intervals_words([3, 6])
    assert intervals_words([6, 1]) == "95 % bootstrap intervals"
    assert intervals_words([1, 1]) == "no intervals (one repetition)"
